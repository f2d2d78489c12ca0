/* SPDX-License-Identifier: MIT */
#include "finding/finding.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "finding/rules.h"

/* ---- telling --------------------------------------------------------------------------------- */

const char *say(struct facts *f, const char *fmt, ...) {
        char text[8192];
        va_list args;

        va_start(args, fmt);
        vsnprintf(text, sizeof(text), fmt, args);
        va_end(args);
        return arena_strdup(f->arena, text);
}

const char *plural(uint64_t n) {
        return n == 1 ? "" : "s";
}

unsigned share_pct(double part, double whole) {
        unsigned pct = whole > 0 ? (unsigned)MIN(unit_nearest(part * 100 / whole), 100u) : 0;

        return pct == 100 && part < whole ? 99 : pct; /* 100 % is all, and nothing less */
}

const char *say_rate(struct facts *f, double bytes_per_s) {
        static const struct {
                double seconds;
                const char *name;
        } units[] = {{1, "s"}, {60, "min"}, {3600, "h"}, {86400, "day"}};
        struct unit_text t;
        size_t i = 0;

        while (i + 1 < ARRAY_SIZE(units) && bytes_per_s * units[i].seconds < 1000)
                i++;
        return say(f, "%s/%s", unit_bytes(&t, unit_nearest(bytes_per_s * units[i].seconds)),
                   units[i].name);
}

const char *say_moment(struct facts *f, double s) {
        uint64_t whole = unit_nearest(s);
        struct unit_text t;

        if (whole < 10)
                return arena_strdup(f->arena, unit_duration(&t, unit_nearest(s * 1e9)));
        if (whole < 3600)
                return say(f, "%02u:%02u", (unsigned)(whole / 60), (unsigned)(whole % 60));
        return say(f, "%u:%02u:%02u", (unsigned)MIN(whole / 3600, 1000000u),
                   (unsigned)(whole / 60 % 60), (unsigned)(whole % 60));
}

struct finding *found(struct facts *f, const char *kind, double bytes, uint32_t row,
                      enum query_metric metric) {
        const struct query_group *g = &f->rows[row];
        struct finding x = {.kind = kind,
                            .text = "",
                            .function = "",
                            .process = QUERY_ALL,
                            .bytes = unit_nearest(bytes),
                            .has_site = true,
                            .site = {g->stack, QUERY_ALL, g->self},
                            .metric = metric};

        vec_push(&f->found, x);
        return &f->found.items[f->found.n - 1];
}

struct finding *found_about_none(struct facts *f, const char *kind, const char *text) {
        vec_push(&f->found, (struct finding){.kind = kind,
                                             .text = text,
                                             .function = "",
                                             .process = QUERY_ALL});
        return &f->found.items[f->found.n - 1];
}

void found_number(struct finding *x, const char *name, double value) {
        if (x->n_numbers < FINDING_MAX_NUMBERS)
                x->numbers[x->n_numbers++] = (struct finding_number){name, value};
}

/* ---- which, and in which order ------------------------------------------------------------------ */

/* Of a recording of samples only what many of them say: of so many the standard error is a quarter at most, and less
 * where blocks are large. */
enum { FINDING_MIN_SAMPLES = 16 };

static bool is_well_founded(const struct facts *f, const struct finding *x) {
        return x->is_note || x->is_time || x->metric == QUERY_MAPPED ||
               x->bytes >= FINDING_MIN_SAMPLES * query_sample_bytes(f->source->q);
}

/* A short peak leaves free memory behind: it is told first, what it left after it. */
static void put_causes_first(struct facts *f) {
        bool has_short_peak = false;

        for (size_t i = 0; i < f->found.n; i++)
                has_short_peak |= strcmp(f->found.items[i].kind, "short-peak") == 0;
        for (size_t i = 0; i < f->found.n; i++)
                f->found.items[i].follows =
                        has_short_peak && strcmp(f->found.items[i].kind, "fragmentation") == 0;
}

static bool is_told(const struct facts *f, const struct finding *x, double whole_bytes) {
        return is_well_founded(f, x) && finding_matters(x, whole_bytes);
}

/* What was found since the last time, to who waits for it. */
static void pass_on(struct facts *f) {
        for (; f->n_passed_on < f->found.n; f->n_passed_on++) {
                struct finding x = f->found.items[f->n_passed_on];

                x.severity = severity_of(f, &x);
                if (f->source->found && is_told(f, &x, facts_whole_bytes(f)))
                        f->source->found(f->source->found_ctx, &x);
        }
}

