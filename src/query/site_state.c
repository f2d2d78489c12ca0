/* SPDX-License-Identifier: MIT */
/* Builds a state from the nearest checkpoint, the rows of the slices after it and, where a
 * moment lies inside a slice, that slice's events. */
#include "query/site_state.h"

#include "query/query_internal.h"
#include "query/replay.h"
#include "trace/rows.h"

enum { STATE_MIN_FOLDED = 16 }; /* fewer are not worth it */

void state_init(struct state *s, size_t n_processes, uint32_t focus) {
        *s = (struct state){.n_processes = n_processes, .is_exact = true, .focus = focus};
        s->counts = calloc(n_processes + 1, sizeof(s->counts[0]));
        if (!s->counts)
                abort();
        for (size_t i = 0; i < n_processes; i++)
                s->counts[i].process = (uint32_t)i;
}

void state_done(struct state *s) {
        map_done(&s->index);
        vec_free(&s->sites);
        free(s->counts);
        free(s->n_others);
        map_done(&s->others);
        *s = (struct state){0};
}

void state_count_others(struct state *s) {
        s->n_others = calloc(s->n_processes + 1, sizeof(s->n_others[0]));
        if (!s->n_others)
                abort();
}

static uint64_t site_key(uint32_t process, uint32_t stack) {
        return (uint64_t)process << 32 | stack;
}

struct state_site *state_at(struct state *s, uint32_t process, uint32_t stack) {
        uint64_t *idx;
        bool added;

        if (s->focus != QUERY_ALL && process != s->focus) {
                s->beside = (struct state_site){.process = process, .stack = stack};
                return &s->beside;
        }
        idx = map_put(&s->index, site_key(process, stack), s->sites.n, &added);
        if (added)
                vec_push(&s->sites, (struct state_site){.process = process, .stack = stack});
        return &s->sites.items[*idx];
}

const struct state_site *state_find(const struct state *s, uint32_t process, uint32_t stack) {
        uint64_t idx;

        return map_get(&s->index, site_key(process, stack), &idx) ? &s->sites.items[idx] : NULL;
}

void state_note_alloc(struct state *s, const struct state_site *site, uint32_t process,
                      uint32_t stack) {
        bool added;

        if (site != &s->beside || !s->n_others)
                return;
        map_put(&s->others, site_key(process, stack), 0, &added);
        s->n_others[process] += added;
}

/* Of a process that began and ended within the rows' time no other rows come. */
static bool is_over_within(const struct query *q, uint32_t process, uint64_t begin_ns,
                           uint64_t end_ns) {
        return process < q->view->n_processes &&
               q->view->processes[process].start.start_ns >= begin_ns &&
               query_process_gone_ns(q, process) < end_ns;
}

static void state_count_row(struct state *s, const struct trace_site *row, bool is_over) {
        if (!s->n_others || row->process >= s->n_processes || row->n_allocs == 0)
                return;
        if (is_over)
                s->n_others[row->process]++;
        else
                state_note_alloc(s, &s->beside, row->process, row->stack);
}

static void state_add_site(struct state *s, uint32_t process, const struct trace_site *row) {
        struct state_site *site = state_at(s, process, row->stack);

        site->n_allocs += row->n_allocs;
        site->alloc_bytes += row->alloc_bytes;
        site->n_frees += row->n_frees;
        site->free_bytes += row->free_bytes;
        site->n_temporary += row->n_temporary;
        site->n_reallocs += row->n_reallocs;
        site->n_inherited += row->n_inherited;
        site->inherited_bytes += row->inherited_bytes;
        site->n_inherited_frees += row->n_inherited_frees;
        site->inherited_free_bytes += row->inherited_free_bytes;
}

static void site_add(struct state_site *to, const struct state_site *s) {
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
}

void state_join_ended(const struct query *q, struct state *s, uint64_t time_ns) {
        struct state old = *s;

        if (!s->folds || s->sites.n < 2 * s->n_folded + STATE_MIN_FOLDED)
                return;
        s->index = (struct map){0};
        s->sites.items = NULL;
        s->sites.n = s->sites.cap = 0;
        for (size_t i = 0; i < old.sites.n; i++) {
                const struct state_site *site = &old.sites.items[i];
                bool is_over = is_over_within(q, site->process, 0, time_ns);

                site_add(state_at(s, is_over ? STATE_ENDED : site->process, site->stack), site);
                if (is_over && s->n_others)
                        s->n_others[site->process] += site->n_allocs > 0;
        }
        map_done(&old.index);
        vec_free(&old.sites);
        s->n_folded = s->sites.n;
}

static void state_add_counts(struct state *s, const struct trace_counts *row) {
        struct trace_counts *c;

        if (row->process >= s->n_processes)
                return; /* the row of the whole recording */
        c = &s->counts[row->process];
        trace_counts_add(c, row);
        c->live_blocks = row->live_blocks;
        c->live_bytes = row->live_bytes;
}

