/* SPDX-License-Identifier: MIT */
/* leak, where memcheck has found it: blocks to which nothing pointed any more when the program ended. No history is needed to tell. */
#include "finding/rules.h"
#include "trace/loss_note.h"

enum { LOSS_DEFINITE = 3 }; /* as trace/loss_note.h numbers classes */

struct loss_sum {
        uint64_t bytes, blocks, indirect_bytes;
        uint32_t row; /* of the largest record */
        uint64_t largest_bytes;
};

static void add_loss(struct facts *f, const struct askers *askers, struct loss_sum *sums,
                     const struct trace_loss *x) {
        uint32_t row = facts_row_of_stack(f, x->stack);
        struct loss_sum *sum;

        if (x->is_sum || x->class != LOSS_DEFINITE || row >= f->n_rows)
                return;
        sum = &sums[askers->of_row[row]];
        if (x->bytes >= sum->largest_bytes) {
                sum->largest_bytes = x->bytes;
                sum->row = row;
        }
        sum->bytes += x->bytes;
        sum->blocks += x->blocks;
        sum->indirect_bytes += x->indirect_bytes;
        f->is_claimed[row] = true;
}

static void tell_loss(struct facts *f, const struct loss_sum *sum) {
        bool is_task;
        struct name_frame frame = place_of_row(f, sum->row, &is_task);
        struct unit_text bytes, blocks, indirect;
        struct finding *x = found(f, "leak", (double)sum->bytes, sum->row, QUERY_END);

        x->is_certain = true;
        x->function = place_name(f, &frame, is_task);
        x->text =
                say(f, "%s: %s in %s block%s %s definitely lost, as memcheck found at its exit%s.",
                    x->function, unit_bytes(&bytes, sum->bytes), unit_count(&blocks, sum->blocks),
                    plural(sum->blocks), sum->blocks == 1 ? "is" : "are",
                    sum->indirect_bytes
                            ? say(f, ", and %s with %s", unit_bytes(&indirect, sum->indirect_bytes),
                                  sum->blocks == 1 ? "it" : "them")
                            : "");
        x->next = next_callers(f, &frame, QUERY_END);
        found_number(x, "blocks", (double)sum->blocks);
}

void find_losses(struct facts *f, const struct askers *askers) {
        const struct trace_view *v = query_view(f->q);
        struct loss_sum *sums = arena_alloc(f->arena, (askers->n + 1) * sizeof(sums[0]));
        struct trace_loss x;

        memset(sums, 0, (askers->n + 1) * sizeof(sums[0]));
        for (size_t i = 0; i < v->n_notes; i++)
                if (trace_loss_parse(v->notes[i].text, &x)) {
                        f->has_losses = true;
                        add_loss(f, askers, sums, &x);
                }
        for (size_t i = 0; i < askers->n; i++)
                if (sums[i].bytes)
                        tell_loss(f, &sums[i]);
}
