/* SPDX-License-Identifier: MIT */
#include "keep/suppressed.h"

#include <string.h>

typedef VEC(struct suppression_place) place_list;

static bool take_place(void *ctx, const struct query_frame *f) {
        place_list *places = ctx;

        vec_push(places, (struct suppression_place){.function = f->guess ? "" : f->function,
                                                    .object = f->module,
                                                    .source = f->file,
                                                    .line = f->line});
        return true;
}

void suppressed_find(struct suppressions *s, const struct query *q, loss_record_list *records) {
        place_list places = {0};

        for (size_t i = 0; s->list.n && i < records->n; i++) {
                struct loss_record *r = &records->items[i];
                struct suppression *one;

                vec_clear(&places);
                if (r->stack != REACH_NO_SITE)
                        query_each_frame(q, r->stack, take_place, &places);
                one = suppressions_find(s, r->class, places.items, places.n);
                r->is_suppressed = one;
                if (!one)
                        continue;
                one->n_blocks += r->blocks;
                one->n_bytes += r->bytes;
        }
        vec_free(&places);
}

/* ---- entries ---------------------------------------------------------------------------------- */

/* A star of the name itself stands for one character: entries know no other way to write it. */
static void add_pattern(struct str *to, const char *kind, const char *text) {
        str_addf(to, "   %s:", kind);
        for (; *text; text++)
                str_addf(to, "%c", *text == '*' || *text == '\n' ? '?' : *text);
        str_add(to, "\n");
}

static bool add_line(void *ctx, const struct query_frame *f) {
        struct str *to = ctx;

        if (f->function[0] && !f->guess)
                add_pattern(to, "fun", f->function);
        else
                add_pattern(to, "obj", f->module[0] ? f->module : "*");
        return strcmp(f->function, "main") !=
               0; /* what starts programs is in no entry of valgrind's */
}

void suppressed_add_entry(struct str *to, const struct query *q, const struct loss_record *r) {
        static const char *const kinds[N_LEAK_CLASSES] = {"reachable", "possible", "indirect",
                                                          "definite"};

        if (r->stack == REACH_NO_SITE)
                return;
        /* the first line is the allocating function, whichever it was */
        str_addf(
                to,
                "{\n   <insert_a_suppression_name_here>\n   Memcheck:Leak\n   match-leak-kinds: %s\n   fun:*\n",
                kinds[r->class]);
        query_each_frame(q, r->stack, add_line, to);
        str_add(to, "}\n");
}
