/* SPDX-License-Identifier: MIT */
/* Writes the seeds of report_fuzz: small traces with forks, threads, names, mappings and samples, bodies decompressed.
 * usage: report_seeds DIRECTORY */
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/macros.h"
#include "ledger/trace_maker.h"
#include "query/testing/fabric.h"
#include "report/report_stories.h"
#include "trace/recorder_end.h"
#include "trace/testing/trace_plain.h"
#include "trace/writer.h"

enum {
        N_SEEDS = 16,
        N_VIEWS = 16,
        N_CULPRITS = 14,
        N_DROPPED = 48, /* recordings whose events are gone: the first ones, or all */
        N_STEPS = 70,   /* of a program with one */
        CHOICE_REHASH = 1,
        CHOICE_VIEW = 2,
        CHOICE_JSON = 4,
        CHOICE_ALL = 8,
        CHOICE_BLOCKS = 16,
        CHOICE_FULL = 32,
        CHOICE_WINDOW = 192,
};

static void put_names(struct fabric *f) {
        static const char *const names[] = {
                "main",
                "std::vector<std::pair<int, long>, std::allocator<int> >::reserve(unsigned long)",
                "int shop::sum<int>(int, int) const::{lambda(int)#1}::operator()(int) const",
                "(anonymous namespace)::Cache::operator<<(int)",
                "shop::Cache::operator bool() const",
                "<alloc::vec::Vec<T> as core::clone::Clone>::clone",
                "core::ops::function::FnOnce::call_once{{vtable.shim}}",
                NULL,
        };
        uint32_t thread = fabric_thread(f, 0, "worker"), stack = 0;

        for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
                stack = fabric_frame(f, stack, i % 2 ? "/bin/x" : "/lib/libc.so.6", names[i],
                                     i % 3 ? "a.cc" : "", (uint32_t)i);
                fabric_alloc(f, 0, thread, stack, 1000 * i);
                fabric_free(f, 0, thread, fabric_alloc(f, 0, thread, stack, 50));
                fabric_wait(f, 20);
        }
}

static void put_mappings(struct fabric *f) {
        struct trace_mapping m = {.op = TRACE_MMAP,
                                  .stack = 1,
                                  .time_ns = fabric_now_ns(f),
                                  .address = 0x700000,
                                  .size_bytes = 65536};

        trace_put_mapping(fabric_writer(f), &m);
        m.op = TRACE_MREMAP;
        m.old_address = m.address;
        m.old_size_bytes = m.size_bytes;
        m.address = 0x900000;
        m.size_bytes *= 2;
        trace_put_mapping(fabric_writer(f), &m);
        m.op = TRACE_MUNMAP;
        m.address += 4096;
        m.size_bytes = 8192;
        trace_put_mapping(fabric_writer(f), &m);
        m.op = TRACE_BRK;
        trace_put_mapping(fabric_writer(f), &m);
}

static void put_tally(struct fabric *f, const struct fabric_options *o) {
        trace_put_cost(fabric_writer(f), &(struct trace_cost){.time_ns = fabric_now_ns(f),
                                                              .recorder_peak_bytes = 12 << 20,
                                                              .recorder_cpu_ns = 5000000});
        trace_put_tally(fabric_writer(f),
                        &(struct trace_tally){.time_ns = fabric_now_ns(f),
                                              .n_allocs = 5000,
                                              .n_frees = 4000,
                                              .n_reallocs = 9,
                                              .alloc_bytes = 1 << 20,
                                              .n_unsampled = 2,
                                              .runtime_ns = 1000000,
                                              .sample_bytes = 2 * o->sample_bytes});
}

/* Attached to: as much of it as is known. */
static void put_prior(struct fabric *f, uint32_t flags) {
        struct trace_prior x = {.flags = flags, .anon_bytes = 1 << 20, .allocator = ""};

        if (flags & TRACE_PRIOR_HELD) {
                x.age_ns = 5000000000;
                x.held_bytes = 70000;
                x.free_bytes = 3000;
                x.n_arenas = flags & TRACE_PRIOR_MAPPED ? 2 : 1;
                x.allocator = "glibc\033";
        } else {
                x.flags &= ~(uint32_t)TRACE_PRIOR_WHOLE;
        }
        if (flags & TRACE_PRIOR_MAPPED) {
                x.n_mapped = 2;
                x.mapped_bytes = 8192;
        }
        trace_put_prior(fabric_writer(f), &x);
}

