/* SPDX-License-Identifier: MIT */
#include "query/trace_origin.h"
#include "replay/whatif_rows.h"
#include "show/stack_text.h"

enum { MAX_NAME_CELLS = 32, MIN_NAME_CELLS = 10 };

static void add_row_name(const struct whatif_row *row, struct str *to) {
        contender_add_name(row->contender, to);
        if (row->has_result && row->result->version[0] && !row->contender->settings.n) {
                str_add(to, " ");
                style_add_clean(to, row->result->version);
        }
}

static size_t name_cells(const struct whatif *w) {
        size_t cells = MIN_NAME_CELLS;
        struct str name = {0};

        for (size_t i = 0; i < w->rows.n; i++) {
                str_clear(&name);
                add_row_name(&w->rows.items[i], &name);
                cells = MAX(cells, str_width(str_text(&name)));
        }
        str_done(&name);
        return MIN(cells, (size_t)MAX_NAME_CELLS);
}

static void add_cell(struct str *to, const char *text, size_t width) {
        size_t cells = str_width(text);

        str_add(to, "  ");
        if (cells < width)
                str_pad(to, ' ', width - cells);
        str_add(to, text);
}

static void add_program(const struct whatif *w, const struct whatif_row *row, struct str *to) {
        uint64_t bytes = whatif_program_bytes(w, row);
        struct unit_text t;

        add_cell(to, bytes ? unit_bytes(&t, bytes) : "unknown", 9);
}

static void print_row(const struct style *s, const struct whatif *w, size_t i, size_t cells) {
        const struct whatif_row *row = &w->rows.items[i];
        struct str line = {0}, name = {0};
        struct unit_text t;
        size_t begin;

        add_row_name(row, &name);
        begin = line.n;
        style_add_cut(s, &line, str_text(&name), cells);
        style_pad_to(&line, begin, cells);
        if (row->has_result) {
                add_cell(&line, unit_bytes(&t, row->peak_bytes), 9);
                add_cell(&line, unit_bytes(&t, row->end_bytes), 9);
                add_program(w, row, &line);
                add_cell(&line, unit_count(&t, row->n_faults), 9);
                add_cell(&line, unit_duration(&t, row->cpu_ns), 8);
                if (i == w->reference && w->is_recorded)
                        str_add(&line, "  recorded");
                else if (row->is_paced)
                        str_add(&line, "  paced");
        } else if (row->contender->is_missing) {
                str_addf(&line, "  not installed: apt install %s", row->contender->package);
        } else {
                str_add(&line, "  ");
                style_add_clean(&line, row->why);
        }
        fprintf(s->out, "%s\n", str_text(&line));
        str_done(&line);
        str_done(&name);
}

static void print_table(const struct style *s, const struct whatif *w) {
        size_t cells = name_cells(w);
        struct unit_text a, b;
        struct str line = {0};

        str_pad(&line, ' ', cells);
        add_cell(&line, "peak", 9);
        add_cell(&line, "end", 9);
        add_cell(&line, "program", 9);
        add_cell(&line, "faults", 9);
        add_cell(&line, "CPU", 8);
        fprintf(s->out, "\n%s%s%s\n", s->dim, str_text(&line), s->plain);
        fprintf(s->out, "%-*s  %9s  %9s\n", (int)cells, "live bytes",
                unit_bytes(&a, w->ops.peak_live_bytes), unit_bytes(&b, w->ops.live_bytes));
        for (size_t i = 0; i < w->rows.n; i++)
                print_row(s, w, i, cells);
        str_done(&line);
}