static void keep(struct facts *f, struct findings *ret) {
        size_t n_told = 0, n_time = 0;

        put_causes_first(f);
        ret->whole_bytes = facts_whole_bytes(f);
        for (size_t i = 0; i < f->found.n; i++)
                f->found.items[i].severity = severity_of(f, &f->found.items[i]);
        if (f->found.n)
                qsort(f->found.items, f->found.n, sizeof(f->found.items[0]), severity_compare);
        ret->items = arena_alloc(f->arena, (f->found.n + 1) * sizeof(ret->items[0]));
        for (size_t i = 0; i < f->found.n; i++)
                if (is_told(f, &f->found.items[i], ret->whole_bytes) &&
                    (f->found.items[i].is_note ||
                     (f->found.items[i].is_time ? n_time++ < FINDING_MAX_TIME
                                                : n_told++ < FINDING_MAX)))
                        ret->items[ret->n++] = f->found.items[i];
}

/* ---- all of it ------------------------------------------------------------------------------- */

/* What needs no history, and so is found at once. */
static void apply_quick_rules(struct facts *f) {
        find_mapped(f); /* the others are told by their part of all memory */
        find_notes(f);
        find_unseen(f);
        find_time(f);
        pass_on(f);
}

static void find_and_pass_on(struct facts *f, const struct askers *askers,
                             void (*find)(struct facts *f, const struct askers *askers)) {
        find(f, askers);
        pass_on(f);
}

/* Those that need times, or a peak, are silent where the source has none. What leaks shows in the order of events, too. */
static void apply_rules(struct facts *f, struct askers *askers, struct findings *x) {
        bool has_times = !f->totals->lacks_time;
        struct left *left;

        askers_gather(askers, f);
        find_heaps(f);
        if (has_times)
                find_and_pass_on(f, askers, find_growing);
        if (!f->source->is_windowed)
                find_and_pass_on(f, askers, find_losses);
        left = left_new(f, askers);
        if (has_times || !f->totals->lacks_events)
                find_leaks(left);
        if (has_times)
                find_and_pass_on(f, askers, find_short_peak);
        if (!f->totals->lacks_peak) /* it is about what was live then */
                find_large(f);
        find_and_pass_on(f, askers, find_moves);
        find_and_pass_on(f, askers, find_slack);
        find_fragmentation(f);
        find_and_pass_on(f, askers, find_temporary);
        if (!f->totals->lacks_peak)
                find_holder(f, askers);
        x->left = find_left(left);
        x->growth = f->growth;
        pass_on(f);
}

/* Of those who have no blocks, or nobody knows what was live, only what needs neither: rules would judge what nobody counted. */
static int find_in_history(struct facts *f, struct findings *x, struct err *reterr) {
        struct askers askers = {0};
        int r;

        if (f->totals->lacks_blocks || f->totals->lacks_live)
                return 0;
        r = facts_gather(f, reterr);
        if (r >= 0)
                r = query_tell_progress(f->q, 0, 0, reterr);
        if (r < 0)
                return r;
        apply_rules(f, &askers, x);
        return query_tell_progress(f->q, 0, 0, reterr);
}

static int make(const struct finding_source *source, struct findings **ret, struct err *reterr) {
        struct arena *arena = arena_new();
        struct findings *x = arena_alloc(arena, sizeof(*x));
        struct facts f;
        int r;

        x->arena = arena;
        facts_begin(&f, source, arena);
        apply_quick_rules(&f);
        r = find_in_history(&f, x, reterr);
        if (r < 0) {
                for (size_t i = 0; i < f.steps.n; i++) {
                        request_done(&f.steps.items[i]->request);
                        free(f.steps.items[i]);
                }
                facts_done(&f);
                arena_free(arena);
                return r;
        }
        keep(&f, x);
        promises_keep(&f, x);
        x->steps = arena_alloc(arena, (f.steps.n + 1) * sizeof(x->steps[0]));
        for (size_t i = 0; i < f.steps.n; i++)
                x->steps[x->n_steps++] = f.steps.items[i];
        facts_done(&f);
        *ret = x;
        return 0;
}

/* All of a recording of one process are that process: it is judged by its own life, however it was chosen. */
int findings_make(const struct finding_source *source, struct findings **ret, struct err *reterr) {
        _cleanup_(query_answer_freep) struct query_answer *own = NULL;
        struct finding_source of = *source;
        struct query_scope scope = source->answer->scope;
        int r;

        if (scope.process == QUERY_ALL && query_view(source->q)->n_processes == 1) {
                scope.process = 0;
                r = query_ask(source->q, &scope, &own, reterr);
                if (r < 0)
                        return r;
                of.answer = own;
        }
        return make(&of, ret, reterr);
}

struct findings *findings_free(struct findings *f) {
        if (!f)
                return NULL;
        for (size_t i = 0; i < f->n_parts; i++)
                findings_free(f->parts[i]);
        for (size_t i = 0; i < f->n_steps; i++) {
                request_done(&f->steps[i]->request);
                free(f->steps[i]);
        }
        arena_free(f->arena);
        return NULL;
}
