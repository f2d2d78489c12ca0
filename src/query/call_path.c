/* SPDX-License-Identifier: MIT */
/* A frame's number: that of its row among the trace's symbols, or, where a location has none, n_symbols + location. */
#include "query/call_path.h"

#include <stdlib.h>
#include <string.h>

#include "query/query_internal.h"
#include "query/spent_time.h"

void call_paths_init(struct call_paths *p, struct query *q, enum call_path_merge merge,
                     bool is_full) {
        size_t n = q->view->n_symbols + q->view->n_locations;

        *p = (struct call_paths){.q = q,
                                 .names = query_names(q),
                                 .merge = merge,
                                 .is_full = is_full,
                                 .asker = UINT32_MAX};
        if (q->n_learned != name_n_learned(p->names)) {
                free(q->looks);
                q->looks = NULL;
                q->n_learned = name_n_learned(p->names);
        }
        p->look_of = TAKE_PTR(q->looks); /* several questions about the same frames are the rule */
        if (!p->look_of)
                p->look_of = calloc(n + 1, sizeof(struct name_look));
        if (!p->look_of)
                abort();
}

void call_paths_done(struct call_paths *p) {
        free(p->key_of);
        if (p->q && !p->q->looks && p->q->names == p->names &&
            p->q->n_learned == name_n_learned(p->names))
                p->q->looks = TAKE_PTR(p->look_of);
        free(p->look_of);
        vec_free(&p->keys);
        map_done(&p->by_hash);
        vec_free(&p->all);
        vec_free(&p->shown);
        vec_free(&p->looks);
        name_stack_done(&p->folded);
        *p = (struct call_paths){0};
}

size_t query_requester(struct query *q, uint32_t stack) {
        struct call_paths p;
        uint32_t asker;

        call_paths_init(&p, q, CALL_PATH_BY_PLACE, false);
        call_paths_load(&p, stack);
        asker = p.asker;
        call_paths_done(&p);
        return asker == UINT32_MAX ? SIZE_MAX : asker;
}

struct query_frame call_paths_frame(const struct query *q, uint32_t number) {
        const struct trace_view *v = q->view;
        bool has_symbol = number < v->n_symbols;
        const struct trace_symbol *s = has_symbol ? &v->symbols[number] : NULL;
        uint32_t location = s ? s->location : number - (uint32_t)v->n_symbols;
        const struct trace_location *l = &v->locations[location];
        const char *module = l->module < v->n_modules ? v->modules[l->module].path : "";
        struct query_frame f = {.function = s ? s->function : "",
                                .file = s ? s->file : "",
                                .module = module,
                                .offset = l->offset,
                                .line = s ? s->line : 0,
                                .location = location,
                                .inlined = s && s->inlined,
                                .guess = s && s->guess};

        if (s)
                query_frame_settle(&f, s);
        return f;
}

static const struct name_look *look_at(struct call_paths *p, uint32_t number) {
        struct name_look *look = &p->look_of[number];

        if (!look->entry) {
                struct query_frame f = call_paths_frame(p->q, number);
                struct name_frame frame = {f.function, f.file,    f.module, f.offset,
                                           f.line,     f.inlined, f.guess};

                *look = name_look(query_names(p->q), &frame);
        }
        return look;
}

/* ---- keys ------------------------------------------------------------------------------------ */

static uint64_t hash_text(uint64_t hash, const char *text) {
        for (; *text; text++)
                hash = (hash ^ (unsigned char)*text) * 1099511628211ull;
        return map_hash(hash + 1);
}

static bool has_name(const struct query_frame *f) {
        return f->function[0] && !f->guess; /* the nearest symbol is mostly another function */
}

static bool has_line(const struct query_frame *f) {
        return f->file[0] && f->line;
}

/* Code without a name is told by its place: where its function begins, if that is known. */
static bool same_place(const struct query_frame *a, const struct query_frame *b) {
        return a->offset == b->offset && strcmp(a->module, b->module) == 0;
}

static uint64_t hash_place(const struct query_frame *f) {
        return hash_text(map_hash(f->offset + 1), f->module);
}

/* What two frames share that are one by function: both named alike, or the same place. */
static bool same_function(const struct query_frame *a, const struct query_frame *b) {
        if (!has_name(a) || !has_name(b))
                return !has_name(a) && !has_name(b) && same_place(a, b);
        return strcmp(a->function, b->function) == 0 && strcmp(a->module, b->module) == 0;
}

static bool same_line(const struct query_frame *a, const struct query_frame *b) {
        return a->line == b->line && strcmp(a->file, b->file) == 0;
}

static bool is_where_time_went(const struct call_paths *p) {
        return p->is_of_time || query_is_of_weights(p->q);
}

/* A thread may be interrupted at each of a function's instructions: where that is says little, and the function would be in pieces. */
static bool is_one_without_lines(const struct call_paths *p, const struct query_frame *f) {
        return is_where_time_went(p) && !has_line(f);
}

