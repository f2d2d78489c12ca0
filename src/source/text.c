/* SPDX-License-Identifier: MIT */
/* Source for people: figures on the left, as many as the width allows, the code on the right.
 *
 *   Cache::insert in cache.cc asked for 41.2 MB of the 62.8 MB live at the peak (66 %); line 88 alone 40.1 MB.
 *
 *   cache.cc:80-97
 *     at peak   allocs    at end   line
 *                                    80 │ void Cache::insert(const Key &k) {
 *     40.1 MB   12,345   40.1 MB     88 │         entries_.push_back(make(k)); */
#include <stdio.h>
#include <string.h>

#include "report/frame.h"
#include "source/page.h"

enum {
        TEXT_WIDE = 110,       /* from here on shares, and what a line asked for itself */
        TEXT_MAX_CALLS = 3,    /* told below a line */
        TEXT_MIN_CALL_PCT = 5, /* of what the subject has */
        TEXT_MIN_CODE = 24,    /* cells that code gets at least */
        TEXT_MAX_COLUMNS = 6,
        TEXT_LARGE_STEP = 8, /* cells of indentation that are many */
};

/* The line that has most of it; of a file, the one that asked for most itself: those that lead there have as much. */
static const struct page_row *largest_row(const struct pages *p) {
        const struct query_figures *figures =
                p->subject.kind == SUBJECT_FILE ? p->lines->self : p->lines->total;
        const struct page_row *most = NULL;
        int64_t value = 0;

        for (size_t i = 0; i < p->items.n; i++)
                for (size_t k = 0; k < p->items.items[i].rows.n; k++) {
                        const struct page_row *row = &p->items.items[i].rows.items[k];
                        int64_t has = query_figure_of(&figures[row->idx], p->view.metric).value;

                        if (row->is_subject && has > value) {
                                value = has;
                                most = row;
                        }
                }
        return most;
}

/* ---- columns --------------------------------------------------------------------------------- */

enum column_kind {
        COLUMN_TOTAL, /* of the metric */
        COLUMN_SELF,
        COLUMN_SHARE,
        COLUMN_ALLOCS,
        COLUMN_BYTES,
        COLUMN_PEAK,
        COLUMN_END,
};

struct column {
        enum column_kind kind;
        size_t width;
};

struct layout {
        const struct pages *p;
        const struct view *v;
        struct column columns[TEXT_MAX_COLUMNS];
        size_t n_columns;
        bool has_self;        /* a column of its own */
        bool has_mark;        /* some line has a part that it did not ask for itself */
        size_t line_width;    /* of numbers */
        size_t code_width;    /* cells left for code */
        size_t figures_width; /* up to the number */
        size_t skip;          /* cells of indentation that all lines have */
        bool is_tight;        /* indentation is halved: it is large, and lines would be cut */
        uint64_t whole;
};

static const char *title(const struct layout *l, enum column_kind kind) {
        static const char *const metrics[QUERY_N_METRICS] = {"at peak", "at end",    "allocated",
                                                             "allocs",  "temporary", "growth"};

        switch (kind) {
        case COLUMN_TOTAL: return l->has_self ? "+ callees" : metrics[l->v->metric];
        case COLUMN_SELF: return "itself";
        case COLUMN_SHARE: return "share";
        case COLUMN_ALLOCS: return "allocs";
        case COLUMN_BYTES: return "allocated";
        case COLUMN_PEAK: return "at peak";
        case COLUMN_END: return "at end";
        }
        return "";
}

static void add_bytes(struct str *to, int64_t bytes) {
        struct unit_text t;

        if (bytes)
                str_add(to, unit_bytes_signed(&t, bytes) + (bytes > 0 && t.s[0] == '+'));
        else
                str_add(to, "-");
}

static void add_metric(const struct layout *l, struct str *to, const struct query_figures *f) {
        int64_t value = query_figure_of(f, l->v->metric).value;
        struct unit_text t;

        str_add(to, value ? metric_text(l->v->metric, value, &t) : "-");
}

