/* SPDX-License-Identifier: MIT */
#include "trace/moves_codec.h"

#include <stdlib.h>

#include "trace/format.h"

bool trace_move_is_zero(const struct trace_move *m) {
        return !(m->n_foreign_frees | m->foreign_bytes | m->n_grown | m->copied_bytes |
                 m->grown_bytes | m->n_shrunk | m->in_place_bytes);
}

void trace_move_add(struct trace_move *to, const struct trace_move *m) {
        to->n_foreign_frees += m->n_foreign_frees;
        to->foreign_bytes += m->foreign_bytes;
        to->n_grown += m->n_grown;
        to->copied_bytes += m->copied_bytes;
        to->grown_bytes += m->grown_bytes;
        to->n_shrunk += m->n_shrunk;
        to->in_place_bytes += m->in_place_bytes;
}

static int moves_compare(const void *a, const void *b) {
        const struct trace_move *x = a, *y = b;

        if (x->process != y->process)
                return x->process < y->process ? -1 : 1;
        return x->stack < y->stack ? -1 : x->stack > y->stack;
}

static void move_put_key(bytes_buf *out, const struct trace_move *m,
                         const struct trace_move *before) {
        uint32_t process = before ? before->process : 0;
        uint64_t next_stack = before ? (uint64_t)before->stack + 1 : 0;

        if (m->process == process) {
                buf_varint(out, (m->stack - next_stack) * 2);
        } else {
                buf_varint(out, (uint64_t)m->stack * 2 + 1);
                buf_varint(out, m->process - process - 1);
        }
}

static void move_put(bytes_buf *out, const struct trace_move *m) {
        const uint64_t fields[TRACE_N_MOVE_FIELDS] = {
                m->n_foreign_frees, m->foreign_bytes, m->n_grown,        m->copied_bytes,
                m->grown_bytes,     m->n_shrunk,      m->in_place_bytes,
        };
        unsigned used = 0;

        for (unsigned i = 0; i < TRACE_N_MOVE_FIELDS; i++)
                used |= (unsigned)(fields[i] != 0) << i;
        buf_varint(out, used);
        for (unsigned i = 0; i < TRACE_N_MOVE_FIELDS; i++)
                if (fields[i])
                        buf_varint(out, fields[i]);
}

void trace_encode_moves(bytes_buf *out, const struct trace_move *moves, size_t n) {
        trace_move_vec sorted = {0};

        vec_reserve(&sorted, n);
        for (size_t i = 0; i < n; i++)
                sorted.items[sorted.n++] = moves[i];
        if (n)
                qsort(sorted.items, n, sizeof(sorted.items[0]), moves_compare);
        for (size_t i = 0; i < n; i++) {
                move_put_key(out, &sorted.items[i], i ? &sorted.items[i - 1] : NULL);
                move_put(out, &sorted.items[i]);
        }
        vec_free(&sorted);
}
