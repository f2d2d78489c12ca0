/* SPDX-License-Identifier: MIT */
#include "trace/testing/trace_fake.h"

#include <assert.h>
#include <stdio.h>

#include "base/map.h"

struct fake_block {
        uint64_t seq, size_bytes, born_ns;
        uint32_t stack, thread;
        uint32_t n_blocks; /* that it stands for */
};

typedef VEC(struct fake_block) fake_blocks;

struct fake_process {
        fake_blocks live;
        struct trace_counts slice, total; /* total: only live, peaks and sums are kept */
};

/* What a thread allocated last and has not replaced a block with. */
struct fake_latest {
        uint64_t size_bytes;
        uint32_t stack; /* 0: none */
};

struct fake_program {
        struct trace_writer *w;
        struct fake_process processes[2];
        uint32_t n_processes;
        uint64_t now_ns;
        uint64_t *last_seq;                    /* by thread: its newest allocation + 1 */
        struct map slice_by_key, total_by_key; /* (process, stack) → place */
        trace_site_vec slice_sites, total_sites;
        struct fake_latest *latest; /* by thread */
        struct map move_by_key;
        trace_move_vec slice_moves;
        uint64_t all_peak_bytes;
};

static const char *const fake_args[] = {"./fake", "--seed", "1"};

const struct trace_meta trace_fake_meta = {
        .pid = 4711,
        .machine = 183,
        .page_bytes = 4096,
        .started_unix_ns = 1700000000000000000ull,
        .silt_version = "0.1.0",
        .host = "host",
        .cwd = "/tmp",
        .n_args = 3,
        .args = fake_args,
};

uint64_t trace_fake_random(uint64_t *state) {
        uint64_t x = *state;

        x ^= x << 13;
        x ^= x >> 7;
        x ^= x << 17;
        return *state = x;
}

static uint64_t fake_below(struct trace_fake *f, uint64_t n) {
        return trace_fake_random(&f->random) % n;
}

/* Few stacks are hot, as in a real program. */
static uint32_t fake_stack(struct trace_fake *f) {
        uint64_t n = f->o.n_stacks;
        uint64_t limit = fake_below(f, 4) ? n / 16 + 1 : n;

        return (uint32_t)(1 + fake_below(f, limit));
}

static uint32_t fake_process_of(const struct trace_fake *f, uint32_t thread) {
        return f->program->n_processes > 1 && thread == f->o.n_threads ? 1 : 0;
}

static struct trace_site *fake_site(trace_site_vec *sites, struct map *by_key, uint32_t process,
                                    uint32_t stack) {
        bool added;
        uint64_t *place = map_put(by_key, (uint64_t)process << 32 | stack, sites->n, &added);

        if (added) {
                struct trace_site *s = vec_add(sites);

                s->process = process;
                s->stack = stack;
        }
        return &sites->items[*place];
}

static struct trace_site *fake_row(struct trace_fake *f, uint32_t process, uint32_t stack) {
        return fake_site(&f->program->slice_sites, &f->program->slice_by_key, process, stack);
}

static struct trace_move *fake_move(struct trace_fake *f, uint32_t process, uint32_t stack) {
        struct fake_program *p = f->program;
        bool added;
        uint64_t *place =
                map_put(&p->move_by_key, (uint64_t)process << 32 | stack, p->slice_moves.n, &added);

        if (added)
                vec_push(&p->slice_moves, (struct trace_move){.process = process, .stack = stack});
        return &p->slice_moves.items[*place];
}

/* ---- what an event does to the figures ------------------------------------------------------- */

/* A new peak: every site's figure of that moment is its net change so far. */
static void fake_take_peak(struct trace_fake *f, uint32_t process) {
        struct fake_program *p = f->program;
        struct trace_counts *c = &p->processes[process].slice;

        if (c->live_bytes <= c->peak_bytes)
                return;
        c->peak_bytes = c->live_bytes;
        c->peak_blocks = c->live_blocks;
        c->peak_ns = p->now_ns;
        if (!f->o.keep) /* quadratic: not in benchmarks */
                return;
        for (size_t i = 0; i < p->slice_sites.n; i++) {
                struct trace_site *s = &p->slice_sites.items[i];

                if (s->process != process)
                        continue;
                s->peak_blocks = (int64_t)(s->n_inherited + s->n_allocs - s->n_frees);
                s->peak_bytes = (int64_t)(s->inherited_bytes + s->alloc_bytes - s->free_bytes);
        }
}

