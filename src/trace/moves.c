/* SPDX-License-Identifier: MIT */
#include "trace/moves.h"

#include <stdlib.h>

#include "trace/errors.h"
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

/* ---- writing --------------------------------------------------------------------------------- */

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

/* ---- reading --------------------------------------------------------------------------------- */

static bool move_get_key(struct bytes_reader *r, struct trace_move *m,
                         const struct trace_move *before) {
        uint64_t key = bytes_varint(r), process = before ? before->process : 0, stack = key >> 1;

        if (key & 1)
                process += 1 + bytes_varint(r);
        else
                stack += before ? (uint64_t)before->stack + 1 : 0;
        m->process = (uint32_t)process;
        m->stack = (uint32_t)stack;
        return process <= UINT32_MAX && stack <= UINT32_MAX;
}

static bool move_get(struct bytes_reader *r, struct trace_move *m) {
        uint64_t used = bytes_varint(r), fields[TRACE_N_MOVE_FIELDS] = {0};

        if (!used || used >> TRACE_N_MOVE_FIELDS)
                return false;
        for (unsigned i = 0; i < TRACE_N_MOVE_FIELDS; i++)
                if (used >> i & 1)
                        fields[i] = bytes_varint(r);
        m->n_foreign_frees = fields[0];
        m->foreign_bytes = fields[1];
        m->n_grown = fields[2];
        m->copied_bytes = fields[3];
        m->grown_bytes = fields[4];
        m->n_shrunk = fields[5];
        m->in_place_bytes = fields[6];
        return !r->bad;
}

int trace_decode_moves(struct bytes_reader *r, size_t n, size_t n_processes, size_t n_stacks,
                       trace_move_vec *ret) {
        vec_clear(ret);
        for (size_t i = 0; i < n; i++) {
                struct trace_move *m = vec_add(ret);

                if (!move_get_key(r, m, i ? m - 1 : NULL) || !move_get(r, m))
                        return TRACE_E_BAD_PAYLOAD;
                if (m->process >= n_processes || m->stack >= n_stacks)
                        return TRACE_E_BAD_ID;
        }
        return bytes_left(r) ? TRACE_E_BAD_PAYLOAD : 0;
}
