/* SPDX-License-Identifier: MIT */
/* The lines of a page: figures on the left, as many as the width allows, the code on the right. */
#include <stdio.h>
#include <string.h>

#include "query/spent_time.h"
#include "show/frame.h"
#include "source/source_page.h"

enum {
        TABLE_WIDE = 110,       /* from here on shares, and what a line asked for itself */
        TABLE_MAX_CALLS = 3,    /* told below a line */
        TABLE_MIN_CALL_PCT = 5, /* of what the subject has */
        TABLE_MIN_CODE = 24,    /* cells that code gets at least */
        TABLE_MAX_COLUMNS = 6,
        TABLE_MAX_ROWS = 3,  /* of one line */
        TABLE_WRAP_PART = 2, /* a row may be so much shorter to keep words whole: half of it */
        TABLE_WRAP_INDENT = 4,
        TABLE_LEGEND = 35,    /* cells that the words beside the titles take */
        TABLE_LARGE_STEP = 8, /* cells of indentation that are many */
};

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
        struct column columns[TABLE_MAX_COLUMNS];
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
                                                             "allocs",  "temporary", "growth",
                                                             "mapped",  "on CPU",    "blocked"};

        switch (kind) {
        case COLUMN_TOTAL: return l->has_self ? "+ callees" : metrics[l->v->metric];
        case COLUMN_SELF: return "itself";
        case COLUMN_SHARE: return "share";
        case COLUMN_ALLOCS:
                return l->v->metric == QUERY_BLOCKED     ? "waits"
                       : query_metric_time(l->v->metric) ? "samples"
                                                         : "allocs";
        case COLUMN_BYTES: return "allocated";
        case COLUMN_PEAK: return "at peak";
        case COLUMN_END: return "at end";
        }
        return "";
}

