/* SPDX-License-Identifier: MIT */
#include "keep/leak_summary.h"

#include "base/str.h"
#include "base/units.h"

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

static void print_sum(FILE *out, const char *what, uint64_t bytes, uint64_t blocks) {
        struct str line = {0};

        add_sum(&line, bytes, blocks);
        fprintf(out, "%18s: %s\n", what, str_text(&line));
        str_done(&line);
}

static void print_rules(FILE *out, const struct leak_classes *c) {
        static const char *const words[N_REACH_EDGE_KINDS] = {
                [EDGE_STDSTRING] = "stdstring",
                [EDGE_LENGTH64] = "length64",
                [EDGE_NEWARRAY] = "newarray",
                [EDGE_MULTIPLE_INHERITANCE] = "multipleinheritance",
                [EDGE_HASH_TABLE] = "hashtable",
        };
        bool is_headed = false;

        for (unsigned i = EDGE_STDSTRING; i < N_REACH_EDGE_KINDS; i++) {
                struct str line = {0};

                if (!c->by_rule_blocks[i])
                        continue;
                if (!is_headed)
                        fprintf(out, "%22sof which reachable via heuristic:\n", "");
                is_headed = true;
                add_sum(&line, c->by_rule_bytes[i], c->by_rule_blocks[i]);
                fprintf(out, "%24s%-19s: %s\n", "", words[i], str_text(&line));
                str_done(&line);
        }
}

void leak_summary_print(FILE *out, const struct kept_leaks *l) {
        const struct leak_sums *c = &l->sums;

        if (!l->is_told && !l->graph.heap.graph.n_blocks) {
                fprintf(out, "All heap blocks were freed -- no leaks are possible\n");
                return;
        }
        fprintf(out, "LEAK SUMMARY:\n");
        for (unsigned i = N_LEAK_CLASSES; i-- > 0;) {
                static const enum leak_class order[N_LEAK_CLASSES] = {LEAK_REACHABLE, LEAK_POSSIBLE,
                                                                      LEAK_INDIRECT, LEAK_DEFINITE};

                if (l->is_told && l->is_unknown[order[i]])
                        fprintf(out, "%18s: unknown\n", leak_class_words[order[i]]);
                else
                        print_sum(out, leak_class_words[order[i]], c->bytes[order[i]],
                                  c->blocks[order[i]]);
        }
        print_rules(out, &l->graph.classes);
        if (!l->is_told || c->suppressed_blocks)
                print_sum(out, "suppressed", c->suppressed_bytes, c->suppressed_blocks);
}
