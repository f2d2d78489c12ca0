/* SPDX-License-Identifier: MIT */
#include "report/threads_mappings.h"

#include <stdlib.h>
#include <string.h>

#include "base/units.h"
#include "query/meeting.h"
#include "show/frame.h"
#include "show/stack_text.h"

enum { TABLES_MAX_ROWS = 10, TABLES_NARROW = 72, TABLES_WIDE = 90, TABLES_NAME_WIDTH = 16 };

static size_t rows_shown(const struct report *r, size_t n) {
        return r->options->request->full || n <= TABLES_MAX_ROWS + 1 ? n : TABLES_MAX_ROWS;
}

static void print_rest(const struct style *s, size_t n, const char *what) {
        struct unit_text t;

        if (n)
                fprintf(s->out, "  %s%s %s more %s: use --full to see them%s\n", s->dim,
                        s->utf8 ? "…" : "..", unit_count(&t, n), what, s->plain);
}

/* ---- threads --------------------------------------------------------------------------------- */

/* One thread, or, where there are many, those of one name. */
struct thread_row {
        struct query_thread sum;
        size_t n_threads;
};

static const struct trace_thread_info *info_of(const struct report *r,
                                               const struct query_thread *t) {
        return &r->v->threads[t->thread];
}

static int by_name(const void *a, const void *b, void *report) {
        const struct query_thread *x = a, *y = b;
        int order = strcmp(info_of(report, x)->name, info_of(report, y)->name);

        return order ? order : x->thread < y->thread ? -1 : x->thread > y->thread;
}

static int more_bytes_first(const void *a, const void *b) {
        const struct thread_row *x = a, *y = b;

        if (x->sum.alloc_bytes != y->sum.alloc_bytes)
                return x->sum.alloc_bytes > y->sum.alloc_bytes ? -1 : 1;
        if (x->n_threads != y->n_threads)
                return x->n_threads > y->n_threads ? -1 : 1;
        return x->sum.thread < y->sum.thread ? -1 : x->sum.thread > y->sum.thread;
}

static void row_add(struct thread_row *row, const struct query_thread *t) {
        row->n_threads++;
        row->sum.alloc_bytes += t->alloc_bytes;
        row->sum.n_allocs += t->n_allocs;
        row->sum.n_frees += t->n_frees;
        row->sum.n_temporary += t->n_temporary;
        row->sum.n_foreign_frees += t->n_foreign_frees;
}

/* Returns how many rows there are. */
static size_t fill_rows(const struct report *r, bool by_names, struct thread_row *rows) {
        size_t n = 0;

        if (by_names)
                qsort_r(r->threads, r->n_threads, sizeof(r->threads[0]), by_name, (void *)r);
        for (size_t i = 0; i < r->n_threads; i++) {
                const struct query_thread *t = &r->threads[i];

                if (by_names && n &&
                    strcmp(info_of(r, &rows[n - 1].sum)->name, info_of(r, t)->name) == 0) {
                        row_add(&rows[n - 1], t);
                        continue;
                }
                rows[n] = (struct thread_row){.sum = {.thread = t->thread}};
                row_add(&rows[n++], t);
        }
        if (r->threads_have_figures || by_names)
                qsort(rows, n, sizeof(rows[0]), more_bytes_first);
        return n;
}

static void print_thread(const struct style *s, const struct report *r, bool by_names,
                         const struct thread_row *row) {
        const struct query_thread *t = &row->sum;
        struct str clean = {0}, name = {0};
        struct unit_text a;

        style_add_clean(&clean, info_of(r, t)->name[0] ? info_of(r, t)->name : "(no name)");
        style_add_cut(s, &name, str_text(&clean), TABLES_NAME_WIDTH);
        if (r->threads_have_figures)
                style_pad_to(&name, 0, TABLES_NAME_WIDTH);
        if (by_names)
                fprintf(s->out, "  %8s  %s", unit_count(&a, row->n_threads), str_text(&name));
        else
                fprintf(s->out, "  %8u  %s", info_of(r, t)->start.tid, str_text(&name));
        if (r->threads_have_figures) {
                fprintf(s->out, "  %10s", unit_bytes(&a, t->alloc_bytes));
                fprintf(s->out, "  %12s", unit_count(&a, t->n_allocs));
                if (s->width >= TABLES_NARROW)
                        fprintf(s->out, "  %12s", unit_count(&a, t->n_frees));
                if (s->width >= TABLES_WIDE)
                        fprintf(s->out, "  %16s", unit_count(&a, t->n_foreign_frees));
                if (s->width >= TABLES_WIDE + 14)
                        fprintf(s->out, "  %12s", unit_count(&a, t->n_temporary));
        }
        fputc('\n', s->out);
        str_done(&clean);
        str_done(&name);
}

static void print_thread_heading(const struct style *s, const struct report *r, bool by_names) {
        struct unit_text t;

        style_heading(s, "Threads (%s)", unit_count(&t, r->answer->totals.n_threads));
        fprintf(s->out, "  %s%8s  ", s->dim, by_names ? "threads" : "tid");
        if (r->threads_have_figures)
                fprintf(s->out, "%-*s  %10s  %12s", TABLES_NAME_WIDTH, "name", "bytes",
                        "allocations");
        else
                fputs("name", s->out);
        if (r->threads_have_figures && s->width >= TABLES_NARROW)
                fprintf(s->out, "  %12s", "frees");
        if (r->threads_have_figures && s->width >= TABLES_WIDE)
                fprintf(s->out, "  %16s", "of others' blocks");
        if (r->threads_have_figures && s->width >= TABLES_WIDE + 14)
                fprintf(s->out, "  %12s", "temporary");
        fprintf(s->out, "%s\n", s->plain);
}