static void add_bytes(struct str *to, int64_t bytes) {
        struct unit_text t;

        if (bytes)
                str_add(to, unit_weight_signed(&t, bytes) + (bytes > 0 && t.s[0] == '+'));
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
                str_add(to,
                        total->n_allocs && (!total->lacks_blocks || query_metric_time(l->v->metric))
                                ? unit_count(&t, total->n_allocs)
                                : "-");
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
        bool is_wide = l->v->s.width >= TABLE_WIDE;

        l->has_self = is_wide;
        if (is_wide)
                add_column(l, COLUMN_SELF);
        add_column(l, COLUMN_TOTAL);
        if (is_wide && l->whole)
                add_column(l, COLUMN_SHARE);
        if (l->v->metric != QUERY_COUNT)
                add_column(l, COLUMN_ALLOCS);
        if (query_metric_time(l->v->metric))
                return;
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
        uint32_t n_lines = MIN(range->end, page->file.n_lines);

        for (uint32_t line = range->begin; line <= n_lines && line; line++) {
                const struct page_row *row = page_row_at(page, line);

                fn(l, page, line, row && row->is_idle ? NULL : row, ctx);
        }
        /* behind the file's end, however far a trace says */
        for (size_t i = 0; i < page->rows.n; i++) {
                const struct page_row *row = &page->rows.items[i];

                if (row->line > n_lines && row->line >= range->begin && row->line <= range->end &&
                    !row->is_idle)
                        fn(l, page, row->line, row, ctx);
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
        /* code needs its room: the last figures go first */
        while (l->n_columns > 1 && used + TABLE_MIN_CODE > l->v->s.width) {
                size_t cells = 2 + l->columns[--l->n_columns].width;

                l->figures_width -= cells;
                used -= cells;
        }
        l->code_width =
                l->v->s.width > used + TABLE_MIN_CODE ? l->v->s.width - used : TABLE_MIN_CODE;
        l->is_tight = indents.step != SIZE_MAX && indents.step >= TABLE_LARGE_STEP &&
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
        if (l->has_mark && str_width(str_text(&s)) + TABLE_LEGEND <= l->v->s.width) {
                str_add(&s, "   > partly or wholly in its callees");
        } else if (l->has_self) {
                str_add(&s, "   itself, + callees: ");
                view_add_state(l->v, &s);
        }
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

        for (size_t i = 0; i < n && i < TABLE_MAX_CALLS; i++) {
                int64_t value = query_figure_of(&calls[i].total, l->v->metric).value;
                struct str name = {0}, tail = {0}, place = {0};
                struct unit_text t;
                size_t room;

                if (value <= 0 || value * 100 < whole * TABLE_MIN_CALL_PCT)
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

/* A stretch of code that is shown in one row. */
struct piece {
        const char *text;
        size_t n;
};

/* Takes what fits into a row off the front of *rest: up to a blank near the end, so that words stay whole. */
static void take_piece(struct piece *rest, size_t width, struct str *to) {
        struct str whole = {0};
        size_t n = file_add_shown(&whole, rest->text, rest->n, 0, width), at = n;

        while (at > n - n / TABLE_WRAP_PART && !strchr(" ,({;", rest->text[at - 1]))
                at--;
        if (n < rest->n && at > 0 && strchr(" ,({;", rest->text[at - 1]))
                n = at;
        for (at = n; at > 1 && rest->text[at - 1] == ' ';)
                at--;
        file_add_shown(to, rest->text, at, 0, width);
        rest->text += n;
        rest->n -= n;
        while (rest->n && *rest->text == ' ')
                rest->text++, rest->n--;
        str_done(&whole);
}

/* The indentation of a line as shown, and the code behind it. */
static size_t find_code(const struct layout *l, const struct page *page, uint32_t line,
                        struct piece *ret) {
        size_t indent, n_blanks = 0;

        ret->text = file_line(&page->file, line, &ret->n);
        indent = file_indent(ret->text, ret->n);
        if (indent == SIZE_MAX)
                ret->n = 0; /* a blank line */
        while (n_blanks < ret->n && strchr(" \t", ret->text[n_blanks]))
                n_blanks++;
        ret->text += n_blanks;
        ret->n -= n_blanks;
        return ret->n ? MIN((indent - MIN(indent, l->skip)) / (l->is_tight ? 2 : 1),
                            l->code_width / 2)
                      : 0;
}

struct look {
        const char *on, *off; /* escape sequences of figures and code */
};

static struct look look_of(const struct layout *l, const struct page_row *row, bool is_most) {
        const struct style *s = &l->v->s;

        if (is_most)
                return (struct look){s->bold, s->plain};
        return row ? (struct look){"", ""} : (struct look){s->dim, s->plain};
}

/* One row: what stands before the bar, and behind it. */
static void print_row(const struct layout *l, struct look look, const char *left,
                      const char *code) {
        const struct style *s = &l->v->s;

        fprintf(l->v->out, "%s%s%s %s%s%s", look.on, left, look.off, s->dim, bar(l), s->plain);
        if (code[0])
                fprintf(l->v->out, " %s%s%s", look.on, code, look.off);
        fputc('\n', l->v->out);
}

/* Code that does not fit is cut, but for that of lines with figures, which goes on in the next rows. */
static void print_code(const struct layout *l, const struct page *page, uint32_t line,
                       const struct page_row *row, struct look look, struct str *left) {
        struct piece rest;
        size_t lead = find_code(l, page, line, &rest), width = l->code_width - lead;
        size_t n_rows = row ? TABLE_MAX_ROWS : 1, cut = l->v->s.utf8 ? 1 : 2;
        struct str code = {0};

        for (size_t i = 0; i == 0 || (i < n_rows && rest.n); i++) {
                bool is_last = i + 1 == n_rows;
                struct piece before = rest;

                str_clear(&code);
                str_pad(&code, ' ', lead);
                if (is_last && file_add_shown(&code, rest.text, rest.n, 0, width) < rest.n) {
                        str_clear(&code);
                        str_pad(&code, ' ', lead);
                        file_add_shown(&code, before.text, before.n, 0, width - cut);
                        str_add(&code, l->v->s.utf8 ? "…" : "..");
                } else if (!is_last) {
                        take_piece(&rest, width, &code);
                }
                print_row(l, look, str_text(left), before.n ? str_text(&code) : "");
                str_clear(left);
                str_pad(left, ' ', l->figures_width + 2 + l->line_width);
                if (is_last)
                        break;
                if (i == 0 && lead + TABLE_WRAP_INDENT + TABLE_MIN_CODE / 2 < l->code_width) {
                        lead += TABLE_WRAP_INDENT;
                        width -= TABLE_WRAP_INDENT;
                }
        }
        str_done(&code);
}

static void print_line(struct layout *l, const struct page *page, uint32_t line,
                       const struct page_row *row, void *ctx) {
        struct look look = look_of(l, row, row && row == ctx);
        struct str left = {0}, code = {0};

        add_figures(l, &left, row);
        str_addf(&left, "  %*u", (int)l->line_width, line);
        if (page->file.state == FILE_READ && line <= page->file.n_lines) {
                print_code(l, page, line, row, look, &left);
        } else {
                add_whose(l, &code, row);
                print_row(l, look, str_text(&left), str_text(&code));
        }
        str_done(&left);
        str_done(&code);
        if (row && is_through(l, row->idx))
                print_calls(l, row);
}

/* ---- all of it ------------------------------------------------------------------------------- */

void source_table(const struct pages *p, const struct page *page, const struct page_row *most) {
        struct layout layout = {.p = p,
                                .v = &p->view,
                                .whole = query_metric_whole(&p->answer->totals, p->view.metric)};
        struct layout *l = &layout;

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