static void fake_count_alloc(struct trace_fake *f, uint32_t process, const struct fake_block *b,
                             bool is_realloc) {
        struct trace_counts *c = &f->program->processes[process].slice;
        struct trace_site *s = fake_row(f, process, b->stack);

        uint64_t n = b->n_blocks, bytes = n * b->size_bytes;

        s->n_allocs += n, s->alloc_bytes += bytes, s->n_reallocs += is_realloc ? n : 0;
        c->n_allocs += n, c->alloc_bytes += bytes, c->n_reallocs += is_realloc ? n : 0;
        c->n_complete_stacks += n;
        c->live_blocks += n, c->live_bytes += bytes;
        f->program->last_seq[b->thread] = b->seq + 1;
        fake_take_peak(f, process);
}

static void fake_count_free(struct trace_fake *f, uint32_t process, uint32_t thread,
                            const struct fake_block *b, bool implicit) {
        struct trace_counts *c = &f->program->processes[process].slice;
        struct trace_site *s = fake_row(f, process, b->stack);
        bool temporary =
                !implicit && b->thread == thread && f->program->last_seq[thread] == b->seq + 1;
        uint64_t us = (f->program->now_ns - b->born_ns) / 1000;
        uint64_t n = b->n_blocks, bytes = n * b->size_bytes;
        unsigned bucket = 0;

        while (bucket + 1 < TRACE_N_LIFE_BUCKETS && us >= 4)
                us /= 4, bucket++;
        s->n_frees += n, s->free_bytes += bytes, s->n_temporary += temporary ? n : 0,
                s->n_life[bucket] += (uint32_t)n;
        if (fake_process_of(f, b->thread) != process)
                s->n_inherited_frees += n, s->inherited_free_bytes += bytes;
        c->n_frees += implicit ? 0 : n, c->n_implicit_frees += implicit ? n : 0,
                c->n_temporary += temporary ? n : 0;
        c->live_blocks -= n, c->live_bytes -= bytes;
}

static void fake_grow(struct trace_move *m, uint64_t old_bytes, uint64_t new_bytes) {
        m->n_grown++, m->copied_bytes += old_bytes, m->grown_bytes += new_bytes;
}

/* new: what realloc made of it; NULL: it was released. */
static void fake_count_moves(struct trace_fake *f, uint32_t process, uint32_t thread,
                             const struct fake_block *b, const struct fake_block *new) {
        struct fake_latest *l = &f->program->latest[thread];

        if (fake_process_of(f, b->thread) == process) {
                struct trace_move *m = fake_move(f, process, b->stack);

                if (b->thread != thread)
                        m->n_foreign_frees++, m->foreign_bytes += b->size_bytes;
                if (!new && l->stack == b->stack && l->size_bytes != b->size_bytes) {
                        if (l->size_bytes > b->size_bytes)
                                fake_grow(m, b->size_bytes, l->size_bytes);
                        else
                                m->n_shrunk++;
                        l->stack = 0;
                }
                if (f->program->last_seq[thread] == b->seq + 1)
                        l->stack = 0;
        }
        if (new &&new->size_bytes > b->size_bytes) {
                struct trace_move *m = fake_move(f, process, new->stack);

                fake_grow(m, b->size_bytes, new->size_bytes);
                m->in_place_bytes += new->seq % 3 ? 0 : b->size_bytes;
        }
        if (new)
                l->stack = 0;
}

static void fake_remember(struct trace_fake *f, struct trace_event e) {
        e.time_ns = e.time_ns / 1000 * 1000;
        if (f->o.keep)
                vec_push(&f->events, e);
}

/* ---- events ---------------------------------------------------------------------------------- */

static struct fake_block fake_new_block(struct trace_fake *f, uint32_t thread) {
        uint32_t stack = fake_stack(f);
        uint64_t size = stack % 3 ? 16 + stack % 7 * 8 : fake_below(f, 4096);

