/* SPDX-License-Identifier: MIT */
/* Memory as a jemalloc leaves it, made by hand: for tests, and for the fuzzer. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "attach/heap_list.h"
#include "attach/jemalloc.h"

enum {
        JE_ROOT_WORD = 4900, /* the root of the tree that finds extents */
        JE_DATA_WORDS = JE_ROOT_WORD + 65536,
        JE_TABLE_WORD = 3,    /* bin_infos */
        JE_ARENAS_WORD = 700, /* and the table of arenas: the first, and another further on */
        JE_OTHER_INDEX = 3,
        JE_HEAP_WORDS = 6144,  /* of each of two heaps with an arena; the rest is zero */
        JE_FIGURES_WORDS = 10, /* of a bin */
        JE_EXTENT_WORDS = 256, /* from one extent to the next */
        JE_N_EXTENTS = 28,     /* of all slabs and large blocks */
        JE_N_LINKS = 2 * JE_N_EXTENTS + 1,
};

#define JE_HEAP 0x7f0000000000u
#define JE_HEAP_BYTES (UINT64_C(64) << 20)
#define JE_OTHER (JE_HEAP + 2 * JE_HEAP_BYTES)
#define JE_ARENA_OFF 192u /* in its heap, behind its base */

#define JE_EXTENTS (JE_HEAP + (UINT64_C(8) << 20))
#define JE_NODE (JE_OTHER + (UINT64_C(8) << 20))
#define JE_LEAF (JE_OTHER + (UINT64_C(16) << 20))

struct je_config {
        bool is_old;  /* 5.2.1 */
        bool is_wide; /* built for addresses of 57 bits */
        bool is_tree, has_large_pad;
        uint32_t mutex_bytes, page_bytes, quantum_bytes, n_shards;
};

/* A word of a node or a leaf that is not 0. */
struct je_link {
        uint64_t at, value;
};

struct je_fake {
        uint64_t data[JE_DATA_WORDS];
        uint64_t heaps[2][JE_HEAP_WORDS];
        uint64_t extents[JE_N_EXTENTS * JE_EXTENT_WORDS]; /* at JE_EXTENTS */
        struct je_link links[JE_N_LINKS];
        uint32_t n_extents, n_links;
};

/* How it is read. */
struct je_reader {
        struct je_fake *fake;
        unsigned n_reads_left;
        unsigned n_reads;
        void (*between)(struct je_fake *f, unsigned n_reads); /* what the program does meanwhile */
};

/* One of many, by its number. */
enum { JE_N_CONFIGS = 96 };
struct je_config je_config_at(unsigned i);

/* Two arenas with blocks of small and large classes: what is found then. */
struct jemalloc_found je_fill(struct je_fake *f, const struct je_config *c);

/* After je_fill: as if it was built without statistics. */
void je_drop_figures(struct je_fake *f, const struct je_config *c);

/* Words of an arena: figures of the first shard's bin, of a large class, the number of active pages, the pointer at its base. */
uint64_t *je_bin(struct je_fake *f, const struct je_config *c, unsigned arena, unsigned class);
uint64_t *je_large(struct je_fake *f, const struct je_config *c, unsigned arena, unsigned large);
uint64_t *je_active(struct je_fake *f, const struct je_config *c, unsigned arena);
uint64_t *je_base(struct je_fake *f, const struct je_config *c, unsigned arena);

/* After je_fill: the extents of its blocks, and the tree that leads to them. False: its root would not fit. */
bool je_fill_tree(struct je_fake *f, const struct je_config *c);

/* Any word of it but those of the root that are 0 before, by a number. */
uint64_t *je_word(struct je_fake *f, uint16_t number);
uint16_t je_number(const struct je_fake *f, const uint64_t *word);

bool je_list(struct je_reader *r, struct heap_list *ret);
bool je_read(struct je_reader *r, struct jemalloc_found *ret);
bool je_find(struct je_reader *r, struct jemalloc_found *ret);
