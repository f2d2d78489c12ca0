/* SPDX-License-Identifier: MIT */
/* Who asked for memory, by function, module, line, crate, component, thread, size or process. Text, or JSON (schema
 * silt.groups/1). */
#include "query/spent_time.h"
#include "query/trace_origin.h"
#include "report/gather.h"
#include "show/frame.h"
#include "show/show_json.h"
#include "show/stack_text.h"
#include "show/view.h"

enum {
        GROUPS_SPARK_CELLS = 24, /* live bytes over time, beside a row */
        GROUPS_WIDE = 110,       /* width of the line from which on they are there */
        GROUPS_JSON_COLUMNS = 100,
        GROUPS_MAX_HISTORIES = 100, /* rows that get one */
        GROUPS_MOST_PCT = 90,       /* "so many of them for 90 %" */
};

/* ---- what a row is called -------------------------------------------------------------------- */

static const char *noun(enum query_by by, bool is_plural) {
        static const char *const one[QUERY_N_BY] = {"call path", "function",   "module",
                                                    "line",      "crate",      "component",
                                                    "thread",    "size class", "process"};
        static const char *const many[QUERY_N_BY] = {"call paths", "functions",    "modules",
                                                     "lines",      "crates",       "components",
                                                     "threads",    "size classes", "processes"};

        return is_plural ? many[by] : one[by];
}

static void add_process(const struct view *v, uint32_t process, struct str *to) {
        const struct trace_process *p;
        struct str name = {0};

        if (process >= v->v->n_processes) {
                str_add(to, "unknown");
                return;
        }
        p = &v->v->processes[process].start;
        if (origin_knows_pids(&v->v->meta)) /* imported: most sources tell none */
                str_addf(to, "%u ", p->pid);
        query_add_process_name(v->q, process, &name);
        style_add_clean(to, str_text(&name));
        str_done(&name);
        if (p->image > 1)
                str_addf(to, " (image %u)", p->image);
}

static void add_thread(const struct view *v, uint32_t thread, struct str *to) {
        const struct trace_thread_info *t;

        if (thread >= v->v->n_threads) {
                str_add(to, "unknown");
                return;
        }
        t = &v->v->threads[thread];
        str_addf(to, "%u ", t->start.tid);
        style_add_clean(to, t->name[0] ? t->name : "-");
}

static void add_size(const struct query_group *g, struct str *to) {
        struct unit_text a, b;

        if (g->min_bytes == g->max_bytes)
                str_addf(to, "%s bytes", unit_count(&a, g->max_bytes));
        else
                str_addf(to, "%s to %s bytes", unit_count(&a, g->min_bytes),
                         unit_count(&b, g->max_bytes));
}

/* At most width cells, but for a name that is whole with --full; where there is room, where to find it. */
static void add_what(const struct view *v, const struct query_groups *groups,
                     const struct query_group *g, struct str *to, size_t width, bool with_place) {
        struct str name = {0}, place = {0};

        switch (groups->options.by) {
        case QUERY_BY_SITE: stack_add_short(&v->s, &v->frames, g->stack, to, width); return;
        case QUERY_BY_FUNCTION:
                if (g->n_sites && !g->stack)
                        break;
                view_add_name(v, &g->frame, g->is_task, &name);
                view_add_place(v, &g->frame, &place);
                break;
        case QUERY_BY_LINE:
                if (g->frame.file[0] && g->frame.line)
                        view_add_place(v, &g->frame, &name);
                else if (g->stack || !g->n_sites)
                        view_add_name(v, &g->frame, false, &name);
                break;
        case QUERY_BY_MODULE:
                style_add_clean(&name, v->o->request->full ? g->frame.module
                                                           : frame_base(g->frame.module));
                break;
        case QUERY_BY_CRATE:
        case QUERY_BY_COMPONENT: style_add_clean(&name, g->name); break;
        case QUERY_BY_THREAD: add_thread(v, g->thread, &name); break;
        case QUERY_BY_SIZE: add_size(g, &name); break;
        case QUERY_BY_PROCESS: add_process(v, g->process, &name); break;
        case QUERY_N_BY: break;
        }
        if (name.n == 0)
                str_add(&name, g->n_sites && !g->stack ? "(no stack)" : "(unknown)");
        style_add_cut(&v->s, to, str_text(&name), v->o->request->full ? SIZE_MAX : width);
        if (with_place && place.n &&
            str_width(str_text(&name)) + 2 + str_width(str_text(&place)) <= width)
                str_addf(to, "  %s%s%s", v->s.dim, str_text(&place), v->s.plain);
        str_done(&name);
        str_done(&place);
}

/* ---- text ------------------------------------------------------------------------------------ */

