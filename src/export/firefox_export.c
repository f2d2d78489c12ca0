/* SPDX-License-Identifier: MIT */
/* The Firefox Profiler's processed profile: one process with its allocations and releases ("native allocations"), all by its first
 * thread, live memory as a track, snapshots and marks as markers; and where the time went, samples of each thread. Of a recording of
 * time alone all processes. The profiler upgrades older versions of the format by itself; in the one
 * written here a thread has its own tables, which stay the same whatever newer ones do.
 *
 * A column of JSON is an array, and there are as many rows as events: each column is a pass over them. The profiler pairs releases
 * with allocations by address; here that is the number of the allocation, which no other block ever has. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/json.h"
#include "export/block_flow.h"
#include "export/export_job.h"
#include "export/firefox_tables.h"
#include "export/one_process.h"
#include "export/tick_list.h"
#include "show/frame.h"

enum { FIREFOX_VERSION = 48, FIREFOX_N_COLUMNS = 1000 };

struct firefox {
        struct export_job *job;
        struct json j;
        struct text_table libs;
        struct tick_list ticks;
        bool has_blocks;
        uint64_t begin_ns, end_ns;
        /* of the thread that is being written */
        struct firefox_tables tables;
};

/* One of the profile's threads. */
struct firefox_thread {
        uint32_t process, tid;
        const char *name;
        bool is_main, is_first;
        const struct trace_tick *ticks;
        size_t n_ticks;
};

static double ms_of(uint64_t time_ns) {
        return (double)time_ns / 1e6;
}

static void put_bool(struct json *j, const char *key, bool v) {
        json_key(j, key);
        json_bool(j, v);
}

static void put_empty(struct json *j, const char *key) {
        json_key(j, key);
        json_array(j);
        json_end(j);
}

static void put_pid(struct firefox *f, uint32_t process) {
        char pid[16];

        snprintf(pid, sizeof(pid), "%u", export_pid(f->job, process));
        json_put_string(&f->j, "pid", pid);
}

/* ---- events, a column at a time ---------------------------------------------------------------- */

enum firefox_column { COLUMN_TIME, COLUMN_WEIGHT, COLUMN_STACK, COLUMN_ADDRESS, COLUMN_THREAD };

struct firefox_pass {
        struct firefox *f;
        enum firefox_column column;
        bool has_item;
        uint64_t n;
};

static void put_stack(FILE *out, int64_t id) {
        if (id < 0)
                fputs("null", out);
        else
                fprintf(out, "%lld", (long long)id);
}

static int put_value(void *ctx, const struct flow_step *s) {
        struct firefox_pass *p = ctx;
        struct firefox *f = p->f;
        const struct trace_view *v = f->job->view;
        FILE *out = f->job->out;
        bool is_free = s->kind == FLOW_FREE;

        if (p->n++)
                putc(',', out);
        switch (p->column) {
        case COLUMN_TIME: fprintf(out, "%.3f", ms_of(s->time_ns)); break;
        case COLUMN_WEIGHT:
                fprintf(out, "%s%llu", is_free && flow_bytes(s) ? "-" : "",
                        (unsigned long long)flow_bytes(s));
                break;
        case COLUMN_STACK:
                put_stack(out,
                          firefox_tables_stack(&f->tables, is_free ? s->free_stack : s->stack));
                break;
        case COLUMN_ADDRESS: fprintf(out, "%llu", (unsigned long long)s->seq + 1); break;
        case COLUMN_THREAD:
                fprintf(out, "%u", s->thread < v->n_threads ? v->threads[s->thread].start.tid : 0);
                break;
        }
        return 0;
}

