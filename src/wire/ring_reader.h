/* SPDX-License-Identifier: MIT */
/* The recorder's side of a slot's ring (docs/ring-protocol.md).
 *
 *  - everything the target can write is hostile: published bytes are copied out first, and only the copy
 *    is looked at. Which chunks are lent and how far is known from the reader's own memory alone
 *  - copies end at a chunk's end or at write_pos, so that they hold whole records
 *
 * Call order: ring_reader_copy → ring_record_words on each record of the copy. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "wire/layout.h"
#include "wire/record.h"

struct ring_reader {
        const struct wire_slot *slot; /* shared */
        const uint8_t *chunks;        /* shared; n_chunks of WIRE_CHUNK_BYTES */
        uint32_t n_chunks;
        uint64_t read_pos;          /* bytes ever copied out */
        uint64_t limit_pos;         /* bytes ever lent */
        uint32_t lent[WIRE_N_LENT]; /* as in the slot, which cannot be trusted to keep it */
};

enum { RING_CHUNK_WORDS = WIRE_CHUNK_BYTES / 8 };

/* Bytes published and not yet copied; -1 when write_pos is impossible. */
int64_t ring_reader_available(const struct ring_reader *r);

/* Copies published words, at most max_words rounded down to the end of a chunk, and at least the rest of
 * one chunk: words has room for max(max_words, RING_CHUNK_WORDS). `available` comes from the call above. */
size_t ring_reader_copy(struct ring_reader *r, uint64_t *words, size_t max_words,
                        uint64_t available);

/* Words of the record at words[0], of which n belong to the copy and its chunk; 0 when it is malformed.
 * A PAD takes the rest: n words. */
static inline uint32_t ring_record_words(const uint64_t *words, size_t n) {
        static const uint8_t fixed[WIRE_N_KINDS] = {
                [WIRE_ALLOC] = 4,       [WIRE_FREE] = 2,          [WIRE_FREE_SIZED] = 3,
                [WIRE_FREE_STACK] = 4,  [WIRE_REALLOC_BEGIN] = 2, [WIRE_REALLOC_END] = 5,
                [WIRE_FAILED] = 2,      [WIRE_MODULE] = 5,        [WIRE_THREAD_NAME] = 3,
                [WIRE_FORK] = 1,        [WIRE_FORK_DONE] = 1,     [WIRE_EXEC] = 2,
                [WIRE_MMAP] = 5,        [WIRE_MUNMAP] = 3,        [WIRE_MREMAP] = 6,
                [WIRE_BRK] = 4,         [WIRE_LOST] = 2,          [WIRE_THREAD_EXIT] = 1,
                [WIRE_POOL_ALLOC] = 4,  [WIRE_FREE_RANGE] = 3,    [WIRE_MARK] = 2,
                [WIRE_HEAP] = 4,        [WIRE_SAMPLE] = 6,        [WIRE_SAMPLE_FREE] = 3,
                [WIRE_UNSEEN] = 3,      [WIRE_MPROTECT] = 4,      [WIRE_FAIL] = 4,
                [WIRE_ALLOC_KNOWN] = 3,
        };
        unsigned kind, at;
        size_t n_words;

        if (n == 0)
                return 0;
        kind = words[0] & 0xff;
        if (kind == WIRE_PAD)
                return (uint32_t)n;
        if (kind >= WIRE_N_KINDS || n < fixed[kind])
                return 0;
        n_words = fixed[kind];
        at = wire_stack_at(kind);
        if (at != 0) {
                uint64_t stack = words[at];
                uint32_t n_new = wire_stack_n_new(stack), n_kept = stack & 0xffff;

                if (wire_token(stack) > WIRE_MAX_TOKEN || wire_stack_end(stack) > WIRE_END_NONE)
                        return 0;
                if (n_new == WIRE_KNOWN) {
                        if (wire_token(stack) == 0 || n_kept != 0)
                                return 0;
                } else {
                        if (n_kept + n_new > WIRE_MAX_FRAMES)
                                return 0;
                        n_words += n_new;
                }
        } else if (kind == WIRE_ALLOC_KNOWN) {
                if (wire_token(words[2]) - 1 >= WIRE_MAX_TOKEN)
                        return 0;
        } else if (kind == WIRE_MODULE) {
                if (words[4] > WIRE_MAX_NAME)
                        return 0;
                n_words += (words[4] + 7) / 8;
        } else if (kind == WIRE_MARK) {
                if (words[1] > WIRE_MAX_MARK)
                        return 0;
                n_words += (words[1] + 7) / 8;
        } else if (kind == WIRE_UNSEEN) {
                if (words[2] > WIRE_MAX_MARK)
                        return 0;
                n_words += (words[2] + 7) / 8;
        }
        return n_words <= n ? (uint32_t)n_words : 0;
}
