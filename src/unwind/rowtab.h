/* SPDX-License-Identifier: MIT */
#ifndef SILT_UNWIND_ROWTAB_H
#define SILT_UNWIND_ROWTAB_H

/* The rows known to the whole process, and the generation they belong to.
 *  - no lock: any number of threads get and put at once
 *  - a get gives the row that was put for this key in this generation, or nothing
 *  - a put may be lost, and an entry may be replaced: it is a cache
 * A key is the address a row was looked up for: return address - 1, or an interrupted pc. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "unwind/row.h"

#pragma GCC visibility push(hidden)

/* Last of all: from then on walks run. Called again it starts another generation. */
void rowtab_init(void *(*map_pages)(size_t size_bytes));

void rowtab_next_generation(void);

/* 0 until rowtab_init. Written by the two functions above. */
extern uint64_t rowtab_generation_word;

static inline uint64_t rowtab_generation(void) {
        /* acquire: what the loader did before the change, and what was set up before the first
         * generation, is seen. Pairs with the releases in rowtab_init and rowtab_next_generation. */
        return __atomic_load_n(&rowtab_generation_word, __ATOMIC_ACQUIRE);
}

/* To compare with the generation that a walker knows, which rowtab_generation gave. Relaxed: code
 * in the place of an unmapped object runs only on threads that have synchronised with whoever
 * mapped it, after the change. An acquire would wait for the stores of the last event. */
static inline uint64_t rowtab_generation_glance(void) {
        return __atomic_load_n(&rowtab_generation_word, __ATOMIC_RELAXED);
}

row_t rowtab_get(uint64_t generation, uint64_t key); /* 0: not there */
void rowtab_put(uint64_t generation, uint64_t key, row_t row);

/* Was the object that begins there announced in this generation? The answer may be no wrongly,
 * never yes wrongly. */
bool rowtab_is_announced(uint64_t generation, uint64_t object_begin);
void rowtab_set_announced(uint64_t generation, uint64_t object_begin);

#pragma GCC visibility pop

#endif
