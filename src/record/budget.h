/* SPDX-License-Identifier: MIT */
/* silt run --budget: keeps what sampling costs within a share of the CPU time that the target uses without it, by changing
 * the mean distance of samples in the arena's header. The cost is what the recorder uses and what the runtime says that
 * taking samples and counting took; the distance decides about samples alone, counting and the recorder's regular
 * work leave them the rest of the budget. */
#pragma once

#include <stdint.h>

/* Sums since the recording began. */
struct budget_figures {
        uint64_t time_ns;
        uint64_t target_ns;   /* CPU time of the target, what silt uses in it included */
        uint64_t inside_ns;   /* of it: taking samples */
        uint64_t counting_ns; /* of it: counting */
        uint64_t beside_ns;   /* the recorder's own */
        uint64_t n_samples;
};

/* What silt took between two moments, of what the target would have used without it. */
struct budget_shares {
        double samples_pct;  /* the distance decides about it */
        double counting_pct; /* and not about counting, */
        double rest_pct;     /* nor about what the recorder does anyway */
};

struct budget {
        double pct; /* 0: none */
        struct budget_figures first, last;
        uint64_t next_ns;
};

enum { BUDGET_MIN_BYTES = 4 << 10, BUDGET_MAX_BYTES = 64 << 20 };

/* When to look; UINT64_MAX: there is no budget. */
static inline uint64_t budget_due_ns(const struct budget *b) {
        return b->pct > 0 ? b->next_ns : UINT64_MAX;
}

/* The distance from here on; the one it was where there is nothing to go by. */
uint64_t budget_step(struct budget *b, const struct budget_figures *now, uint64_t sample_bytes);

/* Sums of `to` are at least those of `from`. */
struct budget_shares budget_shares(const struct budget_figures *from,
                                   const struct budget_figures *to);
