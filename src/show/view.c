/* SPDX-License-Identifier: MIT */
#include "show/view.h"

#include "show/estimate.h"

#include <string.h>

#include "show/frame.h"
#include "show/process_holders.h"

int view_init(struct view *v, FILE *out, struct query *q, const struct report_options *o,
              const char *schema, struct err *reterr) {
        int r;

        *v = (struct view){.o = o, .q = q, .v = query_view(q), .out = out};
        v->r = (struct report){.options = o, .q = q, .v = v->v, .names = query_names(q)};
        r = query_metric_parse(o->metric, &v->metric, reterr);
        if (r >= 0)
                r = report_scope(q, o, &v->scope, reterr);
        if (r < 0)
                return r;
        if (!o->json)
                style_init(&v->s, out);
        json_init(&v->j, out);
        v->schema = schema;
        return 0;
}

/* ---- metrics --------------------------------------------------------------------------------- */

bool metric_is_count(enum query_metric m) {
        return m == QUERY_COUNT || m == QUERY_TEMPORARY;
}

const char *metric_text(enum query_metric m, int64_t value, struct unit_text *t) {
        if (metric_is_count(m))
                return unit_count(t, (uint64_t)value);
        return m == QUERY_GROWTH ? unit_bytes_signed(t, value) : unit_bytes(t, (uint64_t)value);
}

double metric_share_pct(int64_t value, uint64_t whole) {
        return whole ? 100.0 * (double)value / (double)whole : 0;
}

void view_add_state(const struct view *v, struct str *to) {
        struct unit_text t;

        switch (v->metric) {
        case QUERY_PEAK: str_add(to, "live at the peak"); break;
        case QUERY_END:
                if (v->scope.to_ns < v->v->end_ns)
                        str_addf(to, "live at %s", unit_duration(&t, v->scope.to_ns));
                else
                        str_add(to, "still allocated at the end");
                break;
        case QUERY_ALLOCATED: str_add(to, "allocated"); break;
        case QUERY_COUNT: str_add(to, "allocations"); break;
        case QUERY_TEMPORARY: str_add(to, "temporary allocations"); break;
        case QUERY_GROWTH: str_add(to, "of growth"); break;
        case QUERY_N_METRICS: break;
        }
}

void view_add_whole(const struct view *v, const struct query_totals *t, struct str *to) {
        struct unit_text n;

        str_addf(to, "%s ", metric_text(v->metric, (int64_t)query_metric_whole(t, v->metric), &n));
        view_add_state(v, to);
}

void view_add_nothing(const struct view *v, const struct query_answer *a, struct str *to) {
        bool is_filtered = !query_filter_is_empty(v->scope.filter);
        struct unit_text t;

        if (query_answer_is_untold(a)) {
                str_add(to, "What was ");
                view_add_state(v, to);
                str_add(to, " ");
                report_add_untold(a->known_from_ns, to);
                str_add(to, ".");
                return;
        }
        if (v->metric == QUERY_GROWTH && !a->known_from_ns) {
                str_addf(to, "Nothing %sgrew: try another %smetric (--by), window or process.",
                         is_filtered ? "that the filter selects " : "",
                         is_filtered ? "filter, " : "");
                return;
        }
        if (a->known_from_ns)
                str_addf(to, "Of the blocks allocated since %s, whose detail is kept, nothing was ",
                         unit_duration(&t, a->known_from_ns));
        else
                str_addf(to, "Nothing %swas ", is_filtered ? "that the filter selects " : "");
        view_add_state(v, to);
        str_addf(to, ": try another %smetric (--by), window or process.",
                 is_filtered ? "filter, " : "");
}

void view_add_share(struct str *to, int64_t value, uint64_t whole) {
        double pct = metric_share_pct(value, whole);

        if (!whole)
                return;
        if (pct > 0 && pct < 1)
                str_add(to, " (under 1 %)");
        else
                str_addf(to, " (%.0f %%)", pct < 100 && pct > 99 ? 99.0 : pct);
}

