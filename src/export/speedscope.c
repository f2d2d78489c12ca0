/* SPDX-License-Identifier: MIT */
/* speedscope's own files: JSON with a profile for each metric, whose samples are call paths, outermost function first, and their weights.
 * Of time then one for each thread, its samples in their order. */
#include <stdlib.h>

#include "base/json.h"
#include "base/macros.h"
#include "export/export_job.h"
#include "export/frame_table.h"
#include "export/one_process.h"
#include "export/tick_list.h"

struct speedscope_profile {
        enum query_metric metric;
        const char *name, *unit;
};

static const struct speedscope_profile profiles[] = {
        {QUERY_PEAK, "live at the peak", "bytes"},
        {QUERY_END, "live at the end", "bytes"},
        {QUERY_ALLOCATED, "bytes allocated", "bytes"},
        {QUERY_COUNT, "allocations", "none"},
        {QUERY_TEMPORARY, "temporary allocations", "none"},
        {QUERY_MAPPED, "mapped by the program itself", "bytes"},
};

/* Weights grow a flame: what shrank (growth below 0, estimates) has none. */
static int64_t weight_of(const struct query_site *s, enum query_metric m) {
        return MAX(query_figure_of(&s->f, m).value, (int64_t)0);
}

static int64_t sum_of(const struct query_answer *a, enum query_metric m) {
        int64_t sum = 0;

        for (size_t i = 0; i < a->n_sites; i++)
                sum += weight_of(&a->sites[i], m);
        return sum;
}

/* A call path, from where it begins. */
static void put_path(struct json *j, struct frame_table *frames, uint32_t stack) {
        size_t n;
        const uint32_t *path = frame_table_path(frames, stack, &n);

        json_array(j);
        while (n-- > 0)
                json_uint(j, path[n]);
        json_end(j);
}

static void put_profile(struct json *j, struct frame_table *frames, const struct query_answer *a,
                        const struct speedscope_profile *p) {
        int64_t sum = sum_of(a, p->metric);

        json_object(j);
        json_put_string(j, "type", "sampled");
        json_put_string(j, "name", p->name);
        json_put_string(j, "unit", p->unit);
        json_put_uint(j, "startValue", 0);
        json_put_uint(j, "endValue", (uint64_t)sum);
        json_key(j, "samples");
        json_array(j);
        for (size_t i = 0; i < a->n_sites; i++) {
                if (weight_of(&a->sites[i], p->metric) == 0)
                        continue;
                put_path(j, frames, a->sites[i].stack);
        }
        json_end(j);
        json_key(j, "weights");
        json_array(j);
        for (size_t i = 0; i < a->n_sites; i++)
                if (weight_of(&a->sites[i], p->metric))
                        json_int(j, weight_of(&a->sites[i], p->metric));
        json_end(j);
        json_end(j);
}

/* ---- where the time went ----------------------------------------------------------------------- */

enum { SPEEDSCOPE_MAX_THREADS = 100 };

static int put_time(struct json *j, struct frame_table *frames, struct export_job *job,
                    enum query_time time, uint64_t *n_profiles, struct err *reterr) {
        const struct speedscope_profile p = {time == QUERY_CPU_TIME ? QUERY_CPU : QUERY_BLOCKED,
                                             time == QUERY_CPU_TIME ? "CPU time" : "blocked",
                                             "nanoseconds"};
        struct query_scope scope = job->scope;
        struct query_answer *a = NULL;
        int r;

        scope.of_time = time;
        r = query_ask(job->q, &scope, &a, reterr);
        if (r < 0)
                return r;
        query_sort_sites(a->sites, a->n_sites, p.metric);
        if (sum_of(a, p.metric)) {
                put_profile(j, frames, a, &p);
                (*n_profiles)++;
        }
        job->told->n_rows += a->n_sites;
        query_answer_free(a);
        return 0;
}

/* A call path that several samples in a row were at stands there once. */
static void put_thread(struct json *j, struct frame_table *frames, const struct export_job *job,
                       const struct tick_list *l, const struct tick_thread *t) {
        const struct trace_tick *ticks = l->ticks.items + t->first;
        struct str name = {0};
        uint64_t sum = 0;

        str_addf(&name, "%s, thread %u", tick_thread_name(job->q, t->thread),
                 job->view->threads[t->thread].start.tid);
        json_object(j);
        json_put_string(j, "type", "sampled");
        json_put_string(j, "name", str_text(&name));
        json_put_string(j, "unit", "nanoseconds");
        json_put_uint(j, "startValue", 0);
        json_key(j, "samples");
        json_array(j);
        for (size_t i = 0; i < t->n; i++) {
                if (i && ticks[i].stack == ticks[i - 1].stack)
                        continue;
                put_path(j, frames, ticks[i].stack);
        }
        json_end(j);
        json_key(j, "weights");
        json_array(j);
        for (size_t i = 0, k; i < t->n; i = k) {
                uint64_t weight = 0;

                for (k = i; k < t->n && ticks[k].stack == ticks[i].stack; k++)
                        weight += ticks[k].weight_ns;
                json_uint(j, weight);
                sum += weight;
        }
        json_end(j);
        json_put_uint(j, "endValue", sum);
        json_end(j);
        str_done(&name);
}

static int compare_cpu(const void *x, const void *y) {
        const struct tick_thread *a = x, *b = y;

        return a->cpu_ns > b->cpu_ns ? -1 : a->cpu_ns < b->cpu_ns;
}

