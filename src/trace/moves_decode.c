/* SPDX-License-Identifier: MIT */
#include "trace/errors.h"
#include "trace/format.h"
#include "trace/moves_codec.h"

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
