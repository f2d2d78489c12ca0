/* SPDX-License-Identifier: MIT */
/* Decodes rows of moves by the document, works them out from the events, and compares. */
#include "verify/verify_state.h"

/* ---- from the events ------------------------------------------------------------------------- */

static struct verify_move *move_at(struct verify *v, uint32_t process, uint32_t stack) {
        bool added;
        uint64_t *place =
                map_put(&v->move_by_key, (uint64_t)process << 32 | stack, v->moves.n, &added);

        if (added) {
                struct verify_move *m = vec_add(&v->moves);

                m->row.process = m->events.process = process;
                m->row.stack = m->events.stack = m->exchanges.stack = stack;
        }
        return &v->moves.items[*place];
}

static struct verify_latest *latest_of(struct verify *v, uint32_t thread) {
        while (v->latest.n <= thread)
                vec_add(&v->latest);
        return &v->latest.items[thread];
}

void verify_moves_alloc(struct verify *v, uint32_t thread, uint32_t stack, uint64_t size_bytes) {
        *latest_of(v, thread) = (struct verify_latest){size_bytes, stack, true};
}

void verify_moves_realloc(struct verify *v, uint32_t thread, uint32_t stack,
                          uint64_t old_size_bytes, uint64_t size_bytes) {
        struct trace_move *m;

        latest_of(v, thread)->is_known = false;
        if (size_bytes <= old_size_bytes)
                return;
        m = &move_at(v, v->thread_process.items[thread], stack)->events;
        m->n_grown++;
        m->copied_bytes += old_size_bytes;
        m->grown_bytes += size_bytes;
}

/* m: the events' exchanges. None that belong to a release of many, but which do the events do not tell. */
static void moves_exchange(struct verify *v, struct trace_move *m, uint32_t thread,
                           uint64_t size_bytes) {
        struct verify_latest *l = latest_of(v, thread);

        if (!l->is_known || l->stack != m->stack || l->size_bytes == size_bytes)
                return;
        l->is_known = false;
        if (l->size_bytes < size_bytes) {
                m->n_shrunk++;
                return;
        }
        m->n_grown++;
        m->copied_bytes += size_bytes;
        m->grown_bytes += l->size_bytes;
}

void verify_moves_release(struct verify *v, uint32_t thread, uint32_t block_thread, uint32_t stack,
                          uint64_t size_bytes, bool is_free) {
        struct verify_move *m;

        if (block_thread == TRACE_NO_THREAD)
                return;
        m = move_at(v, v->thread_process.items[thread], stack);
        if (block_thread % TRACE_MOVE_THREADS != thread % TRACE_MOVE_THREADS) {
                m->events.n_foreign_frees++;
                m->events.foreign_bytes += size_bytes;
        }
        if (is_free)
                moves_exchange(v, &m->exchanges, thread, size_bytes);
}

void verify_moves_forget(struct verify *v, uint32_t thread) {
        latest_of(v, thread)->is_known = false;
}

/* ---- from the file --------------------------------------------------------------------------- */

static bool row_parse(struct verify *v, struct bytes_reader *r, uint64_t row, uint64_t *process,
                      uint64_t *next_stack) {
        uint64_t key = bytes_varint(r), stack = key / 2, used, f[TRACE_N_MOVE_FIELDS] = {0};

        if (key % 2)
                *process += 1 + bytes_varint(r);
        else
                stack += *next_stack;
        used = bytes_varint(r);
        for (unsigned i = 0; i < TRACE_N_MOVE_FIELDS; i++)
                if (used >> i & 1)
                        f[i] = bytes_varint(r);
        if (r->bad || !used || used >> TRACE_N_MOVE_FIELDS)
                return verify_bad(v, TRACE_E_BAD_PAYLOAD, "row %llu is not valid",
                                  (unsigned long long)row);
        if (*process >= v->processes.n || stack >= v->n_stacks)
                return verify_bad(v, TRACE_E_BAD_ID,
                                  "row %llu is of process %llu, stack %llu: not defined",
                                  (unsigned long long)row, (unsigned long long)*process,
                                  (unsigned long long)stack);
        *next_stack = stack + 1;
        move_at(v, (uint32_t)*process, (uint32_t)stack)->row =
                (struct trace_move){.process = (uint32_t)*process,
                                    .stack = (uint32_t)stack,
                                    .n_foreign_frees = f[0],
                                    .foreign_bytes = f[1],
                                    .n_grown = f[2],
                                    .copied_bytes = f[3],
                                    .grown_bytes = f[4],
                                    .n_shrunk = f[5],
                                    .in_place_bytes = f[6]};
        return true;
}

