/* SPDX-License-Identifier: MIT */
#include "show/show_json.h"

#include <string.h>

#include "base/units.h"
#include "query/spent_time.h"
#include "query/trace_origin.h"
#include "show/estimate.h"
#include "show/frame.h"

static void put_int(struct json *j, const char *key, int64_t v) {
        json_key(j, key);
        json_int(j, v);
}

void show_put_frame(struct json *j, const struct query *q, const struct query_frame *f,
                    bool is_task) {
        struct name_frame frame = frame_of(f);
        const char *label = name_label(query_names((struct query *)q), &frame, is_task);

        json_put_string(j, "function", f->function);
        json_put_string(j, "file", f->file);
        json_put_uint(j, "line", f->line);
        json_put_string(j, "module", f->module);
        json_key(j, "inlined");
        json_bool(j, f->inlined);
        if (f->guess) {
                json_key(j, "guess");
                json_bool(j, true);
        }
        if (!f->function[0] || f->guess) /* its place is what it is known by */
                json_put_uint(j, "offset", f->offset);
        if (strcmp(label, f->function) != 0)
                json_put_string(j, "label", label);
}

struct stack_json {
        struct json *j;
        const struct query *q;
};

static bool put_frame(void *ctx, const struct query_frame *f) {
        const struct stack_json *s = ctx;

        json_object(s->j);
        show_put_frame(s->j, s->q, f, false);
        json_end(s->j);
        return true;
}

void show_put_stack(struct json *j, const struct query *q, uint32_t stack) {
        json_key(j, "stack");
        json_array(j);
        query_each_frame(q, stack, put_frame, &(struct stack_json){j, q});
        json_end(j);
}

void show_put_shown(struct json *j, struct query *q, uint32_t stack) {
        const struct frame_names names = {.q = q, .names = query_names(q)};
        struct frame_stack s = {0};

        frame_stack_fill(&s, &names, stack, false);
        if (s.shown.n)
                json_put_uint(j, "shown", s.shown.items[0].frame_idx);
        frame_stack_done(&s);
}

/* A number, or null where nobody knows it. */
bool show_knows_allocated(bool lacks_blocks, bool lacks_live) {
        return !lacks_blocks || lacks_live || unit_weights() != UNIT_BYTES;
}

static void put_known_int(struct json *j, const char *key, int64_t v, bool is_known) {
        json_key(j, key);
        if (is_known)
                json_int(j, v);
        else
                json_null(j);
}

/* Nanoseconds are never told as bytes: those keys are 0 or null. */
static void put_time(struct json *j, const struct query_figures *f) {
        json_put_uint(j, "time_ns", f->alloc_bytes);
        json_put_uint(j, "samples", f->n_allocs);
}

void show_put_figures(struct json *j, const char *key, const struct query_figures *f,
                      enum query_metric m) {
        struct query_figures no_memory;
        bool has_live_blocks;

        json_key(j, key);
        json_object(j);
        put_int(j, "value", query_figure_of(f, m).value);
        if (query_metric_time(m)) {
                put_time(j, f);
                no_memory = (struct query_figures){.lacks_events = true,
                                                   .lacks_blocks = true,
                                                   .lacks_traffic = true};
                memcpy(no_memory.var, f->var, sizeof(f->var));
                f = &no_memory;
        }
        if (f->counts_samples)
                json_put_uint(j, "samples", f->n_allocs);
        has_live_blocks = !f->lacks_blocks && !f->lacks_live;
        json_put_known(j, "allocations", f->n_allocs, !f->lacks_blocks && !f->lacks_traffic);
        json_put_known(j, "bytes_allocated", f->alloc_bytes,
                       show_knows_allocated(f->lacks_blocks, f->lacks_live) && !f->lacks_traffic);
        json_put_known(j, "frees", f->n_frees, has_live_blocks && !f->lacks_traffic);
        json_put_known(j, "bytes_freed", f->free_bytes,
                       show_knows_allocated(f->lacks_blocks, false) && !f->lacks_traffic &&
                               !f->lacks_live);
        json_put_known(j, "temporary_allocations", f->n_temporary, !f->lacks_events);
        json_put_known(j, "reallocations", f->n_reallocs, !f->lacks_events);
        put_known_int(j, "peak_live_bytes", f->peak_bytes, !f->lacks_live);
        put_known_int(j, "peak_live_blocks", f->peak_blocks, has_live_blocks);
        put_known_int(j, "begin_live_bytes", f->begin_bytes, !f->lacks_live);
        put_known_int(j, "begin_live_blocks", f->begin_blocks, has_live_blocks);
        put_known_int(j, "end_live_bytes", f->end_bytes, !f->lacks_live);
        put_known_int(j, "end_live_blocks", f->end_blocks, has_live_blocks);
        if (f->var[m] > 0)
                json_put_double(j, "standard_error", query_figures_error(f, m), 1);
        json_end(j);
}

