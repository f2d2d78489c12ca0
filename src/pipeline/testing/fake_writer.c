/* SPDX-License-Identifier: MIT */
#include "pipeline/testing/fake_writer.h"

#include <assert.h>
#include <stdlib.h>

struct trace_writer *fake_writer_new(bool counts_only) {
        struct trace_writer *w = calloc(1, sizeof(*w));

        assert(w);
        w->counts_only = counts_only;
        vec_add(&w->stacks);
        return w;
}

static void fake_slice_done(struct fake_slice *s) {
        vec_free(&s->sites);
        vec_free(&s->counts);
        vec_free(&s->moves);
}

struct trace_writer *fake_writer_free(struct trace_writer *w) {
        for (size_t i = 0; i < w->slices.n; i++)
                fake_slice_done(&w->slices.items[i]);
        fake_slice_done(&w->checkpoint);
        for (size_t i = 0; i < w->modules.n; i++)
                free((char *)w->modules.items[i].path);
        vec_free(&w->slices);
        vec_free(&w->moves);
        vec_free(&w->modules);
        vec_free(&w->locations);
        vec_free(&w->stacks);
        vec_free(&w->processes);
        vec_free(&w->threads);
        vec_free(&w->events);
        vec_free(&w->mappings);
        vec_free(&w->residency);
        free(w);
        return NULL;
}

uint32_t trace_add_module(struct trace_writer *w, const struct trace_module *m) {
        struct trace_module copy = *m;

        copy.path = strdup(m->path);
        vec_push(&w->modules, copy);
        return (uint32_t)w->modules.n - 1;
}

uint32_t trace_add_location(struct trace_writer *w, const struct trace_location *l) {
        assert(l->module == UINT32_MAX || l->module < w->modules.n);
        vec_push(&w->locations, *l);
        return (uint32_t)w->locations.n - 1;
}

uint32_t trace_add_stack(struct trace_writer *w, uint32_t parent, uint32_t location) {
        assert(parent < w->stacks.n && location < w->locations.n);
        vec_push(&w->stacks, (struct trace_stack){parent, location});
        return (uint32_t)w->stacks.n - 1;
}

uint32_t trace_add_process(struct trace_writer *w, const struct trace_process *p) {
        vec_push(&w->processes, *p);
        return (uint32_t)w->processes.n - 1;
}

uint32_t trace_add_thread(struct trace_writer *w, const struct trace_thread *t) {
        assert(t->process < w->processes.n);
        vec_push(&w->threads, *t);
        return (uint32_t)w->threads.n - 1;
}

void trace_name_thread(struct trace_writer *w, uint32_t thread, const char *name) {
        assert(thread < w->threads.n);
        w->last_named = thread;
        strncpy(w->last_name, name, sizeof(w->last_name) - 1);
}

void trace_end_process(struct trace_writer *w, const struct trace_process_end *e) {
        assert(e->process < w->processes.n);
}

static void fake_put(struct trace_writer *w, const struct trace_event *e) {
        assert(e->time_ns >= w->last_ns);
        assert(e->thread < w->threads.n && e->stack < w->stacks.n && e->old_stack < w->stacks.n);
        assert(w->n_in_slice < TRACE_MAX_SLICE_EVENTS);
        w->last_ns = e->time_ns;
        w->n_events++;
        w->n_in_slice++;
        if (!w->counts_only)
                vec_push(&w->events, *e);
}

uint64_t trace_slice_begin_ns(const struct trace_writer *w) {
        return w->slices.n ? w->slices.items[w->slices.n - 1].end_ns : 0;
}

size_t trace_n_open_ticks(const struct trace_writer *w) {
        return w->n_open_ticks;
}

void trace_put_tick(struct trace_writer *w, const struct trace_tick *tick) {
        assert(tick->thread < w->threads.n);
        w->n_open_ticks++;
}

uint64_t trace_slice_end_ns(const struct trace_writer *w, uint64_t end_ns) {
        return MAX(end_ns, w->last_ns);
}

void trace_keep_moment(struct trace_writer *w, uint64_t end_ns) {
        (void)w;
        (void)end_ns;
}

bool trace_allows_checkpoint(const struct trace_writer *w, size_t n_sites_now) {
        (void)n_sites_now;
        return w->wants_checkpoints;
}

void trace_put_weights(struct trace_writer *w, uint32_t n_blocks, uint32_t old_n_blocks) {
        w->n_blocks = n_blocks;
        w->old_n_blocks = old_n_blocks;
}

void trace_put_tally(struct trace_writer *w, const struct trace_tally *t) {
        w->tally = *t;
}

uint64_t trace_stage_alloc(struct trace_writer *w, uint32_t thread, uint64_t time_ns,
                           uint32_t stack, uint64_t size_bytes, uint64_t address) {
        fake_put(w, &(struct trace_event){.op = TRACE_ALLOC,
                                          .thread = thread,
                                          .time_ns = time_ns,
                                          .stack = stack,
                                          .size_bytes = size_bytes,
                                          .n_blocks = w->n_blocks ? w->n_blocks : 1,
                                          .seq = w->n_seqs,
                                          .address = address});
        return w->n_seqs++;
}

