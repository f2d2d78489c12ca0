/* SPDX-License-Identifier: MIT */
/* What a pipeline knows at this moment: live blocks, totals of a process, its own size. */
#include <string.h>

#include "pipeline/pipeline_state.h"

/* ---- live blocks -------------------------------------------------------------------------------- */

void pipeline_get_live(const struct pipeline *p, uint64_t *ret_bytes, uint64_t *ret_blocks) {
        struct amount live = p->sites.all_live;

        if (!p->sites.is_multi) /* then it is not kept */
                live = p->sites.processes.n && p->sites.processes.items[0]
                               ? p->sites.processes.items[0]->live
                               : (struct amount){0, 0};
        *ret_bytes = (uint64_t)live.bytes;
        *ret_blocks = (uint64_t)live.blocks;
}

struct live_visit {
        const struct pipeline *p;
        void (*fn)(void *ctx, const struct pipeline_block *b);
        void *ctx;
};

static void visit_live(void *ctx, const struct block *b) {
        const struct live_visit *v = ctx;
        struct pipeline_block one = {.address = b->address,
                                     .size_bytes = block_size_bytes(b),
                                     .seq = block_seq(b),
                                     .stack = book_stack(&v->p->pair.book, b)};

        v->fn(v->ctx, &one);
}

void pipeline_walk_live(const struct pipeline *p, uint32_t process_idx,
                        void (*fn)(void *ctx, const struct pipeline_block *b), void *ctx) {
        const struct process *process =
                process_idx < p->n_processes ? p->processes[process_idx] : NULL;
        struct live_visit visit = {p, fn, ctx};

        if (process && process->is_started)
                live_walk(&process->live, visit_live, &visit);
}

/* ---- totals -------------------------------------------------------------------------------------- */

uint64_t pipeline_n_unslotted(const struct pipeline *p) {
        /* relaxed: a counter; more than this is nonsense */
        uint64_t n = MIN(atomic_load_explicit(&p->header->n_unslotted_events, memory_order_relaxed),
                         (uint64_t)1 << 40) +
                     p->n_orphans;

        return n > p->n_unslotted_told ? n - p->n_unslotted_told : 0;
}

static void totals_add_living(const struct pipeline *p, const struct process *process,
                              struct pipeline_totals *t) {
        const struct wire_process *shared = &p->shared_processes[process->idx];

        /* relaxed: counters of their own */
        t->runtime_bytes =
                atomic_load_explicit(&shared->runtime_bytes, memory_order_relaxed) +
                (uint64_t)atomic_load_explicit(&shared->n_ring_pages, memory_order_relaxed) *
                        WIRE_PAGE_BYTES;
        t->n_early_events = atomic_load_explicit(&shared->n_early_events, memory_order_relaxed);
        t->n_threads = process->n_threads;
        t->n_threads_started =
                1 + atomic_load_explicit(&shared->n_threads_started, memory_order_relaxed);
        t->n_threads_started = MAX(t->n_threads_started, t->n_threads);
        t->blocked_ns = process->blocked_ns;
        t->ends_in_exec = process->ends_in_exec;
        t->shares = process->shares;
        t->loader_number = process->loader_number;
        t->tally = tally_of(p, process);
        t->sample_ns = tally_sample_ns(p, &t->tally);
        t->count_ns = tally_count_ns(&t->tally);
        for (size_t i = 0; i < p->drain.active.n; i++) {
                const struct slot *s = p->drain.active.items[i];

                if (s->process != process)
                        continue;
                t->blocked_ns += atomic_load_explicit(&s->shared->blocked_ns, memory_order_relaxed);
                t->ends_in_exec |= slot_ends_in_exec(s);
        }
}

bool pipeline_get_totals(const struct pipeline *p, uint32_t trace_process,
                         struct pipeline_totals *ret) {
        if (trace_process >= p->sites.processes.n || !p->sites.processes.items[trace_process])
                return false;
        memset(ret, 0, sizeof(*ret));
        sites_get_counts(&p->sites, p->sites.processes.items[trace_process], &ret->counts);
        for (size_t i = 0; i < p->active.n; i++)
                if (p->active.items[i]->figures && p->active.items[i]->trace_id == trace_process)
                        totals_add_living(p, p->active.items[i], ret);
        return true;
}

void pipeline_get_stats(const struct pipeline *p, struct pipeline_stats *ret) {
        *ret = (struct pipeline_stats){
                .n_records = p->n_records,
                .n_sites = sites_n_used(&p->sites),
                .n_stacks = p->intern.nodes.n - 1,
                .n_locations = p->intern.n_locations,
                .n_inversions = p->pair.n_inversions,
                .n_forced = p->n_forced,
                .n_broken_slots = p->drain.n_broken,
                .n_unslotted = pipeline_n_unslotted(p),
                .lent_bytes = (uint64_t)p->drain.lender.n_lent * WIRE_CHUNK_BYTES,
                .backed_bytes = (uint64_t)p->drain.lender.n_backed * WIRE_CHUNK_BYTES,
                .live_table_bytes = live_layers_bytes(),
                .site_bytes = sites_size_bytes(&p->sites),
                .intern_bytes = intern_size_bytes(&p->intern),
                .queue_bytes = p->drain.queue_bytes,
        };
        for (size_t i = 0; i < p->active.n; i++) {
                const struct process *process = p->active.items[i];

                if (!process->figures)
                        continue;
                ret->n_live_blocks += (uint64_t)process->figures->live.blocks;
                ret->live_table_bytes += live_size_bytes(&process->live);
                ret->intern_bytes += intern_space_size_bytes(process->space);
        }
}
