/* SPDX-License-Identifier: MIT */
/* Memory as a mimalloc leaves it, made by hand: for tests, and for the fuzzer. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "attach/heap_list.h"
#include "attach/mimalloc.h"

enum {
        MI_DATA_WORDS = 1400,
        MI_QUEUES_WORD = 600,
        MI_N_VERSIONS = 3,
        MI_N_SEGMENTS = 3,       /* two one after the other, and one of a huge block elsewhere */
        MI_SEGMENT_WORDS = 6192, /* that are there of each; the rest is zero */
        MI_DELAYED_WORD = 6184,  /* of the first: a heap's list of one block that was given back */
};

#define MI_FIRST UINT64_C(0x200000000000)
#define MI_HUGE UINT64_C(0x300000000000)
#define MI_SEGMENT_BYTES (UINT64_C(32) << 20)
#define MI_COOKIE UINT64_C(0x9e3779b97f4a7c15)

struct mi_fake {
        uint64_t data[MI_DATA_WORDS];
        uint64_t segments[MI_N_SEGMENTS][MI_SEGMENT_WORDS];
};

/* How it is read. */
struct mi_reader {
        struct mi_fake *fake;
        unsigned n_reads_left;
        unsigned n_reads;
        void (*between)(struct mi_fake *f, unsigned n_reads); /* what the program does meanwhile */
};

/* Pages of small, medium and large blocks, free slices, a huge block: what is found then. */
struct mimalloc_found mi_fill(struct mi_fake *f, unsigned version);

/* Words of a segment: its cookie (pages in use before it), its figures (slices, slices of its own, kind, slices it knows), what it knows of a slice. */
uint64_t *mi_cookie(struct mi_fake *f, unsigned version, unsigned segment);
uint64_t *mi_figures(struct mi_fake *f, unsigned version, unsigned segment);
uint64_t *mi_slice(struct mi_fake *f, unsigned version, unsigned segment, unsigned slice);

bool mi_list(struct mi_reader *r, struct heap_list *ret);
bool mi_read(struct mi_reader *r, struct mimalloc_found *ret);
