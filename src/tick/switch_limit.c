/* SPDX-License-Identifier: MIT */
#include "tick/switch_limit.h"

/* In a stretch: 5,000 a second are some 2 % of one CPU for the program. */
enum { WINDOW_SAMPLES = 500 };

bool switch_limit_turns(struct switch_limit *l, uint64_t now_ns) {
        uint64_t passed_ns = now_ns - l->since_ns;
        bool was_off = l->is_off;

        if (!l->is_off && l->n_samples > WINDOW_SAMPLES &&
            passed_ns < l->n_samples * (l->window_ns / WINDOW_SAMPLES)) {
                l->is_off = true;
                return true;
        }
        if (passed_ns >= l->window_ns) {
                l->since_ns = now_ns;
                l->n_samples = 0;
                l->is_off = false;
        }
        return l->is_off != was_off;
}
