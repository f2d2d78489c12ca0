/* SPDX-License-Identifier: MIT */
/* What silt-replay says when it is through; and how it is told what to do. Inside replay/ only. */
#pragma once

#include <stdint.h>

#define REPLAY_RESULT_MAGIC 0x31544c5541544c52ull

enum { REPLAY_N_COLUMNS = 480, REPLAY_FD = 3 };

/* Why it ended. Numbers go from one program to the other, of one build. */
enum replay_status {
        REPLAY_DONE = 0,
        REPLAY_NO_MEMORY = 1,  /* the allocator returned NULL */
        REPLAY_NO_THREAD = 2,  /* one could not be started; error is errno */
        REPLAY_BAD_STREAM = 3, /* the operations contradict each other */
        REPLAY_NO_TABLES = 4,  /* no memory for its own tables */
        REPLAY_BAD_BLOCK = 5,  /* the allocator handed out what cannot be written */
        REPLAY_N_STATUS,
};

/* A stretch of the recording's time, all equally long. */
struct replay_column {
        uint64_t max_bytes, last_bytes; /* anonymous memory resident; at the looks in it */
        uint64_t max_live_bytes;
        uint64_t n_looks; /* 0: nothing happened in it */
};

struct replay_result {
        uint64_t magic;
        uint32_t status, error;
        uint64_t n_ops, n_allocs, n_frees, n_reallocs;
        uint64_t live_bytes, live_blocks, peak_live_bytes, peak_live_blocks;
        /* anonymous memory resident: before the first operation, at most, behind the last one */
        uint64_t begin_bytes, peak_bytes, end_bytes;
        uint64_t peak_us; /* of the recording, when it was most */
        uint64_t
                own_bytes; /* of its tables, stacks and buffers at the end: shared, not in the others */
        uint64_t n_faults, cpu_ns, wall_ns, look_ns;
        uint64_t n_looks, n_trims;
        char module[256]; /* the file that malloc is in */
        char version[32]; /* as the allocator says it; "" unknown */
        struct replay_column columns[REPLAY_N_COLUMNS];
};
