/* SPDX-License-Identifier: MIT */
/* The difference for people: the answer first, then what it rests on. */
#include "diff/diff_text.h"

#include <math.h>
#include <string.h>

#include "diff/diff_words.h"
#include "query/spent_time.h"
#include "query/trace_times.h"
#include "show/frame.h"
#include "show/stack_text.h"

enum {
        TEXT_FRAMES = 5,     /* of a call path */
        TEXT_MAX_PATHS = 5,  /* call paths, unless --top says otherwise */
        TEXT_SMALL_ROWS = 5, /* told where many small changes make a large one */
        TEXT_FIGURE_CELLS = 11,
        TEXT_COMMAND_BYTES = 60,
        TEXT_LONG_PCT = 10, /* windows whose lengths differ by more are said to */
};

/* ---- totals ---------------------------------------------------------------------------------- */

static struct total_row total(const char *key, const char *name, int unit, bool is_flow, double old,
                              double new) {
        return (struct total_row){.key = key,
                                  .name = name,
                                  .unit = unit,
                                  .is_flow = is_flow,
                                  .values = {old, new},
                                  .is_known = {true, true}};
}

size_t diff_totals(const struct diff *d, struct total_row *rows) {
        const struct query_totals *a = &d->sides[NAME_OLD].answer->totals,
                                  *b = &d->sides[NAME_NEW].answer->totals;
        bool has_rss = query_filter_is_empty(diff_request(d->options)->filter);
        size_t n = 0;

        if (query_metric_time(d->metric)) {
                bool is_cpu = d->metric == QUERY_CPU;

                rows[n++] = total(is_cpu ? "cpu_s" : "blocked_s", is_cpu ? "CPU time" : "blocked",
                                  TOTAL_NS, true, (double)a->alloc_bytes, (double)b->alloc_bytes);
                rows[n++] = total("samples", is_cpu ? "samples" : "waits", TOTAL_COUNT, true,
                                  (double)a->n_allocs, (double)b->n_allocs);
                rows[n++] = total("call_paths", "call paths", TOTAL_COUNT, false,
                                  (double)a->n_sites, (double)b->n_sites);
                rows[n++] = total("duration_s", "duration", TOTAL_NS, false,
                                  (double)side_duration_ns(&d->sides[NAME_OLD]),
                                  (double)side_duration_ns(&d->sides[NAME_NEW]));
                return n;
        }
        if (unit_weights() != UNIT_BYTES) {
                rows[n++] = total("weight", unit_weight_name(), TOTAL_BYTES, true,
                                  (double)a->alloc_bytes, (double)b->alloc_bytes);
                rows[n++] = total("call_paths", "call paths", TOTAL_COUNT, false,
                                  (double)a->n_sites, (double)b->n_sites);
                return n;
        }
        rows[n++] = total("peak_live_bytes", "peak", TOTAL_BYTES, false, (double)a->peak_bytes,
                          (double)b->peak_bytes);
        rows[n - 1].is_known[NAME_OLD] = !a->lacks_peak;
        rows[n - 1].is_known[NAME_NEW] = !b->lacks_peak;
        rows[n++] = total("end_live_bytes", "live at the end", TOTAL_BYTES, false,
                          (double)a->end_bytes, (double)b->end_bytes);
        rows[n - 1].is_known[NAME_OLD] = !a->lacks_live;
        rows[n - 1].is_known[NAME_NEW] = !b->lacks_live;
        rows[n++] = total("bytes_allocated", "allocated", TOTAL_BYTES, true, (double)a->alloc_bytes,
                          (double)b->alloc_bytes);
        rows[n - 1].is_known[NAME_OLD] = (!a->lacks_blocks || a->lacks_live) && !a->lacks_traffic;
        rows[n - 1].is_known[NAME_NEW] = (!b->lacks_blocks || b->lacks_live) && !b->lacks_traffic;
        rows[n++] = total("allocations", "allocations", TOTAL_COUNT, true, (double)a->n_allocs,
                          (double)b->n_allocs);
        rows[n - 1].is_known[NAME_OLD] = !a->lacks_blocks && !a->lacks_traffic;
        rows[n - 1].is_known[NAME_NEW] = !b->lacks_blocks && !b->lacks_traffic;
        rows[n++] = total("temporary_allocations", "temporary", TOTAL_COUNT, true,
                          (double)a->n_temporary, (double)b->n_temporary);
        rows[n - 1].is_known[NAME_OLD] = !a->lacks_events;
        rows[n - 1].is_known[NAME_NEW] = !b->lacks_events;
        if (has_rss) {
                rows[n] = total("peak_rss_bytes", "peak RSS", TOTAL_BYTES, false,
                                (double)a->peak_rss_bytes, (double)b->peak_rss_bytes);
                rows[n].is_known[NAME_OLD] = a->peak_rss_bytes > 0;
                rows[n].is_known[NAME_NEW] = b->peak_rss_bytes > 0;
                n++;
        }
        rows[n++] = total("call_paths", "call paths", TOTAL_COUNT, false, (double)a->n_sites,
                          (double)b->n_sites);
        rows[n++] = total("duration_s", "duration", TOTAL_NS, false,
                          (double)side_duration_ns(&d->sides[NAME_OLD]),
                          (double)side_duration_ns(&d->sides[NAME_NEW]));
        rows[n - 1].is_known[NAME_OLD] = !a->lacks_time;
        rows[n - 1].is_known[NAME_NEW] = !b->lacks_time;
        return n;
}

