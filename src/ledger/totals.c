/* SPDX-License-Identifier: MIT */
#include "ledger/totals.h"

#include <errno.h>
#include <stdlib.h>

#include "trace/writer.h"

void totals_done(struct totals *t) {
        vec_free(&t->sites);
        map_done(&t->by_key);
        vec_free(&t->processes);
        vec_free(&t->rows);
        vec_free(&t->counts);
}

void totals_add_process(struct totals *t) {
        struct totals_process *p = vec_add(&t->processes);

        p->total.process = p->slice.process = (uint32_t)t->processes.n - 1;
}

/* What it has leaves the sum of all, between two slices. */
void totals_end_process(struct totals *t, uint32_t process) {
        struct totals_process *p = &t->processes.items[process];

        p->is_over = true;
        t->all.slice.live_blocks -= p->slice.live_blocks;
        t->all.slice.live_bytes -= p->slice.live_bytes;
        t->all.total.live_blocks = t->all.slice.live_blocks;
        t->all.total.live_bytes = t->all.slice.live_bytes;
}

static uint64_t total_key(const struct trace_maker_total *x) {
        return (uint64_t)x->process << 32 | x->stack;
}

/* Blocks and bytes come together, or neither: a row has no way to say one alone. */
static bool is_possible(uint64_t n, uint64_t bytes, uint64_t n_before, uint64_t bytes_before) {
        return n >= n_before && bytes >= bytes_before && (n > n_before || bytes == bytes_before);
}

int totals_check(const struct totals *t, const struct trace_maker_total *x, size_t n) {
        static const struct trace_site none;
        struct map seen = {0};
        int r = 0;

        for (size_t i = 0; i < n && r == 0; i++) {
                const struct trace_site *s = &none;
                uint64_t place;
                bool added;

                if (map_get(&t->by_key, total_key(&x[i]), &place))
                        s = &t->sites.items[place];
                map_put(&seen, total_key(&x[i]), 0, &added);
                if (!added || t->processes.items[x[i].process].is_over)
                        r = -EINVAL;
                else if (!is_possible(x[i].n_allocs, x[i].alloc_bytes, s->n_allocs,
                                      s->alloc_bytes) ||
                         !is_possible(x[i].n_frees, x[i].free_bytes, s->n_frees, s->free_bytes) ||
                         x[i].n_frees > x[i].n_allocs || x[i].free_bytes > x[i].alloc_bytes)
                        r = -ERANGE;
        }
        map_done(&seen);
        return r;
}

static struct trace_site *totals_site(struct totals *t, const struct trace_maker_total *x) {
        bool added;
        uint64_t *place = map_put(&t->by_key, total_key(x), t->sites.n, &added);

        if (added) {
                struct trace_site *s = vec_add(&t->sites);

                s->process = x->process;
                s->stack = x->stack;
        }
        return &t->sites.items[*place];
}

static void counts_add_row(struct trace_counts *c, const struct trace_site *row) {
        c->n_allocs += row->n_allocs;
        c->alloc_bytes += row->alloc_bytes;
        c->n_frees += row->n_frees;
        c->n_complete_stacks += row->n_allocs;
        c->live_blocks += row->n_allocs - row->n_frees;
        c->live_bytes += row->alloc_bytes - row->free_bytes;
}

/* The row of what came since the moment before; peaks follow when it is known where they are. */
static void totals_add_row(struct totals *t, const struct trace_maker_total *x) {
        struct trace_site *s = totals_site(t, x);
        struct trace_site row = {
                .process = x->process,
                .stack = x->stack,
                .n_allocs = x->n_allocs - s->n_allocs,
                .alloc_bytes = x->alloc_bytes - s->alloc_bytes,
                .n_frees = x->n_frees - s->n_frees,
                .free_bytes = x->free_bytes - s->free_bytes,
        };

        if (!row.n_allocs && !row.n_frees)
                return;
        s->n_allocs = x->n_allocs, s->alloc_bytes = x->alloc_bytes;
        s->n_frees = x->n_frees, s->free_bytes = x->free_bytes;
        counts_add_row(&t->processes.items[x->process].slice, &row);
        counts_add_row(&t->all.slice, &row);
        vec_push(&t->rows, row);
}

