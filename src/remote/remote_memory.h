/* SPDX-License-Identifier: MIT */
/* Words of a stack that was copied while its thread ran on. Inside remote/ only. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/types.h>

enum { REMOTE_PAGE_BYTES = 4096, REMOTE_NOTED_MAX = 8 };

struct remote_memory {
        pid_t pid;
        uint64_t begin, n_bytes; /* of the copy */
        const uint8_t *bytes;

        /* words of the copy that led outwards: the first ones, and the last, a ring. See is_unchanged */
        uint64_t first_at[REMOTE_NOTED_MAX], first[REMOTE_NOTED_MAX];
        uint64_t noted_at[REMOTE_NOTED_MAX], noted[REMOTE_NOTED_MAX];
        uint32_t n_noted;
        bool has_checked, is_same;
        bool is_doubtful; /* words were read that may be others than they were */

        bool is_cut; /* a word was asked for that the copy does not have, and the process no more */
        uint64_t page_begin; /* read from the process last */
        uint32_t n_page_bytes;
        uint8_t page[REMOTE_PAGE_BYTES];
};

void remote_memory_init(struct remote_memory *m, pid_t pid, uint64_t begin, const uint8_t *bytes,
                        size_t n_bytes);

/* Of the process as it is now, if it can be that it still is as the copy says. */
bool remote_memory_beyond(struct remote_memory *m, uint64_t addr, uint64_t *ret);

static inline bool remote_memory_word(struct remote_memory *m, uint64_t addr, uint64_t *ret) {
        if (addr - m->begin >= m->n_bytes || m->n_bytes - (addr - m->begin) < sizeof(*ret))
                return remote_memory_beyond(m, addr, ret);
        memcpy(ret, m->bytes + (addr - m->begin), sizeof(*ret));
        return true;
}

/* The walk goes on by the word at addr. */
static inline void remote_memory_note(struct remote_memory *m, uint64_t addr, uint64_t word) {
        uint32_t i = m->n_noted++ % REMOTE_NOTED_MAX;

        if (m->n_noted <= REMOTE_NOTED_MAX) {
                m->first_at[i] = addr;
                m->first[i] = word;
        }
        m->noted_at[i] = addr;
        m->noted[i] = word;
}

/* Bytes of the process as they are now, whatever the copy says. How many of them there are. */
size_t remote_memory_peek(const struct remote_memory *m, uint64_t addr, void *ret, size_t n_bytes);
