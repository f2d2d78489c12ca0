/* SPDX-License-Identifier: MIT */
/* Moves, by the rules of docs/trace-format.md. */
#include "query/testing/fabric_core.h"

static void grow(struct trace_move *m, uint64_t old_bytes, uint64_t new_bytes) {
        m->n_grown++;
        m->copied_bytes += old_bytes;
        m->grown_bytes += new_bytes;
}

static void count_foreign(struct fabric *f, struct fabric_process *p, struct fabric_thread *t,
                          const struct live_block *b) {
        struct trace_move *m = &fabric_site_at(f, p->id, b->stack)->moves;

        if (b->inherited || b->thread == t->id)
                return;
        m->n_foreign_frees++;
        m->foreign_bytes += b->size_bytes;
}

void fabric_move_alloc(struct fabric_thread *t, uint32_t stack, uint64_t size_bytes) {
        t->has_latest = true;
        t->latest_stack = stack;
        t->latest_bytes = size_bytes;
}

void fabric_move_free(struct fabric *f, struct fabric_process *p, struct fabric_thread *t,
                      const struct live_block *b) {
        struct trace_move *m = &fabric_site_at(f, p->id, b->stack)->moves;

        count_foreign(f, p, t, b);
        if (t->last_seq == b->seq + 1)
                t->has_latest = false;
        if (b->inherited || !t->has_latest || t->latest_stack != b->stack ||
            t->latest_bytes == b->size_bytes)
                return;
        t->has_latest = false;
        if (t->latest_bytes > b->size_bytes)
                grow(m, b->size_bytes, t->latest_bytes);
        else
                m->n_shrunk++;
}

void fabric_move_realloc(struct fabric *f, struct fabric_process *p, struct fabric_thread *t,
                         const struct live_block *old, const struct live_block *b) {
        struct trace_move *m = &fabric_site_at(f, p->id, b->stack)->moves;

        t->has_latest = false;
        if (b->size_bytes > old->size_bytes) {
                grow(m, old->size_bytes, b->size_bytes);
                m->in_place_bytes += b->seq % FABRIC_IN_PLACE ? 0 : old->size_bytes;
        }
        count_foreign(f, p, t, old);
}

void fabric_put_moves(struct fabric *f) {
        VEC(struct trace_move) moves = {0};

        for (size_t i = 0; i < f->sites.n; i++) {
                struct fabric_site *s = &f->sites.items[i];

                s->moves.process = s->slice.process;
                s->moves.stack = s->slice.stack;
                vec_push(&moves, s->moves);
                s->moves = (struct trace_move){0};
        }
        if (!f->o.without_moves)
                trace_put_moves(f->w, moves.items, moves.n);
        vec_free(&moves);
}
