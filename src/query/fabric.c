/* SPDX-License-Identifier: MIT */
#include "query/fabric.h"

#include <assert.h>
#include <fcntl.h>
#include <stdio.h>

#include "base/map.h"
#include "base/vec.h"
#include "trace/writer.h"

struct live_block {
        uint64_t seq, size_bytes, time_ns;
        uint32_t stack, thread; /* thread that allocated it */
        bool inherited;
};

struct fabric_thread {
        uint32_t id;
        uint64_t last_seq; /* of its latest allocation, plus 1 */
};

struct fabric_site {
        struct trace_site slice, total;
        int64_t now_bytes, now_blocks; /* since the slice began, inherited counted */
        int64_t own_bytes,
                own_blocks; /* since the slice began, own blocks, gone with their process */
};

struct fabric_process {
        uint32_t id, pid, image;
        bool is_over;
        VEC(struct fabric_thread) threads;
        VEC(struct live_block) live;
        struct trace_counts slice, total;
        bool is_touched;
        uint64_t live_bytes;
};

struct fabric {
        struct fabric_options o;
        struct trace_writer *w;
        uint64_t random, time_ns;
        uint32_t next_pid;
        uint32_t stacks[256];
        VEC(struct fabric_process) processes;
        struct map index; /* process << 32 | stack → site */
        VEC(struct fabric_site) sites;
        struct trace_counts all; /* state and peak of the slice, of all processes */
        uint64_t all_bytes, all_blocks;
        bool has_two; /* more than one process so far */
        unsigned n_slices, n_slice_events;
};

static uint64_t draw(struct fabric *f, uint64_t below) {
        f->random ^= f->random << 13;
        f->random ^= f->random >> 7;
        f->random ^= f->random << 17;
        return below ? (f->random >> 11) % below : 0;
}

static struct fabric_site *site_at(struct fabric *f, uint32_t process, uint32_t stack) {
        bool added;
        uint64_t *idx = map_put(&f->index, (uint64_t)process << 32 | stack, f->sites.n, &added);

        if (added) {
                struct fabric_site *s = vec_add(&f->sites);

                s->slice.process = s->total.process = process;
                s->slice.stack = s->total.stack = stack;
        }
        return &f->sites.items[*idx];
}

/* ---- peaks: figures of every site are copied at every new one ---------------------------------- */

static void note_peak(struct fabric *f, struct fabric_process *p) {
        struct trace_counts *c = &p->slice;

        if (p->live_bytes > c->peak_bytes) {
                c->peak_bytes = p->live_bytes;
                c->peak_blocks = p->live.n;
                c->peak_ns = f->time_ns;
                for (size_t i = 0; i < f->sites.n; i++)
                        if (f->sites.items[i].slice.process == p->id) {
                                f->sites.items[i].slice.peak_bytes = f->sites.items[i].now_bytes;
                                f->sites.items[i].slice.peak_blocks = f->sites.items[i].now_blocks;
                        }
        }
        if (f->has_two && f->all_bytes > f->all.peak_bytes) {
                f->all.peak_bytes = f->all_bytes;
                f->all.peak_blocks = f->all_blocks;
                f->all.peak_ns = f->time_ns;
                for (size_t i = 0; i < f->sites.n; i++) {
                        f->sites.items[i].slice.all_peak_bytes = f->sites.items[i].own_bytes;
                        f->sites.items[i].slice.all_peak_blocks = f->sites.items[i].own_blocks;
                }
        }
}

static void touch(struct fabric_process *p) {
        if (p->is_touched)
                return;
        p->is_touched = true;
        p->slice = (struct trace_counts){.process = p->id,
                                         .peak_bytes = p->live_bytes,
                                         .peak_blocks = p->live.n};
}

/* ---- slices ------------------------------------------------------------------------------------ */

static void add_totals(struct trace_site *t, const struct trace_site *s) {
        t->n_allocs += s->n_allocs;
        t->alloc_bytes += s->alloc_bytes;
        t->n_frees += s->n_frees;
        t->free_bytes += s->free_bytes;
        t->n_temporary += s->n_temporary;
        t->n_reallocs += s->n_reallocs;
        t->n_inherited += s->n_inherited;
        t->inherited_bytes += s->inherited_bytes;
}

