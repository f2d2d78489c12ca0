/* SPDX-License-Identifier: MIT */
#include "record/tick_notes.h"

#include <stdio.h>

#include "base/macros.h"
#include "base/units.h"
#include "tick/ticker.h"

enum {
        UNSAMPLED_SHARE = 50, /* of CPU time, from which on it is worth a word */
        CUT_SHARE = 20,       /* the same of walks */
        UNSEEN_SHARE = 20,    /* of CPU time by the kernel's count */
        UNSEEN_MIN_NS = 100000000,
};

/* How many call paths are whole: of a trace nobody can tell that later. */
static void tell_walks(const struct ticker_stats *s, void (*say)(void *ctx, const char *text),
                       void *ctx) {
        struct unit_text whole, cut, guessed, lost;
        char text[200];

        if (!(s->n_walks[REMOTE_COMPLETE] + s->n_walks[REMOTE_CUT] + s->n_walks[REMOTE_GUESSED] +
              s->n_walks[REMOTE_LOST]))
                return;
        snprintf(text, sizeof(text),
                 "call paths of samples: %s complete, %s cut, %s guessed, %s lost",
                 unit_count(&whole, s->n_walks[REMOTE_COMPLETE]),
                 unit_count(&cut, s->n_walks[REMOTE_CUT]),
                 unit_count(&guessed, s->n_walks[REMOTE_GUESSED]),
                 unit_count(&lost, s->n_walks[REMOTE_LOST]));
        say(ctx, text);
}

/* Whatever the reason is. */
static void tell_unseen(const struct ticker_stats *s, uint64_t known_ns,
                        void (*say)(void *ctx, const char *text), void *ctx) {
        uint64_t seen_ns = s->ns[TICKER_RUNS];
        struct unit_text seen, known;
        char text[200];

        if (!s->sees_kernel || seen_ns >= known_ns ||
            known_ns - seen_ns < MAX(known_ns / UNSEEN_SHARE, (uint64_t)UNSEEN_MIN_NS))
                return;
        snprintf(text, sizeof(text),
                 "only %s of the %s of CPU time that the kernel counted have samples",
                 unit_duration(&seen, seen_ns), unit_duration(&known, known_ns));
        say(ctx, text);
}

static void tell_cut(const struct ticker_stats *s, void (*say)(void *ctx, const char *text),
                     void *ctx) {
        uint64_t n_cut = s->n_walks[REMOTE_CUT] + s->n_walks[REMOTE_LOST];
        uint64_t n = n_cut + s->n_walks[REMOTE_COMPLETE] + s->n_walks[REMOTE_GUESSED];
        char text[300];

        if (n_cut <= n / CUT_SHARE)
                return;
        snprintf(
                text, sizeof(text),
                "%.1f %% of the samples, of time and of waits, have a call path whose outermost frames are missing: code without unwind information, a stack deeper than its copy or than %d frames, or one that had changed when it was read",
                100.0 * (double)n_cut / (double)n, TICK_MAX_FRAMES);
        say(ctx, text);
}

/* Of a count that goes on the first are told at once, since the recorder may not live to tell them later; the others at the end. */
static uint64_t news(uint64_t n, uint64_t *told, bool is_end) {
        uint64_t n_new = n - *told;

        if (!n_new || (*told && !is_end))
                return 0;
        *told = n;
        return n_new;
}

static void tell_counts(struct tick_notes *t, const struct ticker_stats *s,
                        const struct tick_beside *beside, bool is_end,
                        void (*say)(void *ctx, const char *text), void *ctx) {
        uint64_t n_lost = news(s->n_lost + s->n_broken + beside->n_dropped, &t->n_lost, is_end);
        uint64_t n_throttled = news(s->n_throttled, &t->n_throttled, is_end);
        uint64_t n_hidden = news(s->n_hidden, &t->n_hidden, is_end);
        struct unit_text n;
        char text[300];

        if (n_lost) {
                snprintf(text, sizeof(text), "%s %s lost: the recorder was late",
                         unit_count(&n, n_lost),
                         n_lost == 1 ? "record of CPU samples was" : "records of CPU samples were");
                say(ctx, text);
        }
        if (n_throttled) {
                snprintf(
                        text, sizeof(text),
                        "%s times the kernel paused the samples, as they took too long (kernel.perf_event_max_sample_rate): CPU time is missing; take a lower --rate",
                        unit_count(&n, n_throttled));
                say(ctx, text);
        }
        if (n_hidden) {
                snprintf(
                        text, sizeof(text),
                        "%s program%s with other rights than who started %s ('%s'): the kernel does not let silt sample %s",
                        unit_count(&n, n_hidden), n_hidden == 1 ? " ran" : "s ran",
                        n_hidden == 1 ? "it" : "them", s->hidden_name,
                        n_hidden == 1 ? "it" : "them");
                say(ctx, text);
        }
}

