/* SPDX-License-Identifier: MIT */
#include "finding/time_hot.h"

#include <stdlib.h>

#include "base/map.h"
#include "base/vec.h"

uint64_t time_text_key(uint64_t h, const char *text) {
        for (; *text; text++)
                h = (h ^ (unsigned char)*text) * 0x100000001b3ull;
        return map_hash(h);
}

uint64_t time_frame_key(const struct query_frame *f) {
        uint64_t h = time_text_key(0xcbf29ce484222325ull, f->module);

        return f->function[0] && !f->guess ? time_text_key(h, f->function)
                                           : map_hash(h ^ f->offset);
}

/* Code without a name that was made while the program ran. */
static bool is_made(const struct query_frame *f) {
        return !f->module[0] && (!f->function[0] || f->guess) && f->offset;
}

/* All of that is one: each of its places alone is next to nothing, and together they may be most. */
static uint64_t key_of(const struct query_frame *f) {
        static const struct query_frame made = {.function = "", .file = "", .module = ""};

        return time_frame_key(is_made(f) ? &made : f);
}

static enum name_kind kind_of(struct names *names, const struct query_frame *f) {
        struct name_frame n = {f->function, f->file,    f->module, f->offset,
                               f->line,     f->inlined, f->guess};

        return name_frame_kind(names, &n);
}

/* A library's that only passes on: "core::num::wrapping_add", "std::vector::operator[]". */
static bool passes_on(struct names *names, const struct query_frame *f) {
        enum name_kind kind = kind_of(names, f);

        return kind == NAME_ALLOCATOR || kind == NAME_MACHINERY;
}

static const struct query_frame blank = {.function = "", .file = "", .module = ""};

/* ---- whose time it is ------------------------------------------------------------------------ */

struct worker_search {
        struct names *names;
        bool is_found;
        struct query_frame first; /* the innermost frame */
        struct query_frame worker;
        bool is_first; /* of the frames to come the next */
};

/* The innermost that is not inlined from a library, or what such are inlined into. */
static bool seek_worker(void *ctx, const struct query_frame *f) {
        struct worker_search *s = ctx;

        if (s->is_first)
                s->first = *f;
        s->is_first = false;
        if (f->inlined && passes_on(s->names, f))
                return true;
        s->worker = *f;
        s->is_found = true;
        return false;
}

/* False: nobody's, the kernel's or silt's. */
static bool find_worker(const struct query *q, struct names *names, uint32_t stack,
                        struct worker_search *ret) {
        *ret = (struct worker_search){.names = names, .is_first = true};
        if (!stack)
                return false;
        query_each_frame(q, stack, seek_worker, ret);
        if (!ret->is_found && !ret->is_first) { /* inlined into nothing that is known */
                ret->worker = ret->first;
                ret->is_found = true;
        }
        return ret->is_found && !time_is_kernel(&ret->first) && !time_is_runtime(&ret->first);
}

/* By function: time, and where. */
struct sums {
        VEC(struct time_cause) rows;
        struct map by_key;
};

static struct time_cause *sums_add(struct sums *s, const struct query_frame *f,
                                   const struct query_site *site) {
        bool added;
        uint64_t *at = map_put(&s->by_key, key_of(f), s->rows.n, &added);
        struct time_cause *c;

        if (added)
                vec_push(&s->rows, (struct time_cause){.frame = *f, .through = ""});
        c = &s->rows.items[*at];
        c->ns += site->f.alloc_bytes;
        c->n_samples += site->f.n_allocs;
        if (site->f.alloc_bytes > c->stack_ns) {
                c->stack_ns = site->f.alloc_bytes;
                c->stack = site->stack;
        }
        return c;
}

static const struct time_cause *sums_most(const struct sums *s) {
        const struct time_cause *most = NULL;

        for (size_t i = 0; i < s->rows.n; i++)
                if (!most || s->rows.items[i].ns > most->ns)
                        most = &s->rows.items[i];
        return most;
}

static void sums_done(struct sums *s) {
        vec_free(&s->rows);
        map_done(&s->by_key);
}

/* ---- who called it --------------------------------------------------------------------------- */

struct caller_search {
        struct names *names;
        uint64_t key;
        bool is_inside; /* the frames up to now are of the function, */
        bool is_beyond; /* and of libraries that called it */
        bool is_done;
        struct query_frame caller;
};