static void add_cell(const struct layout *l, struct str *to, enum column_kind kind, uint32_t idx) {
        const struct query_figures *total = &l->p->lines->total[idx];
        struct unit_text t;

        switch (kind) {
        case COLUMN_TOTAL: add_metric(l, to, total); break;
        case COLUMN_SELF: add_metric(l, to, &l->p->lines->self[idx]); break;
        case COLUMN_SHARE:
                str_addf(to, "%.1f %%",
                         metric_share_pct(query_figure_of(total, l->v->metric).value, l->whole));
                break;
        case COLUMN_ALLOCS:
                str_add(to, total->n_allocs ? unit_count(&t, total->n_allocs) : "-");
                break;
        case COLUMN_BYTES:
                add_bytes(to, (int64_t)MIN(total->alloc_bytes, (uint64_t)INT64_MAX));
                break;
        case COLUMN_PEAK: add_bytes(to, total->peak_bytes); break;
        case COLUMN_END: add_bytes(to, total->end_bytes); break;
        }
}

static void add_column(struct layout *l, enum column_kind kind) {
        l->columns[l->n_columns++] = (struct column){kind, str_width(title(l, kind))};
}

/* The metric first; then allocations and what was left at the end, unless that is the metric. */
static void choose_columns(struct layout *l) {
        bool is_wide = l->v->s.width >= TEXT_WIDE;

        l->has_self = is_wide;
        if (is_wide)
                add_column(l, COLUMN_SELF);
        add_column(l, COLUMN_TOTAL);
        if (is_wide && l->whole)
                add_column(l, COLUMN_SHARE);
        if (l->v->metric != QUERY_COUNT)
                add_column(l, COLUMN_ALLOCS);
        if (l->v->metric == QUERY_COUNT || (is_wide && l->v->metric != QUERY_ALLOCATED))
                add_column(l, COLUMN_BYTES);
        add_column(l, l->v->metric == QUERY_END ? COLUMN_PEAK : COLUMN_END);
}

/* ---- layout ---------------------------------------------------------------------------------- */

/* Calls fn for each line that is shown. */
typedef void (*line_fn)(struct layout *l, const struct page *page, uint32_t line,
                        const struct page_row *row, void *ctx);

static void each_line(struct layout *l, const struct page *page, const struct extent *range,
                      line_fn fn, void *ctx) {
        for (uint32_t line = range->begin; line <= range->end && line; line++) {
                const struct page_row *row = page_row_at(page, line);

                if (row && row->is_idle)
                        row = NULL;
                if (row || line <= page->file.n_lines)
                        fn(l, page, line, row, ctx);
        }
}

static bool is_through(const struct layout *l, uint32_t idx) {
        return query_figure_of(&l->p->lines->total[idx], l->v->metric).value !=
               query_figure_of(&l->p->lines->self[idx], l->v->metric).value;
}

struct indents {
        size_t least, step; /* of all lines; the smallest beyond that. SIZE_MAX: none */
        size_t most_cells;  /* of a line */
};

static void measure_indent(struct indents *i, size_t indent) {
        if (indent == SIZE_MAX)
                return;
        if (indent < i->least) {
                i->step = i->least == SIZE_MAX ? SIZE_MAX : MIN(i->step, i->least - indent);
                i->least = indent;
        } else if (indent > i->least) {
                i->step = MIN(i->step, indent - i->least);
        }
}

static void measure_line(struct layout *l, const struct page *page, uint32_t line,
                         const struct page_row *row, void *ctx) {
        struct indents *indents = ctx;
        size_t n;
        const char *text = file_line(&page->file, line, &n);
        char number[16];

        measure_indent(indents, file_indent(text, n));
        indents->most_cells = MAX(indents->most_cells, n);
        l->line_width = MAX(l->line_width, (size_t)snprintf(number, sizeof(number), "%u", line));
        for (size_t i = 0; row && i < l->n_columns; i++) {
                struct str s = {0};

                add_cell(l, &s, l->columns[i].kind, row->idx);
                l->columns[i].width = MAX(l->columns[i].width, str_width(str_text(&s)));
                str_done(&s);
        }
        if (row && is_through(l, row->idx))
                l->has_mark = true;
}

