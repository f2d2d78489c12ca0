/* SPDX-License-Identifier: MIT */
/* The books of the fabric, and events made by hand. */
#include <assert.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "ledger/trace_maker.h"
#include "query/testing/fabric_core.h"

uint64_t fabric_draw(struct fabric *f, uint64_t below) {
        f->random ^= f->random << 13;
        f->random ^= f->random >> 7;
        f->random ^= f->random << 17;
        return below ? (f->random >> 11) % below : 0;
}

struct fabric_site *fabric_site_at(struct fabric *f, uint32_t process, uint32_t stack) {
        bool added;
        uint64_t *idx = map_put(&f->index, (uint64_t)process << 32 | stack, f->sites.n, &added);

        if (added) {
                struct fabric_site *s = vec_add(&f->sites);

                s->slice.process = s->total.process = process;
                s->slice.stack = s->total.stack = stack;
        }
        return &f->sites.items[*idx];
}

/* ---- peaks: figures of every site are copied at every new one -------------------------------- */

void fabric_note_peak(struct fabric *f, struct fabric_process *p) {
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

void fabric_touch(struct fabric_process *p) {
        if (p->is_touched)
                return;
        p->is_touched = true;
        p->slice = (struct trace_counts){.process = p->id,
                                         .peak_bytes = p->live_bytes,
                                         .peak_blocks = p->live.n};
}

/* ---- slices ---------------------------------------------------------------------------------- */

static void add_totals(struct trace_site *t, const struct trace_site *s) {
        t->n_allocs += s->n_allocs;
        t->alloc_bytes += s->alloc_bytes;
        t->n_frees += s->n_frees;
        t->free_bytes += s->free_bytes;
        t->n_temporary += s->n_temporary;
        t->n_reallocs += s->n_reallocs;
        t->n_inherited += s->n_inherited;
        t->inherited_bytes += s->inherited_bytes;
        t->n_inherited_frees += s->n_inherited_frees;
        t->inherited_free_bytes += s->inherited_free_bytes;
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
        return s->n_allocs || s->n_frees || s->n_inherited || s->n_inherited_frees ||
               s->inherited_free_bytes || s->all_peak_bytes || s->all_peak_blocks;
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

void fabric_end_slice(struct fabric *f) {
        VEC(struct trace_site) sites = {0};
        VEC(struct trace_counts) counts = {0};

        if (f->maker) {
                fabric_made_end_slice(f);
                return;
        }
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
        fabric_put_moves(f);
        trace_end_slice(f->w, f->time_ns, sites.items, sites.n, counts.items, counts.n);
        f->all = (struct trace_counts){.peak_bytes = f->all_bytes, .peak_blocks = f->all_blocks};
        f->n_slice_events = 0;
        if (f->o.checkpoint_every && ++f->n_slices % f->o.checkpoint_every == 0)
                put_checkpoint(f);
        vec_free(&sites);
        vec_free(&counts);
}

/* ---- books ----------------------------------------------------------------------------------- */

void fabric_count_alloc(struct fabric *f, struct fabric_process *p, uint32_t stack,
                        uint64_t size_bytes) {
        struct fabric_site *s = fabric_site_at(f, p->id, stack);

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

static unsigned life_bucket(uint64_t age_us) {
        unsigned b = 0;

        for (uint64_t end_us = 4; b + 1 < TRACE_N_LIFE_BUCKETS && age_us >= end_us; end_us *= 4)
                b++;
        return b;
}

void fabric_count_release(struct fabric *f, struct fabric_process *p, struct live_block *b,
                          bool is_temporary) {
        struct fabric_site *s = fabric_site_at(f, p->id, b->stack);
        struct live_block old = *b;
        uint32_t process = p->id;

        s->slice.n_frees++;
        s->slice.free_bytes += b->size_bytes;
        s->slice.n_temporary += is_temporary;
        s->slice.n_life[life_bucket((f->time_ns - b->time_ns) / 1000)]++;
        p->slice.n_temporary += is_temporary;
        s->now_bytes -= (int64_t)b->size_bytes, s->now_blocks--;
        p->live_bytes -= b->size_bytes;
        if (!b->inherited) {
                s->own_bytes -= (int64_t)b->size_bytes, s->own_blocks--;
                f->all_bytes -= b->size_bytes, f->all_blocks--;
        } else {
                s->slice.n_inherited_frees++;
                s->slice.inherited_free_bytes += b->size_bytes;
        }
        *b = p->live.items[--p->live.n];
        if (old.inherited)
                fabric_heir_release(f, process, old.stack, old.size_bytes);
}

uint32_t fabric_add_process(struct fabric *f, uint32_t pid, uint32_t parent, uint32_t image,
                            bool inherits) {
        static const char *const args[] = {"fabric", "--weave"};
        struct trace_process start = {.pid = pid,
                                      .parent = parent,
                                      .image = image,
                                      .start_ns = f->time_ns,
                                      .n_args = 2,
                                      .args = args,
                                      .exe = "/usr/bin/fabric"};
        struct fabric_process p = {.pid = pid, .image = image};

        if (f->processes.n == 1 && !f->maker) {
                fabric_end_slice(f);
                f->has_two = true;
                f->all = (struct trace_counts){.peak_bytes = f->all_bytes,
                                               .peak_blocks = f->all_blocks};
                start.start_ns = f->time_ns;
        }
        p.id = f->maker ? fabric_made_begin(f, &start, inherits) : trace_add_process(f->w, &start);
        p.total.process = p.id;
        assert(p.id == f->processes.n);
        vec_push(&f->processes, p);
        f->has_two = f->processes.n > 1;
        fabric_touch(&f->processes.items[p.id]);
        return p.id;
}

void fabric_end_process(struct fabric *f, struct fabric_process *p, enum trace_ended ended) {
        struct trace_process_end e = {.process = p->id,
                                      .ended = ended,
                                      .end_ns = f->time_ns,
                                      .n_threads = (uint32_t)p->threads.n,
                                      .peak_rss_bytes = 1 << 20};
        bool passes_on = f->o.passes_on && f->has_two && fabric_has_heirs(f, p->id);

        p->is_over = true;
        if (f->maker) {
                fabric_made_end_process(f, &e);
                return;
        }
        if (passes_on) {
                fabric_end_slice(f);
                e.end_ns = f->time_ns;
        }
        trace_end_process(f->w, &e);
        fabric_touch(p);
        for (size_t i = 0; i < p->live.n && f->has_two; i++)
                if (!p->live.items[i].inherited) {
                        struct fabric_site *s = fabric_site_at(f, p->id, p->live.items[i].stack);

                        s->own_bytes -= (int64_t)p->live.items[i].size_bytes, s->own_blocks--;
                        f->all_bytes -= p->live.items[i].size_bytes, f->all_blocks--;
                }
        if (passes_on) {
                fabric_pass_on(f, p->id);
                f->time_ns = e.end_ns + 1;
                fabric_note_peak(f, p);
                f->time_ns = e.end_ns;
        }
        f->time_ns += 1000;
        if (passes_on)
                fabric_end_slice(f);
}

/* ---- definitions and events -------------------------------------------------------------------- */

uint32_t fabric_add_module(struct fabric *f, const struct trace_module *module) {
        return f->maker ? trace_maker_add_module(f->maker, module) : trace_add_module(f->w, module);
}

uint32_t fabric_add_location(struct fabric *f, const struct trace_location *location) {
        uint32_t id;

        if (!f->maker)
                return trace_add_location(f->w, location);
        if (trace_maker_add_location(f->maker, location, &id) < 0)
                abort();
        return id;
}

uint32_t fabric_add_stack(struct fabric *f, uint32_t parent, uint32_t location) {
        uint32_t id;

        if (!f->maker)
                return trace_add_stack(f->w, parent, location);
        if (trace_maker_add_stack(f->maker, parent, location, &id) < 0)
                abort();
        return id;
}

struct fabric_thread *fabric_add_thread(struct fabric *f, struct fabric_process *p,
                                        const char *name) {
        struct trace_thread t = {p->id, p->pid + (uint32_t)p->threads.n, f->time_ns};
        struct fabric_thread *new = vec_add(&p->threads);

        if (f->maker) {
                if (trace_maker_add_thread(f->maker, &t, name, &new->id) < 0)
                        abort();
                return new;
        }
        new->id = trace_add_thread(f->w, &t);
        if (name)
                trace_name_thread(f->w, new->id, name);
        return new;
}

uint64_t fabric_put_alloc(struct fabric *f, struct fabric_process *p, struct fabric_thread *t,
                          uint32_t stack, uint64_t size_bytes) {
        struct live_block b = {.size_bytes = size_bytes,
                               .stack = stack,
                               .thread = t->id,
                               .time_ns = f->time_ns};

        if (f->maker)
                return fabric_made_alloc(f, p, t, stack, size_bytes);
        b.seq = trace_put_alloc(f->w, t->id, f->time_ns, stack, size_bytes, 0);
        t->last_seq = b.seq + 1;
        fabric_move_alloc(t, stack, size_bytes);
        vec_push(&p->live, b);
        fabric_count_alloc(f, p, stack, size_bytes);
        return b.seq;
}

void fabric_put_free(struct fabric *f, struct fabric_process *p, struct fabric_thread *t,
                     struct live_block *b, uint32_t free_stack) {
        if (f->maker) {
                fabric_made_free(f, p, t, b, free_stack);
                return;
        }
        trace_put_free(f->w, t->id, f->time_ns, b->seq, b->stack, b->size_bytes, free_stack);
        p->slice.n_frees++;
        fabric_move_free(f, p, t, b);
        fabric_count_release(f, p, b, t->last_seq == b->seq + 1);
}

/* ---- by hand --------------------------------------------------------------------------------- */

static uint32_t module_of(struct fabric *f, const char *path) {
        struct trace_module m = {.path = path, .size_bytes = 1 << 20};

        for (size_t i = 0; i < f->module_paths.n; i++)
                if (strcmp(f->module_paths.items[i], path) == 0)
                        return (uint32_t)i;
        vec_push(&f->module_paths, path);
        return fabric_add_module(f, &m);
}

uint32_t fabric_frame(struct fabric *f, uint32_t caller, const char *module, const char *function,
                      const char *file, uint32_t line) {
        struct trace_location l = {module_of(f, module), 0x10000 + 64 * f->symbols.n};
        uint32_t location = fabric_add_location(f, &l);

        if (function)
                vec_push(&f->symbols, (struct trace_symbol){.location = location,
                                                            .function = function,
                                                            .file = file,
                                                            .line = line});
        return fabric_add_stack(f, caller, location);
}

void fabric_guess(struct fabric *f) {
        f->symbols.items[f->symbols.n - 1].guess = true;
}

uint32_t fabric_thread(struct fabric *f, uint32_t process, const char *name) {
        struct fabric_process *p = &f->processes.items[process];

        fabric_add_thread(f, p, name);
        return (uint32_t)p->threads.n - 1;
}

uint64_t fabric_alloc(struct fabric *f, uint32_t process, uint32_t thread, uint32_t stack,
                      uint64_t size_bytes) {
        struct fabric_process *p = &f->processes.items[process];
        uint64_t seq;

        fabric_touch(p);
        seq = fabric_put_alloc(f, p, &p->threads.items[thread], stack, size_bytes);
        fabric_note_peak(f, p);
        return seq;
}

static void fabric_release(struct fabric *f, uint32_t process, uint32_t thread, uint64_t seq,
                           uint32_t free_stack) {
        struct fabric_process *p = &f->processes.items[process];
        size_t i = p->live.n;

        while (p->live.items[--i].seq != seq)
                assert(i > 0);
        fabric_touch(p);
        fabric_put_free(f, p, &p->threads.items[thread], &p->live.items[i], free_stack);
}

void fabric_free(struct fabric *f, uint32_t process, uint32_t thread, uint64_t seq) {
        fabric_release(f, process, thread, seq, 0);
}

void fabric_delete_wrongly(struct fabric *f, uint32_t process, uint32_t thread, uint64_t seq,
                           uint64_t given_bytes, uint32_t free_stack) {
        struct fabric_process *p = &f->processes.items[process];

        assert(!f->maker);
        fabric_release(f, process, thread, seq, free_stack);
        trace_put_other(f->w, p->threads.items[thread].id, f->time_ns, TRACE_WRONG_SIZE,
                        given_bytes, 0, 0);
        p->slice.n_wrong_sizes++;
}

void fabric_exit(struct fabric *f, uint32_t process) {
        fabric_end_process(f, &f->processes.items[process], TRACE_ENDED_EXIT);
}

void fabric_wait(struct fabric *f, uint64_t us) {
        uint64_t slice_ns = f->o.slice_us ? f->o.slice_us * 1000 : 250000000;

        if ((f->time_ns + us * 1000) / slice_ns != f->time_ns / slice_ns)
                fabric_end_slice(f);
        f->time_ns += us * 1000;
}

uint64_t fabric_now_ns(const struct fabric *f) {
        return f->time_ns;
}

struct trace_writer *fabric_writer(struct fabric *f) {
        return f->w;
}

/* ---- names at random ------------------------------------------------------------------------- */

static uint32_t any_module(struct fabric *f) {
        static const char *const paths[] = {"/usr/bin/fabric", "/usr/lib/libweave.so.1",
                                            "/opt/loom/lib/libthread.so"};

        return module_of(f, paths[fabric_draw(f, ARRAY_SIZE(paths))]);
}

/* One function, several inlined into each other, or none. */
static void name_location(struct fabric *f, uint32_t location) {
        static const char *const functions[] = {"main",
                                                "warp",
                                                "weft",
                                                "Loom::weave(int)",
                                                "Loom::beat()",
                                                "shuttle<0>",
                                                "shuttle<1>",
                                                "{{closure}}(1)",
                                                "",
                                                "thread_main"};
        static const char *const files[] = {"", "src/loom.cc", "src/shuttle.h", "main.c"};
        unsigned n = (unsigned)fabric_draw(f, 4);

        for (unsigned i = 0; i < n; i++)
                vec_push(&f->symbols,
                         (struct trace_symbol){
                                 .location = location,
                                 .function = functions[fabric_draw(f, ARRAY_SIZE(functions))],
                                 .file = files[fabric_draw(f, ARRAY_SIZE(files))],
                                 .line = i + 1,
                                 .inlined = i + 1 < n});
}

/* ---- the whole ------------------------------------------------------------------------------- */

struct fabric *fabric_new(const char *path, const struct fabric_options *o) {
        static const char *const args[] = {"./fabric", "--weave"};
        struct trace_meta meta = {.pid = 100,
                                  .page_bytes = 4096,
                                  .flags = o->sample_bytes ? TRACE_IS_SAMPLED : 0,
                                  .sample_bytes = o->sample_bytes,
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
        f->path = strdup(path);
        f->random = o->seed * 2654435761u + 88172645463325252ull;
        f->next_pid = 100;
        if (o->by_maker)
                fabric_made_new(f);
        module_id = fabric_add_module(f, &module);
        vec_push(&f->module_paths, module.path);
        if (o->with_paths)
                fabric_add_named_stacks(f);
        for (unsigned i = 0; i < o->n_stacks && !o->with_paths; i++) {
                struct trace_location l = {o->with_names ? any_module(f) : module_id,
                                           4096 + 16 * i};
                uint32_t location = fabric_add_location(f, &l);

                f->stacks[i] = fabric_add_stack(f, i ? f->stacks[fabric_draw(f, i)] : 0, location);
                if (o->with_names)
                        name_location(f, location);
        }
        fabric_add_process(f, f->next_pid++, TRACE_NO_PROCESS, 1, false);
        return f;
}

void fabric_end(struct fabric *f) {
        struct err e = {0};

        if (!f->maker)
                fabric_end_slice(f);
        for (size_t i = 0; i < f->processes.n; i++) {
                if (!f->processes.items[i].is_over && i > 0)
                        fabric_end_process(f, &f->processes.items[i], TRACE_ENDED_EXIT);
        }
        if (f->maker)
                fabric_made_end(f);
        if (trace_writer_finish(f->w, &e) < 0)
                abort();
        trace_writer_free(f->w);
        if (f->symbols.n && trace_append_symbols(f->path, f->symbols.items, f->symbols.n, &e) < 0)
                abort();
        for (size_t i = 0; i < f->processes.n; i++) {
                vec_free(&f->processes.items[i].threads);
                vec_free(&f->processes.items[i].live);
        }
        vec_free(&f->symbols);
        vec_free(&f->module_paths);
        free(f->path);
        vec_free(&f->processes);
        vec_free(&f->sites);
        map_done(&f->index);
        free(f);
}