/* Killed for lack of memory: the group grew, or the machine did, or nothing did. */
static void put_rooms(struct fabric *f, unsigned seed) {
        uint64_t end_ns = fabric_now_ns(f);
        struct trace_room x = {.process = TRACE_NO_PROCESS,
                               .version = seed % 3,
                               .path = seed % 3 ? "/jobs/a\033" : ""};

        for (size_t i = 0; i < ROOM_N_FIGURES; i++)
                x.of[i] = seed % 5 ? 1000 * i : ROOM_UNKNOWN;
        x.of[ROOM_LIMIT] = 1 << 20;
        for (unsigned i = 1; i <= 8; i++) {
                x.time_ns = end_ns * i / 8;
                x.of[ROOM_USAGE] = seed % 2 ? (1 << 17) * i : 1 << 20;
                x.of[ROOM_SHMEM] = seed % 7 ? x.of[ROOM_USAGE] / 2 : ROOM_UNKNOWN;
                trace_put_room(fabric_writer(f), &x);
        }
        x.process = 0;
        x.flags = TRACE_ROOM_KILL;
        trace_put_room(fabric_writer(f), &x);
        trace_put_note(
                fabric_writer(f), end_ns,
                "kernel: oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null),oom_memcg=/jobs/a\033,task_memcg=/jobs/a\033,task=x,pid=100,uid=0");
        trace_put_note(fabric_writer(f), end_ns,
                       "kernel: Memory cgroup out of memory: Killed process 100 (x) total-vm:1kB");
        if (seed % 4 == 1)
                trace_put_note(fabric_writer(f), end_ns, NO_GRAPH_NOTE "no room");
        if (seed % 4 != 2)
                trace_end_process(fabric_writer(f),
                                  &(struct trace_process_end){.ended = TRACE_ENDED_OOM,
                                                              .status = 9,
                                                              .end_ns = end_ns});
        else
                trace_put_note(fabric_writer(f), 0, RECORDER_KILLED_NOTE RECORDER_BOTH_KILLED);
}

static void write_trace(const char *path, unsigned seed) {
        struct fabric_options o = {.seed = seed,
                                   .n_stacks = 3 + seed % 4,
                                   .slice_events = 10 + seed,
                                   .max_processes = 1 + seed % 4,
                                   .passes_on = seed / 4 % 2,
                                   .max_threads = 1 + seed % 3,
                                   .checkpoint_every = seed % 3,
                                   .max_step_us = seed % 2 ? 9 : 4000,
                                   .sample_bytes = seed % 4 == 3 ? 4096 : 0,
                                   .with_paths = seed % 3 == 0};
        struct fabric *f = fabric_new(path, &o);

        if (seed % 2)
                put_names(f);
        put_mappings(f);
        fabric_run(f, 60);
        trace_put_sample(fabric_writer(f), &(struct trace_sample){.time_ns = fabric_now_ns(f),
                                                                  .anon_bytes = 1 << 20});
        trace_put_residency(fabric_writer(f), &(struct trace_residency){.stack = 1 + seed % 3,
                                                                        .time_ns = fabric_now_ns(f),
                                                                        .peak_ns = 1000,
                                                                        .now = {1, 70000, 4096},
                                                                        .peak = {2, 1 << 20, 8192},
                                                                        .seen = {3, 2 << 20, 16384},
                                                                        .max_touched_bytes = 8192});
        if (o.sample_bytes)
                put_tally(f, &o);
        if (seed % 3 == 1)
                put_prior(f, seed / 3 % 8);
        trace_put_note(fabric_writer(f), fabric_now_ns(f), "pid 107 not followed\033");
        fabric_run(f, 40);
        if (seed % 3 != 1)
                put_rooms(f, seed);
        fabric_end(f);
}

/* --max-size: of the first part there are sums and no events. */
static void write_bounded(const char *path, unsigned seed) {
        const struct fabric_options o = {.seed = seed,
                                         .n_stacks = 4,
                                         .slice_events = 40,
                                         .max_processes = 1,
                                         .max_threads = 2,
                                         .checkpoint_every = 3,
                                         .max_step_us = 1};
        struct fabric *f = fabric_new(path, &o);

        trace_writer_bound(fabric_writer(f), 8000);
        fabric_run(f, 1500);
        if (trace_writer_n_thinned(fabric_writer(f)) == 0)
                abort();
        fabric_end(f);
}