void show_put_site(struct json *j, const struct query *q, const struct query_site *s,
                   enum query_metric m) {
        struct query_figure f = query_figure_of(&s->f, m);

        json_object(j);
        put_int(j, "bytes", query_metric_time(m) ? 0 : f.bytes);
        if (query_metric_time(m))
                put_time(j, &s->f);
        put_known_int(j, "blocks", f.blocks, !s->f.lacks_blocks);
        json_put_known(j, "allocations", s->f.n_allocs, !s->f.lacks_blocks && !s->f.lacks_traffic);
        if (s->f.var[m] > 0)
                json_put_double(j, "standard_error", query_figures_error(&s->f, m), 1);
        if (f.bytes_are_estimated) {
                json_key(j, "bytes_estimated");
                json_bool(j, true);
        }
        show_put_stack(j, q, s->stack);
        json_put_uint(j, "site", s->stack);
        json_end(j);
}

void show_put_sites(struct json *j, const struct query *q, const struct query_answer *a,
                    enum query_metric m, size_t n_top) {
        json_key(j, "sites");
        if ((m == QUERY_TEMPORARY && a->totals.lacks_events) ||
            (m == QUERY_PEAK && a->totals.lacks_peak) ||
            ((m == QUERY_END || m == QUERY_GROWTH) && a->totals.lacks_live) ||
            (m == QUERY_COUNT && a->totals.lacks_blocks) ||
            (m == QUERY_ALLOCATED &&
             !show_knows_allocated(a->totals.lacks_blocks, a->totals.lacks_live)) ||
            ((m == QUERY_COUNT || m == QUERY_ALLOCATED) && a->totals.lacks_traffic)) {
                json_null(j);
                return;
        }
        json_array(j);
        for (size_t i = 0, n = 0; i < a->n_sites && n < n_top; i++) {
                struct query_figure f = query_figure_of(&a->sites[i].f, m);

                if (f.value == 0 && f.blocks == 0)
                        continue;
                show_put_site(j, q, &a->sites[i], m);
                n++;
        }
        json_end(j);
}

/* ---- answers --------------------------------------------------------------------------------- */

void show_put_args(struct json *j, const char *key, const char *const *args, uint32_t n) {
        json_key(j, key);
        json_array(j);
        for (uint32_t i = 0; i < n; i++)
                json_string(j, args[i]);
        json_end(j);
}

