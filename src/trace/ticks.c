/* SPDX-License-Identifier: MIT */
#include "trace/ticks.h"

#include <stdlib.h>

#include "base/macros.h"

enum {
        TICK_TIMES,
        TICK_THREADS,
        TICK_STACKS,
        TICK_KINDS, /* state | n_samples << 2 */
        TICK_WEIGHTS,
        TICK_N_COLUMNS,
        TICK_STATE_BITS = 2,
};

/* ---- writing --------------------------------------------------------------------------------- */

static int compare_ticks(const void *a, const void *b) {
        const struct trace_tick *x = a, *y = b;

        if (x->time_ns != y->time_ns)
                return x->time_ns < y->time_ns ? -1 : 1;
        if (x->thread != y->thread)
                return x->thread < y->thread ? -1 : 1;
        if (x->state != y->state)
                return x->state < y->state ? -1 : 1;
        return x->stack < y->stack ? -1 : x->stack > y->stack;
}

static void append_span(struct trace_packer *p, bytes_buf *out, const struct trace_tick *rows,
                        size_t n, bool is_merged, uint64_t begin_us, uint64_t end_us) {
        uint8_t head[TRACE_TICK_HEAD_BYTES] = {0};
        bytes_buf columns[TICK_N_COLUMNS] = {0}, body = {0};
        uint64_t last_us = begin_us, last_weight_ns = 0;

        for (size_t i = 0; i < n; i++) {
                uint64_t time_us = rows[i].time_ns / 1000;

                buf_varint(&columns[TICK_TIMES], time_us - last_us);
                buf_varint(&columns[TICK_THREADS], rows[i].thread);
                buf_varint(&columns[TICK_STACKS], rows[i].stack);
                buf_varint(&columns[TICK_KINDS],
                           (uint64_t)rows[i].n_samples << TICK_STATE_BITS | rows[i].state);
                buf_varint(&columns[TICK_WEIGHTS],
                           bytes_zigzag((int64_t)(rows[i].weight_ns - last_weight_ns)));
                last_us = time_us;
                last_weight_ns = rows[i].weight_ns;
        }
        for (size_t i = 0; i < TICK_N_COLUMNS; i++) {
                buf_varint(&body, columns[i].n);
                buf_bytes(&body, columns[i].items, columns[i].n);
                vec_free(&columns[i]);
        }
        buf_put_le32(head, (uint32_t)n);
        buf_put_le32(head + 4, is_merged ? TRACE_TICK_MERGED : 0);
        buf_put_le64(head + 8, begin_us);
        buf_put_le64(head + 16, end_us);
        trace_chunk_append(p, out, TRACE_TICK, head, sizeof(head), body.items, body.n, n);
        vec_free(&body);
}

void trace_append_ticks(struct trace_packer *p, bytes_buf *out, trace_tick_vec *rows,
                        bool is_merged, uint64_t begin_us, uint64_t end_us) {
        if (rows->n)
                qsort(rows->items, rows->n, sizeof(rows->items[0]), compare_ticks);
        for (size_t i = 0; i < rows->n; i += TRACE_MAX_SPAN_TICKS) {
                size_t n = MIN(rows->n - i, (size_t)TRACE_MAX_SPAN_TICKS);

                append_span(p, out, rows->items + i, n, is_merged,
                            is_merged ? begin_us : rows->items[i].time_ns / 1000,
                            is_merged ? end_us : rows->items[i + n - 1].time_ns / 1000 + 1);
        }
        vec_clear(rows);
}

/* ---- reading --------------------------------------------------------------------------------- */

bool trace_tick_span_of(const struct trace_chunk *c, struct trace_tick_span *ret) {
        uint64_t begin_us = bytes_le64(c->head + 8), end_us = bytes_le64(c->head + 16);

        if (c->head_bytes != TRACE_TICK_HEAD_BYTES || begin_us >= end_us ||
            end_us > UINT64_MAX / 1000 || bytes_le32(c->head) > TRACE_MAX_SPAN_TICKS)
                return false;
        *ret = (struct trace_tick_span){.begin_ns = begin_us * 1000,
                                        .end_ns = end_us * 1000,
                                        .n = bytes_le32(c->head),
                                        .is_merged = bytes_le32(c->head + 4) & TRACE_TICK_MERGED};
        return true;
}

