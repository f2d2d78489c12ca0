/* SPDX-License-Identifier: MIT */
/* Seeds for fuzzers: a trace with its bodies decompressed, so that a changed byte is a changed value. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* Rewrites the file, with or without an index, for the two ways of opening; the byte behind it is the fuzzer's choice
 * of what to do. Ends the program when it fails. */
void trace_make_plain(const char *path, bool has_index, uint8_t choice);
