/* SPDX-License-Identifier: MIT */
/* How much a mimalloc has (2.0.9 to 2.2, 64 bits), read from outside. Its variables and segments are known by their shape, under whatever names it was built.
 *  - nothing is called or stopped: the program runs on, and may change all of it while it is read
 *  - what is read may be anything: every word is checked before it is used, nothing is followed without end
 *  - what is not recognised beyond doubt is not told */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "attach/memory.h"

struct mimalloc_found {
        uint64_t held_bytes; /* pages, as it calls them, with blocks of one size each */
        uint64_t
                used_bytes; /* of them: in blocks, those too that another thread has released and the owner has not taken back */
        uint32_t n_segments;
        bool is_busy; /* it is there, and changed whenever it was looked at; or it is of another version */
        uint64_t
                page; /* of its heap, where this has pages and no segment was recognised: of a newer version (mimalloc_map.h); 0: it is not so */
};

/* data: the variables of a program or a library. False: nothing is told. */
bool mimalloc_read(const struct memory *m, const uint64_t *data, size_t n_words,
                   struct mimalloc_found *ret);

/* Its lists of free blocks: those that are ready, those that its thread has given back since, those that others have. */
enum mimalloc_free { MIMALLOC_FREE, MIMALLOC_FREED, MIMALLOC_FREED_BY_OTHERS, N_MIMALLOC_FREE };

struct mimalloc_page {
        uint64_t begin, n_bytes;
        bool is_info; /* no page: what the segment knows of its pages */
        uint64_t block_bytes;
        uint32_t n_ever, n_used;        /* blocks: that were ever used, that are */
        uint32_t n_room;                /* for so many, from the first one on */
        uint64_t free[N_MIMALLOC_FREE]; /* the first of each list; 0: it is empty */
        uint64_t first;                 /* block; 0: this version does not keep it */
        uint64_t
                delayed; /* where its heap has the first block that another thread has released of a page that was full */
};

typedef void (*mimalloc_page_fn)(void *ctx, const struct mimalloc_page *page);

/* Of a process that stands still: every page of every segment. False: what fn was told of is not to be trusted. */
bool mimalloc_pages(const struct memory *m, const uint64_t *data, size_t n_words,
                    mimalloc_page_fn fn, void *ctx);