static const char *total_text(const struct total_row *r, double v, const char *sign,
                              const char *behind, struct words *w) {
        struct unit_text t;
        uint64_t n = unit_nearest(fabs(v));

        snprintf(w->s, sizeof(w->s), "%s%s%s", sign,
                 r->unit == TOTAL_BYTES   ? unit_weight(&t, n)
                 : r->unit == TOTAL_COUNT ? unit_count(&t, n)
                                          : unit_duration(&t, n),
                 behind);
        return w->s;
}

/* Of a row, beside its name; together with that 60 where the terminal is narrow. */
struct total_cells {
        int indent, value, change, pct;
};

static struct total_cells total_cells(const struct style *s, const struct diff *d) {
        if (s->width >= 80)
                return (struct total_cells){2, 15, 15, 9};
        if (diff_request(d->options)->per_second) /* "+999.9 KiB/s" */
                return (struct total_cells){0, 11, 12, 7};
        return (struct total_cells){1, 10, 11, 9};
}

static void print_total(const struct style *s, const struct diff *d, const struct total_row *r) {
        bool is_rate = diff_request(d->options)->per_second && r->is_flow;
        double old = r->values[NAME_OLD] * (is_rate ? d->scale[NAME_OLD] : 1);
        double new = r->values[NAME_NEW] * (is_rate ? d->scale[NAME_NEW] : 1);
        const char *behind = is_rate ? "/s" : "", *sign = new < old ? "-" : "+";
        struct total_cells cells = total_cells(s, d);
        struct words a, b, change = {"="}, pct = {""};

        total_text(r, old, "", behind, &a);
        total_text(r, new, "", behind, &b);
        if (!r->is_known[NAME_OLD] || !r->is_known[NAME_NEW])
                change.s[0] = '\0';
        else if (new != old) {
                total_text(r, new - old, sign, behind, &change);
                words_percent(old, new, &pct);
        }
        fprintf(s->out, "%*s%-15s %*s %*s", cells.indent, "", r->name, cells.value,
                r->is_known[NAME_OLD] ? a.s : "unknown", cells.value,
                r->is_known[NAME_NEW] ? b.s : "unknown");
        if (change.s[0])
                fprintf(s->out, " %*s", cells.change, change.s);
        if (pct.s[0])
                fprintf(s->out, " %*s", cells.pct, pct.s);
        fputc('\n', s->out);
}

static void print_totals(const struct style *s, const struct diff *d) {
        struct total_row rows[TOTALS_MAX];
        struct total_cells cells = total_cells(s, d);
        size_t n = diff_totals(d, rows);

        style_heading(s, "Totals");
        fprintf(s->out, "%s%*s %*s %*s %*s%s\n", s->dim, cells.indent + 15, "", cells.value, "OLD",
                cells.value, "NEW", cells.change, "change", s->plain);
        for (size_t i = 0; i < n; i++)
                print_total(s, d, &rows[i]);
}

/* ---- what is compared ------------------------------------------------------------------------ */

static bool is_same_command(const struct diff *d) {
        struct str a = {0}, b = {0};
        bool is_same;

        side_add_command(&d->sides[NAME_OLD], SIZE_MAX, &a);
        side_add_command(&d->sides[NAME_NEW], SIZE_MAX, &b);
        is_same = a.n && strcmp(str_text(&a), str_text(&b)) == 0;
        str_done(&a);
        str_done(&b);
        return is_same;
}

/* Another tool may know the program alone. */
static bool knows_arguments(const struct diff_side *s) {
        bool is_one = s->answer->scope.process != QUERY_ALL && s->source->request->process;

        return (!is_one && s->v->meta.n_args) || side_process(s)->start.n_args;
}

