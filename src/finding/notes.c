/* SPDX-License-Identifier: MIT */
/* How far figures can be trusted, and single mistakes of the program: said beside the findings, not in their place. */
#include "base/str.h"
#include "finding/rules.h"
#include "trace/fail_note.h"

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
        find_failures(f);
}

/* Whether a process had more in mappings of its own than in blocks at its end. */
static bool is_mostly_mapped(struct facts *f, uint32_t process) {
        const struct query_scope scope = {.process = process, .to_ns = UINT64_MAX};
        _cleanup_(query_answer_freep) struct query_answer *a = NULL;
        _cleanup_free_ struct query_mapping *rows = NULL;
        struct query_mapped all = {0};
        struct err err = {0};
        size_t n;

        return query_mappings(f->q, &scope, &rows, &n, &all, &err) >= 0 &&
               query_ask(f->q, &scope, &a, &err) >= 0 &&
               all.end_bytes - MIN(all.reserved_end_bytes, all.end_bytes) >
                       (uint64_t)MAX(a->totals.end_bytes, 0);
}

static void note_kill(struct facts *f, uint32_t process) {
        const struct trace_view *v = query_view(f->q);
        const struct query_scope *scope = &f->source->answer->scope;
        const struct trace_process_end *end = &v->processes[process].end;
        struct unit_text at;
        struct str name = {0};
        struct finding *x;

        if (!v->processes[process].has_end || end->ended != TRACE_ENDED_OOM ||
            (f->source->is_windowed && end->end_ns > scope->to_ns))
                return;
        query_add_process_name(f->q, process, &name);
        x = found_about_none(f, "killed",
                             say(f, "The kernel killed %s (pid %u) for lack of memory after %s.",
                                 str_text(&name), v->processes[process].start.pid,
                                 unit_duration(&at, end->end_ns)));
        str_done(&name);
        x->is_note = true;
        x->leads = true;
        x->next = next_view(f, REQUEST_GROUPS,
                            is_mostly_mapped(f, process) ? QUERY_MAPPED : QUERY_END);
        found_number(x, "at_s", (double)end->end_ns / 1e9);
        if (scope->process != process)
                x->process = process;
}

/* Whom the kernel killed for lack of memory: the whole story is the report's first paragraph (docs/lab.md, "The black box"). */
static void note_kills(struct facts *f) {
        const struct trace_view *v = query_view(f->q);
        uint32_t process = f->source->answer->scope.process;

        if (process < v->n_processes)
                note_kill(f, process);
        for (uint32_t i = 0; process == QUERY_ALL && i < v->n_processes; i++)
                note_kill(f, i);
}

void find_notes(struct facts *f) {
        note_kills(f);
        note_losses(f);
        note_mistakes(f);
        if (f->source->whole->n_allocs && f->source->complete_stacks_pct < NOTE_COMPLETE_PCT)
                note(f, "incomplete-stacks",
                     say(f,
                         "Only %.1f %% of the stacks are complete: code without unwind information cuts the others short or hides some of their frames.",
                         f->source->complete_stacks_pct));
}