static void measure(struct layout *l, const struct page *page) {
        struct indents indents = {SIZE_MAX, SIZE_MAX, 0};
        size_t used;

        l->n_columns = 0;
        l->line_width = strlen("line");
        l->has_mark = false;
        choose_columns(l);
        for (size_t i = 0; i < page->ranges.n; i++)
                each_line(l, page, &page->ranges.items[i], measure_line, &indents);
        l->skip = indents.least == SIZE_MAX ? 0 : indents.least;
        l->has_mark &= !l->has_self;
        l->figures_width = 0;
        for (size_t i = 0; i < l->n_columns; i++)
                l->figures_width += 2 + l->columns[i].width + (i == 0 && l->has_mark);
        used = l->figures_width + 2 + l->line_width + 3;
        l->code_width = l->v->s.width > used + TEXT_MIN_CODE ? l->v->s.width - used : TEXT_MIN_CODE;
        l->is_tight = indents.step != SIZE_MAX && indents.step >= TEXT_LARGE_STEP &&
                      indents.most_cells > l->code_width + l->skip;
}

/* ---- rows ------------------------------------------------------------------------------------ */

static void add_right(struct str *to, const char *text, size_t width) {
        size_t have = str_width(text);

        if (have < width)
                str_pad(to, ' ', width - have);
        str_add(to, text);
}

static void add_figures(const struct layout *l, struct str *to, const struct page_row *row) {
        struct str cell = {0};

        for (size_t i = 0; i < l->n_columns; i++) {
                str_clear(&cell);
                if (row)
                        add_cell(l, &cell, l->columns[i].kind, row->idx);
                str_add(to, "  ");
                add_right(to, str_text(&cell), l->columns[i].width);
                if (i == 0 && l->has_mark)
                        str_add(to, row && is_through(l, row->idx) ? ">" : " ");
        }
        str_done(&cell);
}

static void print_titles(const struct layout *l) {
        struct str s = {0};

        for (size_t i = 0; i < l->n_columns; i++) {
                str_add(&s, "  ");
                add_right(&s, title(l, l->columns[i].kind), l->columns[i].width);
                if (i == 0 && l->has_mark)
                        str_add(&s, " ");
        }
        str_add(&s, "  ");
        add_right(&s, "line", l->line_width);
        if (l->has_mark)
                str_add(&s, "   > partly or all in what it calls");
        fprintf(l->v->out, "%s%s%s\n", l->v->s.dim, str_text(&s), l->v->s.plain);
        str_done(&s);
}

static const char *bar(const struct layout *l) {
        return l->v->s.utf8 ? "│" : "|";
}

/* What the line called, where that is much: so that one sees where to look next. */
static void print_calls(const struct layout *l, const struct page_row *row) {
        const struct query_call *calls;
        size_t n = pages_calls(l->p, row->idx, &calls);
        int64_t whole = query_figure_of(&l->p->lines->subject_total, l->v->metric).value;

        for (size_t i = 0; i < n && i < TEXT_MAX_CALLS; i++) {
                int64_t value = query_figure_of(&calls[i].total, l->v->metric).value;
                struct str name = {0}, tail = {0}, place = {0};
                struct unit_text t;
                size_t room;

                if (value <= 0 || value * 100 < whole * TEXT_MIN_CALL_PCT)
                        break;
                view_add_name(l->v, &calls[i].frame, calls[i].is_task, &name);
                view_add_place(l->v, &calls[i].frame, &place);
                str_addf(&tail, "  %s", metric_text(l->v->metric, value, &t));
                room = l->code_width - MIN(l->code_width - 8, str_width(str_text(&tail)) + 4);
                fprintf(l->v->out, "%s%*s %s   %s ", l->v->s.dim,
                        (int)(l->figures_width + 2 + l->line_width), "", bar(l),
                        l->v->s.utf8 ? "└" : "->");
                str_clear(&tail);
                style_add_cut(&l->v->s, &tail, str_text(&name), room);
                if (place.n && str_width(str_text(&tail)) + 2 + str_width(str_text(&place)) <= room)
                        str_addf(&tail, "  %s", str_text(&place));
                fprintf(l->v->out, "%s  %s%s\n", str_text(&tail),
                        metric_text(l->v->metric, value, &t), l->v->s.plain);
                str_done(&name);
                str_done(&tail);
                str_done(&place);
        }
}