static int64_t value_of(const struct query_figures *f, const struct query_groups *g) {
        return query_figure_of(f, g->options.metric).value;
}

/* How many of the largest have most of it; 0: all of them do not. */
static size_t count_most(const struct query_groups *g, uint64_t whole) {
        uint64_t sum = 0;

        for (size_t n = 0; n < g->n; n++) {
                if (value_of(&g->rows[n].self, g) > 0)
                        sum += (uint64_t)value_of(&g->rows[n].self, g);
                if ((double)sum * 100 >= (double)whole * GROUPS_MOST_PCT)
                        return n + 1;
        }
        return 0;
}

/* "shop::insert asked for 4.8 MiB of the 6.0 MiB live at the peak (80 %); 3 of 214 functions for 90 % of it." */
static void print_first(const struct view *v, const struct query_groups *g) {
        uint64_t whole = query_metric_whole(&g->answer->totals, v->metric);
        int64_t most = g->n ? value_of(&g->rows[0].self, g) : 0;
        struct str text = {0};
        struct unit_text a, b;
        size_t n_most;

        if (most <= 0) {
                view_add_nothing(v, g->answer, &text);
                view_print_first(v, &text);
                str_done(&text);
                return;
        }
        if (g->options.by == QUERY_BY_THREAD)
                str_add(&text, "Thread ");
        if (g->options.by == QUERY_BY_PROCESS)
                str_add(&text, "Process ");
        if (g->options.by == QUERY_BY_SIZE)
                str_add(&text, "Blocks of ");
        add_what(v, g, &g->rows[0], &text, v->s.width, false);
        str_addf(&text, " %s ", g->options.by == QUERY_BY_SIZE ? "were" : view_verb(v));
        view_add_part(v, most, &g->answer->totals, &text);
        n_most = count_most(g, whole);
        if (whole && n_most > 1 && n_most < show_count_groups(g))
                str_addf(&text, "; %s of %s %s make up %d %% of it", unit_count(&a, n_most),
                         unit_count(&b, show_count_groups(g)), noun(g->options.by, true),
                         GROUPS_MOST_PCT);
        str_add(&text, ".");
        view_print_first(v, &text);
        str_done(&text);
}

static void add_figure(const struct view *v, const struct query_groups *g,
                       const struct query_figures *f, bool with_share, struct str *to) {
        uint64_t whole = query_metric_whole(&g->answer->totals, v->metric);
        struct unit_text t;

        str_addf(to, "%*s", unit_weight_width() + 1, metric_text(v->metric, value_of(f, g), &t));
        if (whole && with_share)
                str_addf(to, " %5.1f %%", metric_share_pct(value_of(f, g), whole));
}

static bool is_wide(const struct view *v) {
        return v->s.width >= GROUPS_WIDE;
}