static void print_what(const struct style *s, const struct whatif *w) {
        const struct trace_view *v = query_view(w->q);
        struct unit_text a, b;
        struct str line = {0};
        bool is_paced = w->options->pace == PACE_RECORDED;

        query_add_process_name(w->q, w->process, &line);
        if (query_n_pids(w->q) > 1)
                str_addf(&line, " (pid %u%s)", query_view(w->q)->processes[w->process].start.pid,
                         w->options->view.request->process ? "" : ", the process that held most");
        str_addf(&line, ": %s allocations%s %s frees", unit_count(&a, w->ops.n_allocs),
                 origin_counts_reallocs(&v->meta, w->ops.n_reallocs) ? "," : " and",
                 unit_count(&b, w->ops.n_frees));
        if (origin_counts_reallocs(&v->meta, w->ops.n_reallocs)) /* not all other tools do */
                str_addf(&line, " and %s reallocations", unit_count(&a, w->ops.n_reallocs));
        if (origin_knows_threads(v))
                str_addf(&line, " of %u thread%s", w->ops.n_threads, unit_s(w->ops.n_threads));
        if (v->meta.flags & TRACE_LACKS_TIME)
                str_add(&line, ", replayed as fast as it goes: the times are unknown.");
        else
                str_addf(&line, " in %s, %s", unit_duration(&a, w->ops.duration_us * 1000),
                         is_paced ? "replayed at the recorded pace."
                                  : "replayed as fast as it goes, by the recorded clock.");
        style_wrap(s, str_text(&line), 0);
        str_done(&line);
}

/* A sentence a line. */
static void print_doubts(const struct style *s, const struct whatif *w) {
        struct str all = {0}, line = {0};
        const char *end;

        whatif_add_doubts(w, &all);
        if (all.n)
                fputc('\n', s->out);
        for (const char *at = str_text(&all); (end = strchr(at, '\n')); at = end + 1) {
                str_clear(&line);
                str_addn(&line, at, (size_t)(end - at));
                style_wrap(s, str_text(&line), 0);
        }
        str_done(&all);
        str_done(&line);
}

/* ---- estimates ---------------------------------------------------------------------------------- */

static void add_bytes(struct str *to, uint64_t bytes, bool is_known, size_t width) {
        struct unit_text t;

        add_cell(to, !is_known ? "unknown" : bytes ? unit_weight(&t, bytes) : "-", width);
}

static void print_estimate(const struct style *s, const struct whatif *w,
                           const struct site_estimate *row) {
        const struct site_estimates *e = &w->estimates;
        size_t width = s->width > 66 ? MIN(s->width - 58, 80u) : 24;
        struct str line = {0};

        add_bytes(&line, row->peak_bytes, true, 9);
        add_bytes(&line, e->peak_bytes - MIN(row->gone_peak_bytes, e->peak_bytes), true, 9);
        add_bytes(&line, e->peak_bytes - MIN(row->brief_peak_bytes, e->peak_bytes), e->is_exact, 9);
        add_bytes(&line, row->pool_bytes, e->is_exact, 9);
        add_bytes(&line, row->untouched_bytes, true, 9);
        str_add(&line, "  ");
        stack_add_short(s, &w->names, row->stack, &line, width);
        fprintf(s->out, "%s\n", str_text(&line));
        str_done(&line);
}

static void print_estimates(const struct style *s, const struct whatif *w) {
        const struct site_estimates *e = &w->estimates;
        struct str title = {0};

        if (!e->n)
                return;
        str_addf(&title, "Without a replay: what the %s", e->has_no_peak ? "" : "peak of ");
        whatif_add_peak(e, s->utf8, &title);
        str_addf(&title, " live would lose%s if the blocks of this code were",
                 e->is_exact ? "" : " at most");
        fprintf(s->out, "\n%s", s->bold);
        style_wrap(s, str_text(&title), 0);
        fputs(s->plain, s->out);
        str_done(&title);
        fprintf(s->out, "%s%11s%11s%11s%11s%11s%s\n", s->dim, "at peak", "gone", "freed@once",
                "pooled", "fitted", s->plain);
        for (size_t i = 0; i < e->n; i++)
                print_estimate(s, w, &e->rows[i]);
}

void whatif_print_text(FILE *out, const struct whatif *w) {
        struct str advice = {0};
        struct style s;

        style_init(&s, out);
        whatif_add_advice(w, s.utf8, &advice);
        fputs(s.bold, out);
        style_wrap(&s, str_text(&advice), 0);
        fputs(s.plain, out);
        if (w->has_replay) {
                print_what(&s, w);
                print_table(&s, w);
                print_doubts(&s, w);
        }
        print_estimates(&s, w);
        str_done(&advice);
}