void trace_stage_free(struct trace_writer *w, uint32_t thread, uint64_t time_ns, uint64_t seq,
                      uint32_t block_stack, uint64_t block_size_bytes, uint32_t free_stack) {
        assert(seq < w->n_seqs);
        fake_put(w, &(struct trace_event){.op = TRACE_FREE,
                                          .thread = thread,
                                          .time_ns = time_ns,
                                          .stack = block_stack,
                                          .free_stack = free_stack,
                                          .size_bytes = block_size_bytes,
                                          .n_blocks = w->old_n_blocks ? w->old_n_blocks : 1,
                                          .seq = seq});
}

uint64_t trace_put_realloc(struct trace_writer *w, uint32_t thread, uint64_t time_ns,
                           uint64_t old_seq, uint32_t old_stack, uint64_t old_size_bytes,
                           uint32_t stack, uint64_t size_bytes, uint64_t address) {
        assert(old_seq < w->n_seqs);
        fake_put(w, &(struct trace_event){.op = TRACE_REALLOC,
                                          .thread = thread,
                                          .time_ns = time_ns,
                                          .stack = stack,
                                          .size_bytes = size_bytes,
                                          .n_blocks = w->n_blocks ? w->n_blocks : 1,
                                          .seq = w->n_seqs,
                                          .address = address,
                                          .old_stack = old_stack,
                                          .old_size_bytes = old_size_bytes,
                                          .old_n_blocks = w->old_n_blocks ? w->old_n_blocks : 1,
                                          .old_seq = old_seq});
        return w->n_seqs++;
}

void trace_put_other(struct trace_writer *w, uint32_t thread, uint64_t time_ns,
                     enum trace_other other, uint64_t value, uint64_t seq, uint32_t block_stack) {
        fake_put(w, &(struct trace_event){.op = TRACE_OTHER,
                                          .other = (uint8_t)other,
                                          .thread = thread,
                                          .time_ns = time_ns,
                                          .stack = block_stack,
                                          .size_bytes = value,
                                          .n_blocks = w->old_n_blocks ? w->old_n_blocks : 1,
                                          .seq = seq});
}

void trace_put_residency(struct trace_writer *w, const struct trace_residency *row) {
        assert(row->process < w->processes.n && row->stack < w->stacks.n);
        vec_push(&w->residency, *row);
}

void trace_put_note(struct trace_writer *w, uint64_t time_ns, const char *text) {
        assert(time_ns >= w->last_ns || w->counts_only);
        w->n_notes++;
        strncpy(w->last_note, text, sizeof(w->last_note) - 1);
}

void trace_put_mapping(struct trace_writer *w, const struct trace_mapping *m) {
        vec_push(&w->mappings, *m);
}

void trace_put_sample(struct trace_writer *w, const struct trace_sample *s) {
        assert(s->process < w->processes.n);
}

uint32_t trace_slice_max_events(const struct trace_writer *w) {
        (void)w;
        return TRACE_MAX_SLICE_EVENTS;
}

size_t trace_slice_n_events(const struct trace_writer *w) {
        return w->n_in_slice;
}

static void fake_keep(struct fake_slice *s, const struct trace_site *sites, size_t n_sites,
                      const struct trace_counts *counts, size_t n_counts) {
        for (size_t i = 0; i < n_sites; i++)
                vec_push(&s->sites, sites[i]);
        for (size_t i = 0; i < n_counts; i++)
                vec_push(&s->counts, counts[i]);
}

void trace_put_moves(struct trace_writer *w, const struct trace_move *moves, size_t n) {
        for (size_t i = 0; i < n; i++)
                vec_push(&w->moves, moves[i]);
}

void trace_end_slice(struct trace_writer *w, uint64_t end_ns, const struct trace_site *sites,
                     size_t n_sites, const struct trace_counts *counts, size_t n_counts) {
        struct fake_slice *s;

        assert(end_ns >= w->last_ns);
        w->last_ns = end_ns;
        w->n_rows += n_sites + n_counts;
        if (!w->counts_only) {
                s = vec_add(&w->slices);
                s->end_ns = end_ns;
                s->n_events = w->n_in_slice;
                fake_keep(s, sites, n_sites, counts, n_counts);
                for (size_t i = 0; i < w->moves.n; i++)
                        vec_push(&s->moves, w->moves.items[i]);
        }
        vec_clear(&w->moves);
        w->n_in_slice = 0;
}

bool trace_wants_checkpoint(const struct trace_writer *w, size_t n_sites_now) {
        (void)n_sites_now;
        return w->wants_checkpoints;
}

void trace_put_checkpoint(struct trace_writer *w, const struct trace_site *sites, size_t n_sites,
                          const struct trace_counts *counts, size_t n_counts) {
        vec_clear(&w->checkpoint.sites);
        vec_clear(&w->checkpoint.counts);
        fake_keep(&w->checkpoint, sites, n_sites, counts, n_counts);
}
