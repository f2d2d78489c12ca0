/* SPDX-License-Identifier: MIT */
/* Two slices in a row, a then b, make one: counts add up, live is b's. The peak of a process is
 * the higher of the two; where b's is higher, a site's "live at the peak minus live at the
 * start" is a's net change plus b's own figure. */
#include "trace/backlog.h"

void trace_backlog_clear(struct trace_backlog *b) {
        b->n_slices = b->n_events = b->n_allocs = b->n_unwritten = 0;
        vec_clear(&b->sites);
        vec_clear(&b->counts);
        vec_clear(&b->moves);
        map_clear(&b->move_by_key);
        map_clear(&b->site_by_key);
        map_clear(&b->counts_by_process);
}

void trace_backlog_done(struct trace_backlog *b) {
        vec_free(&b->sites);
        vec_free(&b->counts);
        vec_free(&b->moves);
        map_done(&b->move_by_key);
        map_done(&b->site_by_key);
        map_done(&b->counts_by_process);
}

static struct trace_counts *backlog_counts(struct trace_backlog *b, uint32_t process) {
        bool added;
        uint64_t *place = map_put(&b->counts_by_process, process, b->counts.n, &added);

        if (added)
                vec_add(&b->counts)->process = process;
        return &b->counts.items[*place];
}

static struct trace_site *backlog_site(struct trace_backlog *b, uint32_t process, uint32_t stack) {
        bool added;
        uint64_t *place =
                map_put(&b->site_by_key, (uint64_t)process << 32 | stack, b->sites.n, &added);

        if (added) {
                struct trace_site *s = vec_add(&b->sites);

                s->process = process;
                s->stack = stack;
        }
        return &b->sites.items[*place];
}

/* The peak of a process in the slice to be added when it beats what is here; with it, its sites'
 * figures move on. */
static bool backlog_is_beaten(struct trace_backlog *b, const struct map *new_peaks,
                              uint32_t process) {
        uint64_t bytes;

        return map_get(new_peaks, process, &bytes) &&
               bytes > backlog_counts(b, process)->peak_bytes;
}

/* Without a row for the whole recording there is one process, and its peak is the recording's. */
static bool backlog_is_beaten_by_all(struct trace_backlog *b, const struct map *new_peaks,
                                     uint32_t process) {
        bool has_row = map_get(new_peaks, TRACE_NO_PROCESS, NULL);

        return backlog_is_beaten(b, new_peaks, has_row ? TRACE_NO_PROCESS : process);
}

/* A row for the whole recording comes with the second process: until then what is true of the first is true
 * of all, sites included. */
static void backlog_begin_all(struct trace_backlog *b) {
        struct trace_counts only;

        if (b->counts.n != 1 || b->counts.items[0].process == TRACE_NO_PROCESS)
                return;
        only = b->counts.items[0];
        *backlog_counts(b, TRACE_NO_PROCESS) = (struct trace_counts){
                .process = TRACE_NO_PROCESS,
                .live_blocks = only.live_blocks,
                .live_bytes = only.live_bytes,
                .peak_blocks = only.peak_blocks,
                .peak_bytes = only.peak_bytes,
                .peak_ns = only.peak_ns,
        };
}

/* The two for one process: rows come sorted by process, so that they are looked up once for many. */
struct beaten {
        uint32_t process;
        bool is_known, own, all;
};

static void backlog_look_up(struct trace_backlog *b, const struct map *new_peaks, uint32_t process,
                            struct beaten *ret) {
        if (ret->is_known && ret->process == process)
                return;
        *ret = (struct beaten){.process = process,
                               .is_known = true,
                               .own = backlog_is_beaten(b, new_peaks, process),
                               .all = backlog_is_beaten_by_all(b, new_peaks, process)};
}

static void backlog_rebase_peaks(struct trace_backlog *b, const struct map *new_peaks) {
        struct beaten beaten = {0};

        for (size_t i = 0; i < b->sites.n; i++) {
                struct trace_site *s = &b->sites.items[i];

                backlog_look_up(b, new_peaks, s->process, &beaten);
                if (beaten.own) {
                        s->peak_blocks = (int64_t)(s->n_inherited + s->n_allocs - s->n_frees);
                        s->peak_bytes =
                                (int64_t)(s->inherited_bytes + s->alloc_bytes - s->free_bytes);
                }
                if (beaten.all) {
                        s->all_peak_blocks =
                                (int64_t)(s->n_allocs - (s->n_frees - s->n_inherited_frees));
                        s->all_peak_bytes = (int64_t)(s->alloc_bytes -
                                                      (s->free_bytes - s->inherited_free_bytes));
                }
        }
}

static void backlog_add_site(struct trace_site *to, const struct trace_site *s, bool own_peak,
                             bool all_peak) {
        to->n_allocs += s->n_allocs;
        to->alloc_bytes += s->alloc_bytes;
        to->n_frees += s->n_frees;
        to->free_bytes += s->free_bytes;
        to->n_temporary += s->n_temporary;
        to->n_reallocs += s->n_reallocs;
        to->n_inherited += s->n_inherited;
        to->inherited_bytes += s->inherited_bytes;
        to->n_inherited_frees += s->n_inherited_frees;
        to->inherited_free_bytes += s->inherited_free_bytes;
        if (own_peak) {
                to->peak_blocks += s->peak_blocks;
                to->peak_bytes += s->peak_bytes;
        }
        if (all_peak) {
                to->all_peak_blocks += s->all_peak_blocks;
                to->all_peak_bytes += s->all_peak_bytes;
        }
        for (size_t i = 0; i < TRACE_N_LIFE_BUCKETS; i++)
                to->n_life[i] += s->n_life[i];
}

static void backlog_add_counts(struct trace_counts *to, const struct trace_counts *c) {
        trace_counts_add(to, c);
        to->live_blocks = c->live_blocks;
        to->live_bytes = c->live_bytes;
        if (c->peak_bytes > to->peak_bytes) {
                to->peak_blocks = c->peak_blocks;
                to->peak_bytes = c->peak_bytes;
                to->peak_ns = c->peak_ns;
        }
}

void trace_backlog_add(struct trace_backlog *b, const struct trace_site *sites, size_t n_sites,
                       const struct trace_counts *counts, size_t n_counts) {
        struct map new_peaks = {0};
        struct beaten beaten = {0};

        for (size_t i = 0; i < n_counts; i++)
                *map_put(&new_peaks, counts[i].process, 0, NULL) = counts[i].peak_bytes;
        if (map_get(&new_peaks, TRACE_NO_PROCESS, NULL))
                backlog_begin_all(b);
        backlog_rebase_peaks(b, &new_peaks);
        for (size_t i = 0; i < n_sites; i++) {
                const struct trace_site *s = &sites[i];
                struct trace_site *to = backlog_site(b, s->process, s->stack);

                backlog_look_up(b, &new_peaks, s->process, &beaten);
                backlog_add_site(to, s, beaten.own, beaten.all);
        }
        for (size_t i = 0; i < n_counts; i++)
                backlog_add_counts(backlog_counts(b, counts[i].process), &counts[i]);
        map_done(&new_peaks);
        b->n_slices++;
}

void trace_backlog_add_moves(struct trace_backlog *b, const struct trace_move *moves, size_t n) {
        for (size_t i = 0; i < n; i++) {
                bool added;
                uint64_t *place =
                        map_put(&b->move_by_key, (uint64_t)moves[i].process << 32 | moves[i].stack,
                                b->moves.n, &added);

                if (added)
                        vec_push(&b->moves, moves[i]);
                else
                        trace_move_add(&b->moves.items[*place], &moves[i]);
        }
}