static void add_side(const struct diff *d, enum name_side side, struct str *to) {
        const struct diff_side *x = &d->sides[side];
        struct unit_text a, b;
        size_t begin;

        str_addf(to, "%s: ", side == NAME_OLD ? "OLD" : "NEW");
        style_add_clean(to, frame_base(x->source->path));
        if (x->resolved.is_at)
                str_addf(to, " at %s", query_moment_text(x->q, &a, x->to_ns));
        else if (side_is_windowed(x))
                str_addf(to, " from %s to %s", query_moment_text(x->q, &a, x->from_ns),
                         query_moment_text(x->q, &b, x->to_ns));
        str_add(to, " (");
        begin = to->n;
        if (side == NAME_NEW && is_same_command(d))
                str_add(to, knows_arguments(x) ? "the same command" : "the same program");
        else
                side_add_command(x, TEXT_COMMAND_BYTES, to);
        if (to->n == begin)
                str_add(to, "its command is unknown");
        if (x->answer->scope.process == QUERY_ALL && query_n_pids(x->q) > 1)
                str_addf(to, " and all its processes, %s", unit_count(&a, query_n_pids(x->q)));
        else if (x->source->request->process && x->answer->scope.process != QUERY_ALL)
                str_addf(to, ", process %u", side_process(x)->start.pid);
        str_add(to, "). ");
}

static bool is_flow(enum query_metric m) {
        return m == QUERY_ALLOCATED || m == QUERY_COUNT || m == QUERY_TEMPORARY ||
               m == QUERY_GROWTH;
}

/* Of the lengths of the windows, where they are not alike. */
static void add_lengths(const struct diff *d, struct str *to) {
        double old = (double)side_duration_ns(&d->sides[NAME_OLD]);
        double new = (double)side_duration_ns(&d->sides[NAME_NEW]);
        struct unit_text t;

        if (diff_request(d->options)->per_second) {
                str_addf(to, "OLD is %s long,", unit_duration(&t, (uint64_t)old));
                str_addf(to, " NEW %s; figures are per second. ",
                         unit_duration(&t, (uint64_t) new));
                return;
        }
        if (d->sides[NAME_OLD].answer->totals.lacks_time ||
            d->sides[NAME_NEW].answer->totals.lacks_time)
                return;
        if (!is_flow(d->metric) || old <= 0 || new <= 0 ||
            fabs(new - old) * 100 <= fmin(old, new) * TEXT_LONG_PCT)
                return;
        str_addf(to, "NEW is %.1f times as long as OLD: use --per-second to compare rates. ",
                 new / old);
}

/* Why it is not the peak, which diff compares unasked. */
static void add_metric(const struct diff *d, struct str *to) {
        const struct query_totals *old = &d->sides[NAME_OLD].answer->totals,
                                  *new = &d->sides[NAME_NEW].answer->totals;
        bool is_end = d->metric == QUERY_END;

        if (diff_request(d->options)->has_metric || unit_weights() != UNIT_BYTES ||
            (!is_end && d->metric != QUERY_ALLOCATED) || (!old->lacks_peak && !new->lacks_peak))
                return;
        str_addf(to, "%s not know %s, so %s is compared. ",
                 old->lacks_peak && new->lacks_peak ? "They do"
                 : old->lacks_peak                  ? "OLD does"
                                                    : "NEW does",
                 is_end ? "the peak" : "what was live",
                 is_end ? "what was live at the end" : "what was allocated");
}

static void print_first(const struct style *s, const struct diff *d) {
        const char *filter = query_filter_text(diff_request(d->options)->filter);
        struct str text = {0};

        words_add_verdict(d, s, &text);
        fputs(s->bold, s->out);
        style_wrap(s, str_text(&text), 0);
        fputs(s->plain, s->out);
        str_clear(&text);
        add_side(d, NAME_OLD, &text);
        add_side(d, NAME_NEW, &text);
        add_metric(d, &text);
        add_lengths(d, &text);
        words_add_others(d, &text);
        if (filter[0])
                str_addf(&text, "Only blocks with %s.", filter);
        fputs(s->dim, s->out);
        style_wrap(s, str_text(&text), 0);
        fputs(s->plain, s->out);
        str_done(&text);
}

/* ---- rows ------------------------------------------------------------------------------------ */

