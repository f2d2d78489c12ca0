/* SPDX-License-Identifier: MIT */
#include "import/sample_events.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/macros.h"
#include "base/str.h"
#include "base/units.h"

enum { EVENTS_MAX_TOLD = 8 };

/* "cpu-clock:u" is cpu-clock. */
static bool is_named(const char *name, const char *plain) {
        size_t n = strlen(plain);

        return strncmp(name, plain, n) == 0 && (!name[n] || name[n] == ':');
}

enum sample_kind sample_kind_of(const char *name) {
        return is_named(name, "cpu-clock") || is_named(name, "task-clock") ? SAMPLE_OF_CPU_TIME
               : is_named(name, "offcpu-time")                             ? SAMPLE_OF_BLOCKED_TIME
               : is_named(name, "ready-time")                              ? SAMPLE_OF_READY_TIME
                                                                           : SAMPLE_OF_OTHER;
}

enum trace_tick_state sample_kind_state(enum sample_kind kind) {
        return kind == SAMPLE_OF_BLOCKED_TIME ? TRACE_BLOCKED
               : kind == SAMPLE_OF_READY_TIME ? TRACE_READY
                                              : TRACE_ON_CPU;
}

/* ---- choice -------------------------------------------------------------------------------------- */

static bool is_tick(const struct sample_event *e) {
        return e->kind != SAMPLE_OF_OTHER && e->n_samples && !e->lacks_time && !e->lacks_weight &&
               !e->lacks_task;
}

static struct sample_event *find_largest(const struct sample_events *s, enum sample_kind kind) {
        struct sample_event *found = NULL;

        for (size_t i = 0; i < s->list.n; i++) {
                struct sample_event *e = &s->list.items[i];

                if (e->kind == kind && is_tick(e) && (!found || e->weight > found->weight))
                        found = e;
        }
        return found;
}

/* Weights of different events cannot be compared: of those that are no time cycles say most, else the one with most samples. */
static struct sample_event *find_other(const struct sample_events *s) {
        struct sample_event *found = NULL;

        for (size_t i = 0; i < s->list.n; i++) {
                struct sample_event *e = &s->list.items[i];
                bool is_cycles = is_named(e->name, "cycles");
                bool was_cycles = found && is_named(found->name, "cycles");

                if (e->n_samples && (!found || is_cycles > was_cycles ||
                                     (is_cycles == was_cycles && e->n_samples > found->n_samples)))
                        found = e;
        }
        return found;
}

static struct sample_event *find_named(const struct sample_events *s, const char *name) {
        struct sample_event *found = NULL;

        for (size_t i = 0; i < s->list.n; i++)
                if (strcmp(s->list.items[i].name, name) == 0)
                        return &s->list.items[i];
        for (size_t i = 0; i < s->list.n && !found; i++)
                if (is_named(s->list.items[i].name, name))
                        found = &s->list.items[i];
        return found;
}

static int refuse_name(const struct sample_events *s, const char *path, const char *wanted,
                       struct err *reterr) {
        struct str names = {0};
        int r;

        for (size_t i = 0; i < s->list.n && i < EVENTS_MAX_TOLD; i++)
                str_addf(&names, "%s%s", i ? ", " : "", s->list.items[i].name);
        r = err_set(reterr, -EINVAL, "'%s' has no event '%s': choose one of %s", path, wanted,
                    str_text(&names));
        str_done(&names);
        return r;
}

/* What silt export writes: each allocation, its period the bytes. */
static bool is_allocations(const struct sample_event *e) {
        return is_named(e->name, SAMPLE_ALLOCATION) && !e->lacks_weight;
}

static void set_unit(struct sample_events *s, const struct sample_event *e) {
        s->are_allocations = is_allocations(e);
        if (s->are_allocations)
                s->unit = TRACE_UNIT_BYTES;
        else if (e->lacks_weight || e->weight == e->n_samples)
                s->unit = TRACE_UNIT_SAMPLES;
        else
                s->unit = e->kind == SAMPLE_OF_OTHER ? TRACE_UNIT_OTHER : TRACE_UNIT_NS;
}

int sample_events_choose(struct sample_events *s, const struct import_trace *t, const char *path,
                         struct err *reterr) {
        const char *wanted = import_trace_sample_type(t);
        struct sample_event *e;

        s->unit = TRACE_UNIT_SAMPLES;
        if (wanted[0]) {
                e = find_named(s, wanted);
                if (!e)
                        return refuse_name(s, path, wanted, reterr);
                e->is_taken = true;
                s->are_ticks = is_tick(e);
                set_unit(s, e);
                return 0;
        }
        for (enum sample_kind kind = SAMPLE_OF_CPU_TIME; kind < SAMPLE_OF_OTHER; kind++) {
                e = find_largest(s, kind);
                if (e)
                        e->is_taken = s->are_ticks = true;
        }
        e = s->are_ticks ? NULL : find_other(s);
        if (e) {
                e->is_taken = true;
                set_unit(s, e);
        }
        return 0;
}

/* ---- words --------------------------------------------------------------------------------------- */

static void tell_left_out(const struct sample_events *s, struct import_trace *t) {
        struct str names = {0};
        struct unit_text n;
        uint64_t n_others = 0;
        size_t n_told = 0;
        char text[600];

        for (size_t i = 0; i < s->list.n; i++) {
                const struct sample_event *e = &s->list.items[i];

                if (e->is_taken || !e->n_samples)
                        continue;
                n_others += e->n_samples;
                if (n_told++ < EVENTS_MAX_TOLD)
                        str_addf(&names, "%s%.60s", n_told > 1 ? ", " : "", e->name);
        }
        if (n_others) {
                snprintf(
                        text, sizeof(text),
                        "%s sample%s of other events %s left out (%s): choose one with --sample-type",
                        unit_count(&n, n_others), unit_s(n_others), n_others == 1 ? "is" : "are",
                        str_text(&names));
                import_trace_limit(t, text);
        }
        str_done(&names);
}

void sample_events_tell(const struct sample_events *s, struct import_trace *t) {
        const struct sample_event *e = NULL;
        bool has_waits = false;
        char text[200];

        for (size_t i = 0; i < s->list.n; i++)
                if (s->list.items[i].is_taken) {
                        e = &s->list.items[i];
                        has_waits |= e->kind == SAMPLE_OF_BLOCKED_TIME;
                }
        if (e && !s->are_ticks) {
                if (s->are_allocations)
                        snprintf(text, sizeof(text),
                                 "Its samples are allocations: what was freed is unknown");
                else
                        snprintf(text, sizeof(text), "%s are those of the event %.60s",
                                 s->unit == TRACE_UNIT_SAMPLES ? "Samples"
                                 : s->unit == TRACE_UNIT_NS    ? "Times"
                                                               : "Units",
                                 e->name);
                import_trace_limit(t, text);
                import_trace_limit(t, "When they were taken, and in which process, is left out");
        }
        if (s->are_ticks && !has_waits)
                import_trace_limit(t, "Where threads waited is unknown");
        tell_left_out(s, t);
}

struct import_begin sample_events_begin(const struct sample_events *s) {
        return (struct import_begin){.is_totals = !s->are_ticks,
                                     .has_no_time = !s->are_ticks,
                                     .has_no_blocks = !s->are_ticks && !s->are_allocations,
                                     .has_no_live = s->are_allocations,
                                     .unit = s->are_ticks ? TRACE_UNIT_BYTES : s->unit};
}
