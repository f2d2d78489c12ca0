/* SPDX-License-Identifier: MIT */
/* What a jemalloc says of itself in its variables: the sizes of its blocks, and how many of each are in a slab. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { JEMALLOC_MAX_CLASSES = 235, JEMALLOC_MAX_SMALL = 64 };

struct jemalloc_small {
        uint64_t slab_bytes;
        uint32_t n_regions, n_shards;
};

struct jemalloc_tables {
        uint64_t class_bytes[JEMALLOC_MAX_CLASSES];
        unsigned n_classes;
        struct jemalloc_small
                small[JEMALLOC_MAX_SMALL]; /* of the first classes; the others are large */
        unsigned n_small;
        uint64_t page_bytes;
        uint32_t n_bins; /* in an arena, shards and all */
};

/* data: the variables of a program or a library. */
bool jemalloc_tables_find(const uint64_t *data, size_t n_words, struct jemalloc_tables *ret);