/* Recursion is one function. */
static bool seek_caller(void *ctx, const struct query_frame *f) {
        struct caller_search *s = ctx;

        if (key_of(f) == s->key) {
                s->is_inside = true;
                s->is_beyond = false;
                return true;
        }
        if (!s->is_inside)
                return f->inlined && passes_on(s->names, f);
        if (passes_on(s->names, f)) {
                s->is_beyond = true;
                return true;
        }
        s->caller = *f;
        s->is_done = !s->is_beyond || kind_of(s->names, f) != NAME_START;
        return false;
}

static void find_caller(struct query *q, struct names *names, const struct query_answer *a,
                        struct time_hot *hot) {
        struct sums callers = {0};
        const struct time_cause *most;

        for (size_t i = 0; i < a->n_sites; i++) {
                struct caller_search s = {.names = names, .key = key_of(&hot->frame)};

                if (!a->sites[i].stack || !a->sites[i].f.alloc_bytes)
                        continue;
                query_each_frame(q, a->sites[i].stack, seek_caller, &s);
                if (s.is_done)
                        sums_add(&callers, &s.caller, &a->sites[i]);
        }
        most = sums_most(&callers);
        hot->caller = most ? most->frame : blank;
        hot->caller_ns = most ? most->ns : 0;
        sums_done(&callers);
}

/* ---- what it is inlined into ----------------------------------------------------------------- */

struct host_search {
        uint64_t key;
        bool is_inside;
        struct query_frame host;
};

static bool seek_host(void *ctx, const struct query_frame *f) {
        struct host_search *s = ctx;

        s->is_inside |= key_of(f) == s->key;
        if (!s->is_inside || f->inlined)
                return true;
        if (key_of(f) != s->key)
                s->host = *f;
        return false;
}

static void find_host(struct query *q, struct time_hot *hot) {
        struct host_search s = {.key = key_of(&hot->frame), .host = blank};

        if (hot->frame.inlined)
                query_each_frame(q, hot->stack, seek_host, &s);
        hot->host = s.host;
}

/* ---- what is inlined into it ----------------------------------------------------------------- */

static void find_inner(struct query *q, struct names *names, const struct query_answer *a,
                       struct time_hot *hot) {
        struct sums inner = {0};
        uint64_t key = key_of(&hot->frame);
        const struct time_cause *most;

        for (size_t i = 0; i < a->n_sites; i++) {
                struct worker_search s;

                if (!find_worker(q, names, a->sites[i].stack, &s) || key_of(&s.worker) != key ||
                    key_of(&s.first) == key)
                        continue;
                hot->inlined_ns += a->sites[i].f.alloc_bytes;
                sums_add(&inner, &s.first, &a->sites[i]);
        }
        most = sums_most(&inner);
        hot->inner = most ? most->frame : blank;
        hot->inner_ns = most ? most->ns : 0;
        sums_done(&inner);
}

/* What the table of functions says of it. */
static void take_row(struct query *q, struct time_parts *p) {
        const struct query_group_options by = {.by = QUERY_BY_FUNCTION, .metric = QUERY_CPU};
        struct query_groups *g = query_group_answer(q, p->answer, &by);

        p->hot.total_ns = p->hot.self_ns;
        for (size_t i = 0; i < g->n; i++)
                if (key_of(&g->rows[i].frame) == key_of(&p->hot.frame)) {
                        p->hot.is_task = g->rows[i].is_task;
                        p->hot.total_ns = MAX(p->hot.self_ns, g->rows[i].total.alloc_bytes);
                        break;
                }
        query_groups_free(g);
}

void time_hot_find(struct query *q, struct names *names, struct time_parts *p) {
        struct sums workers = {0};
        const struct time_cause *most;

        for (size_t i = 0; i < p->answer->n_sites; i++) {
                struct worker_search s;

                if (p->answer->sites[i].f.alloc_bytes &&
                    find_worker(q, names, p->answer->sites[i].stack, &s))
                        sums_add(&workers, &s.worker, &p->answer->sites[i]);
        }
        most = sums_most(&workers);
        p->has_hot = most;
        if (most) {
                p->hot = (struct time_hot){.frame = most->frame,
                                           .self_ns = most->ns,
                                           .n_samples = most->n_samples,
                                           .inner = blank,
                                           .stack = most->stack};
                take_row(q, p);
                p->hot.is_made = is_made(&p->hot.frame);
                find_caller(q, names, p->answer, &p->hot);
                find_host(q, &p->hot);
                find_inner(q, names, p->answer, &p->hot);
        }
        sums_done(&workers);
}
