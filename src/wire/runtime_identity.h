/* SPDX-License-Identifier: MIT */
/* By which silt knows a runtime that it can talk to, in its file and in a process's memory, before anything is entered. It lies once in libsilt.so, in what
 * is only read. */
#pragma once

#include <stdint.h>

#define WIRE_IDENTITY_MARK "silt runtime \1\2\3" /* 16 bytes, and the mark's own end */

struct wire_identity {
        char mark[16];
        uint64_t layouts; /* WIRE_IDENTITY: a number made of these headers when silt was built */
};

_Static_assert(sizeof(WIRE_IDENTITY_MARK) == 17, "the mark fills its place");
_Static_assert(sizeof(struct wire_identity) == 24, "both sides must agree on the layout");