static bool decode_tick(struct bytes_reader *columns, uint64_t end_us, uint64_t *last_us,
                        uint64_t *last_weight_ns, struct trace_tick *ret) {
        uint64_t step_us = bytes_varint(&columns[TICK_TIMES]);
        uint64_t thread = bytes_varint(&columns[TICK_THREADS]);
        uint64_t stack = bytes_varint(&columns[TICK_STACKS]);
        uint64_t kind = bytes_varint(&columns[TICK_KINDS]);
        uint64_t n_samples = kind >> TICK_STATE_BITS;

        if (step_us >= end_us - *last_us)
                return false;
        *last_us += step_us;
        *last_weight_ns += (uint64_t)bytes_unzigzag(bytes_varint(&columns[TICK_WEIGHTS]));
        *ret = (struct trace_tick){.time_ns = *last_us * 1000,
                                   .weight_ns = *last_weight_ns,
                                   .thread = (uint32_t)thread,
                                   .stack = (uint32_t)stack,
                                   .n_samples = (uint32_t)n_samples,
                                   .state = kind & ((1 << TICK_STATE_BITS) - 1)};
        return thread == ret->thread && stack == ret->stack && n_samples <= UINT32_MAX &&
               ret->state < TRACE_N_TICK_STATES && *last_weight_ns <= TRACE_TICK_MAX_NS;
}

int trace_decode_ticks(const struct trace_body *b, const struct trace_tick_span *span,
                       size_t n_threads, size_t n_stacks, trace_tick_vec *ret) {
        struct bytes_reader r = bytes_reader_of(b->raw.items, b->raw.n), columns[TICK_N_COLUMNS];
        uint64_t last_us = span->begin_ns / 1000, last_weight_ns = 0;

        vec_clear(ret);
        for (size_t i = 0; i < TICK_N_COLUMNS; i++) {
                uint64_t n = bytes_varint(&r);
                const uint8_t *p = n <= bytes_left(&r) ? bytes_take(&r, (size_t)n) : NULL;

                if (!p)
                        return TRACE_E_BAD_PAYLOAD;
                columns[i] = bytes_reader_of(p, (size_t)n);
        }
        if (r.bad || bytes_left(&r))
                return TRACE_E_BAD_PAYLOAD;
        vec_reserve(ret, MIN((size_t)span->n, b->raw.n));
        for (uint32_t i = 0; i < span->n; i++) {
                struct trace_tick tick;

                if (!decode_tick(columns, span->end_ns / 1000, &last_us, &last_weight_ns, &tick) ||
                    columns[TICK_WEIGHTS].bad || tick.thread >= n_threads || tick.stack >= n_stacks)
                        return TRACE_E_BAD_PAYLOAD;
                vec_push(ret, tick);
        }
        for (size_t i = 0; i < TICK_N_COLUMNS; i++)
                if (columns[i].bad || bytes_left(&columns[i]))
                        return TRACE_E_BAD_PAYLOAD;
        return 0;
}

/* ---- merging --------------------------------------------------------------------------------- */

void trace_merge_ticks(trace_tick_vec *rows, uint64_t begin_us) {
        size_t n = 0;

        for (size_t i = 0; i < rows->n; i++)
                rows->items[i].time_ns = begin_us * 1000;
        if (rows->n)
                qsort(rows->items, rows->n, sizeof(rows->items[0]), compare_ticks);
        for (size_t i = 0; i < rows->n; i++) {
                struct trace_tick *last = n ? &rows->items[n - 1] : NULL, *tick = &rows->items[i];

                if (last && last->thread == tick->thread && last->state == tick->state &&
                    last->stack == tick->stack &&
                    last->weight_ns + tick->weight_ns <= TRACE_TICK_MAX_NS &&
                    last->n_samples <= UINT32_MAX - tick->n_samples) {
                        last->weight_ns += tick->weight_ns;
                        last->n_samples += tick->n_samples;
                } else
                        rows->items[n++] = *tick;
        }
        rows->n = n;
}
