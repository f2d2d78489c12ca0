/* SPDX-License-Identifier: MIT */
/* Addresses that a process gave back since somebody began to look at its pages: what lay there was resident then, and is no
 * one's now. Large blocks alone, which may be mappings of their own, and what the program unmaps itself. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/vec.h"

enum { RELEASED_MAX = 1024 }; /* ranges; of more nothing is known */

struct released_range {
        uint64_t begin, end;
};

struct released {
        VEC(struct released_range) ranges; /* in the order of their release; some may overlap */
};

struct released *released_new(void);                /* NULL: there is no memory for it */
struct released *released_free(struct released *r); /* NULL ok; returns NULL */
void released_add(struct released *r, uint64_t begin, uint64_t end);
void released_cut(struct released *r, uint64_t begin, uint64_t end); /* it is in use again */
