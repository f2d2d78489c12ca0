/* SPDX-License-Identifier: MIT */
/* The figures of site_figures.h as rows of the trace: at the end of each slice, and in checkpoints. */
#include "ledger/site_figures.h"
#include "trace/rows.h"
#include "trace/writer.h"

static void counts_set_state(struct trace_counts *c, uint32_t process, struct amount live,
                             const struct peak *peak) {
        c->process = process;
        c->live_blocks = (uint64_t)live.blocks;
        c->live_bytes = (uint64_t)live.bytes;
        c->peak_blocks = peak->blocks;
        c->peak_bytes = peak->bytes;
        c->peak_ns = peak->ns;
}

static void peak_raise(struct peak *p, const struct peak *by) {
        if (by->bytes > p->bytes)
                *p = *by;
}

/* What a site adds to its process. */
static void counts_add_site(struct trace_counts *c, const struct site *x) {
        c->n_allocs += x->n_allocs;
        c->n_frees += x->n_frees;
        c->alloc_bytes += x->alloc_bytes;
        c->n_temporary += x->n_temporary;
        c->n_reallocs += x->n_reallocs;
}

/* After the last site. */
static void counts_complete(struct trace_counts *c) {
        c->n_frees -= c->n_implicit_frees;
        c->n_complete_stacks = c->n_allocs - c->n_complete_stacks;
}

/* What its sites did in the open slice. Either list has them all; the shorter one is looked through. */
static void counts_add_open(struct trace_counts *c, const struct sites *s,
                            const struct figures *f) {
        bool by_slice = s->touched_sites.n < f->sites.n;
        const uint32_t *list = by_slice ? s->touched_sites.items : f->sites.items;
        size_t n = by_slice ? s->touched_sites.n : f->sites.n;

        for (size_t i = 0; i < n; i++) {
                const struct site *x = sites_at(s, list[i]);

                if (x->slice == s->slice && x->process == f->process)
                        counts_add_site(c, x);
        }
}

void sites_get_counts(const struct sites *s, const struct figures *f, struct trace_counts *ret) {
        struct peak peak = f->peak;

        *ret = f->total;
        if (f->slice == s->slice) {
                struct trace_counts c = f->in_slice;

                counts_add_open(&c, s, f);
                counts_complete(&c);
                trace_counts_add(ret, &c);
                peak_raise(&peak, &f->peak_in_slice);
        }
        counts_set_state(ret, f->process, f->live, &peak);
}

/* ---- slices ------------------------------------------------------------------------------------- */

static void row_fill(const struct sites *s, uint32_t idx, struct trace_site *row) {
        const struct site *x = sites_at(s, idx);
        const struct figures *f = s->processes.items[x->process];
        struct amount inherited = s->rare.items[idx].inherited;
        struct amount at_peak = {x->peak_blocks, x->peak_bytes};
        struct amount at_all_peak = s->rare.items[idx].all_peak;

        /* not changed since the peak */
        if (x->peak_no != f->peak_no)
                at_peak = site_now(s, idx);
        if (!s->is_multi)
                at_all_peak = at_peak;
        else if (x->all_peak_no != s->all_peak_no)
                at_all_peak = site_own_now(s, idx);
        *row = (struct trace_site){
                .process = x->process,
                .stack = x->stack,
                .n_allocs = x->n_allocs,
                .alloc_bytes = x->alloc_bytes,
                .n_frees = x->n_frees,
                .free_bytes = x->free_bytes,
                .n_temporary = x->n_temporary,
                .n_reallocs = x->n_reallocs,
                .n_inherited = (uint64_t)inherited.blocks,
                .inherited_bytes = (uint64_t)inherited.bytes,
                .n_inherited_frees = x->n_inherited_frees,
                .inherited_free_bytes = s->rare.items[idx].inherited_free_bytes,
                .peak_blocks = at_peak.blocks,
                .peak_bytes = at_peak.bytes,
                .all_peak_blocks = at_all_peak.blocks,
                .all_peak_bytes = at_all_peak.bytes,
        };
        memcpy(row->n_life, x->n_life, sizeof(row->n_life));
}

static void total_add(struct sites *s, uint32_t idx) {
        const struct site *x = sites_at(s, idx);
        const struct site_rare *rare = &s->rare.items[idx];
        struct site_total *t = &s->totals.items[idx];

        t->n_allocs += x->n_allocs;
        t->alloc_bytes += x->alloc_bytes;
        t->n_frees += x->n_frees;
        t->free_bytes += x->free_bytes;
        t->n_temporary += x->n_temporary;
        t->n_reallocs += x->n_reallocs;
        t->n_inherited += (uint64_t)rare->inherited.blocks;
        t->inherited_bytes += (uint64_t)rare->inherited.bytes;
        t->n_inherited_frees += x->n_inherited_frees;
        t->inherited_free_bytes += rare->inherited_free_bytes;
}

static void moves_take(struct sites *s, uint32_t idx) {
        const struct site *x = sites_at(s, idx);
        struct trace_move *m;

        if (!x->n_foreign_frees)
                return;
        m = sites_moves(s, idx);
        m->n_foreign_frees = x->n_foreign_frees;
        m->foreign_bytes = x->foreign_bytes;
}

