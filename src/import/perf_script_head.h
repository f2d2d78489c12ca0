/* SPDX-License-Identifier: MIT */
/* The lines of `perf script` that begin something. Inside import/ only. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "import/import_ticks.h"

struct text_part {
        const char *text;
        size_t n;
};

/* The first line of a sample, or the line of another record (--show-task-events and its like). */
struct script_head {
        struct text_part command, event;
        struct import_task task; /* pid 0: only the thread is told */
        bool has_pid, has_task, has_period, is_record;
        uint64_t time_ns, period;
        const char *rest;
};

/* Parts point into the line. False: the line is none. */
bool perf_script_head_parse(const char *line, struct script_head *ret);
const char *perf_script_skip_blanks(const char *text);

#define PERF_SCRIPT_MAX_NS ((uint64_t)1 << 62)
