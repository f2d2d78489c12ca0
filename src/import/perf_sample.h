/* SPDX-License-Identifier: MIT */
/* What a sample of perf's carries. Inside import/ only. */
#pragma once

#include "import/perf_file.h"

struct perf_sample {
        uint64_t ip, period; /* period: 0 unknown */
        uint32_t pid, tid;
        const uint8_t *chain; /* innermost first, with marks within */
        uint64_t n_chain;
        const uint8_t *regs; /* of the program, those of the event's mask; NULL: none */
        const uint8_t *stack;
        uint64_t n_stack_bytes;
        bool is_in_kernel; /* as it says; its ip is */
};

/* False: it is cut off. */
bool perf_sample_parse(const struct perf_event *e, const struct perf_record *r,
                       struct perf_sample *ret);