        return (struct fake_block){.size_bytes = size,
                                   .n_blocks = f->o.flags & TRACE_IS_SAMPLED
                                                       ? 1 + (uint32_t)fake_below(f, 20000)
                                                       : 1,
                                   .stack = stack,
                                   .thread = thread,
                                   .born_ns = f->program->now_ns};
}

static uint64_t fake_address(struct trace_fake *f) {
        return f->o.flags & TRACE_HAS_ADDRESSES ? 0xffff00000000ull + fake_below(f, 1 << 20) * 16
                                                : 0;
}

static void fake_put_weights(struct trace_fake *f, const struct fake_block *new,
                             const struct fake_block *old) {
        if (f->o.flags & TRACE_IS_SAMPLED)
                trace_put_weights(f->program->w, new ? new->n_blocks : 1, old ? old->n_blocks : 1);
}

static void fake_alloc(struct trace_fake *f, uint32_t thread) {
        struct fake_program *p = f->program;
        struct fake_process *q = &p->processes[fake_process_of(f, thread)];
        struct fake_block b = fake_new_block(f, thread);
        uint64_t address = fake_address(f);

        fake_put_weights(f, &b, NULL);
        b.seq = trace_put_alloc(p->w, thread, p->now_ns, b.stack, b.size_bytes, address);
        fake_remember(f, (struct trace_event){.op = TRACE_ALLOC,
                                              .thread = thread,
                                              .time_ns = p->now_ns,
                                              .stack = b.stack,
                                              .size_bytes = b.size_bytes,
                                              .n_blocks = b.n_blocks,
                                              .seq = b.seq,
                                              .address = address});
        fake_count_alloc(f, fake_process_of(f, thread), &b, false);
        p->latest[thread] = (struct fake_latest){b.size_bytes, b.stack};
        vec_push(&q->live, b);
}

/* Mostly young blocks die. */
static size_t fake_victim(struct trace_fake *f, const fake_blocks *live) {
        uint64_t back =
                fake_below(f, 8) ? fake_below(f, MIN(live->n, (size_t)32)) : fake_below(f, live->n);

        return live->n - 1 - back;
}

static void fake_free(struct trace_fake *f, uint32_t thread, bool implicit) {
        struct fake_program *p = f->program;
        struct fake_process *q = &p->processes[fake_process_of(f, thread)];
        size_t i = fake_victim(f, &q->live);
        struct fake_block b = q->live.items[i];
        uint32_t free_stack = !implicit && f->o.flags & TRACE_HAS_FREE_STACKS ? fake_stack(f) : 0;

        fake_put_weights(f, NULL, &b);
        if (implicit)
                trace_put_other(p->w, thread, p->now_ns, TRACE_IMPLICIT_FREE, b.size_bytes, b.seq,
                                b.stack);
        else
                trace_put_free(p->w, thread, p->now_ns, b.seq, b.stack, b.size_bytes, free_stack);
        fake_remember(f, (struct trace_event){.op = implicit ? TRACE_OTHER : TRACE_FREE,
                                              .other = TRACE_IMPLICIT_FREE,
                                              .thread = thread,
                                              .time_ns = p->now_ns,
                                              .stack = b.stack,
                                              .free_stack = free_stack,
                                              .size_bytes = b.size_bytes,
                                              .n_blocks = b.n_blocks,
                                              .seq = b.seq});
        fake_count_free(f, fake_process_of(f, thread), thread, &b, implicit);
        if (!implicit)
                fake_count_moves(f, fake_process_of(f, thread), thread, &b, NULL);
        q->live.items[i] = q->live.items[--q->live.n];
}

