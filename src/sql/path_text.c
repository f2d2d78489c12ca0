/* SPDX-License-Identifier: MIT */
#include "sql/path_text.h"

#include <stdlib.h>

#include "base/arena.h"
#include "base/map.h"
#include "show/frame.h"

enum {
        PATH_MAX_BYTES = 64 << 10, /* of a text: recursion may go deep */
        PATH_MAX_KEPT_BYTES = 32 << 20,
};

/* Which frame of a path asked is dear to find out, and one number. */
struct path_texts {
        uint32_t *asker_of; /* stack → number of its frame + 1; 0: not asked yet */
        struct frame_stack frames;
        struct str text;
        /* joins ask for the same ones again and again */
        struct arena *kept;
        struct map paths, names;           /* stack → text */
        struct map time_paths, time_names; /* the same of samples of time */
};

static struct path_texts *texts_of(struct sql_space *s) {
        if (s->paths)
                return s->paths;
        s->paths = calloc(1, sizeof(*s->paths));
        if (!s->paths)
                abort();
        s->paths->kept = arena_new();
        s->paths->asker_of = calloc(s->view->n_stacks + 1, sizeof(uint32_t));
        if (!s->paths->asker_of)
                abort();
        return s->paths;
}

void path_texts_done(struct sql_space *s) {
        if (!s->paths)
                return;
        free(s->paths->asker_of);
        frame_stack_done(&s->paths->frames);
        str_done(&s->paths->text);
        arena_free(s->paths->kept);
        map_done(&s->paths->paths);
        map_done(&s->paths->names);
        map_done(&s->paths->time_paths);
        map_done(&s->paths->time_names);
        free(s->paths);
        s->paths = NULL;
}

struct wanted {
        uint32_t left;
        struct query_frame frame;
};

static bool take_wanted(void *ctx, const struct query_frame *f) {
        struct wanted *w = ctx;

        if (w->left-- > 0)
                return true;
        w->frame = *f;
        if (f->guess)
                w->frame.function = "";
        return false;
}

struct query_frame path_asker(struct sql_space *s, uint32_t stack) {
        struct path_texts *p = texts_of(s);
        struct wanted w = {.frame = {.function = "", .file = "", .module = ""}};

        if (stack == 0 || stack >= s->view->n_stacks)
                return w.frame;
        if (!p->asker_of[stack]) {
                size_t asker = query_requester(s->trace.q, stack);

                p->asker_of[stack] = asker == SIZE_MAX ? UINT32_MAX : (uint32_t)asker + 1;
        }
        if (p->asker_of[stack] != UINT32_MAX) {
                w.left = p->asker_of[stack] - 1;
                query_each_frame(s->trace.q, stack, take_wanted, &w);
        }
        return w.frame;
}

static void add_path(struct sql_space *s, uint32_t stack, const char *separator, bool is_of_time,
                     struct str *to) {
        struct frame_names names = {s->trace.q, s->trace.names, false, is_of_time};
        struct frame_stack *x = &texts_of(s)->frames;
        size_t begin = to->n;

        frame_stack_fill(x, &names, stack, false);
        for (size_t i = 0; i < x->shown.n; i++) {
                if (i)
                        str_add(to, separator);
                if (to->n - begin > PATH_MAX_BYTES) {
                        str_add(to, "…");
                        break;
                }
                frame_add_function(to, &names, &x->frames.items[x->shown.items[i].frame_idx],
                                   x->shown.items[i].is_task, false, true);
        }
        if (x->shown.n == 0)
                str_add(to, "(no stack)");
}

void path_add(struct sql_space *s, uint32_t stack, const char *separator, struct str *to) {
        add_path(s, stack, separator, false, to);
}

/* The text that was made, kept while there is room. */
static const char *keep(struct path_texts *p, struct map *texts, uint32_t stack) {
        const char *text = str_text(&p->text);

        if (arena_size_bytes(p->kept) < PATH_MAX_KEPT_BYTES) {
                text = arena_strndup(p->kept, text, p->text.n);
                *map_put(texts, stack, 0, NULL) = (uintptr_t)text;
        }
        return text;
}

static const char *path_of(struct sql_space *s, uint32_t stack, bool is_of_time) {
        struct path_texts *p = texts_of(s);
        struct map *texts = is_of_time ? &p->time_paths : &p->paths;
        uint64_t kept;

        if (map_get(texts, stack, &kept))
                return (const char *)(uintptr_t)kept;
        str_clear(&p->text);
        add_path(s, stack, " < ", is_of_time, &p->text);
        return keep(p, texts, stack);
}

const char *path_text(struct sql_space *s, uint32_t stack) {
        return path_of(s, stack, false);
}

const char *path_whole(struct sql_space *s, uint32_t stack) {
        return path_of(s, stack, true);
}

static const char *name_of(struct sql_space *s, uint32_t stack, bool is_of_time) {
        struct frame_names names = {s->trace.q, s->trace.names, false, is_of_time};
        struct path_texts *p = texts_of(s);
        struct map *texts = is_of_time ? &p->time_names : &p->names;
        const struct frame_stack *x = &p->frames;
        uint64_t kept;

        if (map_get(texts, stack, &kept))
                return (const char *)(uintptr_t)kept;
        str_clear(&p->text);
        frame_stack_fill(&p->frames, &names, stack, false);
        if (x->shown.n)
                frame_add_function(&p->text, &names, &x->frames.items[x->shown.items[0].frame_idx],
                                   x->shown.items[0].is_task, false, true);
        else
                str_add(&p->text, "(no stack)");
        return keep(p, texts, stack);
}

const char *path_name(struct sql_space *s, uint32_t stack) {
        return name_of(s, stack, false);
}

const char *path_innermost(struct sql_space *s, uint32_t stack) {
        return name_of(s, stack, true);
}
