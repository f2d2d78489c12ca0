/* SPDX-License-Identifier: MIT */
#include "report/report_stories.h"

#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>

#include "base/macros.h"
#include "keep/testing/graph_trace.h"
#include "query/testing/fabric.h"
#include "query/testing/sums_trace.h"
#include "trace/recorder_end.h"
#include "trace/writer.h"

#define EXE "/usr/bin/server"
#define MIB ((uint64_t)1 << 20)

static struct fabric *begin(const char *path, unsigned variant) {
        const struct fabric_options o = {.seed = variant,
                                         .slice_events = 400,
                                         .max_processes = 1,
                                         .max_threads = 1,
                                         .checkpoint_every = 8,
                                         .passes_on = variant % 2};

        return fabric_new(path, &o);
}

/* The last end of a process is the one that counts. */
static void end_as(struct fabric *f, uint32_t process, enum trace_ended ended, int status,
                   uint64_t rss_bytes) {
        trace_end_process(fabric_writer(f),
                          &(struct trace_process_end){.process = process,
                                                      .ended = ended,
                                                      .status = status,
                                                      .end_ns = fabric_now_ns(f),
                                                      .n_threads = 1,
                                                      .peak_rss_bytes = rss_bytes});
}

static void put_sample(struct fabric *f, uint32_t process, uint64_t anon_bytes,
                       uint64_t file_bytes) {
        trace_put_sample(fabric_writer(f), &(struct trace_sample){.process = process,
                                                                  .time_ns = fabric_now_ns(f),
                                                                  .anon_bytes = anon_bytes,
                                                                  .file_bytes = file_bytes,
                                                                  .cpu_ns = fabric_now_ns(f) / 2});
}

/* ---- family ------------------------------------------------------------------------------------- */

static void end_child(struct fabric *f, uint32_t child) {
        static const struct {
                enum trace_ended ended;
                int status;
        } ends[] = {{TRACE_ENDED_EXIT, 3},     {TRACE_ENDED_SIGNAL, SIGSEGV},
                    {TRACE_ENDED_EXEC, 0},     {TRACE_ENDED_EXIT, 0},
                    {TRACE_ENDED_SIGNAL, 199}, {TRACE_ENDED_UNKNOWN, -1},
                    {TRACE_ENDED_EXIT, -1},    {TRACE_ENDED_STOPPED, 0}};

        fabric_exit(f, child);
        end_as(f, child, ends[child % ARRAY_SIZE(ends)].ended,
               ends[child % ARRAY_SIZE(ends)].status, 3 * MIB);
}

/* Three are alike, the others are called otherwise; the fifth has a child of its own. */
static uint32_t put_child(struct fabric *f, uint32_t parent, uint32_t stack, unsigned i) {
        static const char *const titles[] = {
                "server: worker\033", "cc1plus a.cc", "ld -o x", "as",  "make all",
                "sh -c true",         "awk",          "sed",     "grep"};
        uint32_t child = fabric_fork(f, parent), thread = fabric_thread(f, child, "worker");

        if (i >= 3)
                trace_title_process(fabric_writer(f), child, titles[i % ARRAY_SIZE(titles)]);
        fabric_alloc(f, child, thread, stack, 10000 * (uint64_t)(1 + i * 7 % 5));
        fabric_wait(f, 2000);
        return child;
}

void story_of_family(const char *path, unsigned variant) {
        struct fabric *f = begin(path, variant);
        uint32_t thread = fabric_thread(f, 0, "main");
        uint32_t main = fabric_frame(f, 0, EXE, "main", "main.c", 3);
        uint32_t serve = fabric_frame(f, main, EXE, "serve", "main.c", 9), fifth = 0;
        uint64_t own_bytes = variant % 3 ? 300000 : 900, inherited;

        fabric_free(f, 0, thread, fabric_alloc(f, 0, thread, main, own_bytes));
        inherited = fabric_alloc(f, 0, thread, serve, 400);
        fabric_wait(f, 20000);
        for (unsigned i = 0; i < 14; i++) {
                uint32_t child = put_child(f, i == 9 ? fifth : 0, serve, i);

                if (i == 5)
                        fifth = child;
                if (i % 3 == 0)
                        fabric_free(f, child, 0, inherited);
                if (variant % 4 == 1 && i == 6) /* most of it is in no block */
                        put_sample(f, child, 40 * MIB, 9 * MIB);
                if (variant % 4 != 2 || i % 2)
                        end_child(f, child);
                if (variant % 4 == 1 && i == 6)
                        end_as(f, child, TRACE_ENDED_EXIT, 0, 50 * MIB);
        }
        if (variant % 4 == 3) /* one that has not its parent's memory, and holds the most */
                fabric_alloc(f, fifth, 0, serve, MIB);
        fabric_wait(f, 30000);
        end_as(f, 0, variant % 2 ? TRACE_ENDED_EXIT : TRACE_ENDED_STOPPED, (int)variant, 2 * MIB);
        fabric_end(f);
}

