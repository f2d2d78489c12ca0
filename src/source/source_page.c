/* SPDX-License-Identifier: MIT */
#include "source/source_page.h"

#include <string.h>

#include "base/map.h"

/* ---- lines ----------------------------------------------------------------------------------- */

static int row_compare(const void *a, const void *b) {
        const struct page_row *x = a, *y = b;

        return x->line < y->line ? -1 : x->line > y->line;
}

/* Gives every line of the subject's files a number, and the pages their rows. */
static void number_lines(struct pages *p, uint32_t *line_of) {
        const struct trace_view *v = p->view.v;
        struct map by_line = {0};

        for (size_t i = 0; i < p->subject.files.n; i++) {
                struct page *page = vec_add(&p->items);

                page->source = &p->subject.files.items[i];
        }
        for (size_t i = 0; i < v->n_symbols; i++) {
                uint32_t file = p->subject.file_of[i], line = v->symbols[i].line;
                uint64_t *idx;
                bool added;

                line_of[i] = QUERY_NO_LINE;
                if (file == QUERY_NO_LINE)
                        continue;
                idx = map_put(&by_line, (uint64_t)file << 32 | line, p->symbol_of.n, &added);
                if (added) {
                        vec_push(&p->symbol_of, (uint32_t)i);
                        vec_push(&p->items.items[file].rows,
                                 (struct page_row){.line = line, .idx = (uint32_t)*idx});
                }
                line_of[i] = (uint32_t)*idx;
        }
        map_done(&by_line);
        for (size_t i = 0; i < p->items.n; i++)
                if (p->items.items[i].rows.n > 1)
                        qsort(p->items.items[i].rows.items, p->items.items[i].rows.n,
                              sizeof(struct page_row), row_compare);
}

static void mark_subject(struct pages *p, const uint32_t *line_of) {
        bool *is_subject = calloc(p->symbol_of.n + 1, sizeof(bool));

        if (!is_subject)
                abort();
        for (size_t i = 0; i < p->view.v->n_symbols; i++)
                if (line_of[i] != QUERY_NO_LINE && p->subject.is_subject[i])
                        is_subject[line_of[i]] = true;
        for (size_t i = 0; i < p->items.n; i++)
                for (size_t k = 0; k < p->items.items[i].rows.n; k++) {
                        struct page *page = &p->items.items[i];
                        struct page_row *row = &page->rows.items[k];
                        int64_t value =
                                query_figure_of(&p->lines->total[row->idx], p->view.metric).value;

                        row->is_subject = is_subject[row->idx];
                        row->is_idle = query_figures_are_idle(&p->lines->total[row->idx]);
                        if (row->is_subject && value > page->most)
                                page->most = value;
                }
        free(is_subject);
}

static int ask(struct pages *p, struct query *q, struct err *reterr) {
        struct query_lines_options o = {.is_subject = p->subject.is_subject,
                                        .metric = p->view.metric};
        uint32_t *line_of;
        int r = query_ask(q, &p->view.scope, &p->answer, reterr);

        if (r < 0)
                return r;
        p->view.answer = p->answer;
        p->view.scope = p->answer->scope;
        line_of = calloc(p->view.v->n_symbols + 1, sizeof(line_of[0]));
        if (!line_of)
                abort();
        number_lines(p, line_of);
        o.line_of = line_of;
        o.n_lines = p->symbol_of.n;
        p->lines = query_lines_of(q, p->answer, &o);
        mark_subject(p, line_of);
        free(line_of);
        return 0;
}

const struct page_row *page_row_at(const struct page *page, uint32_t line) {
        struct page_row key = {.line = line};

        return page->rows.n
                       ? bsearch(&key, page->rows.items, page->rows.n, sizeof(key), row_compare)
                       : NULL;
}

size_t pages_calls(const struct pages *p, uint32_t idx, const struct query_call **ret) {
        size_t begin = 0, end = p->lines->n_calls, n = 0;

        while (begin < end) {
                size_t middle = (begin + end) / 2;

                if (p->lines->calls[middle].line < idx)
                        begin = middle + 1;
                else
                        end = middle;
        }
        *ret = p->lines->calls + begin;
        while (begin + n < p->lines->n_calls && p->lines->calls[begin + n].line == idx)
                n++;
        return n;
}

/* ---- what to show ---------------------------------------------------------------------------- */

static uint32_t last_line(const struct page *page) {
        uint32_t n = (uint32_t)page->file.n_lines;

        return page->rows.n ? MAX(n, page->rows.items[page->rows.n - 1].line) : n;
}

static void add_range(struct page *page, uint32_t begin, uint32_t end) {
        vec_push(&page->ranges, (struct extent){MAX(begin, 1u), MIN(end, last_line(page))});
}

static void add_around(struct page *page, uint32_t line, uint32_t n) {
        add_range(page, line > n ? line - n : 1, line < UINT32_MAX - n ? line + n : line);
}