/* The slice is over: its peak is the higher of its ends. */
static void process_place_peak(struct totals_process *p, uint64_t begin_ns, uint64_t end_ns) {
        struct trace_counts *c = &p->slice;
        const struct trace_counts *at;

        p->peaks_at_end = c->live_bytes > p->total.live_bytes;
        at = p->peaks_at_end ? c : &p->total;
        c->peak_blocks = at->live_blocks;
        c->peak_bytes = at->live_bytes;
        c->peak_ns = p->peaks_at_end ? end_ns : begin_ns;
}

static void process_begin_slice(struct totals_process *p) {
        const struct trace_counts *c = &p->slice;
        struct trace_counts *t = &p->total;

        t->n_allocs += c->n_allocs, t->alloc_bytes += c->alloc_bytes;
        t->n_frees += c->n_frees, t->n_complete_stacks += c->n_complete_stacks;
        t->live_blocks = c->live_blocks, t->live_bytes = c->live_bytes;
        if (c->peak_bytes > t->peak_bytes)
                t->peak_blocks = c->peak_blocks, t->peak_bytes = c->peak_bytes,
                t->peak_ns = c->peak_ns;
        p->slice = (struct trace_counts){.process = t->process,
                                         .live_blocks = t->live_blocks,
                                         .live_bytes = t->live_bytes};
        p->peaks_at_end = false;
}

/* The row of the whole recording: states alone. */
static struct trace_counts counts_of_all(const struct trace_counts *c) {
        return (struct trace_counts){.process = TRACE_NO_PROCESS,
                                     .live_blocks = c->live_blocks,
                                     .live_bytes = c->live_bytes,
                                     .peak_blocks = c->peak_blocks,
                                     .peak_bytes = c->peak_bytes,
                                     .peak_ns = c->peak_ns};
}

static void totals_place_peaks(struct totals *t, uint64_t begin_ns, uint64_t end_ns) {
        bool is_multi = t->processes.n > 1;

        for (size_t i = 0; i < t->processes.n; i++) {
                struct totals_process *p = &t->processes.items[i];

                if (!p->slice.n_allocs && !p->slice.n_frees)
                        continue;
                process_place_peak(p, begin_ns, end_ns);
                vec_push(&t->counts, p->slice);
        }
        process_place_peak(&t->all, begin_ns, end_ns);
        if (is_multi)
                vec_push(&t->counts, counts_of_all(&t->all.slice));
        for (size_t i = 0; i < t->rows.n; i++) {
                struct trace_site *row = &t->rows.items[i];
                int64_t n = (int64_t)(row->n_allocs - row->n_frees);
                int64_t bytes = (int64_t)(row->alloc_bytes - row->free_bytes);

                if (t->processes.items[row->process].peaks_at_end)
                        row->peak_blocks = n, row->peak_bytes = bytes;
                if (t->all.peaks_at_end)
                        row->all_peak_blocks = n, row->all_peak_bytes = bytes;
        }
}

void totals_put(struct totals *t, uint64_t end_ns, const struct trace_maker_total *x, size_t n) {
        vec_clear(&t->rows);
        vec_clear(&t->counts);
        for (size_t i = 0; i < n; i++)
                totals_add_row(t, &x[i]);
        totals_place_peaks(t, trace_slice_begin_ns(t->writer),
                           trace_slice_end_ns(t->writer, end_ns));
        trace_end_slice(t->writer, end_ns, t->rows.items, t->rows.n, t->counts.items, t->counts.n);
        for (size_t i = 0; i < t->processes.n; i++)
                process_begin_slice(&t->processes.items[i]);
        process_begin_slice(&t->all);
        if (trace_wants_checkpoint(t->writer, t->sites.n))
                totals_put_checkpoint(t);
}

void totals_put_checkpoint(struct totals *t) {
        vec_clear(&t->counts);
        for (size_t i = 0; i < t->processes.n; i++)
                if (t->processes.items[i].total.n_allocs)
                        vec_push(&t->counts, t->processes.items[i].total);
        if (t->processes.n > 1)
                vec_push(&t->counts, counts_of_all(&t->all.total));
        trace_put_checkpoint(t->writer, t->sites.items, t->sites.n, t->counts.items, t->counts.n);
}

bool totals_get_counts(const struct totals *t, uint32_t process, struct trace_counts *ret) {
        if (process >= t->processes.n)
                return false;
        *ret = t->processes.items[process].total;
        return true;
}
