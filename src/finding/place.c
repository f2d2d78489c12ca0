/* SPDX-License-Identifier: MIT */
#include "finding/place.h"

#include <string.h>

#include "base/visible.h"

/* ---- call paths ------------------------------------------------------------------------------ */

struct path {
        VEC(struct name_frame) frames;
        struct name_stack shown;
};

static bool path_add(void *ctx, const struct query_frame *f) {
        struct path *p = ctx;

        vec_push(&p->frames, (struct name_frame){f->function, f->file, f->module, f->offset,
                                                 f->line, f->inlined, f->guess});
        return true;
}

static void path_load(struct path *p, struct facts *f, uint32_t stack) {
        vec_clear(&p->frames);
        query_each_frame(f->q, stack, path_add, p);
        name_fold(f->names, p->frames.items, p->frames.n, &p->shown);
}

static void path_done(struct path *p) {
        vec_free(&p->frames);
        name_stack_done(&p->shown);
}

static uint64_t hash_text(uint64_t h, const char *text) {
        for (; *text; text++)
                h = (h ^ (unsigned char)*text) * 0x100000001b3ull;
        return map_hash(h);
}

static uint64_t function_key(const struct name_frame *f, bool is_task) {
        uint64_t h = hash_text(0xcbf29ce484222325ull + is_task, f->module);

        return f->function[0] && !f->guess ? hash_text(h, f->function) : map_hash(h ^ f->offset);
}

/* ---- the tree -------------------------------------------------------------------------------- */

static uint32_t place_add(struct places *p, uint32_t parent, const struct name_frame *frame,
                          bool is_task, uint64_t key) {
        struct place x = {.parent = parent,
                          .first_child = PLACE_NONE,
                          .next = PLACE_NONE,
                          .key = key,
                          .frame = {.function = "", .file = "", .module = ""},
                          .is_task = is_task,
                          .all = facts_course_new(p->f)};

        if (frame)
                x.frame = *frame;
        if (parent != PLACE_NONE) {
                x.depth = p->items.items[parent].depth + 1;
                x.next = p->items.items[parent].first_child;
                p->items.items[parent].first_child = (uint32_t)p->items.n;
        }
        vec_push(&p->items, x);
        return (uint32_t)p->items.n - 1;
}

/* The function called from `at`; one that is already on the path is gone back to. */
static uint32_t place_below(struct places *p, uint32_t at, const struct name_frame *frame,
                            bool is_task) {
        uint64_t key = function_key(frame, is_task), *place;
        bool added;

        for (uint32_t up = at; up != PLACE_NONE && p->items.items[up].depth;
             up = p->items.items[up].parent)
                if (p->items.items[up].key == key)
                        return up;
        place = map_put(&p->by_key, map_hash(key ^ ((uint64_t)at << 32)), 0, &added);
        if (added)
                *place = place_add(p, at, frame, is_task, key);
        return (uint32_t)*place;
}

static void take_row(struct places *p, uint32_t at, uint32_t row) {
        struct place *x = &p->items.items[at];

        p->of_row[row] = at;
        if (!x->self.bytes)
                x->self = facts_course_new(p->f);
        facts_add_row(p->f, &x->self, row);
        for (; at != PLACE_NONE; at = x->parent) {
                x = &p->items.items[at];
                facts_add_row(p->f, &x->all, row);
                if (x->n_rows++ == 0)
                        x->row = row;
        }
}

void places_build(struct places *p, struct facts *f, const uint32_t *rows, size_t n) {
        struct path path = {0};

        *p = (struct places){.f = f};
        p->of_row = arena_alloc(f->arena, (f->n_rows + 1) * sizeof(p->of_row[0]));
        memset(p->of_row, 0xff, (f->n_rows + 1) * sizeof(p->of_row[0]));
        place_add(p, PLACE_NONE, NULL, false, 0);
        for (size_t i = 0; i < n; i++) {
                uint32_t at = 0;

                path_load(&path, f, f->rows[rows[i]].stack);
                for (size_t k = MIN(path.shown.n, (size_t)PLACE_MAX_DEPTH); k-- > 0;)
                        at = place_below(p, at, &path.frames.items[path.shown.items[k].frame_idx],
                                         path.shown.items[k].is_task);
                take_row(p, at, rows[i]);
        }
        path_done(&path);
}

void places_done(struct places *p) {
        vec_free(&p->items);
        map_done(&p->by_key);
}

bool places_has(const struct places *p, uint32_t place, uint32_t row) {
        uint32_t at = p->of_row[row];

        while (at != PLACE_NONE && at != place)
                at = p->items.items[at].parent;
        return at == place;
}

/* ---- functions that asked -------------------------------------------------------------------- */

static void asker_take(struct asker *a, struct facts *f, uint32_t row) {
        const struct query_figures *x = &f->rows[row].self, *largest = &f->rows[a->row].self;

        if (row < f->n_told) {
                struct course c = facts_course(f, row);

                course_add(&a->c, &c, f->n_columns);
        }
        query_figures_add(&a->figures, x);
        if (a->n_rows++ == 0 || x->end_bytes > largest->end_bytes)
                a->row = row;
}

