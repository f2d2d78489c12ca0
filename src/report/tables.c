/* SPDX-License-Identifier: MIT */
#include "report/tables.h"

#include <string.h>

#include "base/units.h"
#include "report/frame.h"
#include "report/sites.h"

enum { TABLES_MAX_ROWS = 10 };

static size_t rows_shown(const struct report *r, size_t n) {
        return r->options->full || n <= TABLES_MAX_ROWS + 1 ? n : TABLES_MAX_ROWS;
}

static void print_rest(const struct style *s, size_t n, const char *what) {
        struct unit_text t;

        if (n)
                fprintf(s->out, "  %s%s %s more %s; --full shows them%s\n", s->dim,
                        s->utf8 ? "…" : "..", unit_count(&t, n), what, s->plain);
}

/* ---- threads --------------------------------------------------------------------------------- */

static int thread_compare(const void *a, const void *b) {
        const struct query_thread *x = a, *y = b;

        if (x->alloc_bytes != y->alloc_bytes)
                return x->alloc_bytes > y->alloc_bytes ? -1 : 1;
        return x->thread < y->thread ? -1 : x->thread > y->thread;
}

static void print_thread(const struct style *s, const struct report *r,
                         const struct query_thread *t) {
        const struct trace_thread_info *info = &r->v->threads[t->thread];
        struct str clean = {0}, name = {0};
        struct unit_text a, b, c;

        style_add_clean(&clean, info->name[0] ? info->name : "-");
        style_add_cut(s, &name, str_text(&clean), 16);
        style_pad_to(&name, 0, 16);
        fprintf(s->out, "  %8u  %s", info->start.tid, str_text(&name));
        if (r->threads_have_figures) {
                fprintf(s->out, "  %10s  %14s", unit_bytes(&a, t->alloc_bytes),
                        unit_count(&b, t->n_allocs));
                fprintf(s->out, "  %14s", unit_count(&c, t->n_frees));
                if (s->width >= 90)
                        fprintf(s->out, "  %14s", unit_count(&c, t->n_foreign_frees));
        }
        fputc('\n', s->out);
        str_done(&clean);
        str_done(&name);
}

void tables_print_threads(const struct style *s, const struct report *r) {
        size_t n = rows_shown(r, r->n_threads);
        struct unit_text t;

        if (r->n_threads < 2)
                return;
        if (r->threads_have_figures)
                qsort(r->threads, r->n_threads, sizeof(r->threads[0]), thread_compare);
        style_heading(s, "Threads (%s)", unit_count(&t, r->answer->totals.n_threads));
        fprintf(s->out, "  %s%8s  %-16s", s->dim, "tid", "name");
        if (r->threads_have_figures) {
                fprintf(s->out, "  %10s  %14s  %14s", "bytes", "allocations", "frees");
                if (s->width >= 90)
                        fprintf(s->out, "  %14s", "foreign frees");
        }
        fprintf(s->out, "%s\n", s->plain);
        for (size_t i = 0; i < n; i++)
                print_thread(s, r, &r->threads[i]);
        print_rest(s, r->n_threads - n, "threads");
}

/* ---- mappings -------------------------------------------------------------------------------- */

void tables_print_mappings(const struct style *s, const struct report *r) {
        size_t n = rows_shown(r, r->n_mappings);
        struct unit_text a, b, c;

        if (r->n_mappings == 0)
                return;
        style_heading(s, "Mapped by the program itself: at most %s, %s at the end",
                      unit_bytes(&a, r->mapped_peak_bytes), unit_bytes(&b, r->mapped_end_bytes));
        fprintf(s->out, "  %s%10s  %10s  %8s  call path%s\n", s->dim, "at most", "at the end",
                "calls", s->plain);
        for (size_t i = 0; i < n; i++) {
                const struct query_mapping *m = &r->mappings[i];
                struct str line = {0};

                str_addf(&line, "  %10s  %10s  %8s  ", unit_bytes(&a, m->peak_bytes),
                         unit_bytes(&b, m->end_bytes), unit_count(&c, m->n_calls));
                sites_add_short(s, r, m->stack, &line, s->width - str_width(str_text(&line)));
                fprintf(s->out, "%s\n", str_text(&line));
                str_done(&line);
        }
        print_rest(s, r->n_mappings - n, "call paths");
}

/* ---- processes ------------------------------------------------------------------------------- */

static unsigned process_depth(const struct trace_view *v, uint32_t process) {
        unsigned depth = 0;

        for (uint32_t p = v->processes[process].start.parent; p < process && depth < 16; depth++) {
                process = p;
                p = v->processes[process].start.parent;
        }
        return depth;
}

static void add_command(struct str *to, const struct trace_process *p) {
        for (uint32_t i = 0; i < p->n_args; i++) {
                str_add(to, i ? " " : "");
                style_add_clean(to, i ? p->args[i] : frame_base(p->args[i]));
        }
        if (p->n_args == 0)
                style_add_clean(to, p->exe[0] ? frame_base(p->exe) : "?");
}

static void print_process(const struct style *s, const struct report *r, uint32_t process) {
        const struct trace_process_info *info = &r->v->processes[process];
        const struct query_totals *t = &r->answer->processes[process];
        struct str line = {0}, command = {0};
        struct unit_text a, b, c;
        unsigned depth = process_depth(r->v, process);

        str_addf(&line, "  %8u  %10s  %10s  %13s  ", info->start.pid, unit_bytes(&a, t->peak_bytes),
                 unit_bytes(&b, t->end_bytes), unit_count(&c, t->n_allocs));
        str_pad(&line, ' ', depth * 2u);
        add_command(&command, &info->start);
        if (info->has_end && info->end.ended == TRACE_ENDED_SIGNAL)
                str_addf(&command, " [signal %d]", info->end.status);
        else if (info->has_end && info->end.ended == TRACE_ENDED_EXEC)
                str_add(&command, " [exec]");
        else if (info->has_end && info->end.ended == TRACE_ENDED_OOM)
                str_add(&command, " [out of memory]");
        else if (info->has_end && info->end.ended == TRACE_ENDED_EXIT && info->end.status > 0)
                str_addf(&command, " [exit %d]", info->end.status);
        style_add_cut(s, &line, str_text(&command),
                      s->width - MIN(s->width - 8, str_width(str_text(&line))));
        fprintf(s->out, "%s\n", str_text(&line));
        str_done(&line);
        str_done(&command);
}

/* The children of a process, each with its own below it. */
static size_t print_children(const struct style *s, const struct report *r, uint32_t parent,
                             size_t n_left) {
        for (uint32_t p = parent == TRACE_NO_PROCESS ? 0 : parent + 1;
             p < r->v->n_processes && n_left; p++)
                if (r->v->processes[p].start.parent == parent) {
                        print_process(s, r, p);
                        n_left = print_children(s, r, p, n_left - 1);
                }
        return n_left;
}

void tables_print_processes(const struct style *s, const struct report *r) {
        size_t n = rows_shown(r, r->v->n_processes), n_left;
        struct unit_text t;

        if (r->v->n_processes < 2 || (report_is_filtered(r) && r->scope.process != QUERY_ALL))
                return;
        style_heading(s, "Processes (%s)", unit_count(&t, r->v->n_processes));
        fprintf(s->out, "  %s%8s  %10s  %10s  %13s  command%s\n", s->dim, "pid", "peak",
                "at the end", "allocations", s->plain);
        n_left = print_children(s, r, TRACE_NO_PROCESS, n);
        print_rest(s, r->v->n_processes - (n - n_left), "processes");
}
