/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "base/units.h"
#include "keep/high_graph.h"
#include "keep/leak_summary.h"
#include "keep/leaks_write.h"
#include "keep/missing_blocks.h"
#include "show/stack_text.h"
#include "show/style.h"

enum { USUAL_FRAMES = 12, MEMCHECK_WIDTH = 80 };

/* Of blocks that its allocators have and the recording does not. */
static const char *unseen_words(const struct leaks *l) {
        return query_sample_bytes(l->names.q) ? "without being sampled" : "before silt attached";
}

/* When that was, or who says so. */
static void add_when(struct str *to, const struct leaks *l) {
        struct unit_text t;

        if (l->kept.is_told)
                str_add(to, ", as memcheck found at its exit");
        else
                str_addf(to, ", after %s", unit_duration(&t, l->kept.graph.info.time_ns));
}

static void add_sentence(struct str *to, const struct leaks *l, const struct style *s) {
        const struct leak_sums *c = &l->kept.sums;
        uint64_t lost_bytes = c->bytes[LEAK_DEFINITE] + c->bytes[LEAK_INDIRECT];
        uint64_t lost_blocks = c->blocks[LEAK_DEFINITE] + c->blocks[LEAK_INDIRECT];
        const struct loss_record *worst = NULL;
        struct unit_text a, b;

        for (size_t i = l->kept.records.n; i-- > 0 && !worst;)
                if (l->kept.records.items[i].class == LEAK_DEFINITE &&
                    !l->kept.records.items[i].is_suppressed)
                        worst = &l->kept.records.items[i];
        missing_blocks_add(query_view(l->names.q), l->kept.graph.info.process, to);
        query_add_process_name(l->names.q, l->kept.graph.info.process, to);
        if (!lost_blocks && c->suppressed_blocks)
                str_addf(to, " lost nothing but what is suppressed, %s in %s block%s",
                         unit_bytes(&a, c->suppressed_bytes), unit_count(&b, c->suppressed_blocks),
                         unit_s(c->suppressed_blocks));
        else if (!lost_blocks)
                str_addf(to, " lost nothing: something points to each of the %s it held",
                         unit_bytes(&a, l->answer->totals.end_bytes));
        if (!lost_blocks) {
                if (c->suppressed_blocks || l->kept.is_told)
                        add_when(to, l);
                else
                        str_addf(to, " after %s", unit_duration(&b, l->kept.graph.info.time_ns));
                str_add(to, ".");
                if (c->blocks[LEAK_POSSIBLE])
                        str_addf(to, "  %s are reachable only through interior pointers.",
                                 unit_bytes(&a, c->bytes[LEAK_POSSIBLE]));
                return;
        }
        str_addf(to, " lost %s in %s%s block%s: nothing points to them any more",
                 unit_bytes(&a, lost_bytes),
                 l->kept.is_told && l->kept.is_unknown[LEAK_INDIRECT] ? "at least " : "",
                 unit_count(&b, lost_blocks), unit_s(lost_blocks));
        add_when(to, l);
        str_add(to, ".");
        if (!worst)
                return;
        str_addf(to, " The most, %s, was allocated ",
                 unit_bytes(&a, worst->bytes + worst->indirect_bytes));
        if (worst->stack == REACH_NO_SITE) {
                str_add(to, unseen_words(l));
        } else {
                str_add(to, "by ");
                stack_add_short(s, &l->names, worst->stack, to, 60);
        }
        str_add(to, ".");
}

static bool leaks_shows(const struct leaks *l, const struct loss_record *r) {
        return !r->is_suppressed && (l->options->shows_reachable || r->class == LEAK_DEFINITE ||
                                     r->class == LEAK_POSSIBLE);
}

/* As memcheck has it, for programs that read it from a pipe; in several lines only on a narrow terminal. */
static void print_line(const struct style *s, const char *bold, struct str *line) {
        size_t indent = strspn(str_text(line), " ");

        fputs(bold, s->out);
        fprintf(s->out, "%*s", (int)indent, "");
        if (s->width >= MEMCHECK_WIDTH || style_width(str_text(line)) <= s->width)
                fprintf(s->out, "%s\n", str_text(line) + indent);
        else
                style_wrap(s, str_text(line) + indent, indent);
        fputs(bold[0] ? s->plain : "", s->out);
        str_done(line);
}

static void print_record(const struct style *s, const struct leaks *l, size_t i) {
        const struct loss_record *r = &l->kept.records.items[i];
        struct unit_text a, b, c, d;
        struct str line = {0};

        if (r->indirect_bytes)
                str_addf(
                        &line,
                        "%s (%s direct, %s indirect) bytes in %s blocks are %s in loss record %zu of %zu",
                        unit_count(&a, r->bytes + r->indirect_bytes), unit_count(&b, r->bytes),
                        unit_count(&c, r->indirect_bytes), unit_count(&d, r->blocks),
                        leak_class_words[r->class], i + 1, l->kept.records.n);
        else
                str_addf(&line, "%s bytes in %s blocks are %s in loss record %zu of %zu",
                         unit_count(&a, r->bytes), unit_count(&b, r->blocks),
                         leak_class_words[r->class], i + 1, l->kept.records.n);
        print_line(s, s->bold, &line);
        if (r->stack == REACH_NO_SITE)
                fprintf(s->out, "   allocated %s\n", unseen_words(l));
        else
                stack_print(s, &l->names, r->stack, 3, l->options->is_full ? 0 : USUAL_FRAMES);
        fputc('\n', s->out);
}

