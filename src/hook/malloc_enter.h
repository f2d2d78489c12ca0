/* SPDX-License-Identifier: MIT */
/* Where malloc_enter.S goes on: tail calls, so the caller of each is the hook's. */
#pragma once

#include <stddef.h>

#include "wire/signal_point.h"

#pragma GCC visibility push(hidden)

/* RECORDING; any other phase, or something unusual. */
void *malloc_exact(size_t size_bytes);
void *malloc_slow(size_t size_bytes);
void free_exact(void *block);
void free_slow(void *block);

/* The same for operator new and delete. */
void *new_slow(size_t size_bytes);
void *new_chosen(size_t size_bytes);
void *new_failed(size_t size_bytes);
void *new_array_slow(size_t size_bytes);
void *new_array_chosen(size_t size_bytes);
void *new_array_failed(size_t size_bytes);
void delete_slow(void *block);
void delete_array_slow(void *block);
void delete_sized_slow(void *block, size_t size_bytes);
void delete_array_sized_slow(void *block, size_t size_bytes);

/* Not known yet what the real function is, or a block of the early arena. */
size_t usable_size_slow(void *block);

/* Not counted yet, and thread_tally taken: the block is one to record. */
void *malloc_chosen(size_t size_bytes);

/* Counted, but the real malloc returned NULL. */
void *malloc_failed(size_t size_bytes);

extern const char malloc_enter_begin[], malloc_enter_end[]; /* of its code */

#if SILT_SIGNAL_POINTS
void malloc_enter_point(const char *label);
#endif

#pragma GCC visibility pop
