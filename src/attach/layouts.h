/* SPDX-License-Identifier: MIT */
/* Where the structures of known versions of allocators have what (docs/allocators.md): numbers out of files, so that a version is a file. Whatever a file says, what is
 * read by it must make sense before anything is told: a wrong one tells nothing. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { LAYOUTS_MAX = 16, LAYOUT_VERSION_BYTES = 24, LAYOUT_MAX_PAGE_BYTES = 192 };

struct jemalloc_layout {
        char version[LAYOUT_VERSION_BYTES];
        /* struct arena_s up to its bins; what else is in it is of no interest. A mutex differs by machine. */
        uint32_t large_off;   /* of the figures of the first large class */
        uint32_t large_bytes; /* from one class to the next */
        uint32_t
                has_large_sums; /* the bytes of its blocks, which are of any number of pages: else they are the class's */
        uint32_t n_mutexes;    /* between those of the last one and the number of active pages */
        uint32_t active_bytes; /* and what else is between them, a word of it behind */
        uint32_t shard_align_bytes; /* what is a multiple of this */
        uint32_t base_bytes;        /* from the pointer at its base to where bins may begin, */
        uint32_t bins_align_bytes;  /* at a multiple of this */
        uint32_t figures_off;       /* of a bin, behind its mutex */
        uint32_t bin_bytes;         /* beside its mutex */
        uint32_t has_page_sums;     /* what is in no block is told too */
        uint32_t extent_addr_off, extent_size_off, extent_bitmap_off;
        uint32_t slab_bit, state_bit, n_state_bits, class_bit,
                free_bit; /* of an extent's first word */
};

enum { LAYOUT_N_FREE = 3 }; /* lists of free blocks: ready, released by its thread, by others */

/* 2.x: pages are in segments. */
struct mimalloc_layout {
        char version[LAYOUT_VERSION_BYTES];
        uint32_t cookie_off; /* of a segment; the number of pages in use is just before */
        uint32_t slices_off; /* five words with figures are just before */
        uint32_t used_off, used_bytes;
        uint32_t size_off, size_bytes;
        uint32_t page_bytes;
        uint32_t free_offs[LAYOUT_N_FREE];
        uint32_t first_off; /* 0: it is not kept */
        uint32_t heap_off;
        uint32_t delayed_off; /* in a heap */
};

/* 3.x: a map leads from addresses to pages, whose numbers have two bytes each. */
struct mimalloc_map_layout {
        char version[LAYOUT_VERSION_BYTES];
        uint32_t slice_bits,
                map_bits; /* of an address: within a slice; which entry of a part of the map */
        uint32_t page_bytes;
        uint32_t used_off, n_ever_off, n_room_off;
        uint32_t free_offs[LAYOUT_N_FREE];
        uint32_t size_off, first_off;
};

struct layouts {
        struct jemalloc_layout jemalloc[LAYOUTS_MAX];
        struct mimalloc_layout mimalloc[LAYOUTS_MAX];
        struct mimalloc_map_layout mimalloc_map[LAYOUTS_MAX];
        size_t n_jemalloc, n_mimalloc, n_mimalloc_map;
        char unread[256]; /* a file that is none */
};

/* Those that are built in, and those of $XDG_CONFIG_HOME/silt/allocators. */
const struct layouts *layouts_known(void);

/* One more, of a file's text. False: it is none, or there is no room; nothing was added. */
bool layouts_add(struct layouts *l, const char *text);
