/* SPDX-License-Identifier: MIT */
#include "show/testing/server_trace.h"

#include <stdint.h>

#include "query/testing/fabric.h"
#include "trace/writer.h"

#define EXE "/usr/bin/order_server"
#define LIBC "/lib/aarch64-linux-gnu/libc.so.6"
#define SRC "/home/user/shop/src/"

struct story {
        struct fabric *f;
        uint32_t main, config, cache, spike, word, request;
        uint32_t main_thread, worker;
        uint64_t live_bytes;
        bool is_timed;
};

static void story_frames(struct story *s) {
        struct fabric *f = s->f;
        uint32_t start, libc, thread, serve, handle;

        libc = fabric_frame(f, 0, EXE, "_start", "", 0);
        libc = fabric_frame(f, libc, LIBC, "__libc_start_main", "../csu/libc-start.c", 360);
        start = fabric_frame(f, libc, EXE, "main", SRC "main.cc", 88);
        s->config = fabric_frame(f, start, EXE, "shop::Config::load(std::string const&)",
                                 SRC "config.cc", 31);
        s->main = fabric_frame(f, s->config, EXE, "std::allocator<char>::allocate(unsigned long)",
                               "", 0);
        thread = fabric_frame(f, 0, LIBC, "start_thread", "./nptl/pthread_create.c", 444);
        serve = fabric_frame(f, thread, EXE, "shop::Server::serve()", SRC "server.cc", 120);
        handle = fabric_frame(
                f, serve, EXE,
                "void shop::dispatch<shop::Request, std::vector<std::string, std::allocator<std::string> > "
                ">(shop::Request&)",
                SRC "dispatch.hh", 57);
        s->request = fabric_frame(f, handle, EXE, "shop::Session::on_request(shop::Request&)",
                                  SRC "session.cc", 210);
        s->cache = fabric_frame(f, s->request, EXE,
                                "shop::PriceCache::insert(int, shop::Price const&)", SRC "cache.cc",
                                77);
        s->word = fabric_frame(f, s->request, EXE, "shop::split_words(std::string_view)",
                               SRC "te\033[2Jxt.cc", 12);
        s->spike = fabric_frame(f, start, "/usr/lib/libreport.so.2", NULL, "", 0);
}

static void story_sample(struct story *s, uint64_t anon_bytes) {
        struct trace_sample sample = {.process = 0,
                                      .time_ns = fabric_now_ns(s->f),
                                      .anon_bytes = anon_bytes,
                                      .file_bytes = 900000};

        trace_put_sample(fabric_writer(s->f), &sample);
}

/* Ticks end where they are told. */
static void story_tick(struct story *s, unsigned request) {
        struct trace_tick tick = {.time_ns = fabric_now_ns(s->f),
                                  .weight_ns = SERVER_TRACE_TICK_NS,
                                  .thread = s->worker,
                                  .stack = request % 4 ? s->word : s->cache,
                                  .n_samples = 1,
                                  .state = TRACE_ON_CPU};

        trace_put_tick(fabric_writer(s->f), &tick);
        if (request % 50 != 49)
                return;
        tick.weight_ns = SERVER_TRACE_WAIT_NS;
        tick.thread = s->main_thread;
        tick.stack = s->config;
        tick.state = TRACE_BLOCKED;
        trace_put_tick(fabric_writer(s->f), &tick);
}

static void story_start_up(struct story *s) {
        for (unsigned i = 0; i < 40; i++) {
                fabric_alloc(s->f, 0, s->main_thread, i % 4 ? s->main : s->config, 10000);
                fabric_wait(s->f, 1000);
        }
        s->live_bytes = 400000;
}

static void story_requests(struct story *s, unsigned n) {
        for (unsigned i = 0; i < n; i++) {
                for (unsigned w = 0; w < 5; w++)
                        fabric_free(s->f, 0, s->worker,
                                    fabric_alloc(s->f, 0, s->worker, s->word, 24 + w));
                fabric_alloc(s->f, 0, s->worker, s->cache, SERVER_TRACE_CACHED_BYTES);
                s->live_bytes += SERVER_TRACE_CACHED_BYTES;
                fabric_wait(s->f, 1000);
                if (s->is_timed)
                        story_tick(s, i);
                if (i % 50 == 0)
                        story_sample(s, s->live_bytes * 11 / 10);
        }
}

static void story_spike(struct story *s) {
        uint64_t seq = fabric_alloc(s->f, 0, s->main_thread, s->spike, SERVER_TRACE_SPIKE_BYTES);

        story_sample(s, s->live_bytes + SERVER_TRACE_SPIKE_BYTES);
        fabric_wait(s->f, 60000);
        story_sample(s, s->live_bytes + SERVER_TRACE_SPIKE_BYTES);
        fabric_free(s->f, 0, s->worker, seq);
}

static void story_mappings(struct story *s) {
        struct trace_mapping m = {.process = 0,
                                  .thread = 0,
                                  .stack = s->config,
                                  .op = TRACE_MMAP,
                                  .time_ns = fabric_now_ns(s->f),
                                  .address = 0x700000,
                                  .size_bytes = 65536};

        trace_put_mapping(fabric_writer(s->f), &m);
        m.address = 0x900000;
        m.size_bytes = 1 << 20;
        m.stack = s->request;
        trace_put_mapping(fabric_writer(s->f), &m);
        m.op = TRACE_MUNMAP;
        m.address += 1 << 19;
        m.size_bytes = 1 << 19;
        trace_put_mapping(fabric_writer(s->f), &m);
}

static void write_trace(const char *path, bool is_timed) {
        struct fabric_options o = {.seed = 1, .max_processes = 4, .max_threads = 4};
        struct story s = {.f = fabric_new(path, &o), .is_timed = is_timed};
        struct trace_process_end end = {.process = 0,
                                        .ended = TRACE_ENDED_EXIT,
                                        .peak_rss_bytes = 11000000,
                                        .runtime_bytes = 1800000,
                                        .n_threads = 2};
        uint32_t child, child_thread;

        s.main_thread = fabric_thread(s.f, 0, "order_server");
        s.worker = fabric_thread(s.f, 0, "worker\033\n1");
        story_frames(&s);
        story_start_up(&s);
        story_mappings(&s);
        story_requests(&s, SERVER_TRACE_N_CACHED / 2);
        story_spike(&s);
        child = fabric_fork(s.f, 0);
        child_thread = fabric_thread(s.f, child, "helper");
        fabric_alloc(s.f, child, child_thread, s.config, 5000);
        story_requests(&s, SERVER_TRACE_N_CACHED / 2);
        trace_put_note(fabric_writer(s.f), fabric_now_ns(s.f),
                       "pid 107 not followed: it is a static executable.\r\x9b");
        end.end_ns = fabric_now_ns(s.f);
        trace_end_process(fabric_writer(s.f), &end);
        fabric_end(s.f);
}

void server_trace_write(const char *path) {
        write_trace(path, false);
}

void server_trace_write_timed(const char *path) {
        write_trace(path, true);
}