/* Rows of what happened in [begin_ns, end_ns). */
static void state_add_rows(struct query *q, struct state *s, uint64_t begin_ns, uint64_t end_ns,
                           const struct trace_site *sites, size_t n_sites,
                           const struct trace_counts *counts, size_t n_counts) {
        for (size_t i = 0; i < n_sites; i++) {
                uint32_t process = sites[i].process;
                bool is_in_focus = s->focus == QUERY_ALL || process == s->focus;
                bool is_over = (is_in_focus ? s->folds : s->n_others != NULL) &&
                               is_over_within(q, process, begin_ns, end_ns);

                if (!is_in_focus || is_over)
                        state_count_row(s, &sites[i], is_over);
                if (is_in_focus)
                        state_add_site(s, is_over ? STATE_ENDED : process, &sites[i]);
        }
        for (size_t i = 0; i < n_counts; i++)
                state_add_counts(s, &counts[i]);
}

/* What is damaged is left out and remembered: the rest of the trace is still worth an answer. */
static void state_add_slice_rows(struct query *q, struct state *s, size_t slice_idx) {
        const struct trace_slice_info *info = trace_slice(q->reader, slice_idx);
        const struct trace_site *sites = NULL;
        const struct trace_counts *counts = NULL;
        size_t n_sites = 0, n_counts = 0;
        struct err e = {0};

        if (trace_read_sites(q->reader, slice_idx, &sites, &n_sites, &e) < 0) {
                s->is_exact = false;
                query_note_damage(q, &e);
                n_sites = 0;
        }
        if (trace_read_counts(q->reader, slice_idx, &counts, &n_counts, &e) < 0) {
                s->is_exact = false;
                query_note_damage(q, &e);
                n_counts = 0;
        }
        state_add_rows(q, s, info->begin_ns, info->end_ns, sites, n_sites, counts, n_counts);
        state_join_ended(q, s, info->end_ns);
}

/* Of the slices [first, end). */
static void state_add_inherited_frees(struct query *q, struct state *s, size_t first, size_t end) {
        for (size_t i = 0; i < q->inherit.releases.n; i++) {
                const struct inherited_release *f = &q->inherit.releases.items[i];
                struct state_site *site;

                if (f->slice_idx >= end)
                        break;
                if (f->slice_idx < first)
                        continue;
                site = state_at(s, f->process, f->stack);
                site->n_inherited_frees += f->n_frees;
                site->inherited_free_bytes += f->free_bytes;
        }
}

/* Adds the newest checkpoint before slice_idx that can be read; returns the slice to go on with. */
static size_t state_add_checkpoint(struct query *q, struct state *s, size_t slice_idx) {
        const struct trace_site *sites;
        const struct trace_counts *counts;
        size_t n_sites, n_counts, after = SIZE_MAX;
        struct err e = {0};

        if (slice_idx == 0)
                return 0;
        if (trace_read_checkpoint(q->reader, slice_idx - 1, &after, &sites, &n_sites, &counts,
                                  &n_counts, &e) < 0) {
                query_note_damage(q, &e);
                return 0;
        }
        if (after == SIZE_MAX)
                return 0;
        state_add_rows(q, s, 0, trace_slice(q->reader, after)->end_ns, sites, n_sites, counts,
                       n_counts);
        return after + 1;
}

size_t state_load_checkpoint(struct query *q, struct state *s, size_t slice_idx) {
        size_t at = state_add_checkpoint(q, s, slice_idx);

        if (q->inherit.is_loaded)
                state_add_inherited_frees(q, s, 0, at);
        return at;
}

void state_load(struct query *q, struct state *s, size_t slice_idx) {
        for (size_t i = state_add_checkpoint(q, s, slice_idx); i < slice_idx; i++) {
                state_add_slice_rows(q, s, i);
                if (!query_go_on(q, i + 1, slice_idx))
                        return;
        }
        if (q->inherit.is_loaded)
                state_add_inherited_frees(q, s, 0, slice_idx);
}

void state_add_slice(struct query *q, struct state *s, size_t slice_idx) {
        state_add_slice_rows(q, s, slice_idx);
        if (q->inherit.is_loaded)
                state_add_inherited_frees(q, s, slice_idx, slice_idx + 1);
}

/* The slice's detail is gone: take it whole when the moment is nearer to its end. */
static void state_add_blurred(struct query *q, struct state *s, size_t slice_idx,
                              uint64_t time_ns) {
        const struct trace_slice_info *info = trace_slice(q->reader, slice_idx);

        s->is_exact = false;
        if (time_ns - info->begin_ns >= info->end_ns - time_ns)
                state_add_slice_rows(q, s, slice_idx);
}

void state_load_time(struct query *q, struct state *s, uint64_t time_ns) {
        const struct replay_limits limits = {.before_ns = time_ns,
                                             .n_steps = UINT64_MAX,
                                             .seen_from_ns = time_ns};
        size_t slice_idx = query_slice_at(q, time_ns);

        state_load(q, s, slice_idx);
        for (; slice_idx < q->view->n_slices; slice_idx++) {
                if (trace_slice(q->reader, slice_idx)->begin_ns >= time_ns ||
                    !query_go_on(q, slice_idx, q->view->n_slices))
                        break;
                if (!replay_slice(q, s, slice_idx, &limits, NULL, NULL))
                        state_add_blurred(q, s, slice_idx, time_ns);
        }
}