static int put_events(struct firefox *f, struct err *reterr) {
        static const char *const names[] = {"time", "weight", "stack", "memoryAddress", "threadId"};
        struct flow_told told = {0};
        struct firefox_pass p = {.f = f};

        json_key(&f->j, "nativeAllocations");
        json_object(&f->j);
        for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
                int r;

                p = (struct firefox_pass){.f = f, .column = (enum firefox_column)i};
                json_key(&f->j, names[i]);
                json_array(&f->j);
                r = block_flow(f->job->q, &f->job->scope, put_value, &p, &told, reterr);
                if (r < 0)
                        return r;
                json_end(&f->j);
        }
        json_put_string(&f->j, "weightType", "bytes");
        json_put_uint(&f->j, "length", p.n);
        json_end(&f->j);
        f->job->told->n_rows += p.n;
        export_note_held(f->job, told.n_held, "the profiler");
        return 0;
}

/* Which call paths the tables must have. */
static int mark_stack(void *ctx, const struct flow_step *s) {
        struct firefox *f = ctx;

        firefox_tables_use(&f->tables, s->kind == FLOW_FREE ? s->free_stack : s->stack);
        return 0;
}

/* ---- markers ----------------------------------------------------------------------------------- */

static void put_markers(struct firefox *f, bool is_first) {
        const struct trace_view *v = f->job->view;
        struct json *j = &f->j;
        VEC(struct query_moment) moments = {0};

        for (size_t i = 0; i < v->n_notes && is_first; i++) {
                struct query_moment m;

                if (v->notes[i].time_ns >= f->begin_ns && v->notes[i].time_ns <= f->end_ns &&
                    query_moment_of(&v->notes[i], &m))
                        vec_push(&moments, m);
        }
        json_key(j, "markers");
        json_object(j);
        JSON_PUT_EACH(j, "name", moments.n, json_uint,
                      firefox_tables_text(&f->tables,
                                          moments.items[i].is_snapshot ? "snapshot" : "mark"));
        json_key(j, "startTime");
        json_array(j);
        for (size_t i = 0; i < moments.n; i++)
                json_double(j, ms_of(moments.items[i].time_ns), 3);
        json_end(j);
        json_key(j, "endTime");
        json_array(j);
        for (size_t i = 0; i < moments.n; i++)
                json_null(j);
        json_end(j);
        JSON_PUT_EACH(j, "phase", moments.n, json_uint, 0);
        JSON_PUT_EACH(j, "category", moments.n, json_uint, 0);
        json_key(j, "data");
        json_array(j);
        for (size_t i = 0; i < moments.n; i++) {
                json_object(j);
                json_put_string(j, "type", "moment");
                json_put_string(j, "name", moments.items[i].name);
                json_end(j);
        }
        json_end(j);
        json_put_uint(j, "length", moments.n);
        json_end(j);
        vec_free(&moments);
}

static void put_marker_schema(struct json *j) {
        static const char *const places[] = {"marker-chart", "marker-table", "timeline-overview"};

        json_key(j, "markerSchema");
        json_array(j);
        json_object(j);
        json_put_string(j, "name", "moment");
        json_put_string(j, "tooltipLabel", "{marker.data.name}");
        json_put_string(j, "tableLabel", "{marker.data.name}");
        json_put_string(j, "chartLabel", "{marker.data.name}");
        JSON_PUT_EACH(j, "display", ARRAY_SIZE(places), json_string, places[i]);
        json_key(j, "data");
        json_array(j);
        json_object(j);
        json_put_string(j, "key", "name");
        json_put_string(j, "label", "Name");
        json_put_string(j, "format", "string");
        json_end(j);
        json_end(j);
        json_end(j);
        json_end(j);
}

/* ---- the memory track -------------------------------------------------------------------------- */