void tables_print_threads(const struct style *s, const struct report *r) {
        _cleanup_free_ struct thread_row *rows = calloc(r->n_threads + 1, sizeof(*rows));
        bool by_names = !r->options->request->full && r->n_threads > TABLES_MAX_ROWS + 1;
        size_t n, n_shown;

        if (!rows)
                abort();
        if (r->n_threads < 2 || r->answer->totals.lacks_threads)
                return;
        n = fill_rows(r, by_names, rows);
        n_shown = rows_shown(r, n);
        print_thread_heading(s, r, by_names);
        for (size_t i = 0; i < n_shown; i++)
                print_thread(s, r, by_names, &rows[i]);
        print_rest(s, n - n_shown, by_names ? "names" : "threads");
        if (!r->threads_have_figures)
                fprintf(s->out, "  %sTo see what each thread did, use --group-by thread.%s\n",
                        s->dim, s->plain);
}

/* ---- mappings -------------------------------------------------------------------------------- */

/* Each call path for itself. */
static void print_mapping_paths(const struct style *s, const struct report *r) {
        size_t n = rows_shown(r, r->n_mappings);
        struct unit_text a, b, c;

        fprintf(s->out, "  %s%10s  %10s  %8s  call path%s\n", s->dim, "at most", "at the end",
                "calls", s->plain);
        for (size_t i = 0; i < n; i++) {
                const struct query_mapping *m = &r->mappings[i];
                struct str line = {0};

                str_addf(&line, "  %10s  %10s  %8s  ", unit_bytes(&a, m->peak_bytes),
                         unit_bytes(&b, m->end_bytes), unit_count(&c, m->n_calls));
                if (m->reserved_bytes)
                        str_add(&line, m->reserved_bytes == m->peak_bytes ? "(reserved) "
                                                                          : "(partly reserved) ");
                stack_add_short(s, &r->frames, m->stack, &line,
                                s->width - str_width(str_text(&line)));
                fprintf(s->out, "%s\n", str_text(&line));
                str_done(&line);
        }
        print_rest(s, r->n_mappings - n, "call paths");
}

/* "147 call paths  ggc_internal_alloc": of an allocator of the program's own, the function at which they meet. */
static void print_meeting(const struct style *s, const struct report *r,
                          const struct query_meeting *m) {
        struct name_frame frame = frame_of(&m->frame), caller = frame_of(&m->caller);
        struct str line = {0}, name = {0};
        struct unit_text a, b, c, d;

        str_addf(&line, "  %10s  %10s  %8s  %10s  ", unit_bytes(&a, (uint64_t)m->f.peak_bytes),
                 unit_bytes(&b, (uint64_t)m->f.end_bytes), unit_count(&c, m->f.n_allocs),
                 unit_count(&d, m->n_paths));
        if (!m->stack) {
                str_add(&name, m->is_rest ? "(others)" : "(no stack)");
        } else if (m->n_paths == 1) {
                stack_add_short(s, &r->frames, m->stack, &name,
                                s->width - str_width(str_text(&line)));
        } else {
                frame_add_function(&name, &r->frames, &frame, m->is_task, false, s->utf8);
                if (m->caller_bytes > 0 && !m->is_alone) {
                        str_add(&name, " (largest caller: ");
                        frame_add_function(&name, &r->frames, &caller, m->caller_is_task, false,
                                           s->utf8);
                        str_add(&name, ")");
                }
        }
        style_add_cut(s, &line, str_text(&name), s->width - str_width(str_text(&line)));
        fprintf(s->out, "%s\n", str_text(&line));
        str_done(&line);
        str_done(&name);
}

static void print_meetings(const struct style *s, const struct report *r) {
        _cleanup_(query_meetings_freep) struct query_meetings *m =
                query_meet(r->q, r->mapped_answer, QUERY_MAPPED);
        size_t n = rows_shown(r, m->n);
        struct unit_text t;

        if (!m->n)
                return;
        fprintf(s->out, "  %s%10s  %10s  %8s  %10s  mapped by%s\n", s->dim, "at most", "at the end",
                "calls", "call paths", s->plain);
        for (size_t i = 0; i < n; i++)
                print_meeting(s, r, &m->items[i]);
        if (m->n > n)
                fprintf(s->out, "  %s%s %s more: use --full to see all call paths%s\n", s->dim,
                        s->utf8 ? "…" : "..", unit_count(&t, m->n - n), s->plain);
        if (r->mapped_answer->n_sites > m->n)
                fprintf(s->out, "  %sUse --by mapped to see who called them.%s\n", s->dim,
                        s->plain);
}

void tables_print_mappings(const struct style *s, const struct report *r) {
        struct unit_text a, b;

        if (r->n_mappings == 0)
                return;
        if (r->mapped.reserved_peak_bytes)
                style_heading(
                        s,
                        "Own mappings: at most %s, and %s of reserved addresses, which take no memory",
                        unit_bytes(&a, r->mapped.usable_peak_bytes),
                        unit_bytes(&b, r->mapped.reserved_peak_bytes));
        else
                style_heading(s, "Own mappings: at most %s, %s at the end",
                              unit_bytes(&a, r->mapped.peak_bytes),
                              unit_bytes(&b, r->mapped.end_bytes));
        if (r->options->request->full || !r->mapped_answer)
                print_mapping_paths(s, r);
        else
                print_meetings(s, r);
}
