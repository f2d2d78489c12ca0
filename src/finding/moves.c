/* SPDX-License-Identifier: MIT */
/* regrowth and freed-elsewhere: buffers that are made larger again and again, and blocks that another thread releases than
 * allocated them; by the function that asked. */
#include "finding/rules.h"

enum {
        REGROW_MIN = 100,                /* growths */
        REGROW_MIN_BYTES = 1000000,      /* copied, */
        REGROW_MIN_BYTES_LARGE = 256000, /* where it is a large part of all that is allocated */
        ELSEWHERE_MIN = 1000,            /* releases */
        ELSEWHERE_MAX = 16, /* functions looked at: each has a good part of all releases */
};
#define REGROW_MIN_SHARE 0.02 /* of all bytes allocated, that growths asked for */
#define REGROW_LARGE_SHARE 0.2
#define REGROW_MAX_SHRUNK                                                                          \
        0.25 /* of the growths: with more of them sizes go up and down by chance */
#define REGROW_MIN_PER_BUFFER                                                                      \
        0.5 /* growths for each block that replaced none: with fewer they are by chance, too */
#define REGROW_CREEPING 1.3      /* mean factor: less is creeping, */
#define REGROW_DOUBLING 1.7      /* as much is doubling */
#define ELSEWHERE_OWN_SHARE 0.75 /* of the function's releases */
#define ELSEWHERE_ALL_SHARE 0.1  /* of all releases */

/* A place that makes blocks of rising sizes and lets them go in order looks like one growth each time. Where buffers do grow, most of
 * what the place makes replaces another; realloc says so itself. */
static bool is_by_chance(const struct query_figures *self, const struct query_move *m) {
        double n_fresh = (double)(self->n_allocs - MIN(self->n_allocs, m->n_grown));

        return self->n_reallocs == 0 && (double)m->n_grown < REGROW_MIN_PER_BUFFER * n_fresh;
}

/* Moves of the functions that asked. */
static struct query_move *moves_by_asker(struct facts *f, const struct askers *askers) {
        struct query_move *sums = arena_alloc(f->arena, (askers->n + 1) * sizeof(sums[0]));
        _cleanup_(query_moves_freep) struct query_moves *m = NULL;
        struct err err = {0};

        if (query_moves(f->q, &f->source->answer->scope, &m, &err) < 0 || !m->is_known)
                return sums;
        for (size_t i = 0; i < m->n; i++) {
                uint32_t row = facts_row_of_stack(f, m->rows[i].stack);
                struct query_move *to;

                if (row == FACTS_NO_ROW || f->is_collected[row])
                        continue;
                to = &sums[askers->of_row[row]];
                to->n_foreign_frees += m->rows[i].n_foreign_frees;
                to->foreign_bytes += m->rows[i].foreign_bytes;
                if (is_by_chance(&f->rows[row].self, &m->rows[i]))
                        continue;
                to->n_grown += m->rows[i].n_grown;
                to->copied_bytes += m->rows[i].copied_bytes;
                to->grown_bytes += m->rows[i].grown_bytes;
                to->in_place_bytes += m->rows[i].in_place_bytes;
                to->n_shrunk += m->rows[i].n_shrunk;
        }
        return sums;
}

/* ---- regrowth -------------------------------------------------------------------------------- */

static bool is_regrowth(const struct facts *f, const struct query_move *m) {
        double share = (double)m->grown_bytes / ((double)f->totals->alloc_bytes + 1);

        return m->n_grown >= REGROW_MIN && share >= REGROW_MIN_SHARE &&
               m->copied_bytes >=
                       (share >= REGROW_LARGE_SHARE ? REGROW_MIN_BYTES_LARGE : REGROW_MIN_BYTES) &&
               (double)m->n_shrunk <= REGROW_MAX_SHRUNK * (double)m->n_grown;
}

static const char *how_of(double factor) {
        return factor < REGROW_CREEPING   ? "in small steps"
               : factor < REGROW_DOUBLING ? "by a fraction of their size"
                                          : "by doubling";
}

