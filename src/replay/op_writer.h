/* SPDX-License-Identifier: MIT */
/* Writes an op stream into a buffer that its owner empties. Inside replay/ only. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "replay/op_stream.h"

struct op_writer {
        uint8_t buf[65536];
        size_t n;
        uint64_t n_ops;
};

void op_writer_begin(struct op_writer *w);
/* True: it is time to empty the buffer (n = 0). END says how many there were by itself. */
bool op_writer_put(struct op_writer *w, const struct op *op);