static void add_counts(struct trace_counts *t, const struct trace_counts *c) {
        t->n_allocs += c->n_allocs;
        t->n_frees += c->n_frees;
        t->n_reallocs += c->n_reallocs;
        t->n_failed += c->n_failed;
        t->n_unknown_frees += c->n_unknown_frees;
        t->n_prior_frees += c->n_prior_frees;
        t->n_implicit_frees += c->n_implicit_frees;
        t->alloc_bytes += c->alloc_bytes;
        t->n_temporary += c->n_temporary;
        t->n_lost += c->n_lost;
        t->n_wrong_sizes += c->n_wrong_sizes;
        t->n_complete_stacks += c->n_complete_stacks;
        if (c->peak_bytes > t->peak_bytes) {
                t->peak_bytes = c->peak_bytes;
                t->peak_blocks = c->peak_blocks;
                t->peak_ns = c->peak_ns;
        }
        t->live_bytes = c->live_bytes;
        t->live_blocks = c->live_blocks;
}

static bool site_is_touched(const struct trace_site *s) {
        return s->n_allocs || s->n_frees || s->n_inherited || s->all_peak_bytes ||
               s->all_peak_blocks;
}

static void put_checkpoint(struct fabric *f) {
        VEC(struct trace_site) sites = {0};
        VEC(struct trace_counts) counts = {0};

        if (f->has_two)
                vec_push(&counts, (struct trace_counts){.process = TRACE_NO_PROCESS,
                                                        .live_bytes = f->all_bytes,
                                                        .live_blocks = f->all_blocks});
        for (size_t i = 0; i < f->processes.n; i++)
                vec_push(&counts, f->processes.items[i].total);
        for (size_t i = 0; i < f->sites.n; i++)
                vec_push(&sites, f->sites.items[i].total);
        trace_put_checkpoint(f->w, sites.items, sites.n, counts.items, counts.n);
        vec_free(&sites);
        vec_free(&counts);
}

static void end_slice(struct fabric *f) {
        VEC(struct trace_site) sites = {0};
        VEC(struct trace_counts) counts = {0};

        if (f->has_two) {
                f->all.live_bytes = f->all_bytes;
                f->all.live_blocks = f->all_blocks;
                f->all.process = TRACE_NO_PROCESS;
                vec_push(&counts, f->all);
        }
        for (size_t i = 0; i < f->processes.n; i++) {
                struct fabric_process *p = &f->processes.items[i];

                if (!p->is_touched)
                        continue;
                p->slice.live_bytes = p->live_bytes;
                p->slice.live_blocks = p->live.n;
                vec_push(&counts, p->slice);
                add_counts(&p->total, &p->slice);
                p->is_touched = false;
        }
        for (size_t i = 0; i < f->sites.n; i++) {
                struct fabric_site *s = &f->sites.items[i];

                if (site_is_touched(&s->slice))
                        vec_push(&sites, s->slice);
                add_totals(&s->total, &s->slice);
                s->slice =
                        (struct trace_site){.process = s->slice.process, .stack = s->slice.stack};
                s->now_bytes = s->now_blocks = s->own_bytes = s->own_blocks = 0;
        }
        f->time_ns += 1000;
        trace_end_slice(f->w, f->time_ns, sites.items, sites.n, counts.items, counts.n);
        f->all = (struct trace_counts){.peak_bytes = f->all_bytes, .peak_blocks = f->all_blocks};
        f->n_slice_events = 0;
        if (f->o.checkpoint_every && ++f->n_slices % f->o.checkpoint_every == 0)
                put_checkpoint(f);
        vec_free(&sites);
        vec_free(&counts);
}

/* ---- events ------------------------------------------------------------------------------------ */