/* Those that ran most. Waits are of another clock: a thread's samples are those of one of both. */
static int put_threads(struct json *j, struct frame_table *frames, struct export_job *job,
                       struct err *reterr) {
        struct query_scope scope = export_time_scope(job, QUERY_CPU_TIME);
        struct tick_list l;
        int r = tick_list_init(&l, job->q, &scope, reterr);

        if (r >= 0 && l.threads.n)
                qsort(l.threads.items, l.threads.n, sizeof(l.threads.items[0]), compare_cpu);
        for (size_t i = 0; r >= 0 && i < l.threads.n && i < SPEEDSCOPE_MAX_THREADS; i++)
                put_thread(j, frames, job, &l, &l.threads.items[i]);
        if (l.threads.n > SPEEDSCOPE_MAX_THREADS)
                export_note(job, "of %zu threads the %d that ran most have a profile of their own",
                            l.threads.n, SPEEDSCOPE_MAX_THREADS);
        tick_list_done(&l);
        return r;
}

static int put_times(struct json *j, struct frame_table *frames, struct export_job *job,
                     struct err *reterr) {
        uint64_t n_profiles = 0;
        enum query_time time = export_time_scope(job, QUERY_NO_TIME).of_time;
        int r = 0;

        if (time != QUERY_BLOCKED_TIME)
                r = put_time(j, frames, job, QUERY_CPU_TIME, &n_profiles, reterr);
        if (r >= 0 && time != QUERY_CPU_TIME)
                r = put_time(j, frames, job, QUERY_BLOCKED_TIME, &n_profiles, reterr);
        if (r >= 0)
                r = put_threads(j, frames, job, reterr);
        job->told->lacks = "";
        return r;
}

/* ---- the file ---------------------------------------------------------------------------------- */

static void put_frames(struct json *j, const struct frame_table *frames) {
        json_key(j, "shared");
        json_object(j);
        json_key(j, "frames");
        json_array(j);
        for (size_t i = 0; i < frames->frames.n; i++) {
                const struct frame_entry *f = &frames->frames.items[i];

                json_object(j);
                json_put_string(j, "name", f->name);
                if (f->frame.file[0])
                        json_put_string(j, "file", f->frame.file);
                if (f->frame.line)
                        json_put_uint(j, "line", f->frame.line);
                json_end(j);
        }
        json_end(j);
        json_end(j);
}

/* Imported traces do not know all of it; those of something else than memory have one weight, told here as what was allocated. */
static bool is_known(const struct trace_meta *m, enum query_metric metric) {
        if (m->unit != TRACE_UNIT_BYTES)
                return metric == QUERY_ALLOCATED;
        if (m->flags & TRACE_LACKS_LIVE && metric != QUERY_ALLOCATED && metric != QUERY_COUNT)
                return false;
        if (metric == QUERY_COUNT && m->flags & (TRACE_LACKS_BLOCKS | TRACE_LACKS_TRAFFIC))
                return false;
        return metric != QUERY_ALLOCATED || !(m->flags & TRACE_LACKS_TRAFFIC);
}

static struct speedscope_profile profile_for(const struct trace_meta *m,
                                             struct speedscope_profile p) {
        if (m->unit != TRACE_UNIT_BYTES) {
                p.name = m->unit == TRACE_UNIT_NS ? "time" : "samples";
                p.unit = m->unit == TRACE_UNIT_NS ? "nanoseconds" : "none";
        }
        return p;
}

static int put_memory(struct json *j, struct frame_table *frames, struct export_job *job,
                      uint64_t *ret_first, struct err *reterr) {
        struct query_answer *a = NULL;
        uint64_t n_profiles = 0;
        int r = query_ask(job->q, &job->scope, &a, reterr);

        if (r < 0)
                return r;
        query_sort_sites(a->sites, a->n_sites, job->metric);
        for (size_t i = 0; i < ARRAY_SIZE(profiles); i++) {
                struct speedscope_profile p = profile_for(&job->view->meta, profiles[i]);

                /* an answer is about blocks or about mappings */
                if ((p.metric == QUERY_MAPPED) != job->scope.of_mappings ||
                    !is_known(&job->view->meta, p.metric) || sum_of(a, p.metric) == 0)
                        continue;
                if (profiles[i].metric == job->metric)
                        *ret_first = n_profiles;
                put_profile(j, frames, a, &p);
                n_profiles++;
        }
        job->told->n_rows = a->n_sites;
        query_answer_free(a);
        return 0;
}

int export_speedscope(struct export_job *job, struct err *reterr) {
        struct frame_table frames;
        uint64_t first = 0;
        struct json j;
        int r;

        job->told->rows = "call paths";
        frame_table_init(&frames, job->q);
        json_init(&j, job->out);
        json_object(&j);
        json_put_string(&j, "$schema", "https://www.speedscope.app/file-format-schema.json");
        json_put_string(&j, "exporter", "silt");
        json_put_string(&j, "name", job->path);
        json_key(&j, "profiles");
        json_array(&j);
        r = job->scope.of_time ? put_times(&j, &frames, job, reterr)
                               : put_memory(&j, &frames, job, &first, reterr);
        json_end(&j);
        json_put_uint(&j, "activeProfileIndex", first);
        put_frames(&j, &frames);
        json_end(&j);
        frame_table_done(&frames);
        return r;
}
