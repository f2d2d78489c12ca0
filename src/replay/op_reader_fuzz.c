/* SPDX-License-Identifier: MIT */
/* Any bytes as an op stream: no crash, no read beyond what is there, and every operation that is let through keeps the rules. The first byte says how
 * many bytes come at a time.
 *
 * seeds: src/replay/op_reader_seeds
 * covers: src/replay/op_reader.c */
#include <stdlib.h>
#include <string.h>

#include "base/macros.h"
#include "replay/op_reader.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

struct source {
        const uint8_t *at, *end;
        size_t step;
};

static ssize_t fill(void *ctx, uint8_t *to, size_t cap) {
        struct source *s = ctx;
        size_t n = MIN(MIN(cap, s->step), (size_t)(s->end - s->at));

        memcpy(to, s->at, n);
        s->at += n;
        return (ssize_t)n;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
        uint8_t buf[OP_MAX_BYTES + 9];
        struct source s = {data + MIN(n, 1u), data + n, n ? (size_t)data[0] + 1 : 1};
        struct op_reader r = {.fill = fill, .ctx = &s, .buf = buf, .cap = sizeof(buf)};
        uint64_t n_ops = 0;
        struct op op;
        int result;

        while ((result = op_reader_next(&r, &op)) > 0) {
                n_ops += op.tag >= OP_ALLOC;
                if (op.tag >= OP_N_TAGS || op.touched_bytes > op.size_bytes ||
                    op.size_bytes > OP_MAX_BLOCK_BYTES ||
                    (op.tag >= OP_ALLOC && op.slot >= r.n_slots) || op.thread >= r.n_threads ||
                    r.time_us > OP_MAX_TIME_US)
                        abort();
        }
        if (result == 0 && n_ops != r.n_ops)
                abort();
        return 0;
}