/* Readers add the counts up, each from its time on. */
static int put_counters(struct firefox *f, struct err *reterr) {
        struct query_column columns[FIREFOX_N_COLUMNS];
        struct json *j = &f->j;
        uint64_t before = 0;
        int r = query_timeline(f->job->q, &f->job->scope, FIREFOX_N_COLUMNS, UINT64_MAX, columns,
                               reterr);

        if (r < 0)
                return r;
        json_key(j, "counters");
        json_array(j);
        json_object(j);
        json_put_string(j, "name", "malloc");
        json_put_string(j, "category", "Memory");
        json_put_string(j, "description", "Live memory");
        put_pid(f, f->job->scope.process);
        json_put_uint(j, "mainThreadIndex", 0);
        json_key(j, "samples");
        json_object(j);
        json_key(j, "time");
        json_array(j);
        for (size_t i = 0; i < FIREFOX_N_COLUMNS; i++)
                json_double(j, ms_of(columns[i].begin_ns), 3);
        json_end(j);
        json_key(j, "count");
        json_array(j);
        for (size_t i = 0; i < FIREFOX_N_COLUMNS; i++) {
                json_int(j, (int64_t)(columns[i].live_bytes - before));
                before = columns[i].live_bytes;
        }
        json_end(j);
        json_put_uint(j, "length", FIREFOX_N_COLUMNS);
        json_end(j);
        json_end(j);
        json_end(j);
        return 0;
}

/* ---- the profile ------------------------------------------------------------------------------- */

static void put_category(struct json *j, const char *name, const char *color) {
        static const char *const other[] = {"Other"};

        json_object(j);
        json_put_string(j, "name", name);
        json_put_string(j, "color", color);
        JSON_PUT_EACH(j, "subcategories", 1, json_string, other[i]);
        json_end(j);
}

/* Between two samples of a thread that runs. */
static double interval_ms(const struct firefox *f) {
        return f->ticks.n_cpu_samples
                       ? (double)f->ticks.cpu_ns / (double)f->ticks.n_cpu_samples / 1e6
                       : 1;
}

static void put_meta(struct firefox *f) {
        struct json *j = &f->j;
        uint32_t process = f->job->scope.process == QUERY_ALL ? query_main_process(f->job->q)
                                                              : f->job->scope.process;

        json_key(j, "meta");
        json_object(j);
        json_put_double(j, "interval", interval_ms(f), 3);
        json_put_double(j, "startTime", (double)f->job->view->meta.started_unix_ns / 1e6, 3);
        json_put_uint(j, "processType", 0);
        json_put_string(j, "product", query_process_name(f->job->q, process));
        json_put_string(j, "importedFrom", "silt");
        json_put_uint(j, "stackwalk", 1);
        json_put_uint(j, "version", 24);
        json_put_uint(j, "preprocessedProfileVersion", FIREFOX_VERSION);
        put_bool(j, "symbolicated", true);
        json_key(j, "categories");
        json_array(j);
        put_category(j, "Other", "grey");
        if (f->ticks.ticks.n) {
                put_category(j, "User", "yellow");
                put_category(j, "Kernel", "orange");
                put_category(j, "Blocked", "lightblue");
                put_category(j, "Ready", "lightred");
        }
        json_end(j);
        json_key(j, "extensions");
        json_object(j);
        put_empty(j, "baseURL");
        put_empty(j, "id");
        put_empty(j, "name");
        json_put_uint(j, "length", 0);
        json_end(j);
        put_marker_schema(j);
        json_key(j, "sampleUnits");
        json_object(j);
        json_put_string(j, "time", "ms");
        json_put_string(j, "eventDelay", "ms");
        json_put_string(j, "threadCPUDelta", "ns");
        json_end(j);
        json_end(j);
}

/* Without ticks: the two say how long it took. */
static void put_no_samples(struct firefox *f) {
        struct json *j = &f->j;

        json_key(j, "stack");
        json_array(j);
        json_null(j);
        json_null(j);
        json_end(j);
        json_key(j, "time");
        json_array(j);
        json_double(j, ms_of(f->begin_ns), 3);
        json_double(j, ms_of(f->end_ns), 3);
        json_end(j);
        json_put_null(j, "weight");
        json_put_string(j, "weightType", "samples");
        json_put_uint(j, "length", 2);
}