const char *view_verb(const struct view *v) {
        return metric_is_count(v->metric) ? "made" : "asked for";
}

/* ---- names ----------------------------------------------------------------------------------- */

void view_add_name(const struct view *v, const struct query_frame *f, bool is_task,
                   struct str *to) {
        struct name_frame n = frame_of(f);

        frame_add_function(to, &v->r, &n, is_task, v->o->full, v->s.utf8);
}

void view_add_place(const struct view *v, const struct query_frame *f, struct str *to) {
        struct name_frame n = frame_of(f);

        frame_add_place(to, &n, v->o->full);
}

static void add_window(const struct view *v, struct str *to) {
        struct unit_text a, b;

        if (v->scope.from_ns >= v->scope.to_ns)
                return; /* nothing of it is known: the first sentence said so */
        if (v->scope.from_ns > 0 && v->scope.to_ns < v->v->end_ns)
                str_addf(to, "From %s to %s. ", unit_duration(&a, v->scope.from_ns),
                         unit_duration(&b, v->scope.to_ns));
        else if (v->scope.from_ns > 0)
                str_addf(to, "From %s on. ", unit_duration(&a, v->scope.from_ns));
        else if (v->scope.to_ns < v->v->end_ns)
                str_addf(to, "Up to %s. ", unit_duration(&b, v->scope.to_ns));
}

static void add_crowd(const struct view *v, struct str *to) {
        struct unit_text t;

        if (!holder_add_crowd(v->q, v->answer, to))
                str_addf(to, "All %s processes", unit_count(&t, query_n_pids(v->q)));
        str_add(to, " together. ");
}

static void add_process(const struct view *v, struct str *to) {
        struct str name = {0};

        query_add_process_name(v->q, v->scope.process, &name);
        style_add_clean(to, str_text(&name));
        str_addf(to, " (pid %u) alone. ", v->v->processes[v->scope.process].start.pid);
        str_done(&name);
}

void view_add_scope(const struct view *v, struct str *to) {
        const char *filter = query_filter_text(v->scope.filter);

        if (v->scope.process == QUERY_ALL && query_n_pids(v->q) > 1)
                add_crowd(v, to);
        else if (v->v->n_processes > 1 && v->scope.process != QUERY_ALL)
                add_process(v, to);
        add_window(v, to);
        if (filter[0])
                str_addf(to, "Only blocks with %s.", filter);
}

void view_print_first(const struct view *v, struct str *sentence) {
        fputs(v->s.bold, v->out);
        style_wrap(&v->s, str_text(sentence), 0);
        fputs(v->s.plain, v->out);
        str_clear(sentence);
        view_add_scope(v, sentence);
        if (sentence->n) {
                fputs(v->s.dim, v->out);
                style_wrap(&v->s, str_text(sentence), 0);
                fputs(v->s.plain, v->out);
        }
        str_clear(sentence);
}

void view_add_doubts(const struct view *v, const struct query_answer *a, struct str *to) {
        const char *damage = query_damage(v->q);
        struct unit_text t;

        if (damage[0])
                str_addf(to, "%s\n", damage);
        if (query_answer_is_untold(a))
                return; /* the first sentence says it */
        estimate_add_sentence(to, v->q, a->totals.is_tallied);
        if (query_sample_bytes(v->q))
                str_add(to, "\n");
        if (a->known_from_ns)
                str_addf(
                        to,
                        "Detail before %s was dropped (--max-size): blocks allocated earlier are not counted.\n",
                        unit_duration(&t, a->known_from_ns));
        else if (a->is_moved)
                str_addf(
                        to,
                        "Event detail before %s was dropped (--max-size): these are the figures of the nearest window there is.\n",
                        unit_duration(&t, v->v->detail_from_ns));
        else if (!a->is_exact)
                str_add(to,
                        "Parts that these figures need are missing from the file: they are as near as the rest allows.\n");
}

