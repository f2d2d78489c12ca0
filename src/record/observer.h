/* SPDX-License-Identifier: MIT */
/* What the recorder does by the clock, as one table: each row is an observer, with when it is due and what it does then.
 *  - one clock for all, one place that knows the next wake-up
 *  - rows that are due run in the order of the table, each once a round; none is left out because another is slow
 *  - after a stall a row runs once, not once for each time it missed
 *  - what each took is counted
 *
 * Owner: one thread. Call order: init → (run → sleep until next_ns) … */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { OBSERVERS_MAX = 16 };
#define OBSERVER_NEVER UINT64_MAX
#define OBSERVER_NEXT_ROUND 0ull /* whenever that is: it does not bring one about */

struct observer {
        const char *name;
        /* Returns when it is due again, OBSERVER_NEVER for not by itself; with a period or `due` that is not asked. now_ns: when it began. */
        uint64_t (*observe)(void *ctx, uint64_t now_ns);
        uint64_t (*due)(
                const void *
                        ctx); /* for one whose time changes with what happens; NULL: it keeps its own */
        uint64_t period_ns; /* from one beginning to the next; 0: observe says */
        uint64_t first_ns;  /* when it is due first */
        uint64_t slack_ns;  /* it may wait so long for another to wake the recorder */
        uint32_t
                share; /* it takes one part in so many of the time at most, and waits in between; 0: no bound */
};

/* In nanoseconds of the clock. */
struct observer_cost {
        uint64_t n_rounds, took_ns, longest_ns;
        uint64_t latest_ns; /* it began so long behind its time at most */
};

struct observers {
        const struct observer *table;
        size_t n;
        uint64_t (*clock)(const void *ctx);
        void *ctx; /* for the clock and all rows */
        uint64_t due_ns[OBSERVERS_MAX], not_before_ns[OBSERVERS_MAX];
        bool is_off[OBSERVERS_MAX];
        struct observer_cost cost[OBSERVERS_MAX];
};

/* At most OBSERVERS_MAX rows. Table and ctx stay the caller's. */
void observers_init(struct observers *o, const struct observer *table, size_t n,
                    uint64_t (*clock)(const void *ctx), void *ctx);

/* A round: all that are due. */
void observers_run(struct observers *o);

/* When the next round is needed; OBSERVER_NEVER: by nobody. */
uint64_t observers_next_ns(const struct observers *o);

/* It is due at that time too, if that is earlier than its own. Of rows without `due`. */
void observers_wake(struct observers *o, size_t idx, uint64_t at_ns);

/* Off: it is not due until it is switched on again, and then as if it had never been off. */
void observers_switch(struct observers *o, size_t idx, bool on);
