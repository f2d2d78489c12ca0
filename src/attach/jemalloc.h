/* SPDX-License-Identifier: MIT */
/* How much a jemalloc has (5.2.1 and 5.3.0, 64 bits), read from outside. Its variables are known by their shape, under whatever names it was built.
 *  - nothing is called or stopped: no lock is taken, and the figures the program itself asks for are not renewed
 *  - what is read may be anything: every word is checked before it is used, nothing is followed without end
 *  - what is not recognised beyond doubt is not told */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "attach/memory.h"

struct jemalloc_found {
        uint64_t held_bytes; /* slabs and large blocks of all arenas: its stats.active */
        uint64_t
                used_bytes; /* of them: in blocks, those in threads' caches too: its stats.allocated */
        uint32_t n_arenas;
        /* 5.3.0: what follows is known of all arenas */
        bool has_pages;
        uint64_t own_bytes; /* its stats.metadata */
        uint64_t
                resident_bytes; /* as it counts them, all of its pages that it did not give back: its stats.resident */
        uint64_t retained_bytes; /* addresses that it keeps without memory: its stats.retained */
        bool lacks_figures; /* built without statistics: of the sums there is held_bytes alone */
        bool is_busy; /* it is there, and changed whenever it was looked at; or it is of another version */
};

/* data: the variables of a program or a library. False: nothing is told. One without figures is found, and not read. */
bool jemalloc_find(const struct memory *m, const uint64_t *data, size_t n_words,
                   struct jemalloc_found *ret);
bool jemalloc_read(const struct memory *m, const uint64_t *data, size_t n_words,
                   struct jemalloc_found *ret);
