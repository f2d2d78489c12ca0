/* SPDX-License-Identifier: MIT */
/* Text as `perf script` prints it, for stackcollapse-perf.pl, the Firefox Profiler and whatever else reads samples: an event for
 * each allocation, its period the bytes; of time one for each tick, its period the nanoseconds. Many readers count events, so time that clocks were
 * late for is as many as there would have been, and a tick that stands for many samples as many as they were.
 *
 *   sqlite3  1234/1234  0.000215:       4096 silt:malloc:
 *           7f0012 read_line+0x0 (/usr/bin/sqlite3)
 */
#include <string.h>

#include "export/export_job.h"
#include "export/frame_table.h"
#include "export/one_process.h"
#include "query/cursor.h"
#include "query/spent_time.h"

struct perf_script {
        struct export_job *job;
        struct frame_table frames;
        uint64_t period_ns; /* of the last sample of a running thread; 0: none yet */
};

enum { MAX_EVENTS = 100000 }; /* for one tick: imported ones may be of any length */

/* Names of commands end at the first blank to some readers. */
static void put_word(FILE *out, const char *text) {
        for (; *text; text++)
                putc((unsigned char)*text <= ' ' ? '_' : *text, out);
}

static void put_line_text(FILE *out, const char *text) {
        for (; *text; text++)
                putc((unsigned char)*text < ' ' ? ' ' : *text, out);
}

static void put_head(struct perf_script *p, uint32_t thread, uint32_t process, uint64_t time_ns,
                     uint64_t period, const char *event) {
        const struct trace_view *v = p->job->view;
        FILE *out = p->job->out;
        const struct trace_thread_info *t = thread < v->n_threads ? &v->threads[thread] : NULL;
        const char *name = t && t->name && t->name[0] ? t->name
                           : process < v->n_processes ? query_process_name(p->job->q, process)
                                                      : "";

        put_word(out, name[0] ? name : "unknown");
        fprintf(out, " %u/%u %llu.%06llu: %10llu %s:\n", export_pid(p->job, process),
                t ? t->start.tid : 0, (unsigned long long)(time_ns / 1000000000),
                (unsigned long long)(time_ns / 1000 % 1000000), (unsigned long long)period, event);
}

static void put_frame(FILE *out, const struct frame_entry *f, uint64_t offset) {
        fprintf(out, "\t%16llx ", (unsigned long long)offset);
        put_line_text(out, f->frame.function[0] ? f->frame.function : "[unknown]");
        fputs(" (", out);
        put_line_text(out, f->frame.inlined     ? "inlined"
                           : f->frame.module[0] ? f->frame.module
                                                : "[unknown]");
        fputs(")\n", out);
}

static void put_path(struct perf_script *p, uint32_t stack) {
        size_t n;
        const uint32_t *path = frame_table_path(&p->frames, stack, &n);

        for (size_t i = 0; i < n; i++) {
                const struct frame_entry *f = &p->frames.frames.items[path[i]];

                put_frame(p->job->out, f, f->frame.offset);
        }
        putc('\n', p->job->out);
}

/* The instructions themselves, as perf has them: what is traced is the one behind each. */
static void put_tick_path(struct perf_script *p, uint32_t stack) {
        const struct trace_view *v = p->job->view;

        for (; stack && stack < v->n_stacks; stack = v->stacks[stack].parent) {
                uint32_t location = v->stacks[stack].location;
                uint64_t offset = v->locations[location].offset;
                size_t n;
                const uint32_t *ids = frame_table_location(&p->frames, location, &n);

                for (size_t i = 0; i < n; i++)
                        put_frame(p->job->out, &p->frames.frames.items[ids[i]],
                                  offset - (offset != 0));
        }
        putc('\n', p->job->out);
}

/* How many events tell it. In bounded files one tick stands for many of long ago, and none may be left that tells how long one was. */
static uint64_t events_of(struct perf_script *p, const struct trace_tick *tick) {
        uint64_t n = tick->n_samples;

        if (tick->n_samples == 1)
                p->period_ns = tick->state == TRACE_ON_CPU ? tick->weight_ns : p->period_ns;
        else if (tick->state == TRACE_ON_CPU && p->period_ns)
                n = (tick->weight_ns + p->period_ns / 2) / p->period_ns;
        return MIN(MAX(n, 1u), (uint64_t)MAX_EVENTS);
}

static bool put_tick(void *ctx, const struct trace_tick *tick) {
        static const char *const events[TRACE_N_TICK_STATES] = {[TRACE_ON_CPU] = "cpu-clock",
                                                                [TRACE_BLOCKED] = "offcpu-time",
                                                                [TRACE_READY] = "ready-time"};
        struct perf_script *p = ctx;
        const struct trace_view *v = p->job->view;
        uint64_t n;

        if (tick->thread >= v->n_threads || tick->state >= TRACE_N_TICK_STATES)
                return true;
        n = events_of(p, tick);
        for (uint64_t i = 0, told_ns = 0; i < n; i++) {
                uint64_t part_ns = (tick->weight_ns - told_ns) / (n - i), before_ns;

                told_ns += part_ns;
                /* of many samples nobody knows more than when the first may have been */
                before_ns = tick->n_samples > 1 ? 0 : tick->weight_ns - told_ns;
                put_head(p, tick->thread, v->threads[tick->thread].start.process,
                         tick->time_ns - MIN(before_ns, tick->time_ns), part_ns,
                         events[tick->state]);
                put_tick_path(p, tick->stack);
        }
        p->job->told->n_rows += n;
        return true;
}

static int put_ticks(struct perf_script *p, struct err *reterr) {
        struct query_scope scope = export_time_scope(p->job, QUERY_NO_TIME);

        p->job->told->rows = "samples";
        p->job->told->lacks = "no lines of source";
        return query_each_tick(p->job->q, &scope, put_tick, p, reterr);
}

int export_perf_script(struct export_job *job, struct err *reterr) {
        struct perf_script p = {.job = job};
        struct query_cursor *c = NULL;
        const struct query_row *row;
        int r;

        frame_table_init(&p.frames, job->q);
        if (job->scope.of_time) {
                r = put_ticks(&p, reterr);
                frame_table_done(&p.frames);
                return r;
        }
        r = query_cursor_open(job->q, &job->scope, QUERY_ROWS_EVENTS, &c, reterr);
        job->told->rows = "allocations";
        while (r >= 0 && (r = query_cursor_next(c, &row, reterr)) > 0) {
                const struct trace_event *e = row->event.event;

                if (!row->event.is_selected || (e->op != TRACE_ALLOC && e->op != TRACE_REALLOC))
                        continue;
                put_head(&p, e->thread, row->event.process, e->time_ns, trace_event_bytes(e),
                         "silt:malloc");
                put_path(&p, e->stack);
                job->told->n_rows++;
        }
        query_cursor_free(c);
        frame_table_done(&p.frames);
        return MIN(r, 0);
}
