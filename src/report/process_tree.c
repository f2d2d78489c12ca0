/* SPDX-License-Identifier: MIT */
#include "report/process_tree.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "base/units.h"
#include "base/vec.h"
#include "show/frame.h"

enum { FAMILY_MAX_ROWS = 10, FAMILY_MAX_DEPTH = 5, FAMILY_MIN_COMMAND = 12, FAMILY_WIDE = 76 };

/* A process with all the programs it was: kept at the place of the first of them, and called by the last. */
struct member {
        uint32_t first, last;          /* of its images; first is another: no row of its own */
        uint64_t peak_bytes, n_allocs; /* of all of them */
        uint32_t first_child, last_child, next; /* of those told; TRACE_NO_PROCESS: none */
        uint32_t depth;
        uint32_t
                n_alike; /* brothers without children and with the same command, itself among them */
        uint32_t stands_in; /* the largest of those, which is told for all */
        bool is_told, has_children;
};

struct family {
        const struct style *s;
        const struct report *r;
        struct member *members; /* one an image */
        size_t n, n_rows_all;   /* images; processes */
        size_t n_told, n_rows;  /* n_told: with those they stand for */
        uint64_t most_untold_bytes;
        bool joins_images;
};

/* Parents come before their children. */
static uint32_t parent_of(const struct family *f, uint32_t process) {
        uint32_t parent = f->r->v->processes[process].start.parent;

        return parent < process ? f->members[parent].first : TRACE_NO_PROCESS;
}

static uint64_t peak_of(const struct family *f, uint32_t process) {
        return f->members[process].peak_bytes;
}

static bool is_first(const struct family *f, uint32_t process) {
        return f->members[process].first == process;
}

/* Of a child that was forked to become another program, what it only inherited does not count. --full shows every image, and so
 * does a recording of one process. */
static void join_images(struct family *f) {
        const struct query_answer *a = f->r->answer;

        for (uint32_t i = 0; i < f->n; i++)
                f->members[i].first = i;
        for (uint32_t i = 0; i < f->n; i++) {
                uint32_t next = query_next_image(f->r->q, i);
                struct member *m = &f->members[f->members[i].first];
                bool goes_on = next < f->n && next > i && f->joins_images;

                if (goes_on)
                        f->members[next].first = f->members[i].first;
                m->last = i;
                m->n_allocs += a->processes[i].n_allocs;
                m->peak_bytes = MAX(m->peak_bytes, goes_on ? query_own_peak_bytes(a, i)
                                                           : a->processes[i].peak_bytes);
                f->n_rows_all += is_first(f, i);
        }
}

static const struct trace_process_info *info_of(const struct family *f, uint32_t process) {
        return &f->r->v->processes[f->members[process].last];
}

static void add_command(const struct family *f, uint32_t process, struct str *to) {
        const struct trace_process_info *info = info_of(f, process);
        const struct trace_process *p = &info->start;

        if (info->title) {
                style_add_clean(to, query_process_name(f->r->q, f->members[process].last));
                return;
        }
        for (uint32_t i = 0; i < p->n_args && to->n < 4096; i++) {
                str_add(to, i ? " " : "");
                style_add_clean(to, i ? p->args[i] : frame_base(p->args[i]));
        }
        if (p->n_args == 0)
                style_add_clean(to, p->exe[0] ? frame_base(p->exe) : "?");
        while (to->n && to->bytes[to->n - 1] == ' ') /* of arguments that are empty */
                to->bytes[--to->n] = '\0';
}

/* ---- those alike ----------------------------------------------------------------------------- */

static uint64_t hash_of(const struct family *f, uint32_t process) {
        uint64_t hash = map_hash(parent_of(f, process));
        struct str command = {0};

        add_command(f, process, &command);
        for (size_t i = 0; i < command.n; i++)
                hash = (hash ^ (unsigned char)command.bytes[i]) * 1099511628211ull;
        str_done(&command);
        return hash;
}

/* A shell's hundred calls of one program are one row. */
static void join_alike(struct family *f) {
        struct map largest = {0};

        for (uint32_t i = 0; i < f->n; i++)
                if (is_first(f, i) && parent_of(f, i) != TRACE_NO_PROCESS)
                        f->members[parent_of(f, i)].has_children = true;
        for (uint32_t i = 0; i < f->n; i++) {
                bool added;
                uint64_t *other;

                f->members[i].n_alike = 1;
                f->members[i].stands_in = i;
                if (f->r->options->request->full || f->members[i].has_children || !is_first(f, i))
                        continue;
                other = map_put(&largest, hash_of(f, i), i, &added);
                if (added)
                        continue;
                f->members[*other].n_alike++;
                f->members[i].stands_in = (uint32_t)*other;
                if (peak_of(f, i) > peak_of(f, (uint32_t)*other)) {
                        f->members[i].n_alike = f->members[*other].n_alike;
                        f->members[*other].stands_in = i;
                        f->members[i].stands_in = i;
                        *other = i;
                }
        }
        map_done(&largest);
}

