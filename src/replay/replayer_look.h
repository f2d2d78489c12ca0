/* SPDX-License-Identifier: MIT */
/* What of this process is resident, seen by itself. Inside replay/ only. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "replay/replay_result.h"

struct look {
        struct replay_result *result;
        int statm_fd;
        uint64_t page_bytes;
        uint64_t duration_us; /* of the recording: all columns together */
        uint64_t time_us;     /* now */
        uint64_t asked_bytes; /* since the last look */
        uint64_t now_bytes;   /* at the last look */
        uint64_t began_ns;
        bool is_blind; /* without allocator: there is nothing to see */
};

/* 0 or -errno. */
int look_begin(struct look *l, struct replay_result *result);
/* The first and the last one. */
void look_first(struct look *l);
void look_last(struct look *l);
void look_now(struct look *l);
/* Memory was asked for: looks when so much was that a peak could be missed. */
void look_asked(struct look *l, uint64_t size_bytes);
/* Time went on; looks when another column begins. */
void look_time(struct look *l, uint64_t time_us);
/* When the column of that moment ends. */
uint64_t look_column_end_us(const struct look *l, uint64_t time_us);