/* All of it where it is short; else its head, and around the lines with figures. */
static void add_stretch(const struct pages *p, struct page *page, uint32_t begin, uint32_t end) {
        if (p->o->is_full || end - begin < PAGE_SHORT_LINES) {
                add_range(page, begin, end);
                return;
        }
        if (begin > 1)
                add_range(page, begin, begin);
        for (size_t i = 0; i < page->rows.n; i++) {
                const struct page_row *row = &page->rows.items[i];
                uint32_t n = p->o->n_context;

                if (row->is_idle || row->line < begin || row->line > end)
                        continue;
                add_range(page, row->line - begin > n ? row->line - n : begin,
                          end - row->line > n ? row->line + n : end);
        }
}

static int range_compare(const void *a, const void *b) {
        const struct extent *x = a, *y = b;

        return x->begin < y->begin ? -1 : x->begin > y->begin;
}

/* A single line left out would take as much room as itself. */
static void merge_ranges(struct page *page) {
        struct extent *items = page->ranges.items;
        size_t n = 0;

        if (page->ranges.n < 2)
                return;
        qsort(items, page->ranges.n, sizeof(items[0]), range_compare);
        for (size_t i = 1; i < page->ranges.n; i++) {
                if (items[i].begin <= items[n].end || items[i].begin - items[n].end <= 2)
                        items[n].end = MAX(items[n].end, items[i].end);
                else
                        items[++n] = items[i];
        }
        page->ranges.n = n + 1;
}

static void choose_functions(const struct pages *p, struct page *page) {
        const char *name = p->subject.kind == SUBJECT_FUNCTION ? p->subject.last : NULL;
        struct extents e = {0};

        if (page->file.text && (!name || name[0]))
                extents_find(&e, page->file.text, page->file.n_bytes, name);
        for (size_t i = 0; i < page->rows.n; i++) {
                const struct page_row *row = &page->rows.items[i];
                const struct extent *x = row->is_subject ? extents_at(&e, row->line) : NULL;

                if (!row->is_subject)
                        continue;
                if (!x) {
                        page->has_extent = false;
                        add_around(page, row->line, p->o->n_context);
                } else if (!page->extents.n ||
                           page->extents.items[page->extents.n - 1].begin != x->begin) {
                        vec_push(&page->extents, *x);
                        add_stretch(p, page, x->begin, x->end);
                }
        }
        extents_done(&e);
}

static void choose_line(const struct pages *p, struct page *page) {
        struct extents e = {0};
        const struct extent *x;

        if (page->file.text)
                extents_find(&e, page->file.text, page->file.n_bytes, NULL);
        x = extents_at(&e, p->subject.line);
        add_around(page, p->subject.line, p->o->n_context);
        if (x) {
                vec_push(&page->extents, *x);
                add_stretch(p, page, x->begin, x->end);
        }
        extents_done(&e);
}

static void choose_ranges(const struct pages *p, struct page *page) {
        page->has_extent = true;
        if (p->subject.kind == SUBJECT_FUNCTION)
                choose_functions(p, page);
        else if (p->subject.kind == SUBJECT_LINE)
                choose_line(p, page);
        else
                add_stretch(p, page, 1, last_line(page));
        merge_ranges(page);
}

/* ---- the whole ------------------------------------------------------------------------------- */

static int page_compare(const void *a, const void *b) {
        const struct page *x = a, *y = b;

        if (x->most != y->most)
                return x->most > y->most ? -1 : 1;
        return strcmp(x->source->path, y->source->path);
}

int pages_init(struct pages *p, FILE *out, struct query *q, const struct source_options *o,
               struct err *reterr) {
        int r;

        *p = (struct pages){.o = o};
        view_init(&p->view, out, q, &o->view, "silt.source/1");
        r = subject_find(&p->subject, q, o->what, reterr);
        if (r >= 0)
                r = ask(p, q, reterr);
        if (r < 0)
                return r;
        if (p->items.n > 1)
                qsort(p->items.items, p->items.n, sizeof(p->items.items[0]), page_compare);
        for (size_t i = 0; i < p->items.n; i++) {
                struct page *page = &p->items.items[i];

                file_load(&page->file, page->source->path, page->source->module, o,
                          &p->view.v->meta);
                choose_ranges(p, page);
        }
        return 0;
}

void pages_done(struct pages *p) {
        for (size_t i = 0; i < p->items.n; i++) {
                file_done(&p->items.items[i].file);
                vec_free(&p->items.items[i].rows);
                vec_free(&p->items.items[i].ranges);
                vec_free(&p->items.items[i].extents);
        }
        vec_free(&p->items);
        vec_free(&p->symbol_of);
        query_lines_free(p->lines);
        query_answer_free(p->answer);
        subject_done(&p->subject);
        *p = (struct pages){0};
}
