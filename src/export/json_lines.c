/* SPDX-License-Identifier: MIT */
/* json: a line for each thing, told by its "type": first "trace", then a "site" for each call path with its figures, then, where the
 * recording has them, an "event" for each allocation and release, in the order of time. Events name the site of their block. */
#include "base/json.h"
#include "base/macros.h"
#include "base/units.h"
#include "export/export_job.h"
#include "export/frame_table.h"
#include "export/site_frame.h"
#include "query/cursor.h"
#include "query/trace_times.h"
#include "show/show_json.h"

static void begin_line(struct json *j, FILE *out, const char *type) {
        json_init(j, out);
        json_object(j);
        json_put_string(j, "type", type);
}

static void end_line(struct json *j) {
        json_end(j);
}

static bool has_events(const struct export_job *job) {
        return !(job->view->meta.flags & TRACE_IS_TOTALS) &&
               job->view->detail_from_ns <= job->scope.from_ns;
}

static void put_trace(const struct export_job *job, const struct query_answer *a) {
        const struct trace_meta *m = &job->view->meta;
        uint64_t to_ns = MIN(a->scope.to_ns, job->view->end_ns);
        struct json j;

        begin_line(&j, job->out, "trace");
        json_put_string(&j, "schema", "silt.export/1");
        JSON_PUT_EACH(&j, "command", m->n_args, json_string, m->args[i]);
        json_put_uint(&j, "started_unix_ns", m->started_unix_ns);
        json_put_uint(&j, "from_ns", a->scope.from_ns);
        json_put_uint(&j, "to_ns", to_ns);
        json_key(&j, "has_times");
        json_bool(&j, query_has_times(job->q));
        json_put_uint(&j, "sites", a->n_sites);
        json_key(&j, "has_events");
        json_bool(&j, has_events(job));
        json_put_string(&j, "unit", query_unit_name(job->q));
        json_put_uint(&j, "sample_bytes", query_estimate_bytes(job->q));
        end_line(&j);
}

static void put_path(struct json *j, struct frame_table *frames, uint32_t stack) {
        size_t n;
        const uint32_t *path = frame_table_path(frames, stack, &n);

        json_key(j, "stack");
        json_array(j);
        for (size_t i = 0; i < n; i++) {
                const struct query_frame *f = &frames->frames.items[path[i]].frame;

                json_object(j);
                json_put_string(j, "function", f->function);
                if (f->file[0])
                        json_put_string(j, "file", f->file);
                if (f->line)
                        json_put_uint(j, "line", f->line);
                json_put_string(j, "module", f->module);
                if (!f->function[0])
                        json_put_uint(j, "offset", f->offset);
                if (f->inlined) {
                        json_key(j, "inlined");
                        json_bool(j, true);
                }
                json_end(j);
        }
        json_end(j);
}

static void put_int(struct json *j, const char *key, int64_t v) {
        json_key(j, key);
        json_int(j, v);
}

static void put_site(const struct export_job *job, struct frame_table *frames,
                     const struct query_site *s) {
        const struct query_figures *f = &s->f;
        bool has_blocks = !(job->view->meta.flags & TRACE_LACKS_BLOCKS);
        bool has_traffic = !(job->view->meta.flags & TRACE_LACKS_TRAFFIC);
        bool has_live = !(job->view->meta.flags & TRACE_LACKS_LIVE);
        bool has_peak = !(job->view->meta.flags & TRACE_LACKS_PEAK);
        struct json j;

        begin_line(&j, job->out, "site");
        json_put_uint(&j, "site", s->stack);
        if (has_blocks && has_traffic)
                json_put_uint(&j, "allocations", f->n_allocs);
        if (has_blocks && has_traffic && has_live)
                json_put_uint(&j, "frees", f->n_frees);
        if (has_traffic)
                json_put_uint(&j, "allocated_bytes", f->alloc_bytes);
        if (has_traffic && has_live)
                json_put_uint(&j, "freed_bytes", f->free_bytes);
        if (has_blocks && has_peak)
                put_int(&j, "peak_blocks", f->peak_blocks);
        if (has_blocks && has_live) {
                put_int(&j, "start_blocks", f->begin_blocks);
                put_int(&j, "end_blocks", f->end_blocks);
        }
        if (has_peak)
                put_int(&j, "peak_bytes", f->peak_bytes);
        if (has_live) {
                put_int(&j, "start_bytes", f->begin_bytes);
                put_int(&j, "end_bytes", f->end_bytes);
        }
        if (!f->lacks_events) {
                json_put_uint(&j, "temporary", f->n_temporary);
                json_put_uint(&j, "reallocations", f->n_reallocs);
        }
        put_path(&j, frames, s->stack);
        end_line(&j);
        job->told->n_rows++;
}

static void put_event(const struct export_job *job, const struct query_event *row) {
        static const char *const ops[] = {"alloc", "free", "realloc"};
        const struct trace_event *e = row->event;
        const struct trace_view *v = job->view;
        bool is_implicit = e->op == TRACE_OTHER && e->other == TRACE_IMPLICIT_FREE;
        struct json j;

        if (e->op == TRACE_OTHER && !is_implicit)
                return;
        begin_line(&j, job->out, "event");
        if (query_has_times(job->q)) {
                json_put_uint(&j, "time_ns", e->time_ns);
        } else { /* lines are in order */
                json_key(&j, "time_ns");
                json_null(&j);
        }
        json_put_string(&j, "op", is_implicit ? "free" : ops[e->op]);
        if (row->process < v->n_processes)
                show_put_pid(&j, v, row->process);
        if (e->thread < v->n_threads)
                json_put_uint(&j, "tid", v->threads[e->thread].start.tid);
        json_put_uint(&j, "block", e->seq);
        json_put_uint(&j, "bytes", e->size_bytes);
        json_put_uint(&j, "site", e->stack);
        if (e->n_blocks != 1)
                json_put_uint(&j, "stands_for", e->n_blocks);
        if (e->op == TRACE_REALLOC) {
                json_put_uint(&j, "old_block", e->old_seq);
                json_put_uint(&j, "old_bytes", e->old_size_bytes);
                json_put_uint(&j, "old_site", e->old_stack);
        }
        if (e->address)
                json_put_uint(&j, "address", e->address);
        end_line(&j);
        job->told->n_rows++;
}

static int put_events(const struct export_job *job, struct err *reterr) {
        struct query_cursor *c = NULL;
        const struct query_row *row;
        int r = query_cursor_open(job->q, &job->scope, QUERY_ROWS_EVENTS, &c, reterr);

        while (r >= 0 && (r = query_cursor_next(c, &row, reterr)) > 0)
                put_event(job, &row->event);
        query_cursor_free(c);
        return r;
}

int export_json(struct export_job *job, struct err *reterr) {
        struct query_answer *a = NULL;
        struct frame_table frames;
        int r = query_ask(job->q, &job->scope, &a, reterr);

        if (r < 0)
                return r;
        job->told->rows = "lines";
        frame_table_init(&frames, job->q);
        query_sort_sites(a->sites, a->n_sites, job->metric);
        put_trace(job, a);
        for (size_t i = 0; i < a->n_sites; i++)
                put_site(job, &frames, &a->sites[i]);
        frame_table_done(&frames);
        query_answer_free(a);
        if (!has_events(job)) {
                export_tell_events_left_out(job);
                return 0;
        }
        return put_events(job, reterr);
}
