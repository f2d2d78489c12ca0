/* SPDX-License-Identifier: MIT */
/* An allocation that failed, or that silt made fail, as a note of the trace: a sentence for people, with what readers need in it. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct trace_fail {
        uint32_t pid;
        uint64_t
                number; /* made to fail: of the program's allocations in this image, from 1; 0: it failed by itself */
        uint64_t size_bytes;
        uint32_t stack; /* of the trace; 0: not known */
};

enum { TRACE_FAIL_CAP = 192 };

void trace_fail_write(const struct trace_fail *f, char ret[static TRACE_FAIL_CAP]);
/* False: the note is another one. */
bool trace_fail_parse(const char *note, struct trace_fail *ret);
