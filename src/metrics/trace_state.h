/* SPDX-License-Identifier: MIT */
/* Whether a trace that is followed is still being written, and whether it can be. Inside metrics/ only. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* Zeroed before the first look. */
struct trace_state {
        uint64_t end_ns;     /* of the recording, as it was seen last */
        uint64_t changed_ns; /* monotonic: when it was found to be another one; 0: never looked */
};

/* How long ago it was written, as far as one can tell: a recorder writes every second or two, whatever the program does. end_ns: of what was read of it. */
double trace_state_age(struct trace_state *s, const char *path, uint64_t end_ns);
/* What its file system has room for. False: it does not say. */
bool trace_state_room(const char *path, uint64_t *ret_bytes);