void view_print_doubts(const struct view *v, const struct query_answer *a) {
        struct str text = {0};

        view_add_doubts(v, a, &text);
        for (const char *line = str_text(&text), *end; *line; line = end + 1) {
                end = strchrnul(line, '\n');
                fprintf(v->out, "\n%.*s\n", (int)(end - line), line);
        }
        str_done(&text);
}

/* ---- JSON ------------------------------------------------------------------------------------ */

static void put_int(struct json *j, const char *key, int64_t v) {
        json_key(j, key);
        json_int(j, v);
}

void view_put_frame(struct json *j, const struct query_frame *f) {
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
        if (!f->function[0])
                json_put_uint(j, "offset", f->offset);
}

static bool put_frame(void *ctx, const struct query_frame *f) {
        struct json *j = ctx;

        json_object(j);
        view_put_frame(j, f);
        json_end(j);
        return true;
}

void view_put_stack(struct json *j, const struct query *q, uint32_t stack) {
        json_key(j, "stack");
        json_array(j);
        query_each_frame(q, stack, put_frame, j);
        json_end(j);
}

void view_put_figures(struct json *j, const char *key, const struct query_figures *f,
                      enum query_metric m) {
        json_key(j, key);
        json_object(j);
        put_int(j, "value", query_figure_of(f, m).value);
        json_put_uint(j, "allocations", f->n_allocs);
        json_put_uint(j, "bytes_allocated", f->alloc_bytes);
        json_put_uint(j, "frees", f->n_frees);
        json_put_uint(j, "bytes_freed", f->free_bytes);
        json_put_uint(j, "temporary_allocations", f->n_temporary);
        json_put_uint(j, "reallocations", f->n_reallocs);
        put_int(j, "peak_live_bytes", f->peak_bytes);
        put_int(j, "peak_live_blocks", f->peak_blocks);
        put_int(j, "begin_live_bytes", f->begin_bytes);
        put_int(j, "begin_live_blocks", f->begin_blocks);
        put_int(j, "end_live_bytes", f->end_bytes);
        put_int(j, "end_live_blocks", f->end_blocks);
        if (f->var[m] > 0)
                json_put_double(j, "standard_error", query_figures_error(f, m), 1);
        json_end(j);
}

void view_put_scope(struct view *v, const struct query_scope *scope) {
        struct json *j = &v->j;

        json_object(j);
        json_put_string(j, "schema", v->schema);
        json_key(j, "command");
        json_array(j);
        for (uint32_t i = 0; i < v->v->meta.n_args; i++)
                json_string(j, v->v->meta.args[i]);
        json_end(j);
        json_key(j, "pid"); /* null: all processes */
        if (scope->process == QUERY_ALL)
                json_null(j);
        else
                json_uint(j, v->v->processes[scope->process].start.pid);
        json_key(j, "window");
        json_object(j);
        json_put_double(j, "from_s", (double)scope->from_ns / 1e9, 6);
        json_put_double(j, "to_s", (double)MIN(scope->to_ns, v->v->end_ns) / 1e9, 6);
        json_end(j);
        json_put_string(j, "filter", query_filter_text(scope->filter));
}

void view_put_answer(struct view *v, const struct query_answer *a) {
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
                                  .end_blocks = (int64_t)t->end_blocks};

        for (size_t i = 0; i < a->n_sites; i++)
                f.free_bytes += a->sites[i].f.free_bytes;
        view_put_scope(v, &a->scope);
        json_put_string(&v->j, "metric", query_metric_name(v->metric));
        json_key(&v->j, "exact");
        json_bool(&v->j, a->is_exact);
        json_put_double(&v->j, "known_from_s", (double)a->known_from_ns / 1e9, 6);
        view_put_figures(&v->j, "totals", &f, v->metric);
}

void view_end(struct view *v) {
        json_end(&v->j);
}