/* No code: at least whose it is. */
static void add_whose(const struct layout *l, struct str *to, const struct page_row *row) {
        struct query_frame f = {.function =
                                        l->v->v->symbols[l->p->symbol_of.items[row->idx]].function,
                                .file = "",
                                .module = ""};
        struct str name = {0};

        view_add_name(l->v, &f, false, &name);
        style_add_cut(&l->v->s, to, str_text(&name), l->code_width);
        str_done(&name);
}

static void add_code(const struct layout *l, struct str *to, const struct page *page,
                     uint32_t line) {
        size_t n, indent, lead, width;
        const char *text = file_line(&page->file, line, &n);
        struct str code = {0};

        indent = file_indent(text, n);
        if (indent == SIZE_MAX)
                return; /* a blank line */
        lead = (indent - MIN(indent, l->skip)) / (l->is_tight ? 2 : 1);
        lead = MIN(lead, l->code_width / 2);
        width = l->code_width - lead;
        str_pad(to, ' ', lead);
        if (file_add_shown(&code, text, n, indent, width)) {
                str_add(to, str_text(&code));
        } else {
                file_add_shown(to, text, n, indent, width - (l->v->s.utf8 ? 1 : 2));
                str_add(to, l->v->s.utf8 ? "…" : "..");
        }
        str_done(&code);
}

static void print_line(struct layout *l, const struct page *page, uint32_t line,
                       const struct page_row *row, void *ctx) {
        const struct style *s = &l->v->s;
        bool is_most = row && row == ctx;
        struct str figures = {0}, code = {0};
        char number[16];

        add_figures(l, &figures, row);
        snprintf(number, sizeof(number), "%u", line);
        if (page->file.state == FILE_READ && line <= page->file.n_lines)
                add_code(l, &code, page, line);
        else if (row)
                add_whose(l, &code, row);
        fprintf(l->v->out, "%s%s  %*s%s %s%s%s%s%s%s%s\n",
                is_most ? s->bold
                : row   ? ""
                        : s->dim,
                str_text(&figures), (int)l->line_width, number, is_most || !row ? s->plain : "",
                s->dim, bar(l), s->plain, code.n ? " " : "",
                is_most ? s->bold
                : row   ? ""
                        : s->dim,
                str_text(&code), code.n && (is_most || !row) ? s->plain : "");
        str_done(&figures);
        str_done(&code);
        if (row && is_through(l, row->idx))
                print_calls(l, row);
}

/* ---- pages ----------------------------------------------------------------------------------- */

static void print_state(const struct layout *l, const struct page *page) {
        const struct file *f = &page->file;
        struct str s = {0};

        if (f->state == FILE_MISSING)
                str_addf(
                        &s,
                        "%s is not here: name the directory that has the sources (--source-dir DIR), or where a path went (--map OLD=NEW).",
                        f->path);
        else if (f->state == FILE_UNREADABLE)
                str_addf(&s, "%s %s: name another place (--source-dir DIR, --map OLD=NEW).",
                         f->path, f->why);
        else if (f->is_changed)
                str_addf(
                        &s,
                        "%s has changed since the program was built or recorded: figures may stand beside the wrong lines.",
                        frame_base(f->path));
        else if (!page->has_extent)
                str_add(&s,
                        "Where the function begins and ends cannot be told: lines with figures, and those around them.");
        if (s.n) {
                fputs(f->state == FILE_READ && !f->is_changed ? l->v->s.dim : l->v->s.alarm,
                      l->v->out);
                style_wrap(&l->v->s, str_text(&s), 0);
                fputs(l->v->s.plain, l->v->out);
        }
        str_done(&s);
}

