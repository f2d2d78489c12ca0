/* SPDX-License-Identifier: MIT */
#include "reach/source_head.h"

#include <stdlib.h>
#include <string.h>

#include "base/macros.h"

enum {
        TABLE_WORDS = 4, /* prepare, check, dispatch, finalize */
        DISPATCH = 2,    /* the only one that each has */
        GETTER_WORDS = 3,
        MAX_FLAGS = 1 << 8,
};

#define MAX_REFS ((uint64_t)1 << 24)

bool source_head_is_like(const uint64_t *words) {
        uint64_t refs = words[SOURCE_REFS];

        return words[SOURCE_TABLE] && words[SOURCE_TABLE] % sizeof(uint64_t) == 0 &&
               !words[SOURCE_DATA] == !words[SOURCE_GETTERS] && refs && refs < MAX_REFS &&
               words[SOURCE_FLAGS] >> 32 < MAX_FLAGS && words[SOURCE_ID] <= UINT32_MAX &&
               words[SOURCE_CONTEXT] % sizeof(uint64_t) == 0;
}

static bool is_table(const struct reach_memory *m, uint64_t address, size_t n, size_t needed) {
        uint64_t words[TABLE_WORDS];

        if (address % sizeof(uint64_t) || !m->is_file(m->ctx, address) ||
            m->read(m->ctx, address, words, n * sizeof(words[0])) != n * sizeof(words[0]))
                return false;
        for (size_t i = 0; i < n; i++)
                if (words[i] ? !m->is_code(m->ctx, words[i]) : i == needed)
                        return false;
        return true;
}

bool source_head_is(const struct reach_memory *m, const uint64_t *words, uint64_t n_bytes) {
        return n_bytes >= SOURCE_BYTES && m->is_file && m->is_code && source_head_is_like(words) &&
               is_table(m, words[SOURCE_TABLE], TABLE_WORDS, DISPATCH) &&
               (!words[SOURCE_GETTERS] ||
                is_table(m, words[SOURCE_GETTERS], GETTER_WORDS, DISPATCH));
}

static uint32_t block_at(const struct reach_block *blocks, uint32_t n_blocks, uint64_t address) {
        uint32_t low = 0, high = n_blocks;

        while (low < high) {
                uint32_t mid = low + (high - low) / 2;

                if (blocks[mid].address < address)
                        low = mid + 1;
                else
                        high = mid;
        }
        return low < n_blocks && blocks[low].address == address ? low : REACH_MAX_BLOCKS;
}

static int by_block(const void *a, const void *b) {
        const struct heap_head *x = a, *y = b;

        return x->block < y->block ? -1 : x->block > y->block;
}

void source_head_add_callbacks(const struct reach_memory *m, const struct reach_block *blocks,
                               uint32_t n_blocks, heap_head_list *heads) {
        size_t n_before = heads->n, n = 0;

        for (size_t i = 0; i < n_before; i++) {
                const uint64_t *words = heads->items[i].words;
                struct heap_head head = {0};
                size_t n_bytes;

                if (!words[SOURCE_DATA] ||
                    !source_head_is(m, words, blocks[heads->items[i].block].size_bytes))
                        continue;
                head.block = block_at(blocks, n_blocks, words[SOURCE_DATA]);
                if (head.block == REACH_MAX_BLOCKS)
                        continue;
                n_bytes = (size_t)MIN(blocks[head.block].size_bytes, (uint64_t)sizeof(head.words));
                if (m->read(m->ctx, blocks[head.block].address, head.words, n_bytes) == n_bytes &&
                    m->is_code(m->ctx, head.words[SOURCE_CALLBACK]))
                        vec_push(heads, head);
        }
        if (heads->n == n_before)
                return;
        qsort(heads->items, heads->n, sizeof(heads->items[0]), by_block);
        for (size_t i = 0; i < heads->n; i++) /* several sources may share one */
                if (!n || heads->items[n - 1].block != heads->items[i].block)
                        heads->items[n++] = heads->items[i];
        heads->n = n;
}
