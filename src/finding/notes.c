/* SPDX-License-Identifier: MIT */
/* How far figures can be trusted, and single mistakes of the program: said beside the findings, not in their place. */
#include "finding/rules.h"

enum { NOTE_COMPLETE_PCT = 90 };

static void note(struct facts *f, const char *kind, const char *text) {
        found_about_none(f, kind, text)->is_note = true;
}

/* A block whose allocation was lost is freed like one that never was. */
static const char *frees_of_lost(struct facts *f) {
        struct unit_text n;

        if (!f->totals->n_unknown_frees)
                return "";
        return say(
                f,
                " %s free%s of addresses that were not allocated may be of blocks whose allocation was lost.",
                unit_count(&n, f->totals->n_unknown_frees), plural(f->totals->n_unknown_frees));
}

static void note_losses(struct facts *f) {
        uint64_t n_unwritten = query_view(f->q)->n_unwritten_events;
        struct unit_text n;

        if (f->totals->n_lost)
                note(f, "lost",
                     say(f, "The figures do not include %s event%s that could not be recorded.%s",
                         unit_count(&n, f->totals->n_lost), plural(f->totals->n_lost),
                         frees_of_lost(f)));
        if (n_unwritten)
                note(f, "lost",
                     say(f,
                         "%s event%s could not be written to the trace (was the disk full?): totals are correct, but detail is missing.",
                         unit_count(&n, n_unwritten), plural(n_unwritten)));
}

/* A mistake of the program: said with both sizes and the path to the block, or not at all. */
static void note_wrong_size(struct facts *f) {
        uint64_t n = f->totals->n_wrong_sizes;
        struct unit_text asked, given, times;
        struct query_mismatch m;
        struct name_frame frame;
        struct finding *x;
        bool is_task;

        if (!n || !query_mismatches(f->q, &f->source->answer->scope, &m, 1))
                return;
        frame = place_of_stack(f, m.stack, &is_task);
        x = found_about_none(f, "wrong-size", "");
        x->is_note = true;
        x->has_site = true;
        x->site = (struct query_site){.stack = m.stack, .process = QUERY_ALL};
        x->metric = QUERY_ALLOCATED;
        x->function = place_name(f, &frame, is_task);
        x->next = next_callers(f, &frame, QUERY_ALLOCATED);
        x->text = say(
                f,
                "A block of %s requested by %s was deleted with size %s: undefined behaviour in C++%s.",
                unit_bytes(&asked, m.size_bytes), x->function, unit_bytes(&given, m.given_bytes),
                n > 1 ? say(f, "; %s such deletes in total", unit_count(&times, n)) : "");
        if (m.free_stack) {
                frame = place_of_stack(f, m.free_stack, &is_task);
                x->text =
                        say(f, "%s It was deleted in %s.", x->text, place_name(f, &frame, is_task));
        } else {
                x->text = say(f, "%s Record with --free-stacks to see where.", x->text);
        }
        found_number(x, "count", (double)n);
        found_number(x, "asked_bytes", (double)m.size_bytes);
        found_number(x, "given_bytes", (double)m.given_bytes);
        found_number(x, "at_s", (double)m.time_ns / 1e9);
}

static void note_mistakes(struct facts *f) {
        const struct query_totals *t = f->totals;
        struct unit_text n;

        note_wrong_size(f);
        if (t->n_unknown_frees && !t->n_lost)
                note(f, "unknown-frees",
                     say(f, "%s free%s of addresses that were not allocated.",
                         unit_count(&n, t->n_unknown_frees), plural(t->n_unknown_frees)));
        if (t->n_failed)
                note(f, "failed",
                     say(f, "%s allocation%s failed.", unit_count(&n, t->n_failed),
                         plural(t->n_failed)));
}

void find_notes(struct facts *f) {
        note_losses(f);
        note_mistakes(f);
        if (f->source->whole->n_allocs && f->source->complete_stacks_pct < NOTE_COMPLETE_PCT)
                note(f, "incomplete-stacks",
                     say(f,
                         "Only %.1f %% of the stacks are complete: code without unwind information cuts the others short or hides some of their frames.",
                         f->source->complete_stacks_pct));
}