/* A profile of sums, with times or moments that have none. */
static void write_totals(const char *path, unsigned seed) {
        bool has_times = seed % 4;
        const struct trace_meta meta = {.flags = TRACE_IS_TOTALS |
                                                 (has_times ? 0 : TRACE_LACKS_TIME)};
        uint64_t step_ns = has_times ? 10000 : 1000000000;
        const struct trace_process process = {.pid = 100, .parent = TRACE_NO_PROCESS, .exe = "/x"};
        struct trace_maker_total t = {.n_allocs = 0};
        struct trace_writer *w = NULL;
        struct trace_maker *m = NULL;
        struct err err = {0};
        uint32_t module, location;
        int fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

        if (fd < 0 || trace_writer_open(fd, &meta, &w, &err) < 0 ||
            trace_maker_new(w, meta.flags, &m) < 0)
                abort();
        module =
                trace_maker_add_module(m, &(struct trace_module){.path = "/x", .size_bytes = 4096});
        if (trace_maker_add_location(m, &(struct trace_location){module, 16}, &location) < 0 ||
            trace_maker_add_stack(m, 0, location, &t.stack) < 0 ||
            trace_maker_begin_process(m, &process, false, &t.process) < 0)
                abort();
        for (unsigned i = 1; i <= 6; i++) {
                t.n_allocs += 10;
                t.alloc_bytes += 5000;
                t.n_frees += 3;
                t.free_bytes += 1500;
                if (trace_maker_put_totals(m, i * step_ns, &t, 1) < 0)
                        abort();
        }
        trace_maker_finish(m, 7 * step_ns);
        if (trace_writer_finish(w, &err) < 0)
                abort();
        trace_maker_free(m);
        trace_writer_free(w);
}

static void write_dropped(const char *path, unsigned seed) {
        if (seed % 2)
                write_bounded(path, seed);
        else
                write_totals(path, seed);
}

/* A byte for the view and the filter, and one that asks for them. */
static void add_choices(const char *path, bool has_index, uint8_t view, unsigned choice) {
        FILE *f;

        trace_make_plain(path, has_index, view);
        f = fopen(path, "ab");
        if (!f)
                abort();
        fputc((int)(CHOICE_REHASH | CHOICE_VIEW | choice), f);
        fclose(f);
}

static void write_view(const char *path, unsigned view, void (*write)(const char *, unsigned)) {
        write(path, view);
        /* each view whole, in a window, and in full of all processes; as text and as JSON */
        add_choices(path, view % 5 != 0, (uint8_t)view,
                    (view + view / N_VIEWS) % 2 * CHOICE_JSON |
                            (view / N_VIEWS % 3 == 1 ? CHOICE_WINDOW : 0) |
                            (view / N_VIEWS % 3 == 2 ? CHOICE_ALL | CHOICE_FULL : 0));
}

/* ---- programs that findings are about ---------------------------------------------------------- */

struct culprit {
        struct fabric *f;
        uint32_t thread, other, main, serve, scratch, own, part;
        uint64_t kept[N_STEPS * 4];
        size_t n_kept;
};

static void keep(struct culprit *c, uint32_t stack, uint64_t size_bytes) {
        if (c->n_kept < ARRAY_SIZE(c->kept))
                c->kept[c->n_kept++] = fabric_alloc(c->f, 0, c->thread, stack, size_bytes);
}

static void drop(struct culprit *c, uint32_t by) {
        while (c->n_kept)
                fabric_free(c->f, 0, by, c->kept[--c->n_kept]);
}

/* Blocks that replace smaller ones of the same place. */
static void grow(struct culprit *c, uint64_t from_bytes, uint64_t step_bytes, double factor) {
        uint64_t old = fabric_alloc(c->f, 0, c->thread, c->own, from_bytes);

        for (unsigned i = 0; i < 16; i++) {
                uint64_t fresh;

                from_bytes = (uint64_t)((double)from_bytes * factor) + step_bytes;
                fresh = fabric_alloc(c->f, 0, c->thread, c->own, from_bytes);
                fabric_free(c->f, 0, c->thread, old);
                old = fresh;
        }
        fabric_free(c->f, 0, c->thread, old);
}