static struct fabric_thread *any_thread(struct fabric *f, struct fabric_process *p) {
        if (p->threads.n == 0 || (p->threads.n < f->o.max_threads && draw(f, 50) == 0)) {
                struct trace_thread t = {p->id, p->pid + (uint32_t)p->threads.n, f->time_ns};

                vec_push(&p->threads, (struct fabric_thread){.id = trace_add_thread(f->w, &t)});
        }
        return &p->threads.items[draw(f, p->threads.n)];
}

static void count_alloc(struct fabric *f, struct fabric_process *p, uint32_t stack,
                        uint64_t size_bytes) {
        struct fabric_site *s = site_at(f, p->id, stack);

        s->slice.n_allocs++;
        s->slice.alloc_bytes += size_bytes;
        s->now_bytes += (int64_t)size_bytes, s->now_blocks++;
        s->own_bytes += (int64_t)size_bytes, s->own_blocks++;
        p->slice.n_allocs++;
        p->slice.alloc_bytes += size_bytes;
        p->slice.n_complete_stacks++;
        p->live_bytes += size_bytes;
        f->all_bytes += size_bytes, f->all_blocks++;
}

/* Takes the block out of the books, and out of the list. */
static void count_release(struct fabric *f, struct fabric_process *p, struct live_block *b,
                          bool is_temporary) {
        struct fabric_site *s = site_at(f, p->id, b->stack);

        s->slice.n_frees++;
        s->slice.free_bytes += b->size_bytes;
        s->slice.n_temporary += is_temporary;
        s->slice.n_life[0]++;
        p->slice.n_temporary += is_temporary;
        s->now_bytes -= (int64_t)b->size_bytes, s->now_blocks--;
        p->live_bytes -= b->size_bytes;
        if (!b->inherited) {
                s->own_bytes -= (int64_t)b->size_bytes, s->own_blocks--;
                f->all_bytes -= b->size_bytes, f->all_blocks--;
        }
        *b = p->live.items[--p->live.n];
}

static uint64_t draw_size(struct fabric *f) {
        return draw(f, 20) == 0 ? draw(f, 100000) : draw(f, 200);
}

static void do_alloc(struct fabric *f, struct fabric_process *p) {
        struct fabric_thread *t = any_thread(f, p);
        struct live_block b = {.size_bytes = draw_size(f),
                               .stack = f->stacks[draw(f, f->o.n_stacks)],
                               .thread = t->id,
                               .time_ns = f->time_ns};

        b.seq = trace_put_alloc(f->w, t->id, f->time_ns, b.stack, b.size_bytes, 0);
        t->last_seq = b.seq + 1;
        vec_push(&p->live, b);
        count_alloc(f, p, b.stack, b.size_bytes);
}

/* Often the newest block, so that temporaries happen. */
static struct live_block *any_block(struct fabric *f, struct fabric_process *p) {
        return &p->live.items[draw(f, 2) ? p->live.n - 1 : draw(f, p->live.n)];
}

static void do_free(struct fabric *f, struct fabric_process *p) {
        struct fabric_thread *t = any_thread(f, p);
        struct live_block *b = any_block(f, p);

        trace_put_free(f->w, t->id, f->time_ns, b->seq, b->stack, b->size_bytes, 0);
        p->slice.n_frees++;
        count_release(f, p, b, t->last_seq == b->seq + 1);
}

static void do_realloc(struct fabric *f, struct fabric_process *p) {
        struct fabric_thread *t = any_thread(f, p);
        struct live_block *old = any_block(f, p);
        struct live_block b = {.size_bytes = draw_size(f),
                               .stack = f->stacks[draw(f, f->o.n_stacks)],
                               .thread = t->id,
                               .time_ns = f->time_ns};

        b.seq = trace_put_realloc(f->w, t->id, f->time_ns, old->seq, old->stack, old->size_bytes,
                                  b.stack, b.size_bytes, 0);
        p->slice.n_frees++;
        p->slice.n_reallocs++;
        count_release(f, p, old, t->last_seq == old->seq + 1);
        t->last_seq = b.seq + 1;
        vec_push(&p->live, b);
        count_alloc(f, p, b.stack, b.size_bytes);
        site_at(f, p->id, b.stack)->slice.n_reallocs++;
}

