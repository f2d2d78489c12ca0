/* SPDX-License-Identifier: MIT */
/* Tables that are looked up at random places: from 2 MiB on they lie in large pages where the kernel has some. With small ones each
 * look-up also waits for its page's translation, and each page is a fault. */
#pragma once

#include <stddef.h>

/* Zeroed, and aligned to a cache line. Ends the program when there is no memory. */
void *large_calloc(size_t n_bytes);
/* n_bytes as it was asked for; NULL is nothing. */
void large_free(void *p, size_t n_bytes);
