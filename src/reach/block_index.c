/* SPDX-License-Identifier: MIT */
#include "reach/block_index.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

enum { GRANULES = 1 << (INDEX_TABLE_SHIFT - INDEX_GRANULE_SHIFT) };

/* Where a block ends for whoever points into it: one of no bytes is at its address. */
static uint64_t end_of(const struct reach_block *b) {
        return b->address + MAX(b->size_bytes, (uint64_t)1);
}

static bool is_sane(const struct reach_block *blocks, uint32_t n) {
        uint64_t top = (uint64_t)1 << (INDEX_TABLE_SHIFT + INDEX_TOP_BITS);

        for (uint32_t i = 0; i < n; i++) {
                if (blocks[i].size_bytes >= top || blocks[i].address >= top ||
                    end_of(&blocks[i]) > top)
                        return false;
                if (i && end_of(&blocks[i - 1]) > blocks[i].address)
                        return false;
        }
        return n < REACH_MAX_BLOCKS;
}

/* The table of which `address` is in; *next: the first block that does not begin below it. */
static bool fill(struct block_index *x, uint64_t base, uint32_t next) {
        uint32_t *table = malloc((GRANULES + 1) * sizeof(*table));

        if (!table)
                return false;
        for (uint64_t i = 0; i <= GRANULES; i++) {
                uint64_t begin = base + (i << INDEX_GRANULE_SHIFT);

                while (next < x->n_blocks && x->blocks[next].address < begin)
                        next++;
                table[i] = next;
        }
        x->tables[base >> INDEX_TABLE_SHIFT] = table;
        return true;
}

int block_index_make(struct block_index *ret, const struct reach_block *blocks, uint32_t n_blocks) {
        struct block_index x = {.blocks = blocks, .n_blocks = n_blocks};

        if (!is_sane(blocks, n_blocks))
                return -EINVAL;
        x.tables = calloc((size_t)1 << INDEX_TOP_BITS, sizeof(*x.tables));
        if (!x.tables)
                return -ENOMEM;
        if (n_blocks) {
                x.lowest = blocks[0].address;
                x.highest = end_of(&blocks[n_blocks - 1]) - 1;
        }
        for (uint32_t i = 0; i < n_blocks; i++) {
                uint64_t last = (end_of(&blocks[i]) - 1) >> INDEX_TABLE_SHIFT;

                for (uint64_t at = blocks[i].address >> INDEX_TABLE_SHIFT; at <= last; at++) {
                        if (x.tables[at])
                                continue;
                        if (!fill(&x, at << INDEX_TABLE_SHIFT,
                                  at == blocks[i].address >> INDEX_TABLE_SHIFT ? i : i + 1)) {
                                block_index_done(&x);
                                return -ENOMEM;
                        }
                }
        }
        *ret = x;
        return 0;
}

void block_index_done(struct block_index *x) {
        for (size_t i = 0; x->tables && i < (size_t)1 << INDEX_TOP_BITS; i++)
                free(x->tables[i]);
        free(x->tables);
        x->tables = NULL;
}

uint32_t block_index_search(const struct block_index *x, uint64_t address) {
        const uint32_t *table = x->tables[address >> INDEX_TABLE_SHIFT];
        const struct reach_block *b;
        uint32_t from, to, at;

        if (!table)
                return REACH_MAX_BLOCKS;
        table += address >> INDEX_GRANULE_SHIFT & (GRANULES - 1);
        /* the first of this granule that begins behind the address. Blocks lie close together: it is near the same part of them as the address is of the
         * granule, in memory that was asked for before */
        from = table[0];
        to = table[1];
        at = block_index_guess(table, address);
        while (at < to && x->blocks[at].address <= address)
                at++;
        while (at > from && x->blocks[at - 1].address > address)
                at--;
        if (at == 0)
                return REACH_MAX_BLOCKS;
        b = &x->blocks[at - 1];
        return address < end_of(b) ? at - 1 : REACH_MAX_BLOCKS;
}