static void slice_add_sites(struct sites *s) {
        for (size_t i = 0; i < s->touched_sites.n; i++) {
                uint32_t idx = s->touched_sites.items[i];

                vec_reserve(&s->rows, 1);
                row_fill(s, idx, &s->rows.items[s->rows.n++]);
                total_add(s, idx);
                moves_take(s, idx);
                counts_add_site(&s->processes.items[sites_at(s, idx)->process]->in_slice,
                                sites_at(s, idx));
        }
}

/* What a new process inherited and did not touch: alive all the time, so also at its peak. */
static void slice_add_inherited(struct sites *s, const struct figures *f) {
        for (size_t i = 0; i < f->inherited.n; i++) {
                const struct inherited *line = &f->inherited.items[i];

                if (line->site == UINT32_MAX)
                        vec_push(&s->rows, (struct trace_site){
                                                   .process = f->process,
                                                   .stack = line->stack,
                                                   .n_inherited = line->n,
                                                   .inherited_bytes = line->bytes,
                                                   .peak_blocks = (int64_t)line->n,
                                                   .peak_bytes = (int64_t)line->bytes,
                                           });
        }
}

static void slice_add_processes(struct sites *s) {
        for (size_t i = 0; i < s->touched_processes.n; i++) {
                struct figures *f = s->processes.items[s->touched_processes.items[i]];
                struct trace_counts c;

                counts_complete(&f->in_slice);
                c = f->in_slice;
                counts_set_state(&c, f->process, f->live, &f->peak_in_slice);
                vec_push(&s->counts, c);
                trace_counts_add(&f->total, &f->in_slice);
                peak_raise(&f->peak, &f->peak_in_slice);
                if (f->first_slice == s->slice)
                        slice_add_inherited(s, f);
        }
}

static void slice_add_all(struct sites *s, const struct peak *peak) {
        struct trace_counts c = {0};

        if (!s->is_multi)
                return;
        counts_set_state(&c, TRACE_NO_PROCESS, s->all_live, peak);
        vec_push(&s->counts, c);
}

/* ---- checkpoints -------------------------------------------------------------------------------- */

static void checkpoint_add_site(struct sites *s, const struct ended_site *site) {
        if (site->n_allocs + site->n_frees + site->n_inherited > 0)
                vec_push(&s->rows, ended_site_row(site));
}

static void checkpoint_add_process(struct sites *s, const struct figures *f) {
        struct trace_counts c;

        for (size_t i = 0; i < f->sites.n; i++) {
                struct ended_site sum = sites_sum(s, f->sites.items[i]);

                checkpoint_add_site(s, &sum);
        }
        for (size_t i = 0; i < f->inherited.n; i++)
                if (f->inherited.items[i].site == UINT32_MAX) {
                        struct ended_site sum = inherited_sum(f, &f->inherited.items[i]);

                        checkpoint_add_site(s, &sum);
                }
        sites_get_counts(s, f, &c);
        vec_push(&s->counts, c);
}

/* Between slices: nothing is open. */
static void sites_put_checkpoint(struct sites *s) {
        vec_clear(&s->rows);
        vec_clear(&s->counts);
        for (size_t i = 0; i < s->ended.sites.n; i++)
                checkpoint_add_site(s, &s->ended.sites.items[i]);
        for (size_t i = 0; i < s->ended.counts.n; i++)
                vec_push(&s->counts, s->ended.counts.items[i]);
        for (size_t i = 0; i < s->processes.n; i++)
                if (s->processes.items[i] && !s->processes.items[i]->is_filed)
                        checkpoint_add_process(s, s->processes.items[i]);
        slice_add_all(s, &s->all_peak);
        trace_put_checkpoint(s->writer, s->rows.items, s->rows.n, s->counts.items, s->counts.n);
}

bool sites_slice_is_dirty(const struct sites *s) {
        return s->touched_processes.n > 0 || trace_slice_n_events(s->writer) > 0;
}

static bool sites_checkpoint_is_due(const struct sites *s, enum sites_checkpoint checkpoint) {
        size_t n = sites_n_used(s) + s->n_inherited_lines + s->ended.sites.n;

        if (s->ended.is_full)
                return false;
        return checkpoint == SITES_CHECKPOINT_ALWAYS || trace_wants_checkpoint(s->writer, n) ||
               (checkpoint == SITES_CHECKPOINT_UNLESS_NEAR &&
                trace_allows_checkpoint(s->writer, n));
}

void sites_end_slice(struct sites *s, uint64_t end_ns, enum sites_checkpoint checkpoint) {
        vec_clear(&s->rows);
        vec_clear(&s->counts);
        slice_add_sites(s);
        slice_add_processes(s);
        slice_add_all(s, &s->all_peak_in_slice);
        if (!s->is_sampled)
                trace_put_moves(s->writer, s->moves.rows.items, s->moves.rows.n);
        trace_end_slice(s->writer, end_ns, s->rows.items, s->rows.n, s->counts.items, s->counts.n);

        peak_raise(&s->all_peak, &s->all_peak_in_slice);
        s->all_peak_in_slice =
                (struct peak){(uint64_t)s->all_live.blocks, (uint64_t)s->all_live.bytes, end_ns};
        s->all_peak_no = 1;
        s->slice++;
        s->n_lines_in_slice = 0;
        vec_clear(&s->touched_sites);
        vec_clear(&s->touched_processes);
        moves_clear(&s->moves);
        sites_release_over(s);
        if (sites_checkpoint_is_due(s, checkpoint))
                sites_put_checkpoint(s);
}
