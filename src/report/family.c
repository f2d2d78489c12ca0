/* SPDX-License-Identifier: MIT */
#include "report/family.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "base/units.h"
#include "base/vec.h"
#include "report/frame.h"

enum { FAMILY_MAX_ROWS = 10, FAMILY_MAX_DEPTH = 5, FAMILY_MIN_COMMAND = 12, FAMILY_WIDE = 76 };

struct member {
        uint32_t first_child, last_child, next; /* of those told; TRACE_NO_PROCESS: none */
        uint32_t depth;
        bool is_told;
};

struct family {
        const struct style *s;
        const struct report *r;
        struct member *members; /* one a process */
        size_t n, n_told;
        uint64_t most_untold_bytes;
};

static uint32_t parent_of(const struct family *f, uint32_t process) {
        uint32_t parent = f->r->v->processes[process].start.parent;

        return parent < process ? parent : TRACE_NO_PROCESS;
}

static uint64_t peak_of(const struct family *f, uint32_t process) {
        return f->r->answer->processes[process].peak_bytes;
}

/* ---- choosing -------------------------------------------------------------------------------- */

static int larger_first(const void *a, const void *b, void *family) {
        uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
        uint64_t peak_x = peak_of(family, x), peak_y = peak_of(family, y);

        if (peak_x != peak_y)
                return peak_x > peak_y ? -1 : 1;
        return x < y ? -1 : x > y;
}

/* A process and those it comes from. */
static void tell(struct family *f, uint32_t process) {
        for (; process != TRACE_NO_PROCESS && !f->members[process].is_told;
             process = parent_of(f, process)) {
                f->members[process].is_told = true;
                f->n_told++;
        }
}

static void choose(struct family *f) {
        uint32_t *order = calloc(f->n, sizeof(*order));
        size_t most = f->r->options->full || f->n <= FAMILY_MAX_ROWS + 1 ? f->n : FAMILY_MAX_ROWS;

        if (!order)
                abort();
        for (uint32_t i = 0; i < f->n; i++)
                order[i] = i;
        if (most < f->n)
                qsort_r(order, f->n, sizeof(order[0]), larger_first, f);
        for (size_t i = 0; i < f->n; i++)
                if (f->n_told < most)
                        tell(f, order[i]);
        for (uint32_t i = 0; i < f->n; i++)
                if (!f->members[i].is_told)
                        f->most_untold_bytes = MAX(f->most_untold_bytes, peak_of(f, i));
        free(order);
}

/* Hangs those told below their parents, in the order they came. Returns the first that has none. */
static uint32_t link_up(struct family *f) {
        struct member top = {.first_child = TRACE_NO_PROCESS, .last_child = TRACE_NO_PROCESS};

        for (uint32_t i = 0; i < f->n; i++) {
                uint32_t p = parent_of(f, i);
                struct member *parent = p == TRACE_NO_PROCESS ? &top : &f->members[p];

                f->members[i].first_child = f->members[i].last_child = f->members[i].next =
                        TRACE_NO_PROCESS;
                if (!f->members[i].is_told)
                        continue;
                f->members[i].depth = parent == &top ? 0 : parent->depth + 1;
                if (parent->last_child == TRACE_NO_PROCESS)
                        parent->first_child = i;
                else
                        f->members[parent->last_child].next = i;
                parent->last_child = i;
        }
        return top.first_child;
}

/* ---- drawing --------------------------------------------------------------------------------- */

static void add_end(const struct trace_process_info *p, struct str *to) {
        const char *name;

        if (!p->has_end)
                return;
        switch ((enum trace_ended)p->end.ended) {
        case TRACE_ENDED_SIGNAL:
                name = sigabbrev_np(p->end.status);
                str_addf(to, "  [signal %d%s%s]", p->end.status, name ? " " : "", name ? name : "");
                break;
        case TRACE_ENDED_EXEC: str_add(to, "  [exec]"); break;
        case TRACE_ENDED_OOM: str_add(to, "  [out of memory]"); break;
        case TRACE_ENDED_EXIT:
                if (p->end.status > 0)
                        str_addf(to, "  [exit %d]", p->end.status);
                break;
        case TRACE_ENDED_STOPPED:
        case TRACE_ENDED_UNKNOWN: break;
        }
}

