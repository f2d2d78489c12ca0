/* SPDX-License-Identifier: MIT */
/* The arena of wire/layout.h as the recorder makes it: a memory file, sized and sealed against
 * shrinking, its pages allocated before a target may touch them, so that neither a file-size limit
 * nor full memory can kill a target through it. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "wire/layout.h"

struct shm {
        int fd; /* owned */
        void *base;
        size_t size_bytes;
        uint64_t process_off, slot_off,
                chunk_off;        /* not to be read from the header, which targets can write */
        uint32_t n_chunks_backed; /* chunks [0, n) have memory */
};

/* flags: enum wire_flags. clock: enum wire_clock. */
int shm_open_arena(struct shm *s, uint32_t flags, uint32_t clock, uint64_t clock_base,
                   struct err *reterr);
/* Before anybody maps it: with WIRE_SAMPLED among its flags, samples are so many bytes apart in the mean. */
void shm_set_sampling(struct shm *s, uint64_t sample_bytes);

void shm_done(struct shm *s);

/* Backs chunks [0, n_chunks) with memory; 0 or -errno (then fewer chunks are lent). */
int shm_back_chunks(struct shm *s, uint32_t n_chunks);

static inline struct wire_header *shm_header(const struct shm *s) {
        return s->base;
}

static inline struct wire_process *shm_process(const struct shm *s, uint32_t idx) {
        return (struct wire_process *)((char *)s->base + s->process_off) + idx;
}

static inline struct wire_slot *shm_slot(const struct shm *s, uint32_t idx) {
        return (struct wire_slot *)((char *)s->base + s->slot_off) + idx;
}

/* Ends recording in every process at once and lets waiting threads go. Also called by the supervisor when
 * the recorder died: nothing but this word tells a target. */
void shm_stop_recording(const struct shm *s);
