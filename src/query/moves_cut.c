/* SPDX-License-Identifier: MIT */
/* The rules of docs/trace-format.md, "Moves", for a part of a slice. Two things lie before the slice: what each thread
 * allocated last (looked for slice by slice backwards, then followed forwards), and which thread allocated a
 * block from an earlier slice (its number says in which). Only releases at sites whose rows have something to
 * count can need either. */
#include <stdlib.h>

#include "query/moves_by_path.h"
#include "query/query_internal.h"
#include "trace/format.h"

/* An old block whose thread decides. */
struct old_block {
        uint64_t seq;
        uint32_t thread;
        bool is_known;
};

struct latest {
        uint64_t size_bytes, seq;
        uint32_t stack;
        bool is_known, is_wanted;
};

struct cut {
        struct query *q;
        size_t slice_idx;
        const struct trace_slice_info *info;
        uint64_t from_ns, to_ns;
        moves_site_vec *sites;
        struct latest *latest;     /* by thread */
        VEC(uint32_t) threads;     /* that allocated the blocks of this slice */
        VEC(struct old_block) old; /* sorted by seq */
        size_t n_wanted;           /* threads whose latest allocation is looked for */
        uint64_t n_events;         /* that may still be read */
        bool is_exact;
};

static struct moves_site *site_at(const struct cut *c, uint32_t process, uint32_t stack) {
        size_t low = 0, high = c->sites->n;

        while (low < high) {
                size_t mid = low + (high - low) / 2;
                struct moves_site *s = &c->sites->items[mid];

                if (s->row.process == process && s->row.stack == stack)
                        return s;
                if (s->row.process < process || (s->row.process == process && s->row.stack < stack))
                        low = mid + 1;
                else
                        high = mid;
        }
        return NULL;
}

static bool allocates(const struct trace_event *e) {
        return e->op == TRACE_ALLOC || e->op == TRACE_REALLOC;
}

static bool releases(const struct trace_event *e) {
        return e->op == TRACE_FREE || e->op == TRACE_REALLOC;
}

static uint64_t released_seq(const struct trace_event *e) {
        return e->op == TRACE_FREE ? e->seq : e->old_seq;
}

/* Of a process of the trace. */
static bool is_someones(const struct cut *c, const struct trace_event *e) {
        return query_event_process(c->q, e) < c->q->view->n_processes;
}

static bool in_window(const struct cut *c, const struct trace_event *e) {
        return e->time_ns >= c->from_ns && e->time_ns < c->to_ns;
}

/* Blocks of an ancestor have lower numbers than any of the process's own. */
static bool is_own(struct cut *c, uint32_t process, uint64_t seq) {
        const struct inherited_frees *h = &c->q->inherit;

        if (!h->is_loaded || seq >= h->first_seq[process])
                return true;
        if (seq >= h->unsure_seq[process])
                c->is_exact = false;
        return false;
}

/* False when they are missing, or would be too many. */
static bool read_earlier(struct cut *c, size_t slice_idx, const struct trace_event **ret,
                         size_t *ret_n) {
        uint64_t n = trace_slice(c->q->reader, slice_idx)->n_events;

        if (n > c->n_events || !query_go_on(c->q, 0, c->q->view->n_slices))
                return false;
        c->n_events -= n;
        return query_read_events(c->q, slice_idx, ret, ret_n);
}

/* ---- what has to be looked for --------------------------------------------------------------- */

static void want(struct cut *c, const struct trace_event *e) {
        bool is_free = e->op == TRACE_FREE;
        const struct moves_site *s =
                site_at(c, query_event_process(c->q, e), is_free ? e->stack : e->old_stack);
        struct latest *l = &c->latest[e->thread];

        if (!s)
                return;
        if (is_free && s->row.n_grown + s->row.n_shrunk && !l->is_known && !l->is_wanted) {
                l->is_wanted = true;
                c->n_wanted++;
        }
        if (s->row.n_foreign_frees && released_seq(e) < c->info->first_seq && in_window(c, e))
                vec_push(&c->old, (struct old_block){.seq = released_seq(e)});
}

