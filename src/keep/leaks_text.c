/* SPDX-License-Identifier: MIT */
#include "base/units.h"
#include "keep/leaks_write.h"
#include "show/stack_text.h"
#include "show/style.h"

enum { USUAL_FRAMES = 12 };

const char *const leak_class_words[N_LEAK_CLASSES] = {
        [LEAK_REACHABLE] = "still reachable",
        [LEAK_POSSIBLE] = "possibly lost",
        [LEAK_INDIRECT] = "indirectly lost",
        [LEAK_DEFINITE] = "definitely lost",
};

/* "1,234 bytes in 5 blocks": as memcheck writes it, whatever the number. */
static void add_sum(struct str *to, uint64_t bytes, uint64_t blocks) {
        struct unit_text a, b;

        str_addf(to, "%s bytes in %s blocks", unit_count(&a, bytes), unit_count(&b, blocks));
}

static void add_sentence(struct str *to, const struct leaks *l, const struct style *s) {
        const struct leak_classes *c = &l->graph.classes;
        uint64_t lost_bytes = c->bytes[LEAK_DEFINITE] + c->bytes[LEAK_INDIRECT];
        uint64_t lost_blocks = c->blocks[LEAK_DEFINITE] + c->blocks[LEAK_INDIRECT];
        const struct loss_record *worst = NULL;
        struct unit_text a, b, d;

        for (size_t i = l->records.n; i-- > 0 && !worst;)
                if (l->records.items[i].class == LEAK_DEFINITE)
                        worst = &l->records.items[i];
        query_add_process_name(l->names.q, l->graph.info.process, to);
        if (!lost_blocks) {
                str_addf(to, " lost nothing: something points to each of the %s it held after %s.",
                         unit_bytes(&a, l->answer->totals.end_bytes),
                         unit_duration(&b, l->graph.info.time_ns));
                if (c->blocks[LEAK_POSSIBLE])
                        str_addf(to, " To %s only pointers into the middle of a block do.",
                                 unit_bytes(&a, c->bytes[LEAK_POSSIBLE]));
                return;
        }
        str_addf(to, " lost %s in %s block%s: nothing points to them any more, after %s.",
                 unit_bytes(&a, lost_bytes), unit_count(&b, lost_blocks), unit_s(lost_blocks),
                 unit_duration(&d, l->graph.info.time_ns));
        if (!worst)
                return;
        str_addf(to, " The most, %s, was allocated by ",
                 unit_bytes(&a, worst->bytes + worst->indirect_bytes));
        stack_add_short(s, &l->names, worst->stack, to, 60);
        str_add(to, ".");
}

static bool is_shown(const struct leaks *l, const struct loss_record *r) {
        return r->class == LEAK_DEFINITE || r->class == LEAK_POSSIBLE ||
               (l->options->shows_reachable && r->class != LEAK_REACHABLE) ||
               l->options->shows_reachable;
}

static void print_record(const struct style *s, const struct leaks *l, size_t i) {
        const struct loss_record *r = &l->records.items[i];
        struct unit_text a, b, c, d;

        if (r->indirect_bytes)
                fprintf(s->out,
                        "%s%s (%s direct, %s indirect) bytes in %s blocks are %s in loss record %zu of %zu%s\n",
                        s->bold, unit_count(&a, r->bytes + r->indirect_bytes),
                        unit_count(&b, r->bytes), unit_count(&c, r->indirect_bytes),
                        unit_count(&d, r->blocks), leak_class_words[r->class], i + 1, l->records.n,
                        s->plain);
        else
                fprintf(s->out, "%s%s bytes in %s blocks are %s in loss record %zu of %zu%s\n",
                        s->bold, unit_count(&a, r->bytes), unit_count(&b, r->blocks),
                        leak_class_words[r->class], i + 1, l->records.n, s->plain);
        if (r->stack == REACH_NO_SITE)
                fprintf(s->out, "   silt does not know who allocated them\n");
        else
                stack_print(s, &l->names, r->stack, 3, l->options->is_full ? 0 : USUAL_FRAMES);
        fputc('\n', s->out);
}

static void print_summary_line(const struct style *s, const struct leaks *l,
                               enum leak_class class) {
        struct str line = {0};

        add_sum(&line, l->graph.classes.bytes[class], l->graph.classes.blocks[class]);
        fprintf(s->out, "  %18s: %s\n", leak_class_words[class], str_text(&line));
        str_done(&line);
}

static void print_rules(const struct style *s, const struct leak_classes *c) {
        static const char *const words[N_REACH_EDGE_KINDS] = {
                [EDGE_STDSTRING] = "stdstring",
                [EDGE_LENGTH64] = "length64",
                [EDGE_NEWARRAY] = "newarray",
                [EDGE_MULTIPLE_INHERITANCE] = "multipleinheritance",
        };

        for (unsigned i = EDGE_STDSTRING; i < N_REACH_EDGE_KINDS; i++) {
                struct str line = {0};

                if (!c->by_rule_blocks[i])
                        continue;
                if (i == EDGE_STDSTRING || !line.n)
                        add_sum(&line, c->by_rule_bytes[i], c->by_rule_blocks[i]);
                fprintf(s->out, "  %18s  of which reachable via heuristic %s: %s\n", "", words[i],
                        str_text(&line));
                str_done(&line);
        }
}

void leaks_text(FILE *out, const struct leaks *l) {
        const struct query_totals *t = &l->answer->totals;
        struct str text = {0};
        struct unit_text a, b, c;
        struct style s;

        style_init(&s, out);
        add_sentence(&text, l, &s);
        style_wrap(&s, str_text(&text), 0);
        fputc('\n', out);
        if (l->graph.heap.unread_bytes) {
                str_clear(&text);
                str_addf(&text, "%s could not be read: what only they point to counts as lost.",
                         unit_bytes(&a, l->graph.heap.unread_bytes));
                style_wrap(&s, str_text(&text), 0);
        }
        fprintf(out, "\nHEAP SUMMARY:\n    in use at %s: %s bytes in %s blocks\n", "that moment",
                unit_count(&a, l->graph.classes.bytes[0] + l->graph.classes.bytes[1] +
                                       l->graph.classes.bytes[2] + l->graph.classes.bytes[3]),
                unit_count(&b, l->graph.heap.graph.n_blocks));
        fprintf(out, "  total heap usage: %s allocs, %s frees, %s bytes allocated\n\n",
                unit_count(&a, t->n_allocs), unit_count(&b, t->n_frees),
                unit_count(&c, t->alloc_bytes));
        for (size_t i = 0; i < l->records.n; i++)
                if (is_shown(l, &l->records.items[i]))
                        print_record(&s, l, i);
        fprintf(out, "LEAK SUMMARY:\n");
        print_summary_line(&s, l, LEAK_DEFINITE);
        print_summary_line(&s, l, LEAK_INDIRECT);
        print_summary_line(&s, l, LEAK_POSSIBLE);
        print_summary_line(&s, l, LEAK_REACHABLE);
        print_rules(&s, &l->graph.classes);
        fprintf(out, "  %18s: 0 bytes in 0 blocks\n", "suppressed");
        str_done(&text);
}