static void fake_realloc(struct trace_fake *f, uint32_t thread) {
        struct fake_program *p = f->program;
        struct fake_process *q = &p->processes[fake_process_of(f, thread)];
        size_t i = fake_victim(f, &q->live);
        struct fake_block old = q->live.items[i], b = fake_new_block(f, thread);
        uint64_t address = fake_address(f);

        fake_put_weights(f, &b, &old);
        b.seq = trace_put_realloc(p->w, thread, p->now_ns, old.seq, old.stack, old.size_bytes,
                                  b.stack, b.size_bytes, address);
        fake_remember(f, (struct trace_event){.op = TRACE_REALLOC,
                                              .thread = thread,
                                              .time_ns = p->now_ns,
                                              .stack = b.stack,
                                              .size_bytes = b.size_bytes,
                                              .n_blocks = b.n_blocks,
                                              .old_n_blocks = old.n_blocks,
                                              .seq = b.seq,
                                              .address = address,
                                              .old_stack = old.stack,
                                              .old_size_bytes = old.size_bytes,
                                              .old_seq = old.seq});
        fake_count_free(f, fake_process_of(f, thread), thread, &old, false);
        fake_count_alloc(f, fake_process_of(f, thread), &b, true);
        fake_count_moves(f, fake_process_of(f, thread), thread, &old, &b);
        q->live.items[i] = b;
}

static void fake_other(struct trace_fake *f, uint32_t thread) {
        struct fake_program *p = f->program;
        struct trace_counts *c = &p->processes[fake_process_of(f, thread)].slice;
        bool is_sampled = f->o.flags & TRACE_IS_SAMPLED;
        enum trace_other other =
                (enum trace_other)(TRACE_UNKNOWN_FREE + fake_below(f, is_sampled ? 6 : 5));
        uint64_t value = other == TRACE_FAILED ? UINT64_MAX - fake_below(f, 9)
                         : other == TRACE_LOST ? 3
                                               : 0;

        trace_put_other(p->w, thread, p->now_ns, other, value, 0, 0);
        fake_remember(f, (struct trace_event){.op = TRACE_OTHER,
                                              .other = (uint8_t)other,
                                              .thread = thread,
                                              .time_ns = p->now_ns,
                                              .size_bytes = value});
        c->n_unknown_frees += other == TRACE_UNKNOWN_FREE;
        c->n_prior_frees += other == TRACE_PRIOR_FREE;
        c->n_failed += other == TRACE_FAILED;
        c->n_lost += other == TRACE_LOST ? value : 0;
        c->n_wrong_sizes += other == TRACE_WRONG_SIZE;
        if (other == TRACE_UNSAMPLED)
                p->last_seq[thread] = 0;
}

static void fake_event(struct trace_fake *f, uint32_t thread) {
        const fake_blocks *live = &f->program->processes[fake_process_of(f, thread)].live;
        uint64_t dice = fake_below(f, 100);

        f->program->now_ns += fake_below(f, 8) ? fake_below(f, 400) : fake_below(f, 40000);
        if (dice == 0)
                fake_other(f, thread);
        else if (!live->n || dice < 50)
                fake_alloc(f, thread);
        else if (dice < 55)
                fake_realloc(f, thread);
        else
                fake_free(f, thread, dice == 55);
}

/* ---- slices ---------------------------------------------------------------------------------- */

static int fake_compare(const void *a, const void *b) {
        const struct trace_site *x = a, *y = b;

        if (x->process != y->process)
                return x->process < y->process ? -1 : 1;
        return x->stack < y->stack ? -1 : x->stack > y->stack;
}

static void fake_add_totals(struct trace_fake *f) {
        struct fake_program *p = f->program;

        for (size_t i = 0; i < p->slice_sites.n; i++) {
                const struct trace_site *s = &p->slice_sites.items[i];
                struct trace_site *t =
                        fake_site(&p->total_sites, &p->total_by_key, s->process, s->stack);

                t->n_allocs += s->n_allocs, t->alloc_bytes += s->alloc_bytes;
                t->n_frees += s->n_frees, t->free_bytes += s->free_bytes;
                t->n_temporary += s->n_temporary, t->n_reallocs += s->n_reallocs;
                t->n_inherited += s->n_inherited, t->inherited_bytes += s->inherited_bytes;
                t->n_inherited_frees += s->n_inherited_frees;
                t->inherited_free_bytes += s->inherited_free_bytes;
        }
}

