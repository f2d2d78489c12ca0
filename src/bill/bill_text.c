/* SPDX-License-Identifier: MIT */
/* The bill for people: the largest part in a sentence, then all of them, adding up. */
#include <string.h>

#include "base/units.h"
#include "bill/bill_view.h"
#include "bill/bill_words.h"
#include "show/style.h"

enum {
        USUAL_LINES = 5,  /* of a part; the others are one */
        NAME_INDENT = 38, /* cells of the figures */
        MIN_SHARE = 200,  /* lines with less than one of so many parts of all are put together */
};

/* ---- rows ------------------------------------------------------------------------------------ */

static void print_figures(const struct style *s, int64_t bytes, uint64_t whole) {
        struct unit_text exact, about;
        uint64_t size = bytes < 0 ? 0 - (uint64_t)bytes : (uint64_t)bytes;

        unit_count(&exact, size);
        fprintf(s->out, "%s%*s %11s", bytes < 0 ? "-" : "", bytes < 0 ? 15 : 16, exact.s,
                unit_bytes_signed(&about, bytes) + (bytes >= 0 && about.s[0] == '+'));
        if (whole)
                fprintf(s->out, " %5.1f %%  ", 100.0 * (double)bytes / (double)whole);
        else
                fprintf(s->out, "%*s", 10, "");
}

static void print_row(const struct style *s, int64_t bytes, uint64_t whole, const char *text) {
        struct str cut = {0};

        print_figures(s, bytes, whole);
        style_add_cut(s, &cut, text, s->width > NAME_INDENT + 20 ? s->width - NAME_INDENT : 20);
        fprintf(s->out, "%s\n", str_text(&cut));
        str_done(&cut);
}

/* Behind a name's parts: a name that is wider than a line loses nothing then. */
static bool is_break(const char *text, size_t at) {
        return (text[at] == ' ' && text[at - 1] != ' ') ||
               (at >= 2 && text[at - 1] == ':' && text[at - 2] == ':');
}

/* How much of text a line of so many cells has, up to a blank or behind "::"; all, if it has neither. */
static size_t find_break(const char *text, size_t width) {
        size_t all = strlen(text), found = all;
        struct str part = {0};

        if (str_width(text) <= width)
                return all;
        for (size_t i = 1; i < all; i++) {
                if (!is_break(text, i))
                        continue;
                str_clear(&part);
                str_addn(&part, text, i);
                if (str_width(str_text(&part)) > width)
                        break;
                found = i;
        }
        str_done(&part);
        return found;
}

/* A line below a part: with its figure at the right place of its own, so that columns still add up. What does not fit follows below: cut in the middle, it
 * would lose figures. */
static void print_line(const struct style *s, uint64_t bytes, const char *text) {
        size_t width = s->width > NAME_INDENT + 24 ? s->width - NAME_INDENT - 12 : 20;
        struct str part = {0}, cut = {0};
        struct unit_text t;

        unit_bytes(&t, bytes);
        for (bool is_first = true; is_first || *text; is_first = false) {
                size_t n = find_break(text, width);

                str_clear(&part);
                str_clear(&cut);
                str_addn(&part, text, n);
                style_add_cut(s, &cut, str_text(&part), width);
                fprintf(s->out, "%*s%s%9s  %s%s\n", NAME_INDENT, "", s->dim, is_first ? t.s : "",
                        str_text(&cut), s->plain);
                text += n;
                text += strspn(text, " ");
        }
        str_done(&part);
        str_done(&cut);
}

/* ---- lines of parts -------------------------------------------------------------------------- */