/* "+119 %", "new", "gone". */
static const char *ratio(const struct diff *d, const struct diff_row *row, struct words *w) {
        switch (diff_status_of(d, row)) {
        case DIFF_NEW: return "new";
        case DIFF_GONE: return "gone";
        default: break;
        }
        words_percent(diff_value(d, &row->f[NAME_OLD], NAME_OLD),
                      diff_value(d, &row->f[NAME_NEW], NAME_NEW), w);
        return w->s[0] ? w->s : "from 0";
}

static const char *change_colour(const struct style *s, double change) {
        return change > 0 ? s->alarm : s->live;
}

static void add_figures(const struct style *s, const struct diff *d, const struct diff_row *row,
                        struct str *to) {
        double change = diff_change(d, row);
        struct words a;

        str_addf(to, "%s%*s%s", change_colour(s, change), TEXT_FIGURE_CELLS,
                 words_change(d, change, &a), change_colour(s, change)[0] ? s->plain : "");
        for (unsigned side = 0; side < NAME_N_SIDES; side++)
                str_addf(to, " %*s", TEXT_FIGURE_CELLS,
                         !row->has[side]
                                 ? "-"
                                 : words_value(d,
                                               diff_value(d, &row->f[side], (enum name_side)side),
                                               &a));
        str_addf(to, " %8s  ", ratio(d, row, &a));
}

static void print_function(const struct style *s, const struct diff *d,
                           const struct diff_row *row) {
        struct str line = {0}, name = {0}, place = {0};
        bool full = diff_request(d->options)->full;
        size_t left;

        add_figures(s, d, row, &line);
        left = s->width - MIN(s->width - 10, style_width(str_text(&line)));
        words_add_function(d, row, full, s->utf8, &name);
        words_add_old_name(d, row, s->utf8, &name);
        words_add_place(d, row, full, &place);
        style_add_cut(s, &line, str_text(&name), full ? SIZE_MAX : left);
        if (place.n && str_width(str_text(&name)) + 2 + str_width(str_text(&place)) <= left)
                str_addf(&line, "  %s%s%s", s->dim, str_text(&place), s->plain);
        fprintf(s->out, "%s\n", str_text(&line));
        str_done(&line);
        str_done(&name);
        str_done(&place);
}

static void print_path(const struct style *s, const struct diff *d, const struct diff_row *row) {
        enum name_side side = diff_told_side(row);
        struct str line = {0}, counts = {0};
        struct unit_text n, m;

        add_figures(s, d, row, &line);
        if (row->f[NAME_OLD].lacks_blocks || row->f[NAME_NEW].lacks_blocks ||
            row->f[NAME_OLD].lacks_traffic || row->f[NAME_NEW].lacks_traffic)
                ; /* nobody counted them */
        else if (row->f[NAME_OLD].n_allocs == row->f[NAME_NEW].n_allocs || !row->has[!side])
                str_addf(&counts, "%s allocation%s", unit_count(&n, row->f[side].n_allocs),
                         unit_s(row->f[side].n_allocs));
        else
                str_addf(&counts, "%s %s %s allocation%s",
                         unit_count(&n, row->f[NAME_OLD].n_allocs), s->utf8 ? "→" : "->",
                         unit_count(&m, row->f[NAME_NEW].n_allocs),
                         unit_s(row->f[NAME_NEW].n_allocs));
        if (style_width(str_text(&line)) + str_width(str_text(&counts)) > s->width) {
                while (line.n && line.bytes[line.n - 1] == ' ')
                        line.bytes[--line.n] = 0;
                str_addf(&line, "\n%*s", TEXT_FIGURE_CELLS + 1, "");
        }
        str_addf(&line, "%s%s", s->dim, str_text(&counts));
        str_done(&counts);
        fprintf(s->out, "\n%s%s\n", str_text(&line), s->plain);
        stack_print(s, &d->sides[side].frames, row->stacks[side], 12,
                    diff_request(d->options)->full ? 0 : TEXT_FRAMES);
        str_done(&line);
}

/* ---- tables ---------------------------------------------------------------------------------- */

struct tally {
        size_t n_noted, n_changed, n_chance, by_status[DIFF_N_STATUS];
};

static struct tally count_rows(const struct diff *d, const struct diff_row *rows, size_t n) {
        struct tally t = {0};

        for (size_t i = 0; i < n; i++) {
                t.n_changed += diff_change(d, &rows[i]) != 0;
                t.n_chance += rows[i].is_chance;
                if (!diff_row_is_noted(d, &rows[i]))
                        continue;
                t.n_noted++;
                t.by_status[diff_status_of(d, &rows[i])]++;
        }
        return t;
}