bool verify_move_chunk(struct verify *v) {
        struct bytes_reader r = bytes_reader_of(v->raw.items, v->raw.n);
        uint32_t n = bytes_le32(v->head + 4);
        uint64_t process = 0, next_stack = 0;

        if (v->head_bytes != TRACE_MOVE_HEAD_BYTES)
                return verify_bad(v, TRACE_E_BAD_PAYLOAD, "a head of %u bytes", v->head_bytes);
        if (n > v->stored_bytes)
                return verify_bad(v, TRACE_E_TOO_LARGE, "claims %u rows in %u bytes", n,
                                  v->stored_bytes);
        if (v->has_move || v->has_evts || bytes_le32(v->head) != v->n_slices)
                return verify_bad(v, TRACE_E_BAD_ORDER, "moves of slice %u do not belong here",
                                  bytes_le32(v->head));
        if (!v->knows_moves && v->n_slices)
                verify_bad(v, TRACE_E_BAD_ORDER,
                           "the first slice has no MOVE chunk, but this one has");
        v->has_move = v->knows_moves = true;
        for (uint32_t i = 0; i < n; i++)
                if (!row_parse(v, &r, i, &process, &next_stack))
                        return false;
        return !bytes_left(&r) ||
               verify_bad(v, TRACE_E_BAD_PAYLOAD, "%zu bytes are left over", bytes_left(&r));
}

/* ---- held against each other ----------------------------------------------------------------- */

static bool same(struct verify *v, const struct trace_move *m, const char *what, uint64_t row,
                 uint64_t implied) {
        if (row == implied)
                return true;
        return verify_bad(v, TRACE_E_BAD_ROW,
                          "moves of process %u stack %u: %s is %llu, should be %llu", m->process,
                          m->stack, what, (unsigned long long)row, (unsigned long long)implied);
}

/* Up to n_more of what the events imply may have been part of a release of many. */
static bool within(struct verify *v, const struct trace_move *m, const char *what, uint64_t row,
                   uint64_t implied, uint64_t n_more) {
        if (row < implied || row - implied > n_more)
                return same(v, m, what, row, row < implied ? implied : implied + n_more);
        return true;
}

static bool check_against_site(struct verify *v, const struct trace_move *m) {
        static const struct trace_site none;
        const struct trace_site *s = &none;
        uint64_t place;

        if (map_get(&v->site_by_key, (uint64_t)m->process << 32 | m->stack, &place))
                s = &v->sites.items[place].row;
        if (m->n_foreign_frees > s->n_frees || m->foreign_bytes > s->free_bytes)
                return verify_bad(
                        v, TRACE_E_BAD_ROW,
                        "moves of process %u stack %u: more frees by other threads than frees",
                        m->process, m->stack);
        if (m->grown_bytes < m->copied_bytes || m->grown_bytes - m->copied_bytes < m->n_grown ||
            m->in_place_bytes > m->copied_bytes)
                return verify_bad(v, TRACE_E_BAD_ROW,
                                  "moves of process %u stack %u: blocks that did not grow",
                                  m->process, m->stack);
        return true;
}

static void check_against_events(struct verify *v, const struct trace_move *m,
                                 const struct trace_move *e, const struct trace_move *x) {
        (void)(same(v, m, "n_foreign_frees", m->n_foreign_frees, e->n_foreign_frees) &&
               same(v, m, "foreign_bytes", m->foreign_bytes, e->foreign_bytes) &&
               within(v, m, "n_grown", m->n_grown, e->n_grown, x->n_grown) &&
               within(v, m, "copied_bytes", m->copied_bytes, e->copied_bytes, x->copied_bytes) &&
               within(v, m, "grown_bytes", m->grown_bytes, e->grown_bytes, x->grown_bytes) &&
               within(v, m, "n_shrunk", m->n_shrunk, 0, x->n_shrunk));
}

void verify_end_moves(struct verify *v, bool has_events) {
        for (size_t i = 0; i < v->moves.n && v->knows_moves; i++) {
                const struct verify_move *m = &v->moves.items[i];

                if (check_against_site(v, &m->row) && has_events && !v->lacks_events)
                        check_against_events(v, &m->row, &m->events, &m->exchanges);
        }
        vec_clear(&v->moves);
        map_clear(&v->move_by_key);
        v->has_move = false;
}

void verify_moves_done(struct verify *v) {
        vec_free(&v->moves);
        map_done(&v->move_by_key);
        vec_free(&v->latest);
}