/* ---- time --------------------------------------------------------------------------------------- */

void story_of_time(const char *path, unsigned variant) {
        struct fabric *f = begin(path, variant);
        uint32_t threads[] = {fabric_thread(f, 0, "main"), fabric_thread(f, 0, "worker")};
        uint32_t main = fabric_frame(f, 0, EXE, "main", "main.c", 3);
        uint32_t stacks[] = {main, fabric_frame(f, main, EXE, "parse_request", "parse.c", 4),
                             fabric_frame(f, main, "/lib/libc.so.6", "read", "read.c", 5)};

        for (unsigned i = 0; i < 30; i++) {
                if (variant % 2)
                        fabric_alloc(f, 0, threads[i % 2], stacks[i % 2], 100 + i);
                trace_put_tick(fabric_writer(f),
                               &(struct trace_tick){.time_ns = fabric_now_ns(f),
                                                    .weight_ns = 1000000 * (1 + i % 5),
                                                    .thread = threads[i % 2],
                                                    .stack = stacks[i % ARRAY_SIZE(stacks)],
                                                    .n_samples = i % 7 ? 1 : 0,
                                                    .state = i / 2 % TRACE_N_TICK_STATES});
                fabric_wait(f, 30000);
        }
        end_as(f, 0, TRACE_ENDED_EXIT, 0, 2 * MIB);
        fabric_end(f);
}

/* ---- sums --------------------------------------------------------------------------------------- */

void story_of_sums(const char *path, unsigned variant) {
        static const struct {
                uint32_t flags;
                enum trace_unit unit;
        } kinds[N_SUMS_VARIANTS] = {{0, TRACE_UNIT_BYTES},
                                    {TRACE_LACKS_TIME, TRACE_UNIT_BYTES},
                                    {TRACE_LACKS_TIME | TRACE_LACKS_PEAK, TRACE_UNIT_BYTES},
                                    {TRACE_LACKS_ANY & ~TRACE_LACKS_LIVE, TRACE_UNIT_BYTES},
                                    {TRACE_LACKS_LIVE | TRACE_LACKS_PEAK, TRACE_UNIT_BYTES},
                                    {TRACE_LACKS_BLOCKS, TRACE_UNIT_NS},
                                    {TRACE_LACKS_ANY & ~TRACE_LACKS_LIVE, TRACE_UNIT_SAMPLES}};
        unsigned i = variant % N_SUMS_VARIANTS;

        sums_trace_write_as(path, kinds[i].flags, kinds[i].unit);
}

/* ---- kill --------------------------------------------------------------------------------------- */

static uint64_t usage_at(enum kill_variant v, unsigned i) {
        return v == KILL_STEP    ? (i < 20 ? 2 * MIB : 9 * MIB)
               : v == KILL_BURST ? (i < 20 ? MIB : 10 * MIB)
               : v == KILL_LEVEL ? 10 * MIB
                                 : MIB / 2 * (i + 1);
}