static enum firefox_category category_of(const struct firefox *f, const struct trace_tick *tick) {
        switch ((enum trace_tick_state)tick->state) {
        case TRACE_BLOCKED: return FIREFOX_BLOCKED;
        case TRACE_READY: return FIREFOX_READY;
        case TRACE_ON_CPU:
        case TRACE_N_TICK_STATES: break;
        }
        return tick_is_in_kernel(f->job->view, tick) ? FIREFOX_KERNEL : FIREFOX_USER;
}

/* A tick tells of the time before it, as the profiler takes its CPU deltas. Weights are of time: "tracing-ms". */
static void put_ticks(struct firefox *f, const struct firefox_thread *t) {
        const struct trace_tick *ticks = t->ticks;
        struct json *j = &f->j;

        JSON_PUT_EACH(j, "stack", t->n_ticks, json_int,
                      firefox_tables_leaf(&f->tables, ticks[i].stack, category_of(f, &ticks[i])));
        json_key(j, "time");
        json_array(j);
        for (size_t i = 0; i < t->n_ticks; i++)
                json_double(j, ms_of(ticks[i].time_ns), 3);
        json_end(j);
        json_key(j, "weight");
        json_array(j);
        for (size_t i = 0; i < t->n_ticks; i++)
                json_double(j, ms_of(ticks[i].weight_ns), 6);
        json_end(j);
        json_put_string(j, "weightType", "tracing-ms");
        JSON_PUT_EACH(j, "threadCPUDelta", t->n_ticks, json_uint,
                      ticks[i].state == TRACE_ON_CPU ? ticks[i].weight_ns : 0);
        json_put_uint(j, "length", t->n_ticks);
        f->job->told->n_rows += t->n_ticks;
}

static int use_stacks(struct firefox *f, const struct firefox_thread *t, struct err *reterr) {
        struct flow_told told;

        for (size_t i = 0; i < t->n_ticks; i++)
                firefox_tables_use(&f->tables, t->ticks[i].stack);
        return t->is_first && f->has_blocks
                       ? block_flow(f->job->q, &f->job->scope, mark_stack, f, &told, reterr)
                       : 0;
}

/* The profiler shows a thread of this name as its process. */
static void put_thread_head(struct firefox *f, const struct firefox_thread *t) {
        const struct trace_process *p = &f->job->view->processes[t->process].start;
        struct json *j = &f->j;

        json_put_string(j, "processType", "default");
        json_put_string(j, "processName", query_process_name(f->job->q, t->process));
        json_put_double(j, "processStartupTime", ms_of(p->start_ns), 3);
        json_put_null(j, "processShutdownTime");
        json_put_double(j, "registerTime", ms_of(p->start_ns), 3);
        json_put_null(j, "unregisterTime");
        put_empty(j, "pausedRanges");
        json_put_string(j, "name", t->is_main ? "GeckoMain" : t->name);
        put_bool(j, "isMainThread", t->is_main);
        put_pid(f, t->process);
        json_put_uint(j, "tid", t->tid);
}

static int put_thread(struct firefox *f, const struct firefox_thread *t, struct err *reterr) {
        struct json *j = &f->j;
        int r;

        firefox_tables_init(&f->tables, f->job, &f->libs);
        r = use_stacks(f, t, reterr);
        firefox_tables_make(&f->tables);
        json_object(j);
        put_thread_head(f, t);
        json_key(j, "samples");
        json_object(j);
        if (t->n_ticks)
                put_ticks(f, t);
        else
                put_no_samples(f);
        json_end(j);
        put_markers(f, t->is_first);
        firefox_tables_put(&f->tables, j);
        if (r >= 0 && t->is_first && f->has_blocks)
                r = put_events(f, reterr);
        json_end(j);
        firefox_tables_done(&f->tables);
        return r;
}

static struct firefox_thread with_ticks(const struct firefox *f, const struct tick_thread *of) {
        return (struct firefox_thread){.process = of->process,
                                       .tid = f->job->view->threads[of->thread].start.tid,
                                       .name = tick_thread_name(f->job->q, of->thread),
                                       .is_main = of->is_main,
                                       .ticks = f->ticks.ticks.items + of->first,
                                       .n_ticks = of->n};
}