static void do_other(struct fabric *f, struct fabric_process *p) {
        struct fabric_thread *t = any_thread(f, p);
        enum trace_other other = (enum trace_other)draw(f, 6);
        struct live_block *b;

        if (other == TRACE_IMPLICIT_FREE) {
                if (p->live.n == 0)
                        return;
                b = any_block(f, p);
                trace_put_other(f->w, t->id, f->time_ns, other, b->size_bytes, b->seq, b->stack);
                p->slice.n_implicit_frees++;
                count_release(f, p, b, false);
                return;
        }
        trace_put_other(f->w, t->id, f->time_ns, other, 3, 0, 0);
        switch (other) {
        case TRACE_UNKNOWN_FREE: p->slice.n_unknown_frees++; break;
        case TRACE_PRIOR_FREE: p->slice.n_prior_frees++; break;
        case TRACE_FAILED: p->slice.n_failed++; break;
        case TRACE_LOST: p->slice.n_lost += 3; break;
        default: p->slice.n_wrong_sizes++; break;
        }
}

/* ---- processes --------------------------------------------------------------------------------- */

static uint32_t add_process(struct fabric *f, uint32_t pid, uint32_t parent, uint32_t image) {
        static const char *const args[] = {"fabric", "--weave"};
        struct trace_process start = {.pid = pid,
                                      .parent = parent,
                                      .image = image,
                                      .start_ns = f->time_ns,
                                      .n_args = 2,
                                      .args = args,
                                      .exe = "/usr/bin/fabric"};
        struct fabric_process p = {.pid = pid, .image = image};

        if (f->processes.n == 1) {
                end_slice(f);
                f->has_two = true;
                f->all = (struct trace_counts){.peak_bytes = f->all_bytes,
                                               .peak_blocks = f->all_blocks};
                start.start_ns = f->time_ns;
        }
        p.id = trace_add_process(f->w, &start);
        p.total.process = p.id;
        assert(p.id == f->processes.n);
        vec_push(&f->processes, p);
        touch(&f->processes.items[p.id]);
        return p.id;
}

static void do_fork(struct fabric *f, uint32_t parent) {
        uint32_t child;
        struct fabric_process *from, *to;

        f->time_ns +=
                1000; /* a moment of its own: events of the same microsecond have no order to it */
        child = add_process(f, f->next_pid++, parent, 1);
        from = &f->processes.items[parent];
        to = &f->processes.items[child];
        for (size_t i = 0; i < from->live.n; i++) {
                struct live_block b = from->live.items[i];
                struct fabric_site *s = site_at(f, child, b.stack);

                b.inherited = true;
                vec_push(&to->live, b);
                to->live_bytes += b.size_bytes;
                s->slice.n_inherited++;
                s->slice.inherited_bytes += b.size_bytes;
                s->now_bytes += (int64_t)b.size_bytes, s->now_blocks++;
        }
        note_peak(f, to);
        f->time_ns += 1000;
}

static void end_process(struct fabric *f, struct fabric_process *p, enum trace_ended ended) {
        struct trace_process_end e = {.process = p->id,
                                      .ended = ended,
                                      .end_ns = f->time_ns,
                                      .n_threads = (uint32_t)p->threads.n,
                                      .peak_rss_bytes = 1 << 20};

        p->is_over = true;
        trace_end_process(f->w, &e);
        touch(p);
        for (size_t i = 0; i < p->live.n && f->has_two; i++)
                if (!p->live.items[i].inherited) {
                        struct fabric_site *s = site_at(f, p->id, p->live.items[i].stack);

                        s->own_bytes -= (int64_t)p->live.items[i].size_bytes, s->own_blocks--;
                        f->all_bytes -= p->live.items[i].size_bytes, f->all_blocks--;
                }
        f->time_ns += 1000;
}

