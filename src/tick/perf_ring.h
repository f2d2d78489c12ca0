/* SPDX-License-Identifier: MIT */
/* The ring of one CPU, which the kernel fills and silt reads. Records are looked at where they lie, and their room is given back
 * when the next one is asked for.
 * Call order: peek → use the bytes → advance → peek … */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct perf_ring {
        void *map; /* NULL: none */
        size_t map_bytes;
        const uint8_t *data;
        uint64_t n_bytes; /* a power of two */
        uint64_t head, tail;
        uint8_t *scratch;  /* for a record that goes over the end */
        uint64_t n_broken; /* times that what is in it made no sense, and was left out */
};

/* 2^n pages of data for the event fd. 0 or -errno; done takes one that never began. */
int perf_ring_init(struct perf_ring *r, int fd, size_t data_bytes);
void perf_ring_done(struct perf_ring *r);

/* From now on what the kernel has written until now is there to be read. */
void perf_ring_refresh(struct perf_ring *r);
/* The next record, whole; false: none. It stays until advance. */
bool perf_ring_peek(struct perf_ring *r, const uint8_t **ret_bytes, size_t *ret_n);
void perf_ring_advance(struct perf_ring *r, size_t n);