/* Blocks belong to the process: its first thread has them, with ticks or without. */
static int put_threads(struct firefox *f, struct err *reterr) {
        const struct tick_list *l = &f->ticks;
        size_t n_done = 0;
        int r = 0;

        json_key(&f->j, "threads");
        json_array(&f->j);
        if (f->has_blocks && !(l->threads.n && l->threads.items[0].is_main)) {
                uint32_t process = f->job->scope.process;

                r = put_thread(f,
                               &(struct firefox_thread){.process = process,
                                                        .tid = export_pid(f->job, process),
                                                        .is_main = true,
                                                        .is_first = true},
                               reterr);
                n_done++;
        }
        for (size_t i = 0; i < l->threads.n && r >= 0; i++) {
                struct firefox_thread t = with_ticks(f, &l->threads.items[i]);

                t.is_first = n_done++ == 0;
                r = put_thread(f, &t, reterr);
        }
        json_end(&f->j);
        return r;
}

static void put_libs(struct firefox *f) {
        struct json *j = &f->j;

        json_key(j, "libs");
        json_array(j);
        for (size_t i = 1; i < f->libs.texts.n; i++) {
                const char *path = f->libs.texts.items[i];
                const char *name = frame_base(path);

                json_object(j);
                json_put_string(j, "name", name);
                json_put_string(j, "path", path);
                json_put_string(j, "debugName", name);
                json_put_string(j, "debugPath", path);
                json_put_string(j, "breakpadId", "");
                json_put_null(j, "codeId");
                json_put_string(j, "arch", "");
                json_end(j);
        }
        json_end(j);
}

static int write_file(struct firefox *f, struct err *reterr) {
        int r = 0;

        json_init(&f->j, f->job->out);
        json_object(&f->j);
        put_meta(f);
        put_empty(&f->j, "pages");
        if (f->has_blocks)
                r = put_counters(f, reterr);
        if (r >= 0)
                r = put_threads(f, reterr);
        if (r < 0)
                return r;
        put_libs(f);
        json_end(&f->j);
        putc('\n', f->job->out);
        return 0;
}

/* Of a recording of memory its ticks too; --by says that they alone are wanted, or one kind of them. */
static int gather(struct firefox *f, struct err *reterr) {
        struct export_job *job = f->job;
        struct query_scope scope = export_time_scope(job, QUERY_NO_TIME);
        int r = 0;

        f->has_blocks = !job->scope.of_time;
        job->told->rows = f->has_blocks ? "events" : "samples";
        if (f->has_blocks) {
                r = export_choose_process(job, reterr);
                scope.process = job->scope.process;
        } else {
                job->told->lacks = "";
        }
        if (r < 0 || !query_has_ticks(job->q))
                return r;
        if (f->has_blocks)
                job->told->lacks = "one process, its allocations as one thread's";
        r = tick_list_init(&f->ticks, job->q, &scope, reterr);
        if (r == -EINVAL && f->has_blocks) {
                export_note(job, "samples of time were left out: the filter is about blocks");
                return 0;
        }
        return r;
}

int export_firefox(struct export_job *job, struct err *reterr) {
        struct firefox f = {.job = job};
        int r = gather(&f, reterr);

        if (r >= 0) {
                uint32_t process = job->scope.process;
                uint64_t start_ns =
                        process == QUERY_ALL ? 0 : job->view->processes[process].start.start_ns;

                f.begin_ns = MAX(job->scope.from_ns, start_ns);
                f.end_ns =
                        MAX(f.begin_ns, MIN(job->scope.to_ns, query_run_end_ns(job->q, process)));
                text_table_init(&f.libs);
                r = write_file(&f, reterr);
                text_table_done(&f.libs);
        }
        tick_list_done(&f.ticks);
        return r;
}