static bool is_row(const struct family *f, uint32_t process) {
        return is_first(f, process) && f->members[process].stands_in == process;
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
                f->n_told += f->members[process].n_alike;
                f->n_rows++;
        }
}

static void choose(struct family *f) {
        uint32_t *order = calloc(f->n, sizeof(*order));
        size_t n = 0, most;

        if (!order)
                abort();
        for (uint32_t i = 0; i < f->n; i++)
                if (is_row(f, i))
                        order[n++] = i;
        most = f->r->options->request->full || n <= FAMILY_MAX_ROWS + 1 ? n : FAMILY_MAX_ROWS;
        if (most < n)
                qsort_r(order, n, sizeof(order[0]), larger_first, f);
        for (size_t i = 0; i < n; i++)
                if (f->n_rows < most)
                        tell(f, order[i]);
        for (uint32_t i = 0; i < f->n; i++)
                if (is_row(f, i) && !f->members[i].is_told)
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

/* How many it stands for; that it is the largest only where there is room. */
static void add_alike(const struct family *f, uint32_t process, size_t left, struct str *to) {
        static const char largest[] = ", the largest";
        struct unit_text n;

        str_addf(to, "  %s%s", f->s->utf8 ? "×" : "x", unit_count(&n, f->members[process].n_alike));
        if (f->s->width >= FAMILY_WIDE &&
            str_width(str_text(to)) + sizeof(largest) - 1 + FAMILY_MIN_COMMAND / 2 <= left)
                str_add(to, largest);
}

static void print_member(const struct family *f, uint32_t process) {
        const struct trace_process_info *p = info_of(f, process);
        const struct query_totals *t = &f->r->answer->processes[f->members[process].last];
        struct str line = {0}, command = {0}, end = {0};
        struct unit_text a, b, c;
        size_t left;

        str_addf(&line, "  %8u  %10s  %10s  ", p->start.pid, unit_bytes(&a, peak_of(f, process)),
                 unit_bytes(&b, t->end_bytes));
        if (f->s->width >= FAMILY_WIDE)
                str_addf(&line, "%12s  ", unit_count(&c, f->members[process].n_allocs));
        add_branches(f, process, &line);
        left = f->s->width - MIN(f->s->width, str_width(str_text(&line)));
        left = MAX(left, (size_t)FAMILY_MIN_COMMAND);
        add_command(f, process, &command);
        if (f->members[process].n_alike > 1)
                add_alike(f, process, left, &end);
        else
                add_end(p, &end);
        if (str_width(str_text(&end)) + FAMILY_MIN_COMMAND / 2 > left)
                str_clear(&end);
        style_add_cut(f->s, &line, str_text(&command), left - str_width(str_text(&end)));
        str_add(&line, str_text(&end));
        if (f->members[process].last == f->r->scope.process)
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

/* Whether a row that is told counts blocks of a parent's, too. */
static bool has_heirs(const struct family *f) {
        for (uint32_t i = 0; i < f->n; i++)
                if (f->members[i].is_told &&
                    f->r->answer->processes[f->members[i].last].peak_bytes >
                            query_own_peak_bytes(f->r->answer, f->members[i].last))
                        return true;
        return false;
}

void process_tree_print(const struct style *s, const struct report *r) {
        struct family f = {.s = s, .r = r, .n = r->v->n_processes};
        struct unit_text a, b;

        if (f.n < 2 || (report_is_filtered(r) && r->scope.process != QUERY_ALL))
                return;
        f.members = calloc(f.n, sizeof(f.members[0]));
        if (!f.members)
                abort();
        f.joins_images = !r->options->request->full && query_n_pids(r->q) > 1;
        join_images(&f);
        join_alike(&f);
        choose(&f);
        style_heading(s, "Processes (%s)", unit_count(&a, f.n_rows_all));
        fprintf(s->out, "  %s%8s  %10s  %10s  %s%scommand%s\n", s->dim, "pid", "peak", "at the end",
                s->width >= FAMILY_WIDE ? " allocations" : "", s->width >= FAMILY_WIDE ? "  " : "",
                s->plain);
        print_members(&f, link_up(&f));
        if (f.n_told < f.n_rows_all)
                fprintf(s->out, "  %s%s %s more, none above %s: use --full to see them%s\n", s->dim,
                        s->utf8 ? "…" : "..", unit_count(&a, f.n_rows_all - f.n_told),
                        unit_bytes(&b, f.most_untold_bytes), s->plain);
        if (has_heirs(&f))
                fprintf(s->out, "  %sPeak and end of each with the blocks it inherited.%s\n",
                        s->dim, s->plain);
        free(f.members);
}
