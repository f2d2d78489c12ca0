/* SPDX-License-Identifier: MIT */
/* Operations on their way from silt to silt-replay (docs/whatif.md, "Op stream"). Inside replay/ only. */
#pragma once

#include <stdint.h>

#define OP_STREAM_MAGIC "SILTOPS1"

enum {
        OP_STREAM_MAGIC_BYTES = 8,
        OP_MAX_BYTES = 1 + 3 * 10, /* of one operation: a tag and at most three numbers */
        OP_MAX_SLOTS = 1 << 30,
        OP_MAX_THREADS = 1 << 22,
};
/* What no program can have: a request, and a time. */
#define OP_MAX_BLOCK_BYTES (1ull << 47)
#define OP_MAX_TIME_US (1ull << 52)

/* Numbers stand in the stream. */
enum op_tag {
        OP_END = 0,
        OP_THREAD = 1,
        OP_THREAD_END = 2,
        OP_TIME = 3,
        OP_ALLOC = 4,
        OP_ALLOC_PART = 5,
        OP_FREE = 6,
        OP_REALLOC = 7,
        OP_N_TAGS,
};

struct op {
        enum op_tag tag;
        uint32_t thread; /* THREAD, THREAD_END */
        uint32_t slot;
        uint64_t size_bytes;
        uint64_t touched_bytes; /* at most size_bytes; of ALLOC all of them */
        uint64_t time_us;       /* TIME: since the one before */
        uint64_t n_ops;         /* END */
};
