/* SPDX-License-Identifier: MIT */
/* The seed of tests that draw: always the same in `make test`, another in every `make soak` (SILT_SEED, which it prints). */
#pragma once

#include <stdint.h>
#include <stdlib.h>

static inline uint64_t seed_of_run(void) {
        const char *text = getenv("SILT_SEED");

        return text && text[0] ? strtoull(text, NULL, 10) : 1;
}