static void tell_regrowth(struct facts *f, const struct askers *askers, size_t asker,
                          const struct query_move *m) {
        uint32_t row = askers_row(askers, f, asker, QUERY_ALLOCATED);
        double factor = (double)m->grown_bytes / (double)MAX(m->copied_bytes, 1u);
        uint64_t n_allocs = askers->items[asker].figures.n_allocs,
                 n_fresh = n_allocs - MIN(n_allocs, m->n_grown);
        uint64_t moved = m->copied_bytes - MIN(m->copied_bytes, m->in_place_bytes);
        struct unit_text times, copied, saved, all;
        struct name_frame frame;
        struct finding *x;
        bool is_task, in_place;

        frame = place_of_row(f, row, &is_task);
        x = found(f, "regrowth", (double)m->copied_bytes, row, QUERY_ALLOCATED);
        x->function = place_name(f, &frame, is_task);
        in_place = moved < m->copied_bytes / 10;
        x->text = say(
                f,
                "%s: buffers grew %s times, %s (by a factor of %.*f), and %s of old blocks %s; the right initial size would save %s of %s allocations%s.",
                x->function, unit_count(&times, m->n_grown), how_of(factor), factor < 1.1 ? 3 : 1,
                factor, unit_bytes(&copied, m->copied_bytes),
                in_place ? "grew in place" : "were copied or moved", unit_count(&saved, m->n_grown),
                unit_count(&all, n_allocs), in_place ? "" : " and the copying");
        x->next = next_callers(f, &frame, QUERY_COUNT);
        f->n_regrown[asker] = m->n_grown;
        found_number(x, "growths", (double)m->n_grown);
        found_number(x, "copied_bytes", (double)m->copied_bytes);
        found_number(x, "in_place_bytes", (double)m->in_place_bytes);
        found_number(x, "factor", factor);
        found_number(x, "growths_per_buffer", n_fresh ? (double)m->n_grown / (double)n_fresh : 0);
        found_number(x, "allocations", (double)n_allocs);
}

/* ---- freed elsewhere ------------------------------------------------------------------------- */

static bool is_elsewhere(const struct facts *f, const struct asker *a, const struct query_move *m) {
        double n = (double)m->n_foreign_frees;

        return m->n_foreign_frees >= ELSEWHERE_MIN &&
               n >= ELSEWHERE_OWN_SHARE * (double)a->figures.n_frees &&
               n >= ELSEWHERE_ALL_SHARE * (double)f->totals->n_frees;
}

static void tell_elsewhere(struct facts *f, const struct askers *askers, size_t asker,
                           const struct query_move *m) {
        uint32_t row = askers_row(askers, f, asker, QUERY_COUNT);
        const struct query_figures *figures = &askers->items[asker].figures;
        struct unit_text n;
        struct name_frame frame;
        struct finding *x;
        bool is_task;

        frame = place_of_row(f, row, &is_task);
        x = found(f, "freed-elsewhere", (double)m->foreign_bytes, row, QUERY_COUNT);
        x->function = place_name(f, &frame, is_task);
        x->text = say(
                f,
                "%s: %s blocks (%u %% of its own, %u %% of all frees) were freed by a different thread, which is slower in most allocators.",
                x->function, unit_count(&n, m->n_foreign_frees),
                share_pct((double)m->n_foreign_frees, (double)figures->n_frees),
                share_pct((double)m->n_foreign_frees, (double)f->totals->n_frees));
        x->next = next_callers(f, &frame, QUERY_COUNT);
        found_number(x, "elsewhere", (double)m->n_foreign_frees);
        found_number(x, "frees", (double)figures->n_frees);
        found_number(x, "share_pct",
                     share_pct((double)m->n_foreign_frees, (double)figures->n_frees));
}

/* A function's blocks go the way of its caller's, when those do too: a job and what belongs to it are one. */
static void merge_elsewhere(struct facts *f, struct askers *askers, struct query_move *moves,
                            const size_t *told, size_t n) {
        for (size_t i = 0; i < n; i++)
                for (size_t k = 0; k < n; k++) {
                        struct query_move *from = &moves[told[i]], *to = &moves[told[k]];

                        if (i == k || !from->n_foreign_frees || !to->n_foreign_frees ||
                            !place_is_called_by(f, askers->items[told[i]].row,
                                                askers->items[told[k]].key))
                                continue;
                        to->n_foreign_frees += from->n_foreign_frees;
                        to->foreign_bytes += from->foreign_bytes;
                        askers->items[told[k]].figures.n_frees +=
                                askers->items[told[i]].figures.n_frees;
                        from->n_foreign_frees = 0;
                }
}

static void find_elsewhere(struct facts *f, const struct askers *askers, struct query_move *moves) {
        struct askers copy = *askers;
        size_t told[ELSEWHERE_MAX], n = 0;

        copy.items = arena_memdup(f->arena, askers->items, askers->n * sizeof(askers->items[0]));
        for (size_t i = 0; i < askers->n && n < ELSEWHERE_MAX; i++)
                if (is_elsewhere(f, &askers->items[i], &moves[i]))
                        told[n++] = i;
        merge_elsewhere(f, &copy, moves, told, n);
        for (size_t i = 0; i < n; i++)
                if (moves[told[i]].n_foreign_frees)
                        tell_elsewhere(f, &copy, told[i], &moves[told[i]]);
}

void find_moves(struct facts *f, const struct askers *askers) {
        struct query_move *moves = moves_by_asker(f, askers);

        f->n_regrown = arena_alloc(f->arena, (askers->n + 1) * sizeof(f->n_regrown[0]));
        for (size_t i = 0; i < askers->n; i++)
                if (is_regrowth(f, &moves[i]))
                        tell_regrowth(f, askers, i, &moves[i]);
        if (askers->n)
                find_elsewhere(f, askers, moves);
}