static void add_command(const struct trace_process *p, struct str *to) {
        for (uint32_t i = 0; i < p->n_args && to->n < 4096; i++) {
                str_add(to, i ? " " : "");
                style_add_clean(to, i ? p->args[i] : frame_base(p->args[i]));
        }
        if (p->n_args == 0)
                style_add_clean(to, p->exe[0] ? frame_base(p->exe) : "?");
}

static void add_branches(const struct family *f, uint32_t process, struct str *to) {
        const char *lines[FAMILY_MAX_DEPTH];
        size_t n = 0;

        for (uint32_t p = process; f->members[p].depth && n < FAMILY_MAX_DEPTH;
             p = parent_of(f, p)) {
                bool goes_on = f->members[p].next != TRACE_NO_PROCESS;

                if (p == process)
                        lines[n++] = f->s->utf8 ? (goes_on ? "├ " : "└ ") : goes_on ? "+ " : "` ";
                else
                        lines[n++] = goes_on ? (f->s->utf8 ? "│ " : "| ") : "  ";
        }
        while (n-- > 0)
                str_add(to, lines[n]);
}

static void print_member(const struct family *f, uint32_t process) {
        const struct trace_process_info *p = &f->r->v->processes[process];
        const struct query_totals *t = &f->r->answer->processes[process];
        struct str line = {0}, command = {0}, end = {0};
        struct unit_text a, b, c;
        size_t left;

        str_addf(&line, "  %8u  %10s  %10s  ", p->start.pid, unit_bytes(&a, t->peak_bytes),
                 unit_bytes(&b, t->end_bytes));
        if (f->s->width >= FAMILY_WIDE)
                str_addf(&line, "%12s  ", unit_count(&c, t->n_allocs));
        add_branches(f, process, &line);
        add_command(&p->start, &command);
        add_end(p, &end);
        left = f->s->width - MIN(f->s->width, str_width(str_text(&line)));
        left = MAX(left, (size_t)FAMILY_MIN_COMMAND);
        style_add_cut(f->s, &line, str_text(&command),
                      left - MIN(left - 8, str_width(str_text(&end))));
        str_add(&line, str_text(&end));
        if (process == f->r->scope.process)
                fprintf(f->s->out, "%s%s%s\n", f->s->bold, str_text(&line), f->s->plain);
        else
                fprintf(f->s->out, "%s\n", str_text(&line));
        str_done(&line);
        str_done(&command);
        str_done(&end);
}

static void print_members(const struct family *f, uint32_t first) {
        VEC(uint32_t) todo = {0};

        for (uint32_t p = first;;) {
                for (; p != TRACE_NO_PROCESS; p = f->members[p].first_child) {
                        print_member(f, p);
                        vec_push(&todo, f->members[p].next);
                }
                while (todo.n && todo.items[todo.n - 1] == TRACE_NO_PROCESS)
                        todo.n--;
                if (todo.n == 0)
                        break;
                p = todo.items[--todo.n];
        }
        vec_free(&todo);
}

void family_print(const struct style *s, const struct report *r) {
        struct family f = {.s = s, .r = r, .n = r->v->n_processes};
        struct unit_text a, b;

        if (f.n < 2 || (report_is_filtered(r) && r->scope.process != QUERY_ALL))
                return;
        f.members = calloc(f.n, sizeof(f.members[0]));
        if (!f.members)
                abort();
        choose(&f);
        style_heading(s, "Processes (%s)", unit_count(&a, f.n));
        fprintf(s->out, "  %s%8s  %10s  %10s  %s%scommand%s\n", s->dim, "pid", "peak", "at the end",
                s->width >= FAMILY_WIDE ? " allocations" : "", s->width >= FAMILY_WIDE ? "  " : "",
                s->plain);
        print_members(&f, link_up(&f));
        if (f.n_told < f.n)
                fprintf(s->out, "  %s%s %s more, none above %s; --full shows them%s\n", s->dim,
                        s->utf8 ? "…" : "..", unit_count(&a, f.n - f.n_told),
                        unit_bytes(&b, f.most_untold_bytes), s->plain);
        free(f.members);
}
