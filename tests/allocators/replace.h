/* SPDX-License-Identifier: MIT */
/* What the parts of a program that replaces allocator functions share: work (replace_work.cc), replacements (replace_own.cc), and
 * the program's own count of both. */
#pragma once

#include <stddef.h>

struct replace_count {
        unsigned long allocations, frees, reallocations, failed_allocations, bytes_allocated;
        unsigned long end_live_blocks, end_live_bytes;
};

/* The caller's; whoever allocates for itself inside a replacement counts there too. */
extern "C" struct replace_count *replace_counted(void);

static inline void replace_count_alloc(size_t n_bytes) {
        struct replace_count *c = replace_counted();

        c->allocations++, c->bytes_allocated += n_bytes;
        c->end_live_blocks++, c->end_live_bytes += n_bytes;
}

static inline void replace_count_free(size_t n_bytes) {
        struct replace_count *c = replace_counted();

        c->frees++, c->end_live_blocks--, c->end_live_bytes -= n_bytes;
}

extern "C" void replace_work(unsigned long n_rounds, unsigned seed);
