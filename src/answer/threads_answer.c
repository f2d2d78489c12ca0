/* SPDX-License-Identifier: MIT */
/* Threads and processes with their figures: silt.threads/1. */
#include <stdlib.h>

#include "answer/answers.h"
#include "query/thread_time.h"
#include "query/trace_origin.h"
#include "show/show_json.h"

struct crowd {
        struct query_answer *answer;
        struct query_thread *threads;
        size_t n_threads;
        bool has_figures;
        struct query_thread_time *times; /* by the view's threads; NULL: nobody looked */
        bool knows_waits;
        struct query_mapping *mappings;
        size_t n_mappings;
        struct query_mapped mapped;
};

static int ask(struct crowd *c, struct question *k, struct err *reterr) {
        uint64_t max_events = k->asked->request.full ? UINT64_MAX : ANSWER_MAX_EVENTS;
        struct query_scope scope = k->resolved.scope;
        struct query_thread_time in_all = {0};
        int r;

        scope.of_time = QUERY_NO_TIME; /* which is told in any case */
        r = query_ask(k->q, &scope, &c->answer, reterr);
        if (r >= 0)
                r = query_threads(k->q, &c->answer->scope, max_events, &c->threads, &c->n_threads,
                                  &c->has_figures, reterr);
        if (r >= 0)
                r = query_thread_times(k->q, &c->answer->scope, &c->times, reterr);
        if (r >= 0 && origin_is_import(&k->v->meta))
                r = query_time_in_all(k->q, &in_all, reterr);
        if (r >= 0)
                c->knows_waits = query_knows_waits(k->q, &in_all);
        if (r >= 0)
                r = query_mappings(k->q, &c->answer->scope, &c->mappings, &c->n_mappings,
                                   &c->mapped, reterr);
        return r;
}

/* Those that ran most first, where somebody looked. */
static int compare_threads(const void *a, const void *b, void *ctx) {
        const struct query_thread_time *times = ((struct crowd *)ctx)->times;
        const struct query_thread *x = a, *y = b;

        if (times && times[x->thread].cpu_ns != times[y->thread].cpu_ns)
                return times[x->thread].cpu_ns > times[y->thread].cpu_ns ? -1 : 1;
        if (x->n_allocs != y->n_allocs)
                return x->n_allocs > y->n_allocs ? -1 : 1;
        return x->thread < y->thread ? -1 : x->thread > y->thread;
}

static void put_process_word(struct json *j, const char *key, const struct question *k,
                             uint32_t process) {
        struct str word = {0};

        if (process < k->v->n_processes)
                query_add_process_word(k->q, process, &word);
        json_put_string(j, key, str_text(&word));
        str_done(&word);
}

static uint64_t process_end_ns(const struct question *k, uint32_t process) {
        const struct trace_process_info *p =
                process < k->v->n_processes ? &k->v->processes[process] : NULL;

        return p && p->has_end ? MIN(p->end.end_ns, k->v->end_ns) : k->v->end_ns;
}

static void put_time(struct json *j, const struct crowd *c, const struct query_thread_time *t) {
        if (!t)
                return;
        /* to the nanosecond: they add up to what other answers have */
        json_put_double(j, "cpu_s", answer_seconds(t->cpu_ns), 9);
        if (!c->knows_waits)
                return;
        json_put_double(j, "blocked_s", answer_seconds(t->blocked_ns), 9);
        json_put_double(j, "ready_s", answer_seconds(t->ready_ns), 9);
}

static void put_thread(struct json *j, const struct question *k, const struct crowd *c,
                       const struct query_thread *t) {
        const struct trace_thread_info *info = &k->v->threads[t->thread];

        json_object(j);
        json_put_uint(j, "tid", info->start.tid);
        json_put_string(j, "name", info->name);
        put_process_word(j, "process", k, info->start.process);
        answer_put_seconds(j, "begin_s", info->start.start_ns);
        answer_put_seconds(j, "end_s", process_end_ns(k, info->start.process));
        if (c->has_figures) {
                json_put_uint(j, "allocations", t->n_allocs);
                json_put_uint(j, "bytes_allocated", t->alloc_bytes);
                json_put_uint(j, "frees", t->n_frees);
                json_put_uint(j, "temporary_allocations", t->n_temporary);
                json_put_uint(j, "freed_for_others", t->n_foreign_frees);
        }
        put_time(j, c, c->times ? &c->times[t->thread] : NULL);
        json_end(j);
}