/* "2 grown, 1 new" */
static void add_tally(const struct tally *t, struct str *to) {
        static const enum diff_status order[] = {DIFF_GROWN, DIFF_NEW, DIFF_SHRUNK, DIFF_GONE};
        struct unit_text n;
        bool has_one = false;

        for (size_t i = 0; i < ARRAY_SIZE(order); i++) {
                if (t->by_status[order[i]] == 0)
                        continue;
                str_addf(to, "%s%s %s", has_one ? ", " : "", unit_count(&n, t->by_status[order[i]]),
                         diff_status_name(order[i]));
                has_one = true;
        }
}

/* How many rows are shown: those of note; where there are none, the largest of a total that changed. */
static size_t count_shown(const struct diff *d, const struct tally *t, size_t n_top,
                          size_t n_small) {
        if (diff_request(d->options)->full)
                return t->n_changed;
        if (t->n_noted)
                return MIN(t->n_noted, n_top);
        return diff_total_is_noted(d) ? MIN(t->n_changed - t->n_chance, n_small) : 0;
}

static void print_heading(const struct style *s, const struct diff *d, const char *by,
                          const struct tally *t, bool with_columns) {
        struct str text = {0};
        struct words w;

        str_addf(&text, "By %s, ", by);
        words_add_state(d, &text);
        str_add(&text, ": ");
        if (t->n_noted)
                add_tally(t, &text);
        else
                str_addf(&text, "none changed by %s or more; the largest",
                         words_value(d, d->limit, &w));
        style_heading(s, "%s", str_text(&text));
        if (with_columns)
                fprintf(s->out, "%s%*s %*s %*s%s\n", s->dim, TEXT_FIGURE_CELLS, "change",
                        TEXT_FIGURE_CELLS, "OLD", TEXT_FIGURE_CELLS, "NEW", s->plain);
        str_done(&text);
}

static void print_table(const struct style *s, const struct diff *d, const char *by,
                        const struct diff_row *rows, size_t n, size_t n_top,
                        void (*print)(const struct style *, const struct diff *,
                                      const struct diff_row *)) {
        struct tally t = count_rows(d, rows, n);
        bool is_functions = print == print_function;
        size_t n_shown = count_shown(d, &t, n_top, is_functions ? TEXT_SMALL_ROWS : 0);
        struct str rest = {0};
        struct unit_text a;
        struct words w;

        if (n_shown == 0)
                return;
        print_heading(s, d, by, &t, is_functions);
        for (size_t i = 0, done = 0; i < n && done < n_shown; i++) {
                if (diff_change(d, &rows[i]) == 0)
                        continue;
                print(s, d, &rows[i]);
                done++;
        }
        if (n_shown >= t.n_changed)
                return;
        fprintf(s->out, "%s%*s ", s->dim, TEXT_FIGURE_CELLS, s->utf8 ? "…" : "..");
        str_addf(&rest, "%s more", unit_count(&a, t.n_changed - n_shown));
        if (n_shown >= t.n_noted)
                str_addf(&rest, ", each by less than %s%s", words_value(d, d->limit, &w),
                         t.n_chance ? " or by chance" : "");
        str_add(&rest, "; use --full to see them");
        style_wrap(s, str_text(&rest), TEXT_FIGURE_CELLS + 1);
        fputs(s->plain, s->out);
        str_done(&rest);
}

/* ---- all of it ------------------------------------------------------------------------------- */

/* What a side lacks, before anything is said of it. */
static void print_doubts(const struct style *s, const struct diff *d) {
        struct str doubt = {0}, text = {0};

        for (unsigned side = 0; side < NAME_N_SIDES; side++) {
                side_add_doubt(&d->sides[side], &doubt);
                if (doubt.n) {
                        str_addf(&text, "%s: %s", side == NAME_OLD ? "OLD" : "NEW",
                                 str_text(&doubt));
                        fputs("! ", s->out);
                        style_wrap(s, str_text(&text), 2);
                }
                str_clear(&doubt);
                str_clear(&text);
        }
        str_done(&doubt);
        str_done(&text);
}

void diff_text(FILE *out, const struct diff *d) {
        size_t n_top = request_n_top(diff_request(d->options), DIFF_USUAL_TOP);
        struct style s;

        style_init(&s, out);
        print_doubts(&s, d);
        print_first(&s, d);
        print_totals(&s, d);
        print_table(&s, d, "function", d->functions.items, d->functions.n, n_top, print_function);
        print_table(&s, d, "call path", d->sites.items, d->sites.n,
                    diff_request(d->options)->has_top ? n_top : MIN(n_top, (size_t)TEXT_MAX_PATHS),
                    print_path);
}
