/* SPDX-License-Identifier: MIT */
/* What a program did when allocations were made to fail: which call path, and what came next. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct run_options;

struct fail_words {
        const struct run_options *options;
        bool has_ended;
        int wait_status;
};

/* For struct run_stage. */
void fail_words_ended(void *words, int wait_status, uint64_t max_rss_bytes);
void fail_words_say(void *words, const char *trace_path);