static void do_exec(struct fabric *f, uint32_t process) {
        struct fabric_process *p = &f->processes.items[process];
        uint32_t pid = p->pid, image = p->image;

        if (!f->has_two) { /* the end of the only process must come when there are two */
                do_fork(f, process);
                p = &f->processes.items[process];
        }
        end_process(f, p, TRACE_ENDED_EXEC);
        add_process(f, pid, process, image + 1);
}

static struct fabric_process *any_process(struct fabric *f) {
        for (;;) {
                struct fabric_process *p = &f->processes.items[draw(f, f->processes.n)];

                if (!p->is_over)
                        return p;
        }
}

static size_t n_alive(const struct fabric *f) {
        size_t n = 0;

        for (size_t i = 0; i < f->processes.n; i++)
                n += !f->processes.items[i].is_over;
        return n;
}

static void do_process_life(struct fabric *f) {
        uint32_t process = any_process(f)->id;

        switch (draw(f, 3)) {
        case 0:
                if (f->processes.n < f->o.max_processes)
                        do_fork(f, process);
                break;
        case 1:
                if (f->processes.n + 1 < f->o.max_processes)
                        do_exec(f, process);
                break;
        default:
                if (n_alive(f) > 1)
                        end_process(f, &f->processes.items[process], TRACE_ENDED_EXIT);
                break;
        }
}

/* ---- the whole --------------------------------------------------------------------------------- */

struct fabric *fabric_new(const char *path, const struct fabric_options *o) {
        static const char *const args[] = {"./fabric", "--weave"};
        struct trace_meta meta = {.pid = 100,
                                  .page_bytes = 4096,
                                  .silt_version = "test",
                                  .host = "loom",
                                  .cwd = "/",
                                  .n_args = 2,
                                  .args = args};
        struct trace_module module = {.path = "/usr/bin/fabric", .size_bytes = 1 << 20};
        struct fabric *f = calloc(1, sizeof(*f));
        int fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
        struct err e = {0};
        uint32_t module_id;

        if (!f || fd < 0 || trace_writer_open(fd, &meta, &f->w, &e) < 0)
                abort();
        f->o = *o;
        f->random = o->seed * 2654435761u + 88172645463325252ull;
        f->next_pid = 100;
        module_id = trace_add_module(f->w, &module);
        for (unsigned i = 0; i < o->n_stacks; i++) {
                struct trace_location l = {module_id, 4096 + 16 * i};

                f->stacks[i] = trace_add_stack(f->w, i ? f->stacks[draw(f, i)] : 0,
                                               trace_add_location(f->w, &l));
        }
        add_process(f, f->next_pid++, TRACE_NO_PROCESS, 1);
        return f;
}

void fabric_run(struct fabric *f, unsigned n_events) {
        for (unsigned i = 0; i < n_events; i++) {
                struct fabric_process *p;
                uint64_t what = draw(f, 100);

                f->time_ns += draw(f, f->o.max_step_us + 1) * 1000;
                if (f->o.max_processes > 1 && draw(f, 60) == 0)
                        do_process_life(f);
                p = any_process(f);
                touch(p);
                if (what < 2)
                        do_other(f, p);
                else if (what < 50 || p->live.n == 0)
                        do_alloc(f, p);
                else if (what < 60)
                        do_realloc(f, p);
                else
                        do_free(f, p);
                note_peak(f, p);
                if (++f->n_slice_events >= f->o.slice_events / 2 + draw(f, f->o.slice_events))
                        end_slice(f);
        }
}

void fabric_end(struct fabric *f) {
        struct err e = {0};

        end_slice(f);
        for (size_t i = 0; i < f->processes.n; i++) {
                if (!f->processes.items[i].is_over && i > 0)
                        end_process(f, &f->processes.items[i], TRACE_ENDED_EXIT);
                vec_free(&f->processes.items[i].threads);
                vec_free(&f->processes.items[i].live);
        }
        if (trace_writer_finish(f->w, &e) < 0)
                abort();
        trace_writer_free(f->w);
        vec_free(&f->processes);
        vec_free(&f->sites);
        map_done(&f->index);
        free(f);
}
