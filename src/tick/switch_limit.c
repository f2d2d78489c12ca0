/* SPDX-License-Identifier: MIT */
#include "tick/switch_limit.h"

/* 10,000 a second are some 2 % of one CPU for the program. */
enum { WINDOW_NS = 50000000, WINDOW_SAMPLES = 500 };
/* A program whose waits are too many pays for one window in so long. */
enum { REST_NS = 1000000000 };

static bool turn(struct switch_limit *l, uint64_t now_ns) {
        l->is_off = !l->is_off;
        l->since_ns = now_ns;
        l->n_samples = 0;
        return true;
}

bool switch_limit_turns(struct switch_limit *l, uint64_t now_ns) {
        if (l->is_off)
                return now_ns - l->since_ns >= REST_NS && turn(l, now_ns);
        if (l->n_samples > WINDOW_SAMPLES &&
            now_ns - l->since_ns < l->n_samples * (WINDOW_NS / WINDOW_SAMPLES))
                return turn(l, now_ns);
        if (now_ns - l->since_ns >= WINDOW_NS) {
                l->since_ns = now_ns;
                l->n_samples = 0;
        }
        return false;
}