static int old_compare(const void *a, const void *b) {
        const struct old_block *x = a, *y = b;

        return x->seq < y->seq ? -1 : x->seq > y->seq;
}

static void want_all(struct cut *c, const struct trace_event *events, size_t n) {
        for (size_t i = 0; i < n; i++) {
                const struct trace_event *e = &events[i];

                if (allocates(e))
                        vec_push(&c->threads, e->thread);
                if (!is_someones(c, e))
                        continue;
                if (releases(e) && e->time_ns < c->to_ns)
                        want(c, e);
                if (allocates(e))
                        c->latest[e->thread].is_known = true;
        }
        if (c->old.n)
                qsort(c->old.items, c->old.n, sizeof(c->old.items[0]), old_compare);
}

/* ---- looking for it -------------------------------------------------------------------------- */

/* Back to the slice from which on the latest allocation of every thread that matters is known. */
static size_t look_back(struct cut *c) {
        size_t i = c->slice_idx;

        while (c->n_wanted > 0 && i > 0) {
                const struct trace_event *events;
                size_t n;

                if (!read_earlier(c, i - 1, &events, &n)) {
                        c->is_exact = false;
                        break;
                }
                i--;
                for (size_t k = 0; k < n; k++)
                        if (allocates(&events[k]) && is_someones(c, &events[k]) &&
                            c->latest[events[k].thread].is_wanted) {
                                c->latest[events[k].thread].is_wanted = false;
                                c->n_wanted--;
                        }
        }
        return i;
}

static size_t slice_of_seq(const struct query *q, uint64_t seq) {
        size_t low = 0, high = q->view->n_slices;

        while (low < high) { /* the last that begins with it or before */
                size_t mid = low + (high - low) / 2;

                if (trace_slice(q->reader, mid)->first_seq <= seq)
                        low = mid + 1;
                else
                        high = mid;
        }
        return low ? low - 1 : 0;
}

/* The wanted blocks that the slice of the one before `end` allocated; returns where they begin. */
static size_t find_threads_in(struct cut *c, size_t end) {
        size_t slice_idx = slice_of_seq(c->q, c->old.items[end - 1].seq), begin = end;
        uint64_t first_seq = trace_slice(c->q->reader, slice_idx)->first_seq;
        const struct trace_event *events;
        size_t n;

        while (begin > 0 && c->old.items[begin - 1].seq >= first_seq)
                begin--;
        if (!read_earlier(c, slice_idx, &events, &n)) {
                c->is_exact = false;
                return MIN(begin, end - 1);
        }
        for (size_t i = 0, k = begin; i < n && k < end; i++) {
                if (!allocates(&events[i]))
                        continue;
                for (; k < end && c->old.items[k].seq <= events[i].seq; k++) {
                        c->old.items[k].is_known = c->old.items[k].seq == events[i].seq;
                        c->old.items[k].thread = events[i].thread;
                }
        }
        return MIN(begin, end - 1);
}

/* Newest first: those are the most. */
static void find_threads(struct cut *c) {
        for (size_t end = c->old.n; end > 0;)
                end = find_threads_in(c, end);
}

/* The thread that allocated a block; TRACE_NO_THREAD: could not be found. */
static uint32_t thread_of(const struct cut *c, uint64_t seq) {
        struct old_block key = {.seq = seq}, *found;

        if (seq >= c->info->first_seq)
                return seq - c->info->first_seq < c->threads.n
                               ? c->threads.items[seq - c->info->first_seq]
                               : TRACE_NO_THREAD;
        found = c->old.n ? bsearch(&key, c->old.items, c->old.n, sizeof(key), old_compare) : NULL;
        return found && found->is_known ? found->thread : TRACE_NO_THREAD;
}

/* ---- the rules ------------------------------------------------------------------------------- */