static void take_step(struct culprit *c, unsigned kind, unsigned i) {
        uint64_t request = fabric_alloc(c->f, 0, c->thread, c->scratch, 100 + i % 7);

        switch (kind) {
        case 0: keep(c, c->own, 3000); break;                       /* grows */
        case 1: keep(c, c->own, 5000), keep(c, c->part, 64); break; /* tasks */
        case 2: keep(c, c->own, 9000); break;                       /* released at the end */
        case 3: i < 40 ? keep(c, c->own, 100000) : (void)0; break;  /* units */
        case 4: i < 40 ? keep(c, c->own, 80000), keep(c, c->part, 20000) : (void)0; break;
        case 5: /* a peak, whenever */
                if (i == 40)
                        for (unsigned k = 0; k < 20; k++)
                                keep(c, c->own, 100000);
                if (i == 42)
                        drop(c, c->thread);
                break;
        case 6: /* a peak of the start-up */
                i < 30 ? keep(c, c->own, 50000) : drop(c, c->thread);
                break;
        case 7: /* work for nothing */
                for (unsigned k = 0; k < 30; k++)
                        fabric_free(c->f, 0, c->thread,
                                    fabric_alloc(c->f, 0, c->thread, c->own, 40));
                break;
        case 8: grow(c, 10000, 100, 1.0); break;
        case 9: grow(c, 16, 0, 2.0); break;
        case 10: /* what one thread makes another releases */
                for (unsigned k = 0; k < 16; k++)
                        keep(c, c->own, 500);
                drop(c, c->other);
                break;
        case 12: /* deletes that give another size, one of them where it is known who made it */
        case 13:
                if (i % 30 == 7)
                        fabric_delete_wrongly(c->f, 0, c->thread,
                                              fabric_alloc(c->f, 0, c->thread, c->own, 100), 60,
                                              kind == 12 ? c->part : 0);
                break;
        default:
                i < 8 ? keep(c, c->own, (1 << 20) + i * 70000) : (void)0;
                break; /* never touched */
        }
        fabric_free(c->f, 0, c->thread, request);
        fabric_wait(c->f, 30000);
}

static void put_look(struct culprit *c) {
        trace_put_residency(fabric_writer(c->f),
                            &(struct trace_residency){.stack = c->own,
                                                      .time_ns = fabric_now_ns(c->f),
                                                      .peak_ns = 1000000,
                                                      .now = {8, 8 << 20, 65536},
                                                      .peak = {8, 8 << 20, 65536},
                                                      .seen = {8, 8 << 20, 65536},
                                                      .max_touched_bytes = 65536});
}

static void write_culprit(const char *path, unsigned kind) {
        struct fabric_options o = {.seed = kind,
                                   .slice_events = 400,
                                   .max_processes = 1,
                                   .max_threads = 2,
                                   .checkpoint_every = 8};
        struct culprit c = {.f = fabric_new(path, &o)};
        const char *exe = "/usr/bin/server";
        uint32_t spawn;

        c.thread = fabric_thread(c.f, 0, "server");
        c.other = fabric_thread(c.f, 0, "other");
        c.main = fabric_frame(c.f, 0, exe, "main", "main.c", 3);
        c.serve = fabric_frame(c.f, c.main, exe, "serve", "main.c", 9);
        c.scratch = fabric_frame(c.f, c.serve, exe, "parse_request", "parse.c", 4);
        c.own = fabric_frame(c.f, c.serve, exe, "Culprit::take", "culprit.cc", 7);
        c.part = fabric_frame(c.f, c.own, exe, "Culprit::part", "culprit.cc", 8);
        if (kind == 1) {
                spawn = fabric_frame(c.f, c.own, exe, "tokio::task::spawn::spawn", "spawn.rs", 1);
                c.part = fabric_frame(c.f, spawn, exe, "tokio::util::Set<T>::insert", "set.rs", 2);
                c.own = fabric_frame(c.f, spawn, exe, "tokio::runtime::task::core::Cell<T,S>::new",
                                     "core.rs", 2);
        }
        for (unsigned i = 0; i < N_STEPS; i++) {
                take_step(&c, kind, i);
                if (kind == 11 && i == N_STEPS / 2)
                        put_look(&c);
        }
        if (kind == 2)
                drop(&c, c.thread);
        fabric_end(c.f);
}

/* ---- what is told seldom ------------------------------------------------------------------------ */

/* Summaries: the low half of the byte; the high half is as report_fuzz.c has it. */
enum {
        ASK_PLAIN = 0x9F,
        ASK_CPU = 0xAF,
        ASK_BLOCKED = 0xBF,
        ASK_MAPPED = 0xCF,
        ASK_TEMPORARY = 0xDF,
        ASK_FUNCTION = 0xEF,
        ASK_CHILD = 0xFF,
};

struct telling {
        void (*write)(const char *, unsigned);
        unsigned variant;
        uint8_t view;
        unsigned choice;
};