/* Live bytes over time in one line, the highest of the row filling it. */
static void add_spark(const struct view *v, const struct query_history *h, size_t group,
                      struct str *to) {
        static const char *const bars[] = {" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
        const int64_t *live = &h->live_bytes[group * h->n_columns];
        int64_t highest = 1;

        for (size_t i = 0; i < h->n_columns; i++)
                highest = MAX(highest, live[i]);
        str_add(to, v->s.live);
        for (size_t i = 0; i < h->n_columns; i++) {
                unsigned n = live[i] <= 0 ? 0
                                          : 1 + (unsigned)unit_nearest(7.0 * (double)live[i] /
                                                                       (double)highest);

                str_add(to, bars[MIN(n, 8u)]);
        }
        str_addf(to, "%s  ", v->s.plain);
}

static bool has_no_blocks(const struct view *v) {
        return v->v->meta.flags & TRACE_LACKS_BLOCKS;
}

static void print_heading(const struct view *v, const struct query_groups *g,
                          const struct query_history *h, size_t n_shown, size_t n) {
        bool has_share = query_metric_whole(&g->answer->totals, v->metric) > 0;
        int plain = unit_weight_width() + 1, width = plain + (has_share ? 8 : 0);
        struct unit_text a, b;
        struct str text = {0};

        str_addf(&text, "By %s: ", noun(g->options.by, false));
        if (v->metric == QUERY_GROWTH)
                str_add(&text, "growth of live bytes");
        else if (query_metric_time(v->metric))
                str_add(&text, v->metric == QUERY_CPU ? "CPU time" : "time blocked");
        else
                view_add_state(v, &text);
        style_heading(&v->s, "%s (%s of %s)", str_text(&text), unit_count(&a, n_shown),
                      unit_count(&b, n));
        str_clear(&text);
        if (show_groups_have_totals(g->options.by))
                str_addf(&text, "%*s%*s", width, "itself", is_wide(v) ? width : plain,
                         is_wide(v) ? "with callees" : "+ callees");
        else
                str_addf(&text, "%*s", width,
                         metric_is_count(v->metric) ? "allocations" : unit_weight_name());
        str_addf(&text, "%12s  ",
                 v->metric == QUERY_BLOCKED     ? "waits"
                 : query_metric_time(v->metric) ? "samples"
                 : has_no_blocks(v)             ? ""
                 : metric_is_count(v->metric)   ? "bytes"
                 : v->metric == QUERY_MAPPED    ? "mappings"
                                                : "blocks");
        if (h)
                str_addf(&text, "%-*s", GROUPS_SPARK_CELLS + 2,
                         query_metric_time(v->metric) ? "over time" : "live over time");
        fprintf(v->out, "%s%s%s%s\n", v->s.dim, str_text(&text), noun(g->options.by, false),
                v->s.plain);
        str_done(&text);
}

static void print_row(const struct view *v, const struct query_groups *g,
                      const struct query_history *h, size_t i) {
        const struct query_group *row = &g->rows[i];
        struct query_figure f = query_figure_of(&row->self, v->metric);
        struct unit_text t;
        struct str line = {0};
        size_t width;

        add_figure(v, g, &row->self, true, &line);
        if (show_groups_have_totals(g->options.by))
                add_figure(v, g, &row->total, is_wide(v), &line);
        str_addf(&line, "%12s  ",
                 query_metric_time(v->metric) ? unit_count(&t, (uint64_t)f.blocks)
                 : has_no_blocks(v)           ? ""
                 : metric_is_count(v->metric) ? unit_bytes(&t, (uint64_t)f.bytes)
                 : f.blocks < 0               ? "-"
                                              : unit_count(&t, (uint64_t)f.blocks));
        width = str_width(str_text(&line));
        if (h && i < h->n_groups)
                add_spark(v, h, i, &line);
        else if (h)
                str_pad(&line, ' ', GROUPS_SPARK_CELLS + 2);
        width += h ? GROUPS_SPARK_CELLS + 2 : 0;
        add_what(v, g, row, &line, v->s.width - MIN(v->s.width - 10, width), true);
        fprintf(v->out, "%s\n", str_text(&line));
        str_done(&line);
}

static void print_text(const struct view *v, const struct query_groups *g,
                       const struct query_history *h) {
        size_t n = show_count_groups(g),
               n_shown = v->o->request->full ? n : MIN(n, (size_t)show_n_top(v->o)), done = 0;
        struct unit_text t;

        print_first(v, g);
        if (n_shown)
                print_heading(v, g, h, n_shown, n);
        for (size_t i = 0; i < g->n && done < n_shown; i++) {
                if (value_of(&g->rows[i].self, g) == 0 && value_of(&g->rows[i].total, g) == 0)
                        continue;
                print_row(v, g, h, i);
                done++;
        }
        if (done < n)
                fprintf(v->out, "%s%*s %s more: use --top N or --full to see them%s\n", v->s.dim,
                        11, v->s.utf8 ? "…" : "..", unit_count(&t, n - done), v->s.plain);
        view_print_doubts(v, g->answer);
}

static void put_json(struct view *v, const struct query_history *h) {
        view_begin(v);
        show_put_answer(&v->j, v->q, h->groups->answer, v->metric);
        show_put_groups(&v->j, v->q, h->groups, h,
                        v->o->request->full ? SIZE_MAX : show_n_top(v->o));
        view_end(v);
}

/* ---- the whole ------------------------------------------------------------------------------- */

int report_groups(FILE *out, struct query *q, const struct show_options *o, struct err *reterr) {
        _cleanup_(query_history_freep) struct query_history *h = NULL;
        _cleanup_(query_groups_freep) struct query_groups *alone = NULL;
        struct query_group_options by = {.by = o->request->group_by, .is_full = o->request->full};
        struct view v;
        int r;

        view_init(&v, out, q, o, "silt.groups/1");
        by.metric = v.metric;
        if (o->json || (v.s.utf8 && is_wide(&v)))
                r = query_history(q, &v.scope, &by,
                                  MIN(show_n_top(o), (uint32_t)GROUPS_MAX_HISTORIES),
                                  o->json ? GROUPS_JSON_COLUMNS : GROUPS_SPARK_CELLS,
                                  SHOW_MAX_EVENTS, &h, reterr);
        else
                r = query_group(q, &v.scope, &by, &alone, reterr);
        if (r < 0)
                return r;
        v.answer = (h ? h->groups : alone)->answer;
        v.scope = v.answer->scope;
        if (o->json)
                put_json(&v, h);
        else
                print_text(&v, h ? h->groups : alone, h);
        return 0;
}
