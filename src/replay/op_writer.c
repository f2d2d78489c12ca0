/* SPDX-License-Identifier: MIT */
#include "replay/op_writer.h"

#include <string.h>

static void put_number(struct op_writer *w, uint64_t v) {
        for (; v >= 0x80; v >>= 7)
                w->buf[w->n++] = (uint8_t)(v | 0x80);
        w->buf[w->n++] = (uint8_t)v;
}

void op_writer_begin(struct op_writer *w) {
        memcpy(w->buf, OP_STREAM_MAGIC, OP_STREAM_MAGIC_BYTES);
        w->n = OP_STREAM_MAGIC_BYTES;
        w->n_ops = 0;
}

bool op_writer_put(struct op_writer *w, const struct op *op) {
        w->buf[w->n++] = (uint8_t)op->tag;
        switch (op->tag) {
        case OP_END: put_number(w, w->n_ops); break;
        case OP_THREAD:
        case OP_THREAD_END: put_number(w, op->thread); break;
        case OP_TIME: put_number(w, op->time_us); break;
        case OP_ALLOC:
        case OP_ALLOC_PART:
        case OP_FREE:
        case OP_REALLOC:
                w->n_ops++;
                put_number(w, op->slot);
                if (op->tag != OP_FREE)
                        put_number(w, op->size_bytes);
                if (op->tag == OP_ALLOC_PART || op->tag == OP_REALLOC)
                        put_number(w, op->touched_bytes);
                break;
        case OP_N_TAGS: break;
        }
        return w->n > sizeof(w->buf) - OP_MAX_BYTES;
}