void trace_fake_add_counts(struct trace_counts *t, const struct trace_counts *c) {
        t->process = c->process;
        t->n_allocs += c->n_allocs, t->n_frees += c->n_frees, t->n_reallocs += c->n_reallocs;
        t->n_failed += c->n_failed, t->n_unknown_frees += c->n_unknown_frees;
        t->n_prior_frees += c->n_prior_frees, t->n_implicit_frees += c->n_implicit_frees;
        t->alloc_bytes += c->alloc_bytes, t->n_temporary += c->n_temporary, t->n_lost += c->n_lost;
        t->n_wrong_sizes += c->n_wrong_sizes, t->n_complete_stacks += c->n_complete_stacks;
        t->live_blocks = c->live_blocks, t->live_bytes = c->live_bytes;
        if (c->peak_bytes > t->peak_bytes)
                t->peak_bytes = c->peak_bytes, t->peak_blocks = c->peak_blocks,
                t->peak_ns = c->peak_ns;
}

/* The next slice begins with the live figures of this one; its peak is at least those. */
static void fake_next_slice(struct trace_fake *f) {
        struct fake_program *p = f->program;

        for (uint32_t i = 0; i < p->n_processes; i++) {
                struct trace_counts *c = &p->processes[i].slice;

                *c = (struct trace_counts){.process = i,
                                           .live_blocks = c->live_blocks,
                                           .live_bytes = c->live_bytes,
                                           .peak_blocks = c->live_blocks,
                                           .peak_bytes = c->live_bytes,
                                           .peak_ns = p->now_ns};
        }
        map_clear(&p->slice_by_key);
        vec_clear(&p->slice_sites);
        map_clear(&p->move_by_key);
        vec_clear(&p->slice_moves);
}

static int fake_compare_moves(const void *a, const void *b) {
        const struct trace_move *x = a, *y = b;

        if (x->process != y->process)
                return x->process < y->process ? -1 : 1;
        return x->stack < y->stack ? -1 : x->stack > y->stack;
}

static void fake_put_moves(struct trace_fake *f) {
        trace_move_vec *all = &f->program->slice_moves, kept = {0};

        trace_put_moves(f->program->w, all->items, all->n);
        if (!f->o.keep)
                return;
        for (size_t i = 0; i < all->n; i++)
                if (!trace_move_is_zero(&all->items[i]))
                        vec_push(&kept, all->items[i]);
        if (kept.n)
                qsort(kept.items, kept.n, sizeof(kept.items[0]), fake_compare_moves);
        vec_push(&f->slice_moves, kept);
}

static void fake_end_slice(struct trace_fake *f, uint32_t number) {
        struct fake_program *p = f->program;
        trace_counts_vec counts = {0}, totals = {0};

        qsort(p->slice_sites.items, p->slice_sites.n, sizeof(p->slice_sites.items[0]),
              fake_compare);
        fake_add_totals(f);
        for (uint32_t i = 0; i < p->n_processes; i++) {
                trace_fake_add_counts(&p->processes[i].total, &p->processes[i].slice);
                vec_push(&counts, p->processes[i].slice);
                vec_push(&totals, p->processes[i].total);
        }
        fake_put_moves(f);
        if (f->o.moment_every && number % f->o.moment_every == 0) {
                uint64_t end_ns = trace_slice_end_ns(p->w, p->now_ns);

                trace_keep_moment(p->w, end_ns);
                vec_push(&f->moments, end_ns);
        }
        trace_end_slice(p->w, p->now_ns, p->slice_sites.items, p->slice_sites.n, counts.items,
                        counts.n);
        if (number + 1 == f->o.n_slices || trace_wants_checkpoint(p->w, p->total_sites.n))
                trace_put_checkpoint(p->w, p->total_sites.items, p->total_sites.n, totals.items,
                                     totals.n);
        if (f->o.keep) {
                trace_site_vec copy = {0};

                for (size_t i = 0; i < p->slice_sites.n; i++)
                        vec_push(&copy, p->slice_sites.items[i]);
                vec_push(&f->slice_ends, f->events.n);
                vec_push(&f->slice_sites, copy);
                vec_push(&f->slice_counts, counts);
        } else
                vec_free(&counts);
        vec_free(&totals);
        fake_next_slice(f);
}