static void add_line(const struct bill_view *v, enum bill_kind k, const struct bill_line *l,
                     bool utf8, struct str *to) {
        struct str place = {0};
        struct unit_text t;

        if (l->stack) {
                bill_add_mapper(&v->keys.frames, l, utf8, to, &place);
                if (!to->n)
                        str_add(to, "code without a name");
                if (place.n)
                        str_addf(to, "  %s", str_text(&place));
        } else if (k == BILL_SHARED && bill_is_dev_zero(l->name)) {
                str_add(to, "shared memory (/dev/zero)");
        } else if (l->name[0]) {
                style_add_clean(to,
                                v->o->is_full || l->name[0] != '/' ? l->name : frame_base(l->name));
        } else {
                str_add(to, "without a name");
        }
        if (l->n_stacks > 1)
                str_addf(to, " (%s call paths)", unit_count(&t, l->n_stacks));
        else if (l->n > 1 && (k == BILL_MAPPED || k == BILL_STACKS || k == BILL_REST))
                str_addf(to, " (%s %s)", unit_count(&t, l->n),
                         k == BILL_STACKS ? "threads" : "mappings");
        str_done(&place);
}

static void print_lines(const struct style *s, const struct bill_view *v, enum bill_kind k) {
        const struct bill_part *p = &v->bill.parts[k];
        uint64_t least = v->o->is_full ? 0 : v->bill.resident_bytes / MIN_SHARE, rest = 0;
        size_t n = 0, max = v->o->is_full ? SIZE_MAX : USUAL_LINES;
        struct str text = {0};
        struct unit_text t;

        for (; n < p->lines.n && n < max && p->lines.items[n].bytes >= least; n++) {
                str_clear(&text);
                add_line(v, k, &p->lines.items[n], s->utf8, &text);
                print_line(s, p->lines.items[n].bytes, str_text(&text));
        }
        for (size_t i = n; i < p->lines.n; i++)
                rest += p->lines.items[i].bytes;
        if (n && n < p->lines.n) {
                str_clear(&text);
                str_addf(&text, "(%s more)", unit_count(&t, p->lines.n - n));
                print_line(s, rest, str_text(&text));
        }
        str_done(&text);
}

/* What the allocator says of its free memory. */
static void print_frees(const struct style *s, const struct bill_view *v) {
        const struct bill *b = &v->bill;
        size_t max = v->o->is_full ? SIZE_MAX : USUAL_LINES;
        struct str text = {0};
        struct unit_text t;

        for (size_t i = 0; i < b->frees.n && i < max; i++) {
                const struct bill_free *f = &b->frees.items[i];

                if (!f->bytes)
                        break;
                str_clear(&text);
                style_add_clean(&text, f->name);
                if (f->releasable_bytes)
                        str_addf(&text, ", %s of it in whole pages",
                                 unit_bytes(&t, f->releasable_bytes));
                print_line(s, f->bytes, str_text(&text));
        }
        str_done(&text);
}

static void print_pins(const struct style *s, const struct bill_view *v) {
        size_t max = v->o->is_full ? SIZE_MAX : USUAL_LINES;
        struct str text = {0}, place = {0};
        struct unit_text t, u;

        for (size_t i = 0; i < v->bill.pins.n && i < max; i++) {
                const struct bill_pin *p = &v->bill.pins.items[i];

                if (p->free_bytes < v->bill.resident_bytes / MIN_SHARE)
                        break;
                str_clear(&text);
                str_clear(&place);
                str_addf(&text, "in %s page%s pinned by ", unit_count(&t, p->n_pages),
                         unit_s(p->n_pages));
                bill_add_function(&v->keys.frames, p->stack, s->utf8, &text, &place);
                if (!p->stack)
                        str_add(&text, "blocks of unknown origin");
                if (p->n_blocks)
                        str_addf(&text, " (%s)", unit_bytes(&u, p->block_bytes / p->n_blocks));
                if (place.n)
                        str_addf(&text, "  %s", str_text(&place));
                print_line(s, p->free_bytes, str_text(&text));
        }
        str_done(&text);
        str_done(&place);
}