void show_put_totals(struct json *j, const char *key, const struct query *q,
                     const struct query_totals *t) {
        bool is_told = !t->lacks_events;

        json_key(j, key);
        json_object(j);
        json_put_known(j, "allocations", t->n_allocs, !t->lacks_blocks && !t->lacks_traffic);
        json_put_known(j, "frees", t->n_frees,
                       !t->lacks_blocks && !t->lacks_traffic && !t->lacks_live);
        json_put_known(j, "reallocations", t->n_reallocs, is_told && !t->lacks_reallocs);
        json_put_known(j, "failed_allocations", t->n_failed, is_told && !t->is_imported);
        json_put_known(j, "unknown_frees", t->n_unknown_frees, is_told);
        json_put_known(j, "prior_frees", t->n_prior_frees, is_told && !t->is_imported);
        json_put_known(j, "implicit_frees", t->n_implicit_frees, is_told);
        json_put_known(j, "bytes_allocated", t->alloc_bytes,
                       show_knows_allocated(t->lacks_blocks, t->lacks_live) && !t->lacks_traffic);
        json_put_known(j, "temporary_allocations", t->n_temporary, is_told);
        json_put_known(j, "peak_live_bytes", t->peak_bytes, !t->lacks_peak);
        json_put_known(j, "peak_live_blocks", t->peak_blocks, !t->lacks_blocks && !t->lacks_peak);
        json_key(j, "peak_at_s");
        if (t->lacks_time || t->lacks_peak)
                json_null(j);
        else
                json_double(j, (double)t->peak_ns / 1e9, 6);
        json_put_known(j, "end_live_bytes", t->end_bytes, !t->lacks_live);
        json_put_known(j, "end_live_blocks", t->end_blocks, !t->lacks_blocks && !t->lacks_live);
        if (t->has_left) {
                json_put_uint(j, "left_bytes", t->left_bytes);
                json_put_uint(j, "left_blocks", t->left_blocks);
        }
        json_put_known(j, "peak_rss_bytes", t->peak_rss_bytes,
                       is_told && (t->peak_rss_bytes || !t->is_imported));
        json_put_known(j, "lost_events", t->n_lost, is_told && !t->is_imported);
        json_put_known(j, "threads", t->n_threads, is_told && !t->lacks_threads);
        if (t->counts_samples)
                json_put_uint(j, "samples", t->n_allocs);
        json_put_uint(j, "sites", t->n_sites);
        json_put_known(j, "wrong_size_frees", t->n_wrong_sizes, is_told && !t->is_imported);
        if (q)
                estimate_put_totals(j, q, t);
        json_end(j);
}

void show_put_pid(struct json *j, const struct trace_view *v, uint32_t process) {
        bool is_one = process < v->n_processes;

        json_put_known(j, "pid", is_one ? v->processes[process].start.pid : 0,
                       is_one && origin_knows_pids(&v->meta));
}

void show_put_scope(struct json *j, const struct query *q, const struct query_scope *scope) {
        const struct trace_view *v = query_view(q);

        show_put_args(j, "command", v->meta.args, v->meta.n_args);
        show_put_pid(j, v, scope->process);
        json_key(j, "window");
        json_object(j);
        json_put_double(j, "from_s", (double)scope->from_ns / 1e9, 6);
        json_put_double(j, "to_s", (double)MIN(scope->to_ns, v->end_ns) / 1e9, 6);
        json_end(j);
        json_put_string(j, "filter", query_filter_text(scope->filter));
}

void show_put_answer(struct json *j, const struct query *q, const struct query_answer *a,
                     enum query_metric m) {
        const struct query_totals *t = &a->totals;
        struct query_figures f = {.n_allocs = t->n_allocs,
                                  .alloc_bytes = t->alloc_bytes,
                                  .n_frees = t->n_frees + t->n_implicit_frees,
                                  .n_temporary = t->n_temporary,
                                  .n_reallocs = t->n_reallocs,
                                  .peak_bytes = (int64_t)t->peak_bytes,
                                  .peak_blocks = (int64_t)t->peak_blocks,
                                  .begin_bytes = (int64_t)t->begin_bytes,
                                  .begin_blocks = (int64_t)t->begin_blocks,
                                  .end_bytes = (int64_t)t->end_bytes,
                                  .end_blocks = (int64_t)t->end_blocks,
                                  .lacks_events = t->lacks_events,
                                  .lacks_blocks = t->lacks_blocks,
                                  .lacks_live = t->lacks_live};

        for (size_t i = 0; i < a->n_sites; i++)
                f.free_bytes += a->sites[i].f.free_bytes;
        show_put_scope(j, q, &a->scope);
        json_put_string(j, "metric", query_metric_name(m));
        json_key(j, "exact");
        json_bool(j, a->is_exact);
        json_put_double(j, "known_from_s", (double)a->known_from_ns / 1e9, 6);
        show_put_figures(j, "totals", &f, m);
}