static void fake_fork(struct trace_fake *f) {
        struct fake_program *p = f->program;
        struct fake_process *child = &p->processes[1];
        const fake_blocks *live = &p->processes[0].live;

        trace_add_process(p->w, &(struct trace_process){.pid = 4712,
                                                        .parent = 0,
                                                        .image = 1,
                                                        .start_ns = p->now_ns,
                                                        .n_args = 1,
                                                        .args = fake_args,
                                                        .exe = "/bin/fake"});
        trace_add_thread(p->w,
                         &(struct trace_thread){.process = 1, .tid = 4712, .start_ns = p->now_ns});
        p->n_processes = 2;
        child->slice.process = 1;
        for (size_t i = 0; i < live->n; i++) {
                struct trace_site *s = fake_row(f, 1, live->items[i].stack);

                uint64_t n = live->items[i].n_blocks, bytes = n * live->items[i].size_bytes;

                s->n_inherited += n, s->inherited_bytes += bytes;
                child->slice.live_blocks += n, child->slice.live_bytes += bytes;
                vec_push(&child->live, live->items[i]);
        }
        fake_take_peak(f, 1);
}

static void fake_define(struct trace_fake *f) {
        struct trace_writer *w = f->program->w;
        struct trace_module m = {.path = "/usr/lib/libfake.so",
                                 .build_id = {1, 2, 3},
                                 .build_id_len = 20,
                                 .size_bytes = 1 << 20};

        trace_add_module(w, &m);
        for (uint32_t i = 0; i < f->o.n_stacks; i++) {
                uint32_t parent = i ? (uint32_t)fake_below(f, i + 1) : 0;
                struct trace_location l = {.module = i % 5 ? 0 : UINT32_MAX,
                                           .offset = fake_below(f, 1 << 20)};

                trace_add_stack(w, parent, trace_add_location(w, &l));
        }
        trace_add_process(w, &(struct trace_process){.pid = 4711,
                                                     .parent = TRACE_NO_PROCESS,
                                                     .image = 1,
                                                     .n_args = 3,
                                                     .args = fake_args,
                                                     .exe = "/bin/fake"});
        for (uint32_t i = 0; i < f->o.n_threads; i++)
                trace_add_thread(w, &(struct trace_thread){.process = 0, .tid = 4711 + i});
        trace_name_thread(w, 0, "main");
}

/* Samples, mappings, names and notes: a few of each. */
static void fake_decorate(struct trace_fake *f, uint32_t slice) {
        struct fake_program *p = f->program;

        trace_put_sample(p->w,
                         &(struct trace_sample){.process = 0,
                                                .time_ns = p->now_ns,
                                                .anon_bytes = 4096u * (slice == 5 ? 100000 : slice),
                                                .minor_faults = 10 + slice,
                                                .cpu_ns = p->now_ns / 2});
        trace_put_residency(p->w, &(struct trace_residency){.process = 0,
                                                            .stack = 1 + slice % 2,
                                                            .time_ns = p->now_ns,
                                                            .peak_ns = p->now_ns - 7,
                                                            .now = {1, 70000, 4096 + slice % 1000},
                                                            .peak = {2, 140000, 4096},
                                                            .seen = {3 + slice, 210000, 8192},
                                                            .max_touched_bytes = 6000});
        trace_put_mapping(p->w, &(struct trace_mapping){.process = 0,
                                                        .thread = slice ? 0 : TRACE_NO_THREAD,
                                                        .stack = 1,
                                                        .op = TRACE_BRK,
                                                        .time_ns = p->now_ns,
                                                        .address = 0x10000 + slice,
                                                        .size_bytes = (uint64_t)-4096});
        if (f->o.flags & TRACE_IS_SAMPLED)
                trace_put_tally(p->w, &(struct trace_tally){.time_ns = p->now_ns,
                                                            .n_allocs = 1000 + slice,
                                                            .alloc_bytes = 64000 + slice,
                                                            .n_frees = slice,
                                                            .sample_bytes = 524288});
        trace_put_cost(p->w, &(struct trace_cost){.time_ns = p->now_ns + 1,
                                                  .recorder_peak_bytes = 1000000 + slice,
                                                  .recorder_cpu_ns = 10 * slice});
        if (slice % 4 == 0)
                trace_put_room(p->w,
                               &(struct trace_room){
                                       .process = TRACE_NO_PROCESS,
                                       .version = 2,
                                       .time_ns = p->now_ns,
                                       .of = {[ROOM_LIMIT] = 1 << 20, [ROOM_SILT] = ROOM_UNKNOWN},
                                       .path = "/jobs/fake"});
        if (slice == 0) {
                trace_put_prior(p->w, &(struct trace_prior){.flags = TRACE_PRIOR_HELD |
                                                                     TRACE_PRIOR_WHOLE |
                                                                     TRACE_PRIOR_MAPPED,
                                                            .age_ns = 3600000000000,
                                                            .anon_bytes = 9000,
                                                            .held_bytes = 8000,
                                                            .free_bytes = 3000,
                                                            .mapped_bytes = 4096,
                                                            .n_mapped = 1,
                                                            .n_arenas = 2,
                                                            .allocator = "glibc"});
                trace_put_room(p->w, &(struct trace_room){.flags = TRACE_ROOM_KILL,
                                                          .time_ns = p->now_ns,
                                                          .of = {[ROOM_USAGE] = 77},
                                                          .path = ""});
                trace_put_allocator(p->w, &(struct trace_allocator){.process = 0,
                                                                    .n_allocs = 7,
                                                                    .alloc_bytes = 700,
                                                                    .name = "jemalloc",
                                                                    .version = "5.3.0",
                                                                    .module = "/bin/fake"});
                trace_name_thread(p->w, 0, "worker");
                trace_put_note(p->w, p->now_ns, "pid 12 not followed: it is static");
        }
}