static void print_parts(const struct style *s, const struct bill_view *v) {
        const struct bill *b = &v->bill;

        fprintf(s->out, "\n%s%16s %11s %7s  %s%s\n", s->bold, "bytes", "", "", "part", s->plain);
        for (unsigned i = 0; i < BILL_N_KINDS; i++) {
                enum bill_kind k = (enum bill_kind)i;

                if (!b->parts[k].bytes && k != BILL_REST)
                        continue;
                print_row(s, b->parts[k].bytes, b->resident_bytes, bill_kind_words(b, k));
                if (k == BILL_EMPTY)
                        print_frees(s, v);
                else if (k == BILL_BETWEEN)
                        print_pins(s, v);
                else if (k != BILL_RUNTIME)
                        print_lines(s, v, k);
        }
        fprintf(s->out, "%s", s->bold);
        print_row(s, (int64_t)b->resident_bytes, b->resident_bytes, "resident memory");
        fprintf(s->out, "%s", s->plain);
}

/* ---- beside it ------------------------------------------------------------------------------- */

static void print_processes(const struct style *s, const struct bill_view *v) {
        size_t max = v->o->is_full ? SIZE_MAX : (size_t)20;
        struct str text = {0};

        if (v->bill.processes.n < 2 || !v->q)
                return;
        style_heading(s, "Processes");
        for (size_t i = 0; i < v->bill.processes.n && i < max; i++) {
                const struct bill_process *p = &v->bill.processes.items[i];

                str_clear(&text);
                query_add_process_name(v->q, p->process, &text);
                str_add(&text, " ");
                query_add_process_word(v->q, p->process, &text);
                print_row(s, (int64_t)p->resident_bytes, v->bill.resident_bytes, str_text(&text));
        }
        str_done(&text);
}

static void print_if(const struct style *s, uint64_t bytes, uint64_t whole, const char *text) {
        if (bytes)
                print_row(s, (int64_t)bytes, whole, text);
}

static void print_outside(const struct style *s, const struct bill *b) {
        if (b->huge_bytes) {
                style_heading(s, "Of resident memory");
                print_row(s, (int64_t)b->huge_bytes, b->resident_bytes,
                          "in huge pages that are not split");
        }
        if (!b->page_table_bytes && !b->swap_bytes && !b->hugetlb_bytes)
                return;
        style_heading(s, "Not in resident memory");
        print_if(s, b->page_table_bytes, 0, "page tables");
        print_if(s, b->swap_bytes, 0, "swapped out");
        print_if(s, b->hugetlb_bytes, 0, "pages of hugetlbfs");
}

static void print_cgroup(const struct style *s, const struct bill *b) {
        const struct resident_cgroup *c = &b->cgroup;
        uint64_t files = c->file_bytes; /* without shared memory */
        uint64_t own = MIN(b->anon_bytes, c->anon_bytes);
        struct str text = {0};
        struct unit_text t;

        if (!c->version)
                return;
        str_add(&text, "The memory cgroup ");
        style_add_clean(&text, b->cgroup_path);
        if (c->limit_bytes != UINT64_MAX)
                str_addf(&text, ", limit %s", unit_bytes(&t, c->limit_bytes));
        style_heading(s, "%s", str_text(&text));
        print_if(s, own, c->usage_bytes, "anonymous memory of what is above");
        print_if(s, c->anon_bytes - own, c->usage_bytes, "anonymous memory of others in the group");
        print_if(s, c->shmem_bytes, c->usage_bytes, "shared memory");
        print_if(s, files, c->usage_bytes, "files that the kernel keeps (page cache)");
        print_if(s, c->kernel_bytes, c->usage_bytes,
                 "the kernel's own: page tables, sockets, tables of files");
        print_row(s,
                  (int64_t)(c->usage_bytes - c->anon_bytes - c->shmem_bytes - files -
                            c->kernel_bytes),
                  c->usage_bytes, "not accounted for");
        print_row(s, (int64_t)c->usage_bytes, c->usage_bytes, "usage of the group");
        print_if(s, c->swap_bytes, 0, "swapped out as well");
        str_done(&text);
}

/* ---- sentences ------------------------------------------------------------------------------- */