static void put_room(struct fabric *f, enum kill_variant v, unsigned i, uint32_t victim) {
        struct trace_room x = {.process = victim,
                               .flags = victim == TRACE_NO_PROCESS ? 0 : TRACE_ROOM_KILL,
                               .version = 2,
                               .time_ns = fabric_now_ns(f),
                               .path = "/jobs/a"};

        for (size_t k = 0; k < ROOM_N_FIGURES; k++)
                x.of[k] = ROOM_UNKNOWN;
        x.of[ROOM_LIMIT] = 10 * MIB;
        x.of[ROOM_USAGE] = usage_at(v, i);
        x.of[ROOM_PEAK] = v == KILL_STEP ? 10 * MIB : x.of[ROOM_USAGE];
        x.of[ROOM_ANON] = x.of[ROOM_USAGE] / 2;
        x.of[ROOM_FILE] = x.of[ROOM_SHMEM] = x.of[ROOM_USAGE] / 4;
        x.of[ROOM_SILT] = v == KILL_LEVEL ? 0 : MIB / 8;
        trace_put_room(fabric_writer(f), &x);
}

static void put_kill(struct fabric *f, enum kill_variant v, uint32_t process) {
        char note[160];

        if (v != KILL_UNSEEN_ROOM)
                put_room(f, v, 20, process);
        snprintf(note, sizeof(note),
                 "kernel: Memory cgroup out of memory: Killed process %u (x) total-vm:1kB",
                 100 + process);
        trace_put_note(fabric_writer(f), fabric_now_ns(f), note);
        if (process)
                fabric_exit(f, process);
        end_as(f, process, TRACE_ENDED_OOM, SIGKILL, 9 * MIB);
}

static void put_victim(struct fabric *f, enum kill_variant v) {
        switch (v) {
        case KILL_RECORDER: trace_put_note(fabric_writer(f), 0, RECORDER_KILLED_NOTE); break;
        case KILL_BOTH:
                trace_put_note(fabric_writer(f), 0, RECORDER_KILLED_NOTE RECORDER_BOTH_KILLED);
                break;
        case KILL_UNKNOWN: break;
        case KILL_LEVEL:
                for (unsigned i = 0; i < 10; i++)
                        put_kill(f, v, fabric_fork(f, 0));
                put_kill(f, v, 0);
                break;
        default: put_kill(f, v, 0); break;
        }
}

void story_of_kill(const char *path, unsigned variant) {
        enum kill_variant v = variant % N_KILL_VARIANTS;
        struct fabric *f = begin(path, 0);
        uint32_t thread = fabric_thread(f, 0, "main");
        uint32_t main = fabric_frame(f, 0, EXE, "main", "main.c", 3);
        uint32_t own = fabric_frame(f, main, EXE, "Culprit::take", "culprit.cc", 7);

        for (unsigned i = 0; i < 20; i++) {
                uint64_t block =
                        fabric_alloc(f, 0, thread, i || v == KILL_STEP ? own : main, MIB / 3);

                fabric_wait(f, 150000);
                if (v == KILL_EMPTY)
                        fabric_free(f, 0, thread, block);
                if (v == KILL_BURST)
                        fabric_free(f, 0, thread, block);
                if ((v == KILL_STARVED || v == KILL_BURST) && i >= 8)
                        continue;
                put_sample(f, 0, usage_at(v, i), 4096);
                if (v != KILL_UNSEEN_ROOM)
                        put_room(f, v, i, TRACE_NO_PROCESS);
        }
        if (v == KILL_BURST) {
                fabric_alloc(f, 0, thread, own, 9 * MIB);
                fabric_wait(f, 10000);
                put_room(f, v, 20, TRACE_NO_PROCESS);
        }
        if (v == KILL_STEADY)
                graph_trace_put_drawn(f, 1);
        else if (v == KILL_STEP)
                trace_put_note(fabric_writer(f), fabric_now_ns(f), NO_GRAPH_NOTE "no room");
        else if (v == KILL_LEVEL)
                trace_put_note(fabric_writer(f), fabric_now_ns(f), GRAPH_FAILED_NOTE "no time");
        fabric_wait(f, 10000);
        put_victim(f, v);
        fabric_end(f);
}

/* ---- server ------------------------------------------------------------------------------------- */

