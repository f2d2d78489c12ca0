/* SPDX-License-Identifier: MIT */
/* Words of a stack: of a copy, whose thread has run on since, or of the process itself where its thread stands still. Inside remote/ only. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/types.h>

enum { REMOTE_PAGE_BYTES = 4096 };

struct remote_memory {
        pid_t pid;
        uint64_t begin, n_bytes; /* of the copy; 0: there is none */
        const uint8_t *bytes;

        bool is_cut; /* a word was asked for that the copy does not have, or the process no more */
        uint64_t page_begin; /* read from the process last */
        uint32_t n_page_bytes;
        uint8_t page[REMOTE_PAGE_BYTES];
};

void remote_memory_init(struct remote_memory *m, pid_t pid, uint64_t begin, const uint8_t *bytes,
                        size_t n_bytes);

/* Of the process as it is now, if there is no copy. Behind the end of one nothing is read: no word of the copy tells that the callers are
 * still the same, since a loop that calls from elsewhere puts equal words into the same places. */
bool remote_memory_beyond(struct remote_memory *m, uint64_t addr, uint64_t *ret);

static inline bool remote_memory_word(struct remote_memory *m, uint64_t addr, uint64_t *ret) {
        if (addr - m->begin >= m->n_bytes || m->n_bytes - (addr - m->begin) < sizeof(*ret))
                return remote_memory_beyond(m, addr, ret);
        memcpy(ret, m->bytes + (addr - m->begin), sizeof(*ret));
        return true;
}

/* Bytes of the process as they are now, whatever the copy says. How many of them there are. */
size_t remote_memory_peek(const struct remote_memory *m, uint64_t addr, void *ret, size_t n_bytes);