static bool same_key(const struct call_paths *p, uint32_t number, const struct query_frame *f,
                     const struct call_path_key *key, const char *text) {
        struct query_frame g = call_paths_frame(p->q, key->number);

        switch (p->merge) {
        case CALL_PATH_BY_FUNCTION: return same_function(f, &g);
        case CALL_PATH_BY_LINE:
                return same_function(f, &g) && same_line(f, &g) &&
                       (has_line(f) || is_one_without_lines(p, f) || f->location == g.location);
        case CALL_PATH_BY_SOURCE:
                return has_line(f) ? same_line(f, &g) : !has_line(&g) && same_function(f, &g);
        case CALL_PATH_BY_MODULE: return strcmp(f->module, g.module) == 0;
        case CALL_PATH_BY_CRATE:
        case CALL_PATH_BY_COMPONENT: return strcmp(text, key->text) == 0;
        case CALL_PATH_BY_PLACE: return number == key->number;
        }
        return false;
}

static uint64_t hash_function(const struct query_frame *f) {
        return has_name(f) ? hash_text(hash_text(1, f->function), f->module) : hash_place(f);
}

static uint64_t hash_key(const struct call_paths *p, uint32_t number, const struct query_frame *f,
                         const char *text) {
        switch (p->merge) {
        case CALL_PATH_BY_FUNCTION: return hash_function(f);
        case CALL_PATH_BY_LINE:
                return map_hash(hash_function(f) + f->line +
                                (has_line(f) || is_one_without_lines(p, f) ? 0 : f->location));
        case CALL_PATH_BY_SOURCE:
                return has_line(f) ? hash_text(f->line, f->file) : hash_function(f);
        case CALL_PATH_BY_MODULE: return hash_text(1, f->module);
        case CALL_PATH_BY_CRATE:
        case CALL_PATH_BY_COMPONENT: return hash_text(1, text);
        case CALL_PATH_BY_PLACE: break;
        }
        return map_hash(number);
}

/* Of functions, which is asked most: each text has one entry, so that no text is read. */
static uint32_t find_function(struct call_paths *p, uint32_t number) {
        const struct name_look *look = look_at(p, number), *other;
        struct query_frame f = call_paths_frame(p->q, number), g;
        uint64_t hash =
                look->is_nameless
                        ? hash_place(&f)
                        : map_hash(map_hash((uintptr_t)look->entry) ^ (uintptr_t)look->module);

        for (;; hash = map_hash(hash + 1)) { /* until it is this key's own */
                bool added;
                uint64_t *key = map_put(&p->by_hash, hash, p->keys.n, &added);

                if (added) {
                        vec_push(&p->keys, (struct call_path_key){number, ""});
                        return (uint32_t)*key;
                }
                other = look_at(p, p->keys.items[*key].number);
                if (look->is_nameless != other->is_nameless)
                        continue;
                g = call_paths_frame(p->q, p->keys.items[*key].number);
                if (look->is_nameless
                            ? same_place(&f, &g)
                            : look->entry == other->entry && look->module == other->module)
                        return (uint32_t)*key;
        }
}

static struct name_component component_of(const struct call_paths *p, const struct query_frame *f) {
        struct name_frame frame = {f->function, f->file,    f->module, f->offset,
                                   f->line,     f->inlined, f->guess};

        return name_component(query_names(p->q), &frame);
}

bool call_paths_passes_on(struct call_paths *p, uint32_t number) {
        struct query_frame f = call_paths_frame(p->q, number);

        return p->merge == CALL_PATH_BY_COMPONENT && component_of(p, &f).passes_on;
}

/* What a key is called that is a name. */
static const char *text_of(const struct call_paths *p, const struct query_frame *f) {
        if (p->merge == CALL_PATH_BY_COMPONENT)
                return component_of(p, f).name;
        if (p->merge == CALL_PATH_BY_CRATE)
                return name_crate(query_names(p->q), has_name(f) ? f->function : "", f->module);
        return "";
}

static uint32_t find_key(struct call_paths *p, uint32_t number) {
        struct query_frame f = call_paths_frame(p->q, number);
        const char *text = text_of(p, &f);
        uint64_t hash = hash_key(p, number, &f, text);

        for (;; hash = map_hash(hash + 1)) { /* until it is this key's own */
                bool added;
                uint64_t *key = map_put(&p->by_hash, hash, p->keys.n, &added);

                if (added)
                        vec_push(&p->keys, (struct call_path_key){number, text});
                if (added || same_key(p, number, &f, &p->keys.items[*key], text))
                        return (uint32_t)*key;
        }
}

