/* SPDX-License-Identifier: MIT */
/* failed: allocations that returned no block; and those that silt was asked to make fail, which is what such a recording is made for. */
#include <signal.h>
#include <string.h>

#include "finding/rules.h"
#include "trace/fail_note.h"

/* The largest of those whose place is known, in the process and the window; how many are. */
static size_t largest_failure(struct facts *f, struct trace_fail *ret) {
        const struct trace_view *v = query_view(f->q);
        const struct query_scope *scope = &f->source->answer->scope;
        struct trace_fail one;
        size_t n = 0;

        for (size_t i = 0; i < v->n_notes; i++) {
                if (!trace_fail_parse(v->notes[i].text, &one) || !one.stack ||
                    one.stack >= v->n_stacks || v->notes[i].time_ns < scope->from_ns ||
                    v->notes[i].time_ns >= scope->to_ns ||
                    (scope->process < v->n_processes &&
                     v->processes[scope->process].start.pid != one.pid))
                        continue;
                if (!n++ || one.size_bytes > ret->size_bytes)
                        *ret = one;
        }
        return n;
}

/* That failed by themselves. */
static void tell_failures(struct facts *f) {
        uint64_t n_failed = f->totals->n_failed;
        struct unit_text n, size;
        struct trace_fail largest = {0};
        struct name_frame frame;
        struct finding *x;
        bool is_task;

        if (!n_failed)
                return;
        x = found_about_none(f, "failed",
                             say(f, "%s allocation%s failed.", unit_count(&n, n_failed),
                                 plural(n_failed)));
        x->is_note = true;
        if (!largest_failure(f, &largest))
                return;
        frame = place_of_stack(f, largest.stack, &is_task);
        x->has_site = true;
        x->site = (struct query_site){.stack = largest.stack, .process = QUERY_ALL};
        x->metric = QUERY_ALLOCATED;
        x->function = place_name(f, &frame, is_task);
        x->text =
                n_failed == 1
                        ? say(f, "1 allocation failed: %s requested by %s.",
                              unit_bytes(&size, largest.size_bytes), x->function)
                        : say(f,
                              "%s allocations failed. The largest known was of %s, requested by %s.",
                              unit_count(&n, n_failed), unit_bytes(&size, largest.size_bytes),
                              x->function);
        found_number(x, "count", (double)n_failed);
        found_number(x, "asked_bytes", (double)largest.size_bytes);
}

/* ---- made to fail ---------------------------------------------------------------------------- */

struct made_to_fail {
        struct trace_fail first;
        uint64_t n, last_ns;
        uint32_t process; /* the last image of who it happened to first */
};

/* In the process of the first, in the window. */
static bool find_made(struct facts *f, struct made_to_fail *ret) {
        const struct trace_view *v = query_view(f->q);
        const struct query_scope *scope = &f->source->answer->scope;
        struct made_to_fail m = {.process = QUERY_ALL};
        struct trace_fail one;

        for (size_t i = 0; i < v->n_notes; i++) {
                if (!trace_fail_parse(v->notes[i].text, &one) || !one.number ||
                    v->notes[i].time_ns < scope->from_ns || v->notes[i].time_ns >= scope->to_ns ||
                    (scope->process < v->n_processes &&
                     v->processes[scope->process].start.pid != one.pid) ||
                    (m.n && one.pid != m.first.pid))
                        continue;
                if (!m.n++)
                        m.first = one;
                m.last_ns = v->notes[i].time_ns;
        }
        for (uint32_t p = 0; m.n && p < v->n_processes; p++)
                if (v->processes[p].start.pid == m.first.pid)
                        m.process = p;
        *ret = m;
        return m.process != QUERY_ALL;
}

/* " After that it made 3 more allocations, and exited with status 1." */
static const char *say_next(struct facts *f, const struct made_to_fail *m) {
        const struct trace_process_info *p = &query_view(f->q)->processes[m->process];
        _cleanup_(query_answer_freep) struct query_answer *a = NULL;
        const struct query_scope after = {.process = m->process,
                                          .from_ns = m->last_ns,
                                          .to_ns = UINT64_MAX};
        const char *made = "", *name;
        struct unit_text n;
        struct err err = {0};

        if (f->source->is_windowed || !p->has_end)
                return "";
        if (query_ask(f->q, &after, &a, &err) >= 0 && !a->is_moved)
                made = a->totals.n_allocs
                               ? say(f, "made %s more allocation%s, and ",
                                     unit_count(&n, a->totals.n_allocs), plural(a->totals.n_allocs))
                               : "made no more allocations, and ";
        switch ((enum trace_ended)p->end.ended) {
        case TRACE_ENDED_EXIT:
                return say(f, " After that it %sexited with status %d.", made, p->end.status);
        case TRACE_ENDED_SIGNAL:
                name = sigabbrev_np(p->end.status);
                return say(f, " After that it %swas ended by signal %d (%s).", made, p->end.status,
                           name ? name : "?");
        default: return "";
        }
}

static void tell_made(struct facts *f, const struct made_to_fail *m) {
        bool has_place = m->first.stack && m->first.stack < query_view(f->q)->n_stacks;
        struct unit_text n, number, size;
        struct name_frame frame;
        struct finding *x = found_about_none(f, "failed", "");
        bool is_task;

        x->is_note = true;
        x->leads = true;
        if (has_place) {
                frame = place_of_stack(f, m->first.stack, &is_task);
                x->has_site = true;
                x->site = (struct query_site){.stack = m->first.stack, .process = QUERY_ALL};
                x->metric = QUERY_ALLOCATED;
                x->function = place_name(f, &frame, is_task);
        }
        x->text =
                say(f, "silt made %s%s, as requested: %s%s%s.%s",
                    m->n == 1 ? "allocation " : say(f, "%s allocations fail", unit_count(&n, m->n)),
                    m->n == 1 ? say(f, "%s fail", unit_count(&number, m->first.number))
                              : say(f, ", the first of them allocation %s",
                                    unit_count(&number, m->first.number)),
                    unit_bytes(&size, m->first.size_bytes), has_place ? " requested by " : "",
                    x->function, say_next(f, m));
        found_number(x, "count", (double)m->n);
        found_number(x, "asked_bytes", (double)m->first.size_bytes);
        found_number(x, "number", (double)m->first.number);
}

void find_failures(struct facts *f) {
        struct made_to_fail m;

        if (f->totals->n_failed && find_made(f, &m))
                tell_made(f, &m);
        else
                tell_failures(f);
}