static void put_mappings(struct fabric *f, uint32_t main) {
        uint32_t map = fabric_frame(f, main, EXE, "map_more", "map.c", 2);

        for (unsigned i = 0; i < 15; i++) {
                uint32_t by = fabric_frame(f, i % 3 ? map : main, EXE, i % 2 ? "fill" : "load",
                                           "map.c", 10 + i);
                struct trace_mapping m = {.op = TRACE_MMAP,
                                          .stack = by,
                                          .time_ns = fabric_now_ns(f),
                                          .address = MIB * (100 + i),
                                          .size_bytes = 65536 * (uint64_t)(1 + i % 4),
                                          .prot = i % 5 ? PROT_READ | PROT_WRITE : PROT_NONE,
                                          .flags = i % 4 ? MAP_ANONYMOUS : 0};

                trace_put_mapping(fabric_writer(f), &m);
                if (i % 5 == 0) { /* a part of what was reserved is opened up */
                        m.op = TRACE_MPROTECT;
                        m.prot = PROT_READ | PROT_WRITE;
                        m.size_bytes = 8192;
                        trace_put_mapping(fabric_writer(f), &m);
                }
                fabric_wait(f, 100);
        }
}

static void put_prior(struct fabric *f, unsigned variant) {
        static const char *const allocators[] = {"glibc", "jemalloc", "mimalloc"};

        for (unsigned i = 0; i < ARRAY_SIZE(allocators); i++)
                trace_put_prior(fabric_writer(f),
                                &(struct trace_prior){.flags = TRACE_PRIOR_HELD |
                                                               (i ? TRACE_PRIOR_WHOLE : 0) |
                                                               TRACE_PRIOR_MAPPED,
                                                      .age_ns = variant % 2 ? 5000000000 : 0,
                                                      .anon_bytes = MIB,
                                                      .held_bytes = 70000,
                                                      .free_bytes = 3000,
                                                      .n_arenas = 2 - i,
                                                      .n_mapped = 1 + i,
                                                      .mapped_bytes = 8192,
                                                      .allocator = allocators[i]});
        trace_put_note(fabric_writer(f), fabric_now_ns(f), "held: 1234567 ns to attach");
        trace_put_note(fabric_writer(f), fabric_now_ns(f), "held: 34567 ns to leave");
}

/* Deep, and a part of it the same function again and again. */
static uint32_t put_chain(struct fabric *f, uint32_t caller) {
        static const char *const names[] = {"Server::accept", "Session::read", "Tree::walk",
                                            "Tree::walk",     "Tree::walk",    "Tree::leaf",
                                            "Parser::next",   "Parser::token", "Table::insert",
                                            "Table::grow",    "Pool::more"};

        for (unsigned i = 0; i < ARRAY_SIZE(names); i++)
                caller = fabric_frame(f, caller, EXE, names[i], "server.cc", 10 + i);
        return caller;
}

void story_of_server(const char *path, unsigned variant) {
        const struct fabric_options o = {.seed = variant,
                                         .slice_events = 400,
                                         .max_processes = 1,
                                         .max_threads = 20,
                                         .sample_bytes = variant % 3 ? 4096 : 0};
        static const char *const names[] = {"pool", "io", "", "timer"};
        struct fabric *f = fabric_new(path, &o);
        uint32_t main = fabric_frame(f, 0, EXE, "main", "main.c", 3);
        uint32_t serve = fabric_frame(f, main, EXE, "serve", "main.c", 9);
        uint32_t deep = put_chain(f, serve);

        fabric_guess(f);
        put_mappings(f, main);
        put_sample(f, 0, 30 * MIB, MIB);
        for (unsigned i = 0; i < 20; i++) {
                uint32_t thread = fabric_thread(f, 0, names[i / 2 % ARRAY_SIZE(names)]);
                uint64_t block = fabric_alloc(f, 0, thread, i % 3 ? deep : main, 500);

                if (i % 2)
                        fabric_free(f, 0, thread - 1, block);
                fabric_wait(f, 9000);
        }
        put_sample(f, 0, 33 * MIB, MIB);
        if (variant % 2)
                put_prior(f, variant / 2);
        trace_put_cost(fabric_writer(f), &(struct trace_cost){.time_ns = fabric_now_ns(f),
                                                              .recorder_peak_bytes = 12 * MIB,
                                                              .recorder_cpu_ns = 5000000});
        end_as(f, 0, variant % 2 ? TRACE_ENDED_STOPPED : TRACE_ENDED_EXEC, 0, 33 * MIB);
        fabric_end(f);
}