/* Only once somebody wants one: who asks for one path after the other may want none. */
static void make_keys(struct call_paths *p) {
        size_t n_bytes = (p->q->view->n_symbols + p->q->view->n_locations + 1) * sizeof(uint32_t);

        p->key_of = malloc(n_bytes);
        if (!p->key_of)
                abort();
        memset(p->key_of, 0xff, n_bytes);
}

uint32_t call_paths_key(struct call_paths *p, uint32_t number) {
        uint32_t *key;

        if (!p->key_of)
                make_keys(p);
        key = &p->key_of[number];

        if (*key == CALL_PATH_NO_KEY)
                *key = p->merge == CALL_PATH_BY_FUNCTION ? find_function(p, number)
                                                         : find_key(p, number);
        return *key;
}

struct query_frame call_paths_key_frame(const struct call_paths *p, uint32_t key) {
        struct query_frame f = call_paths_frame(p->q, p->keys.items[key].number);

        switch (p->merge) {
        case CALL_PATH_BY_FUNCTION:
                if (has_name(&f))
                        f.line = 0;
                break;
        case CALL_PATH_BY_SOURCE:
                if (has_line(&f))
                        f.function = "";
                break;
        case CALL_PATH_BY_MODULE:
                return (struct query_frame){"", "", f.module, 0, 0, 0, false, false};
        case CALL_PATH_BY_CRATE:
        case CALL_PATH_BY_COMPONENT: return (struct query_frame){"", "", "", 0, 0, 0, false, false};
        case CALL_PATH_BY_LINE:
        case CALL_PATH_BY_PLACE: break;
        }
        return f;
}

/* ---- paths ----------------------------------------------------------------------------------- */

static void add_frame(struct call_paths *p, uint32_t number) {
        vec_push(&p->all, (struct call_path_frame){number, false});
        vec_push(&p->looks, *look_at(p, number));
}

static void add_location(struct call_paths *p, uint32_t location) {
        uint32_t begin, end;

        if (location >= p->q->view->n_locations)
                return;
        begin = p->q->symbol_begin[location], end = p->q->symbol_begin[location + 1];
        if (begin == end)
                add_frame(p, (uint32_t)p->q->view->n_symbols + location);
        for (uint32_t i = begin; i < end; i++)
                add_frame(p, i);
}

/* Going outwards, the first frame people are shown that does not leave its memory to its caller; the code that asked where all do. */
static uint32_t find_owner(struct call_paths *p) {
        for (size_t i = 0; i < p->folded.n && p->merge == CALL_PATH_BY_COMPONENT; i++) {
                uint32_t idx = p->folded.items[i].frame_idx;

                if (!call_paths_passes_on(p, p->all.items[idx].number))
                        return idx;
        }
        return p->asker;
}

/* As if folding had left everything where it is. */
static void leave_unfolded(struct call_paths *p) {
        struct name_stack *s = &p->folded;

        if (s->cap < p->all.n) {
                s->cap = p->all.n * 2;
                s->items = realloc(s->items, s->cap * sizeof(s->items[0]));
                if (!s->items)
                        abort();
        }
        s->n = p->all.n;
        s->via_idx = NAME_NO_FRAME;
        for (uint32_t i = 0; i < s->n; i++)
                s->items[i] = (struct name_shown){i, false};
}

void call_paths_load(struct call_paths *p, uint32_t stack) {
        const struct trace_view *v = p->q->view;

        vec_clear(&p->all);
        vec_clear(&p->looks);
        vec_clear(&p->shown);
        for (; stack && stack < v->n_stacks && p->all.n < CALL_PATH_MAX_FRAMES;
             stack = v->stacks[stack].parent)
                add_location(p, v->stacks[stack].location);
        p->asker = p->owner = UINT32_MAX;
        if (p->all.n == 0)
                return;
        if (is_where_time_went(p))
                leave_unfolded(p);
        else
                name_fold_looks(query_names(p->q), p->looks.items, p->looks.n, &p->folded);
        p->asker = p->folded.n ? p->folded.items[0].frame_idx : 0;
        p->owner = is_where_time_went(p) ? p->asker : find_owner(p);
        for (size_t i = 0; i < p->all.n && p->is_full; i++)
                vec_push(&p->shown, p->all.items[i]);
        for (size_t i = 0; i < p->folded.n && !p->is_full; i++)
                vec_push(&p->shown,
                         (struct call_path_frame){p->all.items[p->folded.items[i].frame_idx].number,
                                                  p->folded.items[i].is_task});
}

const char *query_component(struct query *q, uint32_t stack) {
        const char *text = "";
        struct call_paths p;

        call_paths_init(&p, q, CALL_PATH_BY_COMPONENT, false);
        call_paths_load(&p, stack);
        if (p.owner != UINT32_MAX) {
                struct query_frame f = call_paths_frame(q, p.all.items[p.owner].number);

                text = component_of(&p, &f).name;
        }
        call_paths_done(&p);
        return text;
}
