/* SPDX-License-Identifier: MIT */
/* The directory the cache lives in, and how much may be there. Inside symbol/ only. */
#pragma once

#include <stdint.h>

#include "base/macros.h"

/* XDG_CACHE_HOME/silt/symbols, made when missing. -errno when it would not be this user's own. */
int cache_dir_open(void);

/* SILT_SYMBOL_CACHE: a size, or "off"; 0: none. */
uint64_t cache_dir_max_bytes(void);

/* Removes the least recently used files until what is left fits, and what dead writers left. */
void cache_dir_trim(int dir_fd, uint64_t max_bytes);

/* Files that are being written begin so. */
#define CACHE_DIR_NEW "new-"