static void print_page(struct layout *l, const struct page *page, const struct page_row *most) {
        struct str s = {0}, cut = {0};

        style_add_clean(&s, page->file.path);
        if (page->extents.n == 1)
                str_addf(&s, ":%u-%u", page->extents.items[0].begin, page->extents.items[0].end);
        style_add_cut(&l->v->s, &cut, str_text(&s), l->v->s.width);
        style_heading(&l->v->s, "%s", str_text(&cut));
        print_state(l, page);
        str_done(&s);
        str_done(&cut);
        measure(l, page);
        print_titles(l);
        for (size_t i = 0; i < page->ranges.n; i++) {
                if (i)
                        fprintf(l->v->out, "%s%*s%s%s\n", l->v->s.dim,
                                (int)(l->figures_width + 2 + l->line_width), "",
                                l->v->s.utf8 ? " ┊" : " :", l->v->s.plain);
                each_line(l, page, &page->ranges.items[i], print_line, (void *)most);
        }
}

/* ---- the first sentence ----------------------------------------------------------------------- */

static void add_subject(const struct pages *p, struct str *to) {
        if (p->subject.kind == SUBJECT_FUNCTION) {
                struct query_frame f = {.function = p->subject.name, .file = "", .module = ""};

                view_add_name(&p->view, &f, false, to);
                str_add(to, " in ");
        }
        for (size_t i = 0; i < p->items.n && i < 3; i++) {
                str_add(to, i == 0 ? "" : i == 2 && p->items.n > 3 ? " and others" : " and ");
                if (i < 2 || p->items.n == 3)
                        style_add_clean(to, frame_base(p->items.items[i].source->path));
        }
        if (p->subject.kind == SUBJECT_LINE)
                str_addf(to, ":%u", p->subject.line);
}

static void add_nothing(const struct pages *p, struct str *to) {
        const struct query_figures *f = &p->lines->subject_total;
        struct unit_text a, b;

        add_subject(p, to);
        if (p->view.metric == QUERY_GROWTH) {
                str_add(to, " did not grow");
        } else {
                str_add(to, metric_is_count(p->view.metric) ? " made no " : " has nothing ");
                view_add_state(&p->view, to);
        }
        if (f->n_allocs)
                str_addf(to, "; %s allocations went through it, %s", unit_count(&a, f->n_allocs),
                         unit_bytes(&b, f->alloc_bytes));
        str_add(to, ".");
}

static int64_t value_of_most(const struct pages *p, const struct page_row *most) {
        const struct query_lines *l = p->lines;

        return query_figure_of(p->subject.kind == SUBJECT_FILE ? &l->self[most->idx]
                                                               : &l->total[most->idx],
                               p->view.metric)
                .value;
}

static void print_first(const struct pages *p, const struct page_row *most) {
        const struct view *v = &p->view;
        int64_t value = query_figure_of(&p->lines->subject_total, v->metric).value;
        int64_t self = query_figure_of(&p->lines->subject_self, v->metric).value;
        uint64_t whole = metric_whole(&p->answer->totals, v->metric);
        struct str s = {0};
        struct unit_text t;

        if (value == 0 || query_answer_is_untold(p->answer)) {
                if (query_answer_is_untold(p->answer))
                        view_add_nothing(v, p->answer, &s);
                else
                        add_nothing(p, &s);
                view_print_first(v, &s);
                str_done(&s);
                return;
        }
        add_subject(p, &s);
        if (self != value)
                str_add(&s, ", with what it calls,");
        str_addf(&s, " %s %s ", v->metric == QUERY_GROWTH ? "has" : view_verb(v),
                 metric_text(v->metric, value, &t));
        if (whole) {
                str_add(&s, "of the ");
                view_add_whole(v, &p->answer->totals, &s);
                view_add_share(&s, value, whole);
        } else {
                view_add_state(v, &s);
        }
        if (p->subject.kind != SUBJECT_LINE && most)
                str_addf(&s, "; line %u alone %s", most->line,
                         metric_text(v->metric, value_of_most(p, most), &t));
        str_add(&s, ".");
        view_print_first(v, &s);
        str_done(&s);
}

/* ---- the whole ------------------------------------------------------------------------------- */

void source_text(struct pages *p) {
        struct layout l = {.p = p,
                           .v = &p->view,
                           .whole = metric_whole(&p->answer->totals, p->view.metric)};
        const struct page_row *most = largest_row(p);

        print_first(p, most);
        for (size_t i = 0; i < p->items.n; i++)
                print_page(&l, &p->items.items[i], most);
        view_print_doubts(&p->view, p->answer);
}