static void print_heap_summary(const struct style *s, const struct leaks *l) {
        const struct query_totals *t = &l->answer->totals;
        const struct leak_classes *c = &l->kept.graph.classes;
        struct unit_text a, b, d;
        struct str line = {0};
        uint64_t bytes = 0;

        if (l->kept.is_told && t->lacks_traffic) { /* memcheck's XML has none */
                fputc('\n', s->out);
                return;
        }
        for (unsigned i = 0; i < N_LEAK_CLASSES; i++)
                bytes += c->bytes[i];
        fprintf(s->out, "\nHEAP SUMMARY:\n    in use at %s: %s bytes in %s blocks\n",
                l->kept.is_at_exit ? "exit" : "that moment",
                unit_count(&a, l->kept.is_told ? t->end_bytes : bytes),
                unit_count(&b,
                           l->kept.is_told ? t->end_blocks : l->kept.graph.heap.graph.n_blocks));
        str_addf(&line, "  total heap usage: %s allocs, %s frees, %s bytes allocated",
                 unit_count(&a, t->n_allocs), unit_count(&b, t->n_frees),
                 unit_count(&d, t->alloc_bytes));
        print_line(s, "", &line);
        fputc('\n', s->out);
}

/* ---- all ---------------------------------------------------------------------------------------- */

static void add_doubts(struct str *to, const struct leaks *l) {
        const struct heap_graph *h = &l->kept.graph.heap;
        uint64_t end_bytes = l->answer->totals.end_bytes, peak_bytes = l->answer->totals.peak_bytes;
        struct unit_text a, b;
        uint64_t n_prior = 0;

        for (uint32_t i = 0; h->seqs && i < h->graph.n_blocks; i++)
                n_prior += h->seqs[i] == HEAP_NO_SEQ;
        if (l->hidden.n_freed_later || l->hidden.n_in_use) {
                str_add(to, " Doubtful: ");
                if (l->hidden.n_freed_later)
                        str_addf(to, "%s of these blocks %s freed later",
                                 unit_count(&a, l->hidden.n_freed_later),
                                 l->hidden.n_freed_later == 1 ? "was" : "were");
                if (l->hidden.n_in_use)
                        str_addf(
                                to,
                                "%s%s are of call paths that free such blocks though nothing points to any",
                                l->hidden.n_freed_later ? ", and " : "",
                                unit_count(&a, l->hidden.n_in_use));
                str_add(to,
                        ": the program may have pointers that silt cannot see (mixed with a key, tagged in high bits, 32-bit offsets, kept by the kernel).");
        }
        if (l->kept.is_at_exit && !l->kept.is_told && high_graph_matters(end_bytes, peak_bytes))
                str_addf(
                        to,
                        " At the end %s were live; the peak was %s: 'silt holders' says who held it.",
                        unit_bytes(&a, end_bytes), unit_bytes(&b, peak_bytes));
        if (n_prior)
                str_addf(to,
                         " %s block%s allocated %s: without call paths, and with sizes rounded up.",
                         unit_count(&a, n_prior), n_prior == 1 ? " was" : "s were",
                         unseen_words(l));
        if (l->kept.graph.heap.unread_bytes)
                str_addf(to, " %s could not be read: what only they point to counts as lost.",
                         unit_bytes(&a, l->kept.graph.heap.unread_bytes));
        if (l->kept.suppressions.n_odd_names)
                str_addf(
                        to,
                        " %s line%s of the suppression files name%s functions in a form that silt cannot compare:"
                        " linker names with wildcards, such as '_ZN?3Foo*'.",
                        unit_count(&a, l->kept.suppressions.n_odd_names),
                        unit_s(l->kept.suppressions.n_odd_names),
                        l->kept.suppressions.n_odd_names == 1 ? "s" : "");
}

void leaks_text(FILE *out, const struct leaks *l) {
        struct str text = {0};
        struct style s;

        style_init(&s, out);
        add_sentence(&text, l, &s);
        add_doubts(&text, l);
        style_wrap(&s, str_text(&text), 0);
        print_heap_summary(&s, l);
        for (size_t i = 0; i < l->kept.records.n; i++)
                if (leaks_shows(l, &l->kept.records.items[i]))
                        print_record(&s, l, i);
        leak_summary_print(out, &l->kept);
        if (l->kept.sums.blocks[LEAK_REACHABLE] && !l->options->shows_reachable)
                style_wrap(&s,
                           "Reachable blocks (those to which a pointer was found) are not shown.",
                           0);
        if (l->kept.sums.blocks[LEAK_REACHABLE] && !l->options->shows_reachable)
                fputs("To see them, rerun with: --show-reachable\n", out);
        str_done(&text);
}

void leaks_entries(FILE *out, const struct leaks *l) {
        struct str sentence = {0}, entries = {0}, one = {0};
        struct style s;

        style_init(&s, out);
        s.bold = s.dim = s.plain = "";
        add_sentence(&sentence, l, &s);
        for (size_t i = 0; i < l->kept.records.n; i++) {
                if (!leaks_shows(l, &l->kept.records.items[i]))
                        continue;
                str_clear(&one);
                suppressed_add_entry(&one, l->names.q, &l->kept.records.items[i]);
                if (!strstr(str_text(&entries), str_text(&one)))
                        str_add(&entries, str_text(&one));
        }
        fprintf(out, "# %s\n%s", str_text(&sentence), str_text(&entries));
        str_done(&sentence);
        str_done(&entries);
        str_done(&one);
}
