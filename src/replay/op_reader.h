/* SPDX-License-Identifier: MIT */
/* Reads an op stream from anywhere, believing nothing. No memory but what it is given: it is part of silt-replay. Inside replay/ only.
 *
 *   struct op_reader r = {.fill = from_socket, .buf = buf, .cap = sizeof(buf)};
 *   while ((n = op_reader_next(&r, &op)) > 0)
 *           carry_out(&op); */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "replay/op_stream.h"

/* Bytes read, 0 at the end, or -errno. */
typedef ssize_t (*op_fill_fn)(void *ctx, uint8_t *to, size_t cap);

struct op_reader {
        op_fill_fn fill;
        void *ctx;
        uint8_t *buf;
        size_t cap; /* at least OP_MAX_BYTES */
        size_t pos, n;
        int fill_result; /* 0 or -errno of the last fill that gave nothing */
        bool has_begun, has_ended;
        uint32_t n_slots, n_threads; /* seen so far; thread 0 is there from the start */
        uint32_t thread;             /* whose turn it is */
        uint64_t n_ops, time_us;     /* so far */
};

/* 1 and an operation that keeps the rules, as far as they are about numbers; 0 behind the end; -EBADMSG: it breaks one, or stops before its end; or what
 * fill said. */
int op_reader_next(struct op_reader *r, struct op *ret);