void tick_notes_go_on(struct tick_notes *t, const struct ticker_stats *s,
                      const struct tick_beside *beside, void (*say)(void *ctx, const char *text),
                      void *ctx) {
        if (!s->sees_kernel && !t->has_kernel)
                say(ctx,
                    "time in the kernel is not in the samples: kernel.perf_event_paranoid is above 1 and silt has no CAP_PERFMON");
        if (beside->off_cpu && !s->sees_switches && !t->has_switches)
                say(ctx,
                    "where threads wait is known only of waits of 8 ms and more: kernel.perf_event_paranoid is above 1 and silt has no CAP_PERFMON");
        if (s->is_wide && !t->has_wide)
                say(ctx,
                    "CPU samples are of CPUs and not of threads, as threads were too short for samples of their own: other programs were sampled too, and left out");
        if (s->short_stack_bytes && !t->has_short) {
                char text[300];

                snprintf(
                        text, sizeof(text),
                        "call paths end where more than %u KiB of stack lie between: rings are small (kernel.perf_event_mlock_kb, or many CPUs); CAP_IPC_LOCK lifts the first",
                        s->short_stack_bytes >> 10);
                say(ctx, text);
        }
        t->has_short |= s->short_stack_bytes != 0;
        t->has_kernel |= !s->sees_kernel;
        t->has_switches |= !s->sees_switches;
        t->has_wide |= s->is_wide;
        tell_counts(t, s, beside, false, say, ctx);
}

void tick_notes_end(struct tick_notes *t, const struct ticker_stats *s,
                    const struct tick_beside *beside, void (*say)(void *ctx, const char *text),
                    void *ctx) {
        struct unit_text n;
        char text[300];

        tick_notes_go_on(t, s, beside, say, ctx);
        tell_counts(t, s, beside, true, say, ctx);
        if (s->unsampled_ns > s->ns[TICKER_RUNS] / UNSAMPLED_SHARE) {
                snprintf(
                        text, sizeof(text),
                        "%s of CPU time have no call path: what threads ran before their first sample, after their last, or until they ended while timers were late",
                        unit_duration(&n, s->unsampled_ns));
                say(ctx, text);
        }
        if (s->late_ns > s->ns[TICKER_RUNS] / UNSAMPLED_SHARE) {
                snprintf(
                        text, sizeof(text),
                        "%s of CPU time have the call path of a later sample of the same thread: the kernel's timers were late",
                        unit_duration(&n, s->late_ns));
                say(ctx, text);
        }
        if (s->uncounted_ns > s->ns[TICKER_RUNS] / UNSAMPLED_SHARE) {
                snprintf(
                        text, sizeof(text),
                        "%s of CPU time have no call path: the kernel's timers were late, or its own time was not counted",
                        unit_duration(&n, s->uncounted_ns));
                say(ctx, text);
        }
        if (s->kernel_ns > s->ns[TICKER_RUNS] / UNSAMPLED_SHARE) {
                snprintf(
                        text, sizeof(text),
                        "%s of CPU time were in the kernel by its own count: where, and for whom, samples do not tell",
                        unit_duration(&n, s->kernel_ns));
                say(ctx, text);
        }
        tell_unseen(s, beside->known_cpu_ns, say, ctx);
        if (s->sees_switches &&
            s->pathless_ns > (s->ns[TICKER_BLOCKED] + s->ns[TICKER_READY]) / UNSAMPLED_SHARE) {
                snprintf(text, sizeof(text),
                         "%s of waits have no call path: the kernel sampled none like them",
                         unit_duration(&n, s->pathless_ns));
                say(ctx, text);
        }
        if (s->borrowed_ns > (s->ns[TICKER_BLOCKED] + s->ns[TICKER_READY]) / UNSAMPLED_SHARE) {
                snprintf(
                        text, sizeof(text),
                        "waits by call path are estimates: threads waited too often to look at each wait, and %s have the call path of another one, as long; the sums are exact",
                        unit_duration(&n, s->borrowed_ns));
                say(ctx, text);
        }
        tell_cut(s, say, ctx);
        tell_walks(s, say, ctx);
}