void trace_fake_run(struct trace_fake *f, const struct trace_fake_options *o,
                    struct trace_writer *w) {
        struct fake_program *p = calloc(1, sizeof(*p));
        uint32_t thread = 0;

        assert(p);
        *f = (struct trace_fake){.o = *o,
                                 .random = o->seed * 0x9e3779b97f4a7c15ull + 1,
                                 .program = p};
        p->w = w;
        p->n_processes = 1;
        p->last_seq = calloc(o->n_threads + 1, sizeof(*p->last_seq));
        p->latest = calloc(o->n_threads + 1, sizeof(*p->latest));
        fake_define(f);
        for (uint32_t slice = 0; slice < o->n_slices; slice++) {
                if (slice == 1 && o->has_child)
                        fake_fork(f);
                for (uint32_t i = 0; i < o->n_events; i++) {
                        if (!fake_below(f, 6))
                                thread = (uint32_t)fake_below(f,
                                                              o->n_threads + (p->n_processes > 1));
                        fake_event(f, thread);
                }
                fake_decorate(f, slice);
                fake_end_slice(f, slice);
        }
        trace_end_process(w, &(struct trace_process_end){.process = 0,
                                                         .ended = TRACE_ENDED_EXIT,
                                                         .status = 3,
                                                         .end_ns = p->now_ns,
                                                         .n_threads = o->n_threads});
        qsort(p->total_sites.items, p->total_sites.n, sizeof(p->total_sites.items[0]),
              fake_compare);
        f->total_sites = p->total_sites;
        memset(&p->total_sites, 0, sizeof(p->total_sites));
}

void trace_fake_done(struct trace_fake *f) {
        struct fake_program *p = f->program;

        vec_free(&f->moments);
        for (size_t i = 0; i < f->slice_sites.n; i++)
                vec_free(&f->slice_sites.items[i]);
        for (size_t i = 0; i < f->slice_counts.n; i++)
                vec_free(&f->slice_counts.items[i]);
        for (size_t i = 0; i < f->slice_moves.n; i++)
                vec_free(&f->slice_moves.items[i]);
        vec_free(&f->slice_moves);
        vec_free(&f->slice_sites);
        vec_free(&f->slice_counts);
        vec_free(&f->events);
        vec_free(&f->slice_ends);
        vec_free(&f->total_sites);
        if (!p)
                return;
        for (size_t i = 0; i < ARRAY_SIZE(p->processes); i++)
                vec_free(&p->processes[i].live);
        map_done(&p->slice_by_key);
        map_done(&p->total_by_key);
        vec_free(&p->slice_sites);
        map_done(&p->move_by_key);
        vec_free(&p->slice_moves);
        free(p->latest);
        free(p->last_seq);
        free(p);
        f->program = NULL;
}
