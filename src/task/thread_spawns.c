/* SPDX-License-Identifier: MIT */
#include "task/thread_spawns.h"

#include <stdlib.h>
#include <string.h>

#include "base/vec.h"
#include "query/event_rows.h"
#include "query/spent_time.h"
#include "trace/reader.h"

enum { ROWS = 4096 };

#define MAX_EVENTS 50000000
/* Between the request and the first that is known of the thread. */
#define MAX_WAIT_NS 1000000000

struct birth {
        uint64_t start_ns;
        uint32_t thread, tid;
};

struct request_made {
        uint64_t time_ns;
        uint32_t stack, thread;
};

struct matching {
        struct query *q;
        const struct trace_view *v;
        uint32_t process;
        bool *is_through; /* of each stack: it leads through pthread_create */
        VEC(struct birth) births;
        VEC(struct request_made) requests;
};

static int by_start(const void *a, const void *b) {
        const struct birth *x = a, *y = b;

        if (x->start_ns != y->start_ns)
                return x->start_ns < y->start_ns ? -1 : 1;
        return x->thread < y->thread ? -1 : x->thread > y->thread;
}

/* In this order they were made. */
static int by_tid(const void *a, const void *b) {
        const struct birth *x = a, *y = b;

        return x->tid < y->tid ? -1 : x->tid > y->tid;
}

static bool is_create(const char *function) {
        function += strspn(function, "_");
        return strncmp(function, "pthread_create", 14) == 0 &&
               (!function[14] || function[14] == '@' || function[14] == '_');
}

/* Parents have smaller numbers. False: there is none. */
static bool find_stacks(struct matching *m) {
        bool *is_place = calloc(m->v->n_locations + 1, sizeof(*is_place)), any = false;

        m->is_through = calloc(m->v->n_stacks + 1, sizeof(*m->is_through));
        if (!is_place || !m->is_through)
                abort();
        for (size_t i = 0; i < m->v->n_symbols; i++)
                if (m->v->symbols[i].location < m->v->n_locations &&
                    is_create(m->v->symbols[i].function))
                        is_place[m->v->symbols[i].location] = true;
        for (size_t i = 1; i < m->v->n_stacks; i++) {
                const struct trace_stack *s = &m->v->stacks[i];

                m->is_through[i] = (s->location < m->v->n_locations && is_place[s->location]) ||
                                   (s->parent < i && m->is_through[s->parent]);
                any |= m->is_through[i];
        }
        free(is_place);
        return any;
}

/* Whether all its threads are in the trace: else a request may be of one that is not. */
static bool has_all(const struct matching *m) {
        const struct trace_process_info *p = &m->v->processes[m->process];

        if (m->v->meta.flags & (TRACE_IS_SAMPLED | TRACE_IS_TOTALS) || m->v->n_events > MAX_EVENTS)
                return false;
        if (p->has_end && p->end.n_threads)
                return p->end.n_threads <= m->births.n + 1 &&
                       (query_has_ticks(m->q) || !m->v->n_priors);
        return query_has_ticks(m->q);
}

static void list_births(struct matching *m) {
        uint32_t pid = m->v->processes[m->process].start.pid;

        for (uint32_t i = 0; i < m->v->n_threads; i++) {
                const struct trace_thread *t = &m->v->threads[i].start;

                if (t->process == m->process && t->tid != pid)
                        vec_push(&m->births, (struct birth){t->start_ns, i, t->tid});
        }
        if (m->births.n)
                qsort(m->births.items, m->births.n, sizeof(m->births.items[0]), by_start);
}

static void read_requests(struct matching *m) {
        struct query_event_ask ask = {.process = m->process};
        struct trace_event *rows = calloc(ROWS, sizeof(*rows));
        struct query_event_rows *x;
        struct err unsaid = {0};
        int n;

        if (!rows)
                abort();
        for (unsigned i = 0; i < QUERY_N_EVENT_KEYS; i++)
                ask.ranges[i].high = UINT64_MAX;
        ask.ranges[QUERY_EVENT_TIME].high = m->births.items[m->births.n - 1].start_ns;
        query_event_rows_open(m->q, &ask, &x);
        while ((n = query_event_rows_fill(x, rows, ROWS, &unsaid)) > 0)
                for (int i = 0; i < n; i++)
                        if (rows[i].op == TRACE_ALLOC && rows[i].stack < m->v->n_stacks &&
                            m->is_through[rows[i].stack])
                                vec_push(&m->requests,
                                         (struct request_made){rows[i].time_ns, rows[i].stack,
                                                               rows[i].thread});
        query_event_rows_free(x);
        free(rows);
}

/* One thread made all others, with a request each: then one belongs to the other in their order. False: it is not so, or numbers began again. */
static bool match_in_order(const struct matching *m, uint32_t *ret) {
        bool is_so = m->requests.n == m->births.n;

        qsort(m->births.items, m->births.n, sizeof(m->births.items[0]), by_tid);
        for (size_t i = 0; is_so && i < m->requests.n; i++)
                is_so = m->requests.items[i].thread == m->requests.items[0].thread &&
                        m->requests.items[i].time_ns <= m->births.items[i].start_ns;
        for (size_t i = 0; is_so && i < m->requests.n; i++)
                ret[m->births.items[i].thread] = m->requests.items[i].stack;
        if (!is_so)
                qsort(m->births.items, m->births.n, sizeof(m->births.items[0]), by_start);
        return is_so;
}

/* Requests that wait for their threads are at [first, next). Of several kinds nobody knows which one it is. */
static void match(const struct matching *m, uint32_t *ret) {
        size_t first = 0, next = 0;
        bool is_mixed = false;

        for (size_t i = 0; i < m->births.n; i++) {
                uint64_t start_ns = m->births.items[i].start_ns;

                while (next < m->requests.n && m->requests.items[next].time_ns <= start_ns)
                        next++;
                while (first < next && start_ns - m->requests.items[first].time_ns > MAX_WAIT_NS)
                        first++;
                if (first == next) {
                        is_mixed = false;
                        continue; /* a stack that was kept */
                }
                for (size_t k = first + 1; k < next; k++)
                        is_mixed |= m->requests.items[k].stack != m->requests.items[first].stack;
                if (!is_mixed)
                        ret[m->births.items[i].thread] = m->requests.items[first].stack;
                first++;
        }
}

uint32_t *thread_spawns_find(struct query *q, uint32_t process) {
        struct matching m = {.q = q, .v = query_view(q), .process = process};
        uint32_t *ret = calloc(m.v->n_threads + 1, sizeof(*ret));

        if (!ret)
                abort();
        list_births(&m);
        if (m.births.n && has_all(&m) && find_stacks(&m)) {
                read_requests(&m);
                if (!match_in_order(&m, ret))
                        match(&m, ret);
        }
        vec_free(&m.births);
        vec_free(&m.requests);
        free(m.is_through);
        return ret;
}
