/* SPDX-License-Identifier: MIT */
/* One block of LZ4, as others than liblz4 write it: it may end in a match, which liblz4 refuses, since its own encoder ends in five literals. Inside import/ only. */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* How many bytes it unpacked to; -1: the bytes are no such block, or want more than cap. */
ssize_t lz4_block_unpack(const uint8_t *packed, size_t n, uint8_t *to, size_t cap);