void askers_gather(struct askers *a, struct facts *f) {
        struct map by_key = {0};
        VEC(struct asker) items = {0};

        a->of_row = arena_alloc(f->arena, (f->n_rows + 1) * sizeof(a->of_row[0]));
        for (size_t row = 0; row < f->n_rows; row++) {
                const struct query_frame *q = &f->rows[row].frame;
                const struct name_frame frame = {q->function, q->file,    q->module, q->offset,
                                                 q->line,     q->inlined, q->guess};
                uint64_t key = function_key(&frame, false), *i;
                bool added;

                i = map_put(&by_key, key, items.n, &added);
                if (added)
                        vec_push(&items, (struct asker){.key = key,
                                                        .row = (uint32_t)row,
                                                        .c = course_new(f->arena, f->n_columns)});
                a->of_row[row] = (uint32_t)*i;
                asker_take(&items.items[*i], f, (uint32_t)row);
        }
        a->n = items.n;
        if (a->n)
                a->items = arena_memdup(f->arena, items.items, a->n * sizeof(items.items[0]));
        vec_free(&items);
        map_done(&by_key);
}

uint32_t askers_row(const struct askers *a, const struct facts *f, size_t asker,
                    enum query_metric m) {
        uint32_t best = a->items[asker].row;

        for (size_t row = 0; row < f->n_rows; row++)
                if (a->of_row[row] == asker &&
                    query_figures_compare(&f->rows[row].self, &f->rows[best].self, m) < 0)
                        best = (uint32_t)row;
        return best;
}

/* ---- names ----------------------------------------------------------------------------------- */

/* Short names have an ellipsis that not every output can show; control characters are shown by none. */
static void add_clean(struct str *to, const char *text) {
        static const char ellipsis[] = "\xe2\x80\xa6";
        const char *dots;

        for (; (dots = strstr(text, ellipsis)); text = dots + strlen(ellipsis)) {
                struct str before = {0};

                str_addn(&before, text, (size_t)(dots - text));
                visible_add(to, str_text(&before));
                str_add(to, "..");
                str_done(&before);
        }
        visible_add(to, text);
}

static const char *kept(struct facts *f, struct str *s) {
        const char *text = arena_strdup(f->arena, str_text(s));

        str_done(s);
        return text;
}

const char *place_name(struct facts *f, const struct name_frame *frame, bool is_task) {
        struct str s = {0};

        if (!frame->function[0] && !frame->module[0] && !frame->offset)
                return "code without a stack";
        add_clean(&s, name_label(f->names, frame, is_task));
        return kept(f, &s);
}

/* A control character, which a shell's line cannot have, fits `.`: what is no function's name is taken for a pattern. */
const char *place_option(struct facts *f, const struct name_frame *frame) {
        const char *name = frame->function[0] && !frame->guess
                                   ? name_short(f->names, frame->function)
                                   : name_label(f->names, frame, false);
        struct str s = {0};

        for (; *name; name++)
                if ((unsigned char)*name < 0x20 || *name == 0x7f)
                        str_add(&s, ".");
                else
                        str_addn(&s, name, 1);
        return kept(f, &s);
}

struct name_frame place_of_row(struct facts *f, uint32_t row, bool *ret_is_task) {
        return place_of_stack(f, f->rows[row].stack, ret_is_task);
}

struct name_frame place_of_stack(struct facts *f, uint32_t stack, bool *ret_is_task) {
        struct name_frame frame = {.function = "", .file = "", .module = ""};
        struct path path = {0};

        *ret_is_task = false;
        path_load(&path, f, stack);
        if (path.shown.n) {
                frame = path.frames.items[path.shown.items[0].frame_idx];
                *ret_is_task = path.shown.items[0].is_task;
        }
        path_done(&path);
        return frame;
}

bool place_is_called_by(struct facts *f, uint32_t row, uint64_t key) {
        struct path path = {0};
        bool found = false;

        path_load(&path, f, f->rows[row].stack);
        for (size_t i = 1; i < path.shown.n && !found; i++)
                found = function_key(&path.frames.items[path.shown.items[i].frame_idx], false) ==
                        key;
        path_done(&path);
        return found;
}

static bool is_spawn(const char *plain) {
        const char *last = strrchr(plain, ':');

        return strncmp(last ? last + 1 : plain, "spawn", 5) == 0;
}

bool place_row_spawns(struct facts *f, uint32_t row) {
        struct path path = {0};
        bool found = false;

        path_load(&path, f, f->rows[row].stack);
        for (size_t i = 0; path.shown.n && i < path.shown.items[0].frame_idx && !found; i++)
                found = path.frames.items[i].function[0] &&
                        is_spawn(name_plain(f->names, path.frames.items[i].function));
        path_done(&path);
        return found;
}
