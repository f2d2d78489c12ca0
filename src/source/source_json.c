/* SPDX-License-Identifier: MIT */
/* The same for programs: schema silt.source/1. */
#include "show/frame.h"
#include "show/show_json.h"
#include "source/source_page.h"

static void put_line_text(struct json *j, const struct file *f, uint32_t line) {
        size_t n;
        const char *text = file_line(f, line, &n);
        struct str s = {0};

        if (f->state != FILE_READ || line > f->n_lines) {
                json_null(j);
                return;
        }
        str_addn(&s, text, n);
        json_string(j, str_text(&s));
        str_done(&s);
}

static void put_calls(const struct pages *p, struct json *j, uint32_t idx) {
        const struct query_call *calls;
        size_t n = pages_calls(p, idx, &calls);

        json_key(j, "calls");
        json_array(j);
        for (size_t i = 0; i < n; i++) {
                if (query_figures_are_idle(&calls[i].total))
                        continue;
                json_object(j);
                show_put_frame(j, p->view.q, &calls[i].frame, calls[i].is_task);
                show_put_figures(j, "total", &calls[i].total, p->view.metric);
                json_end(j);
        }
        json_end(j);
}

static void put_row(const struct pages *p, struct json *j, const struct page *page,
                    const struct page_row *row) {
        json_object(j);
        json_put_uint(j, "line", row->line);
        json_key(j, "text");
        put_line_text(j, &page->file, row->line);
        json_put_string(j, "function", p->view.v->symbols[p->symbol_of.items[row->idx]].function);
        show_put_figures(j, "self", &p->lines->self[row->idx], p->view.metric);
        show_put_figures(j, "total", &p->lines->total[row->idx], p->view.metric);
        put_calls(p, j, row->idx);
        json_end(j);
}

/* Of the lines that a reader of the text would see. */
static void put_rows(const struct pages *p, struct json *j, const struct page *page) {
        size_t range = 0;

        json_key(j, "lines");
        json_array(j);
        for (size_t i = 0; i < page->rows.n; i++) {
                const struct page_row *row = &page->rows.items[i];

                while (range < page->ranges.n && page->ranges.items[range].end < row->line)
                        range++;
                if (!row->is_idle && range < page->ranges.n &&
                    page->ranges.items[range].begin <= row->line)
                        put_row(p, j, page, row);
        }
        json_end(j);
}

/* The text beside the figures: every line that a reader of the text would see. */
static void put_parts(struct json *j, const struct page *page) {
        json_key(j, "parts");
        json_array(j);
        for (size_t i = 0; i < page->ranges.n && page->file.state == FILE_READ; i++) {
                const struct extent *range = &page->ranges.items[i];

                json_object(j);
                json_put_uint(j, "first_line", range->begin);
                json_key(j, "lines");
                json_array(j);
                for (uint32_t line = range->begin; line <= range->end && line <= page->file.n_lines;
                     line++)
                        put_line_text(j, &page->file, line);
                json_end(j);
                json_end(j);
        }
        json_end(j);
}

/* What is wrong with the file, and where it was looked for. */
static void put_search(struct json *j, const struct file *f) {
        if (f->state == FILE_READ) {
                json_key(j, "why");
                json_null(j);
        } else
                json_put_string(j, "why", f->why);
        json_key(j, "tried");
        json_array(j);
        for (size_t i = 0; i < f->tried.n; i++)
                json_string(j, f->tried.items[i]);
        json_end(j);
}

static void put_page(const struct pages *p, struct json *j, const struct page *page) {
        static const char *const states[] = {"read", "missing", "unreadable"};

        json_object(j);
        json_put_string(j, "file", page->source->path);
        json_put_string(j, "path", page->file.path);
        json_put_string(j, "state", states[page->file.state]);
        json_key(j, "changed");
        if (page->file.state == FILE_READ)
                json_bool(j, page->file.is_changed);
        else
                json_null(j);
        put_search(j, &page->file);
        json_key(j, "functions"); /* where they begin and end */
        json_array(j);
        for (size_t i = 0; i < page->extents.n; i++) {
                json_object(j);
                json_put_uint(j, "first_line", page->extents.items[i].begin);
                json_put_uint(j, "last_line", page->extents.items[i].end);
                json_end(j);
        }
        json_end(j);
        put_rows(p, j, page);
        put_parts(j, page);
        json_end(j);
}

void source_json(struct pages *p) {
        static const char *const kinds[] = {"function", "file", "line"};
        struct json *j = &p->view.j;

        view_begin(&p->view);
        show_put_answer(&p->view.j, p->view.q, p->answer, p->view.metric);
        json_put_string(j, "kind", kinds[p->subject.kind]);
        if (p->subject.kind == SUBJECT_FUNCTION)
                json_put_string(j, "function", p->subject.name);
        if (p->subject.kind == SUBJECT_LINE)
                json_put_uint(j, "line", p->subject.line);
        show_put_figures(j, "self", &p->lines->subject_self, p->view.metric);
        show_put_figures(j, "total", &p->lines->subject_total, p->view.metric);
        json_key(j, "files");
        json_array(j);
        for (size_t i = 0; i < p->items.n; i++)
                put_page(p, j, &p->items.items[i]);
        json_end(j);
        view_end(&p->view);
}
