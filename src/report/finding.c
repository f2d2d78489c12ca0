/* SPDX-License-Identifier: MIT */
/* Sentences that are true and carry their figures. Silent where there is nothing to say. */
#include <stdarg.h>

#include "base/units.h"
#include "report/frame.h"
#include "report/gather.h"

enum {
        FIND_MIN_BYTES =
                1024, /* left at the end or held at the peak: less is not worth a sentence */
        FIND_MIN_TEMPORARY = 1000,
        FIND_SHARE_PCT = 10, /* of all, from which on a share is told */
        FIND_LARGE_PCT = 30, /* of the peak, in one site */
        FIND_COMPLETE_PCT = 90,
};

static const char *say(struct report *r, const char *fmt, ...)
        __attribute__((format(printf, 2, 3)));

static const char *say(struct report *r, const char *fmt, ...) {
        char text[1024];
        va_list args;

        va_start(args, fmt);
        vsnprintf(text, sizeof(text), fmt, args);
        va_end(args);
        return arena_strdup(r->arena, text);
}

static void find(struct report *r, const char *kind, const char *text, uint64_t bytes) {
        vec_push(&r->findings, (struct report_finding){.kind = kind, .text = text, .bytes = bytes});
}

static void find_site(struct report *r, const char *kind, const char *text, uint64_t bytes,
                      const struct query_site *site, enum query_metric metric) {
        vec_push(&r->findings,
                 (struct report_finding){kind, text, bytes, true, *site, metric, NULL});
}

/* ---- who a site is --------------------------------------------------------------------------- */

/* The function that asked for the memory. */
static const char *who_is(struct report *r, const struct query_site *site) {
        struct frame_stack stack = {0};
        struct str text = {0};
        const char *name = "code without a stack";

        frame_stack_fill(&stack, r, site->stack, false);
        if (stack.shown.n) {
                const struct name_shown *x = &stack.shown.items[0];

                frame_add_function(&text, r, &stack.frames.items[x->frame_idx], x->is_task, false,
                                   false);
                name = arena_strdup(r->arena, str_text(&text));
        }
        str_done(&text);
        frame_stack_done(&stack);
        return name;
}

static const struct query_site *largest(const struct report *r, enum query_metric m) {
        const struct query_site *best = NULL;

        for (size_t i = 0; i < r->folded.n; i++)
                if (!best || query_figure_of(&r->folded.items[i].f, m).value >
                                     query_figure_of(&best->f, m).value)
                        best = &r->folded.items[i];
        return best;
}

static unsigned share_pct(uint64_t part, uint64_t whole) {
        return whole ? (unsigned)MIN(unit_nearest((double)part * 100.0 / (double)whole), UINT32_MAX)
                     : 0;
}

static const char *plural(uint64_t n) {
        return n == 1 ? "" : "s";
}

/* ---- kinds ----------------------------------------------------------------------------------- */

static void find_losses(struct report *r) {
        const struct query_totals *t = &r->answer->totals;
        struct unit_text n;

        if (t->n_lost)
                find(r, "lost",
                     say(r, "%s event%s could not be recorded: the figures do not contain them.",
                         unit_count(&n, t->n_lost), plural(t->n_lost)),
                     0);
        if (r->v->n_unwritten_events)
                find(r, "lost",
                     say(r,
                         "%s event%s could not be written to the trace (was the disk full?): totals are right, "
                         "their detail is missing.",
                         unit_count(&n, r->v->n_unwritten_events),
                         plural(r->v->n_unwritten_events)),
                     0);
}

/* "; the largest part, 3 MB in 9 blocks (88 %), came from f", or that there is no such part. */
static const char *where_left(struct report *r, const struct query_site *site) {
        unsigned pct = share_pct((uint64_t)site->f.end_bytes, r->answer->totals.end_bytes);
        struct unit_text bytes, blocks;
        size_t n = 0;

        if (pct >= FIND_SHARE_PCT)
                return say(r, "the largest part, %s in %s block%s (%u %%), came from %s",
                           unit_bytes(&bytes, (uint64_t)site->f.end_bytes),
                           unit_count(&blocks, (uint64_t)site->f.end_blocks),
                           plural((uint64_t)site->f.end_blocks), pct, who_is(r, site));
        for (size_t i = 0; i < r->folded.n; i++)
                n += r->folded.items[i].f.end_blocks > 0;
        return say(r, "they came from %s call paths, none with more than %s",
                   unit_count(&blocks, n), unit_bytes(&bytes, (uint64_t)site->f.end_bytes));
}