static void count_foreign(struct cut *c, const struct trace_event *e, struct moves_site *s) {
        uint32_t thread;

        if (!s->row.n_foreign_frees)
                return;
        thread = thread_of(c, released_seq(e));
        if (thread == TRACE_NO_THREAD) {
                c->is_exact = false;
                return;
        }
        if (thread >= c->q->view->n_threads ||
            c->q->view->threads[thread].start.process != s->row.process ||
            thread % TRACE_MOVE_THREADS == e->thread % TRACE_MOVE_THREADS)
                return;
        s->counted.n_foreign_frees++;
        s->counted.foreign_bytes += e->op == TRACE_FREE ? e->size_bytes : e->old_size_bytes;
}

static void count_grown(struct moves_site *s, uint64_t old_size_bytes, uint64_t size_bytes) {
        if (!s)
                return;
        s->counted.n_shrunk += size_bytes < old_size_bytes;
        if (size_bytes < old_size_bytes)
                return;
        s->counted.n_grown++;
        s->counted.copied_bytes += old_size_bytes;
        s->counted.grown_bytes += size_bytes;
}

/* is_counted: it lies in the window; else it only leads there. */
static void follow_event(struct cut *c, const struct trace_event *e, bool is_counted) {
        uint32_t process = query_event_process(c->q, e);
        struct latest *l = &c->latest[e->thread];

        if (is_counted && releases(e)) {
                struct moves_site *s =
                        site_at(c, process, e->op == TRACE_FREE ? e->stack : e->old_stack);

                if (s)
                        count_foreign(c, e, s);
        }
        if (e->op == TRACE_ALLOC)
                *l = (struct latest){e->size_bytes, e->seq, e->stack, true, false};
        if (e->op == TRACE_REALLOC) {
                l->is_known = false;
                if (is_counted && e->size_bytes > e->old_size_bytes)
                        count_grown(site_at(c, process, e->stack), e->old_size_bytes,
                                    e->size_bytes);
        }
        if (e->op == TRACE_FREE && l->is_known && l->stack == e->stack &&
            l->size_bytes != e->size_bytes && is_own(c, process, e->seq)) {
                l->is_known = false;
                if (is_counted)
                        count_grown(site_at(c, process, e->stack), e->size_bytes, l->size_bytes);
        }
        if (e->op == TRACE_FREE && l->seq == e->seq)
                l->is_known = false;
}

static void follow(struct cut *c, size_t first) {
        for (size_t i = 0; i < c->q->view->n_threads; i++)
                c->latest[i].is_known = false;
        for (size_t s = first; s <= c->slice_idx; s++) {
                const struct trace_event *events;
                size_t n;

                if (!query_go_on(c->q, s, c->slice_idx + 1))
                        return;
                if (!query_read_events(c->q, s, &events, &n))
                        continue;
                for (size_t i = 0; i < n && events[i].time_ns < c->to_ns; i++)
                        if (is_someones(c, &events[i]))
                                follow_event(c, &events[i],
                                             s == c->slice_idx && in_window(c, &events[i]));
        }
}

bool moves_count_cut(struct query *q, size_t slice_idx, const struct query_scope *window,
                     uint64_t max_events, moves_site_vec *sites) {
        struct cut c = {.q = q,
                        .slice_idx = slice_idx,
                        .info = trace_slice(q->reader, slice_idx),
                        .from_ns = window->from_ns,
                        .to_ns = window->to_ns,
                        .sites = sites,
                        .latest = calloc(q->view->n_threads + 1, sizeof(struct latest)),
                        .n_events = max_events,
                        .is_exact = true};
        const struct trace_event *events;
        size_t n;

        if (!c.latest)
                abort();
        if (q->view->n_processes > 1)
                inherited_load(q);
        if (query_read_events(q, slice_idx, &events, &n)) {
                want_all(&c, events, n);
                find_threads(&c);
                follow(&c, look_back(&c));
        } else {
                c.is_exact = false;
        }
        free(c.latest);
        vec_free(&c.threads);
        vec_free(&c.old);
        return c.is_exact;
}