static void add_whose(const struct bill_view *v, struct str *to) {
        struct unit_text t, all;

        if (!v->q) {
                str_addf(to, "Process %u", v->o->pid);
                if (v->o->program && v->o->program[0]) {
                        str_add(to, ", ");
                        style_add_clean(to, v->o->program);
                }
                str_add(to, ", now.");
                return;
        }
        if (v->unlooked.n) {
                str_addf(to, "%s of the %s processes that ran then, the others without a look",
                         unit_count(&t, v->bill.processes.n),
                         unit_count(&all, v->unlooked.n_alive));
                if (v->bill.is_shared_once)
                        str_add(to, ", pages that they share counted once");
        } else if (v->bill.processes.n > 1) {
                str_addf(to, "%s processes, pages that they share counted once",
                         unit_count(&t, v->bill.processes.n));
        } else {
                query_add_process_name(v->q, v->bill.processes.items[0].process, to);
                str_add(to, " ");
                query_add_process_word(v->q, v->bill.processes.items[0].process, to);
                if (v->bill.is_shared_once)
                        str_add(to, ", its part of pages that it shares");
        }
        str_addf(to, ", at %s", unit_duration(&t, v->moment.time_ns));
        if (v->is_asked)
                str_addf(to, ", the nearest of %s moment%s looked at.",
                         unit_count(&t, v->series.points.n), unit_s(v->series.points.n));
        else
                str_addf(to, ", when most was resident of %s moment%s looked at.",
                         unit_count(&t, v->series.points.n), unit_s(v->series.points.n));
}

static void add_end(const struct bill_view *v, bool utf8, struct str *to) {
        struct unit_text at, bytes;

        if (!v->has_end)
                return;
        str_addf(to,
                 " At the end, %s, %s were resident: ", unit_duration(&at, v->end_moment.time_ns),
                 unit_bytes(&bytes, v->end.resident_bytes));
        bill_add_largest(&v->end, &v->keys.frames, utf8, to);
        str_add(to, " (--at @end).");
}

static void add_doubts(const struct bill *b, struct str *to) {
        if (b->lacks_blocks && b->heap_bytes)
                str_add(to, " What is live in its heaps is unknown.");
        if (b->is_sampled)
                str_add(to, " Live blocks are estimates (--sample).");
        if (b->is_divided)
                str_add(to,
                        " Mappings that lie beside each other were divided by their addresses.");
}

static void print_without_bill(const struct style *s, const struct bill_view *v) {
        struct unit_text all, anon, file, shmem;
        struct str text = {0};

        if (v->series.points.n)
                str_add(&text, "None of the processes was looked at then");
        else if (v->is_imported)
                str_add(&text,
                        "The trace was made by another tool, and does not say what resident memory was made of");
        else
                str_add(&text,
                        "The trace does not say what resident memory was made of: it ended before the first look, its file was kept small (--max-size), or an older silt made it");
        if (v->sampled.n_samples && v->is_imported)
                str_addf(&text, ". At its highest sample %s were resident",
                         unit_bytes(&all, query_resident_bytes(&v->sampled)));
        else if (v->sampled.n_samples)
                str_addf(
                        &text,
                        ". At its highest sample %s were resident: %s anonymous, %s of files, %s shared",
                        unit_bytes(&all, query_resident_bytes(&v->sampled)),
                        unit_bytes(&anon, v->sampled.anon_bytes),
                        unit_bytes(&file, v->sampled.file_bytes),
                        unit_bytes(&shmem, v->sampled.shmem_bytes));
        str_add(&text, ".");
        style_wrap(s, str_text(&text), 0);
        str_done(&text);
}

void bill_text(FILE *out, const struct bill_view *v) {
        struct str text = {0};
        struct style s;

        style_init(&s, out);
        if (!v->has_bill) {
                print_without_bill(&s, v);
                return;
        }
        bill_view_add_sentence(v, s.utf8, &text);
        style_wrap(&s, str_text(&text), 0);
        str_clear(&text);
        if (bill_view_add_fragmentation(v, s.utf8, &text))
                style_wrap(&s, str_text(&text), 0);
        str_clear(&text);
        add_whose(v, &text);
        add_end(v, s.utf8, &text);
        add_doubts(&v->bill, &text);
        style_wrap(&s, str_text(&text), 0);
        print_parts(&s, v);
        print_processes(&s, v);
        print_outside(&s, &v->bill);
        print_cgroup(&s, &v->bill);
        str_done(&text);
}
