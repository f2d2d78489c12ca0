/* SPDX-License-Identifier: MIT */
/* How far figures can be trusted, and single mistakes of the program: said beside the findings, not in their place. */
#include "finding/rules.h"

enum { NOTE_COMPLETE_PCT = 90 };

static void note(struct facts *f, const char *kind, const char *text) {
        found_about_none(f, kind, text)->is_note = true;
}

static void note_losses(struct facts *f) {
        uint64_t n_unwritten = query_view(f->q)->n_unwritten_events;
        struct unit_text n;

        if (f->totals->n_lost)
                note(f, "lost",
                     say(f, "%s event%s could not be recorded: the figures do not contain them.",
                         unit_count(&n, f->totals->n_lost), plural(f->totals->n_lost)));
        if (n_unwritten)
                note(f, "lost",
                     say(f,
                         "%s event%s could not be written to the trace (was the disk full?): totals are right, "
                         "their detail is missing.",
                         unit_count(&n, n_unwritten), plural(n_unwritten)));
}

static void note_mistakes(struct facts *f) {
        const struct query_totals *t = f->totals;
        struct unit_text n;

        if (t->n_wrong_sizes)
                note(f, "wrong-size",
                     say(f,
                         "%s sized delete%s gave a size other than the block's: undefined behaviour in C++.",
                         unit_count(&n, t->n_wrong_sizes), plural(t->n_wrong_sizes)));
        if (t->n_unknown_frees)
                note(f, "unknown-frees",
                     say(f, "%s release%s of addresses that were not allocated at that moment.",
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
                         "only %.1f %% of the stacks are complete: code without unwind information ends the others early, or hides frames of them.",
                         f->source->complete_stacks_pct));
}