static void find_left(struct report *r) {
        const struct query_totals *t = &r->answer->totals;
        const struct query_site *site = largest(r, QUERY_END);
        struct unit_text bytes, blocks;

        if (t->end_bytes < FIND_MIN_BYTES || !site || site->f.end_bytes <= 0)
                return;
        find_site(r, "left-at-end",
                  say(r, "%s in %s block%s %s still allocated at the end%s; %s.",
                      unit_bytes(&bytes, t->end_bytes), unit_count(&blocks, t->end_blocks),
                      plural(t->end_blocks), t->end_blocks == 1 ? "was" : "were",
                      report_is_windowed(r) ? " of the window" : "", where_left(r, site)),
                  t->end_bytes, site, QUERY_END);
}

static void find_large(struct report *r) {
        const struct query_totals *t = &r->answer->totals;
        const struct query_site *site = largest(r, QUERY_PEAK);
        struct unit_text held, all, n, each;
        const char *in = "in one block";
        unsigned pct;

        if (t->peak_bytes < FIND_MIN_BYTES || !site || site->f.peak_blocks <= 0)
                return;
        pct = share_pct((uint64_t)site->f.peak_bytes, t->peak_bytes);
        if (pct < FIND_LARGE_PCT)
                return;
        if (site->f.peak_blocks > 1)
                in = say(r, "in %s blocks of %s on average",
                         unit_count(&n, (uint64_t)site->f.peak_blocks),
                         unit_bytes(&each, (uint64_t)(site->f.peak_bytes / site->f.peak_blocks)));
        find_site(r, "large-site",
                  say(r, "%s held %s of the %s at the peak (%u %%), %s.", who_is(r, site),
                      unit_bytes(&held, (uint64_t)site->f.peak_bytes),
                      unit_bytes(&all, t->peak_bytes), pct, in),
                  (uint64_t)site->f.peak_bytes, site, QUERY_PEAK);
}

static void find_temporary(struct report *r) {
        const struct query_totals *t = &r->answer->totals;
        const struct query_site *site = largest(r, QUERY_TEMPORARY);
        struct unit_text n, most;
        unsigned pct = share_pct(t->n_temporary, t->n_allocs);

        if (t->n_temporary < FIND_MIN_TEMPORARY || pct < FIND_SHARE_PCT || !site)
                return;
        find_site(
                r, "temporary",
                say(r,
                    "%s allocations (%u %% of all) were released before the same thread allocated again; %s made %s "
                    "of them.",
                    unit_count(&n, t->n_temporary), pct, who_is(r, site),
                    unit_count(&most, site->f.n_temporary)),
                (uint64_t)query_figure_of(&site->f, QUERY_TEMPORARY).bytes, site, QUERY_TEMPORARY);
}

static void find_mistakes(struct report *r) {
        const struct query_totals *t = &r->answer->totals;
        struct unit_text n;

        if (t->n_wrong_sizes)
                find(r, "wrong-size",
                     say(r,
                         "%s sized delete%s gave a size other than the block's: undefined behaviour in C++.",
                         unit_count(&n, t->n_wrong_sizes), plural(t->n_wrong_sizes)),
                     0);
        if (t->n_unknown_frees)
                find(r, "unknown-frees",
                     say(r, "%s release%s of addresses that were not allocated at that moment.",
                         unit_count(&n, t->n_unknown_frees), plural(t->n_unknown_frees)),
                     0);
        if (t->n_failed)
                find(r, "failed",
                     say(r, "%s allocation%s failed.", unit_count(&n, t->n_failed),
                         plural(t->n_failed)),
                     0);
}

static void find_quality(struct report *r) {
        if (r->whole.n_allocs && r->quality.complete_stacks_pct < FIND_COMPLETE_PCT)
                find(r, "incomplete-stacks",
                     say(r,
                         "only %.1f %% of the stacks are complete: code without unwind information cuts the others.",
                         r->quality.complete_stacks_pct),
                     0);
}

void report_find(struct report *r) {
        find_losses(r);
        find_mistakes(r);
        find_left(r);
        find_large(r);
        find_temporary(r);
        find_quality(r);
}