static bool is_shared_out(const struct query_answer *a) {
        return a->scope.process == QUERY_ALL && a->n_processes > 1 &&
               !query_filter_is_empty(a->scope.filter);
}

/* What the figures are not, in words; null: they are what they seem. */
static void put_note(struct json *j, const struct question *k, const struct crowd *c) {
        json_key(j, "note");
        if (is_shared_out(c->answer))
                json_string(
                        j,
                        "A filter leaves each process its part of the peak of all together, which is not a peak of its own: choose one process to see its totals.");
        else if (query_sample_bytes(k->q) && c->has_figures)
                json_string(
                        j,
                        "Figures of threads are estimates from samples; allocations and frees of processes are exact if nothing is filtered and the window is the whole recording.");
        else
                json_null(j);
}

/* Of all its threads. */
static struct query_thread_time time_of_process(const struct question *k, const struct crowd *c,
                                                uint32_t process) {
        struct query_thread_time sum = {0};

        for (uint32_t i = 0; i < k->v->n_threads; i++)
                if (k->v->threads[i].start.process == process) {
                        sum.cpu_ns += c->times[i].cpu_ns;
                        sum.blocked_ns += c->times[i].blocked_ns;
                        sum.ready_ns += c->times[i].ready_ns;
                }
        return sum;
}

static void put_processes(struct json *j, const struct question *k, const struct crowd *c) {
        const struct query_answer *a = c->answer;

        json_key(j, "processes");
        json_array(j);
        for (uint32_t i = 0; i < a->n_processes && i < ANSWER_MAX_PROCESSES; i++) {
                const struct trace_process_info *p = &k->v->processes[i];

                json_object(j);
                put_process_word(j, "word", k, i);
                json_put_string(j, "name", query_process_name(k->q, i));
                show_put_pid(j, k->v, i);
                json_put_uint(j, "parent",
                              p->start.parent < k->v->n_processes
                                      ? k->v->processes[p->start.parent].start.pid
                                      : 0);
                answer_put_seconds(j, "begin_s", p->start.start_ns);
                answer_put_seconds(j, "end_s", process_end_ns(k, i));
                json_put_string(j, "ended", show_ended_name(p->end.ended));
                /* of all together a filter leaves each its part of their peak, which is no peak of its own */
                if (is_shared_out(a))
                        answer_put_null(j, "totals");
                else
                        show_put_totals(j, "totals", NULL, &a->processes[i]);
                if (c->times) {
                        struct query_thread_time t = time_of_process(k, c, i);

                        put_time(j, c, &t);
                }
                json_end(j);
        }
        json_end(j);
        json_put_uint(j, "processes_in_all", a->n_processes);
        json_put_uint(j, "pids_in_all", query_n_pids(k->q));
}

int answer_threads(struct question *k, struct err *reterr) {
        struct crowd c = {0};
        struct json *j = &k->j;
        int r = ask(&c, k, reterr);

        if (r >= 0) {
                if (c.n_threads > 1)
                        qsort_r(c.threads, c.n_threads, sizeof(c.threads[0]), compare_threads, &c);
                json_object(j);
                json_put_string(j, "schema", "silt.threads/1");
                answer_put_bool(j, "has_figures", c.has_figures);
                answer_put_bool(j, "is_estimate", query_sample_bytes(k->q) > 0);
                put_note(j, k, &c);
                json_key(j, "threads");
                json_array(j);
                for (size_t i = 0; i < c.n_threads && i < ANSWER_MAX_THREADS; i++)
                        put_thread(j, k, &c, &c.threads[i]);
                json_end(j);
                json_put_uint(j, "threads_in_all", c.n_threads);
                put_processes(j, k, &c);
                if (origin_is_import(&k->v->meta))
                        answer_put_null(j, "mappings");
                else
                        show_put_mappings(j, k->q, &c.mapped, c.mappings, c.n_mappings,
                                          show_n_top(&k->options));
                json_end(j);
        }
        query_answer_free(c.answer);
        free(c.threads);
        free(c.times);
        free(c.mappings);
        return r;
}
