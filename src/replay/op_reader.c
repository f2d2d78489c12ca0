/* SPDX-License-Identifier: MIT */
#include "replay/op_reader.h"

#include <errno.h>
#include <string.h>

/* Has n bytes in the buffer if the stream has so many left. */
static size_t want(struct op_reader *r, size_t n) {
        if (r->n - r->pos >= n)
                return r->n - r->pos;
        memmove(r->buf, r->buf + r->pos, r->n - r->pos);
        r->n -= r->pos;
        r->pos = 0;
        while (r->n < n) {
                ssize_t got = r->fill(r->ctx, r->buf + r->n, r->cap - r->n);

                if (got <= 0) {
                        r->fill_result = (int)got;
                        break;
                }
                r->n += (size_t)got;
        }
        return r->n;
}

/* False: there is none, or it is longer than 64 bits. */
static bool take_number(struct op_reader *r, uint64_t *ret) {
        uint64_t v = 0;

        for (unsigned shift = 0; shift < 64 && r->pos < r->n; shift += 7) {
                uint8_t b = r->buf[r->pos++];

                if (shift == 63 && b > 1)
                        return false;
                v |= (uint64_t)(b & 0x7f) << shift;
                if (!(b & 0x80)) {
                        *ret = v;
                        return true;
                }
        }
        return false;
}

static bool take_slot(struct op_reader *r, struct op *op) {
        uint64_t v;

        if (!take_number(r, &v) || v > r->n_slots || v >= OP_MAX_SLOTS)
                return false;
        if (v == r->n_slots) {
                if (op->tag != OP_ALLOC && op->tag != OP_ALLOC_PART)
                        return false;
                r->n_slots++;
        }
        op->slot = (uint32_t)v;
        r->n_ops++;
        return true;
}

static bool take_size(struct op_reader *r, struct op *op) {
        if (!take_number(r, &op->size_bytes) || op->size_bytes > OP_MAX_BLOCK_BYTES)
                return false;
        op->touched_bytes = op->size_bytes;
        if (op->tag == OP_ALLOC)
                return true;
        return take_number(r, &op->touched_bytes) && op->touched_bytes <= op->size_bytes;
}

static bool take_thread(struct op_reader *r, struct op *op) {
        uint64_t v;
        bool ok = take_number(r, &v) && v < OP_MAX_THREADS;

        if (ok && op->tag == OP_THREAD) {
                ok = v <= r->n_threads;
                r->n_threads += ok && v == r->n_threads;
                r->thread = (uint32_t)v;
        } else {
                ok = ok && v < r->n_threads && v != r->thread && v != 0;
        }
        op->thread = (uint32_t)v;
        return ok;
}

static bool take_time(struct op_reader *r, struct op *op) {
        if (!take_number(r, &op->time_us) || op->time_us > OP_MAX_TIME_US ||
            r->time_us + op->time_us > OP_MAX_TIME_US)
                return false;
        r->time_us += op->time_us;
        return true;
}

static bool take_fields(struct op_reader *r, struct op *op) {
        switch (op->tag) {
        case OP_END:
                r->has_ended = true;
                return take_number(r, &op->n_ops) && op->n_ops == r->n_ops;
        case OP_THREAD:
        case OP_THREAD_END: return take_thread(r, op);
        case OP_TIME: return take_time(r, op);
        case OP_FREE: return take_slot(r, op);
        case OP_ALLOC:
        case OP_ALLOC_PART:
        case OP_REALLOC: return take_slot(r, op) && take_size(r, op);
        case OP_N_TAGS: break;
        }
        return false;
}

/* The first bytes name the stream. */
static bool begin(struct op_reader *r) {
        if (want(r, OP_STREAM_MAGIC_BYTES) < OP_STREAM_MAGIC_BYTES ||
            memcmp(r->buf, OP_STREAM_MAGIC, OP_STREAM_MAGIC_BYTES) != 0)
                return false;
        r->pos = OP_STREAM_MAGIC_BYTES;
        r->n_threads = 1;
        r->has_begun = true;
        return true;
}

int op_reader_next(struct op_reader *r, struct op *ret) {
        if (r->has_ended)
                return 0;
        *ret = (struct op){.tag = OP_END};
        if ((!r->has_begun && !begin(r)) || want(r, OP_MAX_BYTES) == 0)
                return r->fill_result < 0 ? r->fill_result : -EBADMSG;
        ret->tag = (enum op_tag)r->buf[r->pos++];
        if (ret->tag >= OP_N_TAGS || !take_fields(r, ret))
                return r->fill_result < 0 ? r->fill_result : -EBADMSG;
        return ret->tag == OP_END ? 0 : 1;
}
