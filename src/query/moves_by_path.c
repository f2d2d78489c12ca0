/* SPDX-License-Identifier: MIT */
/* Moves of a window: sums of the rows of its slices. */
#include "query/moves_by_path.h"

#include <stdlib.h>

#include "base/map.h"
#include "query/pick.h"
#include "query/query_internal.h"
#include "trace/moves_codec.h"

enum { CUT_MAX_EVENTS = 4000000 }; /* read for one cut slice beside its own */

struct moving {
        struct query *q;
        struct query_moves *m;
        const struct pick *pick;
        struct map by_stack; /* → index into rows */
        VEC(struct query_move) rows;
        moves_site_vec cut; /* scratch */
};

struct query_moves *query_moves_free(struct query_moves *m) {
        if (!m)
                return NULL;
        free(m->rows);
        free(m);
        return NULL;
}

static void add_row(struct moving *k, const struct trace_move *row) {
        struct query_move *to;
        bool added;
        uint64_t *idx;

        if (trace_move_is_zero(row))
                return;
        idx = map_put(&k->by_stack, row->stack, k->rows.n, &added);
        if (added)
                vec_push(&k->rows, (struct query_move){.stack = row->stack});
        to = &k->rows.items[*idx];
        to->n_foreign_frees += row->n_foreign_frees;
        to->foreign_bytes += row->foreign_bytes;
        to->n_grown += row->n_grown;
        to->copied_bytes += row->copied_bytes;
        to->grown_bytes += row->grown_bytes;
        to->in_place_bytes += row->in_place_bytes;
        to->n_shrunk += row->n_shrunk;
}

static bool in_scope(const struct moving *k, const struct trace_move *row) {
        const struct query_scope *w = &k->m->scope;

        return (w->process == QUERY_ALL || row->process == w->process) &&
               pick_has_process(k->pick, row->process) && pick_has_stack(k->pick, row->stack);
}

/* Whether an address stayed is no event's to tell: the slice's share, by what was copied. */
static uint64_t share_of(uint64_t whole, uint64_t part, uint64_t of) {
        return of ? (uint64_t)((unsigned __int128)whole * part / of) : 0;
}

static void add_cut(struct moving *k, size_t slice_idx, const struct trace_move *rows, size_t n) {
        vec_clear(&k->cut);
        for (size_t i = 0; i < n; i++)
                if (in_scope(k, &rows[i]))
                        vec_push(&k->cut, (struct moves_site){.row = rows[i],
                                                              .counted.process = rows[i].process,
                                                              .counted.stack = rows[i].stack});
        if (k->cut.n == 0)
                return;
        k->m->is_exact &= moves_count_cut(k->q, slice_idx, &k->m->scope, CUT_MAX_EVENTS, &k->cut);
        for (size_t i = 0; i < k->cut.n; i++) {
                struct moves_site *s = &k->cut.items[i];

                s->counted.in_place_bytes = share_of(s->row.in_place_bytes, s->counted.copied_bytes,
                                                     s->row.copied_bytes);
                add_row(k, &s->counted);
        }
}

static void add_slice(struct moving *k, size_t slice_idx) {
        const struct trace_slice_info *s = trace_slice(k->q->reader, slice_idx);
        const struct query_scope *w = &k->m->scope;
        const struct trace_move *rows;
        struct err e = {0};
        size_t n;

        if (trace_read_moves(k->q->reader, slice_idx, &rows, &n, &e) < 0) {
                query_note_damage(k->q, &e);
                k->m->is_exact = false;
                return;
        }
        if (!query_slice_is_inside(s, w->from_ns, w->to_ns)) {
                add_cut(k, slice_idx, rows, n);
                return;
        }
        for (size_t i = 0; i < n; i++)
                if (in_scope(k, &rows[i]))
                        add_row(k, &rows[i]);
}

static int move_compare(const void *a, const void *b) {
        const struct query_move *x = a, *y = b;

        return x->stack < y->stack ? -1 : x->stack > y->stack;
}

static void add_slices(struct moving *k) {
        size_t first = query_slice_at(k->q, k->m->scope.from_ns), n = k->q->view->n_slices;

        for (size_t i = first; i < n; i++) {
                if (trace_slice(k->q->reader, i)->begin_ns >= k->m->scope.to_ns)
                        break;
                add_slice(k, i);
                if (!query_go_on(k->q, i + 1, n))
                        break;
        }
}

int query_moves(struct query *q, const struct query_scope *scope, struct query_moves **ret,
                struct err *reterr) {
        _cleanup_(query_moves_freep) struct query_moves *m = calloc(1, sizeof(*m));
        struct moving k = {.q = q, .m = m};
        int r = pick_get(q, scope->filter, &k.pick, reterr);

        if (r < 0)
                return r;
        if (!m)
                abort();
        m->scope = *scope;
        m->is_moved = query_move_edges(q, &m->scope);
        m->is_known = q->view->knows_moves && !(k.pick && k.pick->needs_events);
        m->is_exact = true;
        if (m->is_known)
                add_slices(&k);
        m->rows = k.rows.items;
        m->n = k.rows.n;
        if (m->n)
                qsort(m->rows, m->n, sizeof(m->rows[0]), move_compare);
        map_done(&k.by_stack);
        vec_free(&k.cut);
        r = query_end(q, reterr);
        if (r < 0)
                return r;
        *ret = TAKE_PTR(m);
        return 0;
}
