/* SPDX-License-Identifier: MIT */
/* What the command line of `silt report` asks for. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct report_options {
        const char *path;
        const char *metric; /* one of METRICS in the manual; NULL: peak */
        uint64_t from_ns;   /* window [from_ns, to_ns) */
        uint64_t to_ns;     /* UINT64_MAX: to the end */
        uint64_t pid;       /* 0: the main process */
        uint32_t n_top;
        bool all_processes;
        bool json;
        bool blocks;
        bool full;
};