static void write_tellings(const char *directory) {
        static const struct telling tellings[] = {
                {story_of_family, 0, ASK_PLAIN, 0},
                {story_of_family, 0, ASK_CHILD, 0},
                {story_of_family, 0, ASK_MAPPED, 0}, /* of the main process, too */
                {story_of_family, 1, ASK_PLAIN, CHOICE_ALL},
                {story_of_family, 2, ASK_PLAIN, CHOICE_ALL},
                {story_of_family, 3, ASK_PLAIN, CHOICE_ALL},
                {story_of_family, 3, ASK_PLAIN, CHOICE_ALL | CHOICE_FULL},
                {story_of_family, 4, ASK_TEMPORARY, CHOICE_FULL},
                {story_of_time, 0, ASK_PLAIN, 0},
                {story_of_time, 0, ASK_CPU, CHOICE_JSON},
                {story_of_time, 1, ASK_PLAIN, 0},
                {story_of_time, 1, ASK_CPU, CHOICE_FULL},
                {story_of_time, 1, ASK_BLOCKED, CHOICE_WINDOW},
                {story_of_time, 0, ASK_FUNCTION, 0},
                {story_of_server, 0, ASK_PLAIN, 0},
                {story_of_server, 0, ASK_MAPPED, CHOICE_FULL},
                {story_of_server, 1, ASK_PLAIN, 0},
                {story_of_server, 3, ASK_PLAIN, CHOICE_JSON},
                {story_of_server, 4, ASK_PLAIN, 0},
                {write_bounded, 1, ASK_PLAIN, 0},
                {write_bounded, 1, ASK_PLAIN, CHOICE_WINDOW},
                {write_bounded, 1, ASK_FUNCTION, 0},
                {write_bounded, 1, ASK_FUNCTION, CHOICE_WINDOW},
                {write_totals, 4, ASK_PLAIN, 0},
                {write_totals, 4, ASK_PLAIN, CHOICE_BLOCKS},
                {write_bounded, 1, ASK_PLAIN, CHOICE_BLOCKS},
                {story_of_server, 1, ASK_FUNCTION, CHOICE_BLOCKS},
        };
        char path[4096];

        for (unsigned view = 0; view < N_VIEWS; view++) { /* where nothing is left out */
                snprintf(path, sizeof(path), "%s/plain%u", directory, view);
                write_trace(path, 9);
                add_choices(path, true, (uint8_t)((ASK_PLAIN & 0xF0) | view),
                            CHOICE_ALL | CHOICE_JSON);
        }

        for (unsigned i = 0; i < ARRAY_SIZE(tellings); i++) {
                const struct telling *t = &tellings[i];

                snprintf(path, sizeof(path), "%s/telling%u", directory, i);
                t->write(path, t->variant);
                add_choices(path, true, t->view, t->choice);
        }
        for (unsigned i = 0; i < 2 * N_SUMS_VARIANTS; i++) {
                snprintf(path, sizeof(path), "%s/sums%u", directory, i);
                story_of_sums(path, i);
                add_choices(path, true, i < N_SUMS_VARIANTS ? ASK_PLAIN : ASK_FUNCTION, 0);
        }
        for (unsigned i = 0; i < 2 * N_KILL_VARIANTS; i++) {
                bool breaks_off = i % N_KILL_VARIANTS == KILL_UNKNOWN;

                snprintf(path, sizeof(path), "%s/kill%u", directory, i);
                story_of_kill(path, i);
                add_choices(path, !breaks_off, ASK_PLAIN, i < N_KILL_VARIANTS ? 0 : CHOICE_JSON);
        }
}

int main(int argc, char **argv) {
        if (argc < 2)
                return 2;
        write_tellings(argv[1]);
        for (unsigned seed = 0; seed < N_SEEDS; seed++) {
                char path[4096];

                snprintf(path, sizeof(path), "%s/seed%u", argv[1], seed);
                write_trace(path, seed);
                /* each way to ask once: bits 2 to 5, and some windows */
                trace_make_plain(path, seed % 5 != 0,
                                 (uint8_t)(CHOICE_REHASH | seed << 2 | (seed * 3 % 4) << 6));
        }
        for (unsigned view = 0; view < 9 * N_VIEWS; view++) {
                char path[4096];

                snprintf(path, sizeof(path), "%s/view%u", argv[1], view);
                write_view(path, view, write_trace);
        }
        for (unsigned i = 0; i < N_DROPPED; i++) {
                char path[4096];

                /* each filter, and views that history answers as well as those that it does not */
                snprintf(path, sizeof(path), "%s/dropped%u", argv[1], i);
                write_view(path, i * 11 % (9 * N_VIEWS), write_dropped);
        }
        for (unsigned kind = 0; kind < N_CULPRITS; kind++) {
                char path[4096];

                snprintf(path, sizeof(path), "%s/culprit%u", argv[1], kind);
                write_culprit(path, kind);
                trace_make_plain(path, true, CHOICE_REHASH | (kind % 2 ? CHOICE_JSON : 0));
        }
        return 0;
}
