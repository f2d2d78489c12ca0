/* SPDX-License-Identifier: MIT */
/* What an allocator really sets aside for a block: by its documented size classes, not by looking into it. */
#pragma once

#include <stdint.h>

enum size_model { SIZE_UNKNOWN, SIZE_GLIBC, SIZE_JEMALLOC, SIZE_MIMALLOC, SIZE_TCMALLOC };

/* "jemalloc", "glibc", "" … as recordings name allocators. */
enum size_model size_model_of(const char *allocator);

const char *size_model_name(enum size_model model); /* as people call it; "" of SIZE_UNKNOWN */

/* Where the room of a block begins and ends: [address − header, address − header + room). */
struct size_room {
        uint64_t header_bytes, room_bytes;
};
struct size_room size_room_of(enum size_model model, uint64_t address, uint64_t size_bytes,
                              uint64_t page_bytes);
