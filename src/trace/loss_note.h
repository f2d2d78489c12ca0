/* SPDX-License-Identifier: MIT */
/* What memcheck says of blocks that were in use at exit, in a trace that was imported from it: there is no graph from which the
 * classes could be found. Each is a note of its own form, "loss CLASS BYTES BLOCKS INDIRECT STACK: …" or "loss sum CLASS BYTES BLOCKS: …". */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { LOSS_NO_STACK = 0 };

struct trace_loss {
        uint32_t class
                ; /* as reach/leak_classes.h numbers them: 0 reachable, 1 possible, 2 indirect, 3 definite */
        bool is_sum;             /* of the class, blocks without a record included */
        uint64_t bytes, blocks;  /* its own */
        uint64_t indirect_bytes; /* definitely lost: what is lost with them */
        uint32_t stack;          /* LOSS_NO_STACK: unknown */
};

/* False: the note is none. */
bool trace_loss_parse(const char *note, struct trace_loss *ret);
void trace_loss_write(const struct trace_loss *l, char *ret, size_t cap);
