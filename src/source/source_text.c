/* SPDX-License-Identifier: MIT */
/* Source for people: figures on the left, as many as the width allows, the code on the right.
 *
 *   Cache::insert in cache.cc asked for 41.2 MiB of the 62.8 MiB live at the peak (66 %); line 88 alone 40.1 MiB.
 *
 *   cache.cc:80-97
 *     at peak   allocs    at end   line
 *                                    80 │ void Cache::insert(const Key &k) {
 *     40.1 MiB   12,345   40.1 MiB     88 │         entries_.push_back(make(k)); */
#include <stdio.h>
#include <string.h>

#include "show/frame.h"
#include "source/source_page.h"

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

/* ---- pages ----------------------------------------------------------------------------------- */

static void print_state(const struct view *v, const struct page *page) {
        const struct file *f = &page->file;
        struct str s = {0};

        if (f->state == FILE_MISSING)
                str_addf(
                        &s,
                        "%s was not found: name the directory of the sources (--source-dir DIR), or where they moved (--map OLD=NEW).",
                        f->path);
        else if (f->state == FILE_UNREADABLE)
                str_addf(&s, "%s %s: name another directory (--source-dir DIR, --map OLD=NEW).",
                         f->path, f->why);
        else if (f->is_changed)
                str_addf(
                        &s,
                        "%s has changed since the program was built or recorded: figures may be beside the wrong lines.",
                        frame_base(f->path));
        else if (!page->has_extent)
                str_add(&s,
                        "Cannot find where the function begins and ends: showing lines with figures and those around them.");
        if (s.n) {
                fputs(f->state == FILE_READ && !f->is_changed ? v->s.dim : v->s.alarm, v->out);
                style_wrap(&v->s, str_text(&s), 0);
                fputs(v->s.plain, v->out);
        }
        str_done(&s);
}

static void print_page(const struct pages *p, const struct page *page,
                       const struct page_row *most) {
        const struct view *v = &p->view;
        struct str s = {0}, cut = {0};

        style_add_clean(&s, page->file.path);
        if (page->extents.n == 1)
                str_addf(&s, ":%u-%u", page->extents.items[0].begin, page->extents.items[0].end);
        style_add_cut(&v->s, &cut, str_text(&s), v->s.width);
        style_heading(&v->s, "%s", str_text(&cut));
        print_state(v, page);
        str_done(&s);
        str_done(&cut);
        source_table(p, page, most);
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
        if (f->n_allocs && !f->lacks_blocks)
                str_addf(to, "; %s allocation%s went through it, %s", unit_count(&a, f->n_allocs),
                         unit_s(f->n_allocs), unit_bytes(&b, f->alloc_bytes));
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
        uint64_t whole = query_metric_whole(&p->answer->totals, v->metric);
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
                str_add(&s, ", with its callees,");
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
        const struct page_row *most = largest_row(p);

        print_first(p, most);
        for (size_t i = 0; i < p->items.n; i++)
                print_page(p, &p->items.items[i], most);
        view_print_doubts(&p->view, p->answer);
}
