/* SPDX-License-Identifier: MIT */
/* Made-up programs, drawn at random, whose culprit is known, and others that have none: a third of a second to days long. */
#include "finding/testing/world.h"
#include "trace/writer.h"

/* ---- growing --------------------------------------------------------------------------------- */

/* One small block in so many requests is not released. */
static void test_small_leak(void **state) {
        struct world w = {.random = 1};

        (void)state;
        for (unsigned round = 0; round < N_ROUNDS; round++) {
                uint64_t size, every, from;
                const struct finding *x;
                uint32_t log;

                begin(&w, round);
                log = frame(&w, w.serve, "log_error", "log.c");
                size = draw(&w, 24, 3000);
                every = draw(&w, 1, 4);
                from = draw(&w, 0, w.n_steps / 5);
                for (unsigned i = 0; i < w.n_steps; i++) {
                        step(&w);
                        if (i % every == 0 && i >= from)
                                keep(&w, log, size);
                        else if (i > 2)
                                release(&w, alloc(&w, log, size));
                }
                end(&w);
                x = first(&w, "growing", "log_error");
                assert_int_equal(x->bytes, w.kept_bytes);
                near(&w, number(&w, x, "bytes_per_s"),
                     (double)size / (double)every * 1e6 / w.step_us, 0.12);
                near(&w, number(&w, x, "bytes_per_allocation"), (double)size, 0.001);
                done(&w);
        }
}

/* Several blocks under one function, as many of each: the function is told, with all of them. */
static void test_unit(void **state) {
        struct world w = {.random = 2};

        (void)state;
        for (unsigned round = 0; round < N_ROUNDS; round++) {
                uint64_t state_bytes, buffer_bytes;
                uint32_t open, make_state, make_buffer;
                const struct finding *x;

                begin(&w, round);
                open = frame(&w, w.serve, "open_session", "session.c");
                make_state = frame(&w, open, "make_state", "session.c");
                make_buffer = frame(&w, open, "make_buffer", "buffer.c");
                state_bytes = draw(&w, 500, 5000);
                buffer_bytes = draw(&w, 500, 5000);
                for (unsigned i = 0; i < w.n_steps; i++) {
                        step(&w);
                        keep(&w, make_state, state_bytes);
                        keep(&w, make_buffer, buffer_bytes);
                        keep(&w, make_buffer, buffer_bytes);
                }
                end(&w);
                x = first(&w, "growing", "open_session");
                assert_int_equal(x->bytes, w.kept_bytes);
                done(&w);
        }
}

/* A task and its entry in a set: the function that spawns is told, by task. */
static void test_tasks(void **state) {
        struct world w = {.random = 3};

        (void)state;
        for (unsigned round = 0; round < N_ROUNDS; round++) {
                uint32_t accept, join_set, spawn, cell, entry;
                uint64_t task_bytes;
                const struct finding *x;

                begin(&w, round);
                accept = frame(&w, w.serve, "app::accept", "src/app.rs");
                join_set = frame(&w, accept, "tokio::task::join_set::JoinSet<T>::spawn",
                                 "join_set.rs");
                spawn = frame(&w, join_set, "tokio::task::spawn::spawn", "spawn.rs");
                cell = frame(&w, spawn, "tokio::runtime::task::core::Cell<T,S>::new", "core.rs");
                entry = frame(&w, join_set,
                              "tokio::util::idle_notified_set::IdleNotifiedSet<T>::insert_idle",
                              "idle_notified_set.rs");
                task_bytes = draw(&w, 300, 9000);
                for (unsigned i = 0; i < w.n_steps; i++) {
                        step(&w);
                        keep(&w, cell, task_bytes);
                        keep(&w, entry, 64);
                }
                end(&w);
                x = first(&w, "growing", "app::accept");
                assert_int_equal(x->bytes, w.kept_bytes);
                assert_non_null(strstr(x->text, "task"));
                near(&w, number(&w, x, "bytes_per_task"), (double)task_bytes + 64, 0.01);
                done(&w);
        }
}

/* Released when the program ends. */
static void test_torn_down(void **state) {
        struct world w = {.random = 4};
        VEC(uint64_t) kept = {0};

        (void)state;
        for (unsigned round = 0; round < N_ROUNDS; round++) {
                uint64_t size, all;
                uint32_t cache;

                begin(&w, round);
                cache = frame(&w, w.serve, "cache_page", "cache.c");
                size = draw(&w, 1000, 9000);
                vec_clear(&kept);
                for (unsigned i = 0; i < w.n_steps; i++) {
                        step(&w);
                        for (unsigned k = 0; k < 3; k++)
                                vec_push(&kept, alloc(&w, cache, size));
                }
                all = kept.n * size;
                while (kept.n)
                        release(&w, kept.items[--kept.n]);
                end(&w);
                assert_int_equal(first(&w, "growing", "cache_page")->bytes, all);
                done(&w);
        }
        vec_free(&kept);
}

/* ---- not growing ----------------------------------------------------------------------------- */

/* Only what goes on beside: entries that one function loaded are replaced by another's. */
static void test_fine(void **state) {
        struct world w = {.random = 5};

        (void)state;
        for (unsigned round = 0; round < 3 * N_ROUNDS; round++) {
                begin(&w, round);
                for (unsigned i = 0; i < w.n_steps; i++)
                        step(&w);
                end(&w);
                no_alarm(&w);
                assert_string_equal(w.found->items[w.found->n - 1].kind, "left-at-end");
                assert_int_equal(w.found->items[w.found->n - 1].bytes, w.answer->totals.end_bytes);
                done(&w);
        }
}

/* Built over a part of the time, then used. */
static void test_plateau(void **state) {
        struct world w = {.random = 6};

        (void)state;
        for (unsigned round = 0; round < N_ROUNDS; round++) {
                uint64_t built;
                uint32_t build;

                begin(&w, round);
                build = frame(&w, w.main, "build_index", "index.c");
                built = w.n_steps * draw(&w, 5, 70) / 100;
                for (unsigned i = 0; i < w.n_steps; i++) {
                        step(&w);
                        for (unsigned k = 0; k < 5 && i < built; k++)
                                keep(&w, build, draw(&w, 16, 2000));
                }
                end(&w);
                no_alarm(&w);
                done(&w);
        }
}

/* Filled and emptied, again and again, and cut off at any point of it. */
static void test_saw_tooth(void **state) {
        struct world w = {.random = 7};
        VEC(uint64_t) kept = {0};

        (void)state;
        for (unsigned round = 0; round < N_ROUNDS; round++) {
                uint64_t period;
                uint32_t fill;

                begin(&w, round);
                fill = frame(&w, w.serve, "fill_batch", "batch.c");
                period = w.n_steps / draw(&w, 3, 12);
                vec_clear(&kept);
                for (unsigned i = 0; i < w.n_steps; i++) {
                        step(&w);
                        for (unsigned k = 0; k < 5; k++)
                                vec_push(&kept, alloc(&w, fill, draw(&w, 16, 2000)));
                        while (i % period == period - 1 && kept.n)
                                release(&w, kept.items[--kept.n]);
                }
                end(&w);
                none(&w, "growing");
                none(&w, "leak");
                done(&w);
        }
        vec_free(&kept);
}

/* ---- left at the end ------------------------------------------------------------------------- */

/* In a run of a moment, of a program that leaves what it has, what comes to its end may fill; not what was over before step `to`. */
static const struct finding *lost(const struct world *w, const char *function, uint64_t to) {
        bool may_fill = (uint64_t)w->n_steps * w->step_us < 10000000u &&
                        to > w->n_steps * 65 / 100 && w->found->n &&
                        strcmp(w->found->items[0].kind, "leak") != 0;

        return first(w, may_fill ? "growing" : "leak", function);
}

/* For a while blocks are lost that are released before and after. */
static void test_storm(void **state) {
        struct world w = {.random = 8};

        (void)state;
        for (unsigned round = 0; round < N_ROUNDS; round++) {
                uint64_t size, from, to;
                uint32_t read;

                begin(&w, round);
                read = frame(&w, w.serve, "read_connection", "net.c");
                size = draw(&w, 2000, 9000);
                from = w.n_steps * draw(&w, 25, 60) / 100;
                to = from + w.n_steps * draw(&w, 5, 20) / 100;
                for (unsigned i = 0; i < w.n_steps; i++) {
                        step(&w);
                        for (unsigned k = 0; k < 4; k++)
                                if (i >= from && i < to)
                                        keep(&w, read, size);
                                else
                                        release(&w, alloc(&w, read, size));
                }
                end(&w);
                assert_int_equal(lost(&w, "read_connection", to)->bytes, w.kept_bytes);
                done(&w);
        }
}

/* The same, of a function that made some at the start: those are no part of it, by bytes and by blocks. */
static void test_storm_behind_a_start_up(void **state) {
        struct world w = {.random = 81};

        (void)state;
        for (unsigned round = 0; round < N_ROUNDS; round++) {
                uint64_t size, from, to, n_lost, n_early;
                const struct finding *x;
                uint32_t read;

                begin(&w, round);
                read = frame(&w, w.serve, "read_connection", "net.c");
                size = draw(&w, 2000, 9000);
                from = w.n_steps * draw(&w, 45, 60) / 100;
                to = from + w.n_steps * draw(&w, 8, 20) / 100;
                n_lost = (to - from) * 4;
                n_early = n_lost * draw(&w, 60, 75) / 100;
                for (uint64_t i = 0; i < n_early; i++)
                        keep(&w, read, size);
                for (unsigned i = 0; i < w.n_steps; i++) {
                        step(&w);
                        for (unsigned k = 0; k < 4; k++)
                                if (i >= from && i < to)
                                        keep(&w, read, size);
                                else
                                        release(&w, alloc(&w, read, size));
                }
                end(&w);
                x = lost(&w, "read_connection", to);
                assert_int_equal(x->bytes, n_lost * size);
                assert_true(number(&w, x, "blocks") == (double)n_lost);
                assert_non_null(strstr(x->text, "more are startup memory"));
                done(&w);
        }
}

/* A cache that is full, whose entries are replaced by others of the same function: by its end few are as old as it is. */
static void test_full_cache(void **state) {
        struct world w = {.random = 82};

        (void)state;
        for (unsigned round = 0; round < N_ROUNDS; round++) {
                uint32_t load;
                uint64_t entries[2000], n_entries, n_each;

                begin(&w, round);
                load = frame(&w, w.serve, "load_entry", "cache.c");
                n_entries = draw(&w, 100, 2000);
                n_each = n_entries * draw(&w, 100, 500) / 100 / w.n_steps + 1;
                for (uint64_t i = 0; i < n_entries; i++)
                        entries[i] = alloc(&w, load, draw(&w, 1000, 3000));
                for (unsigned i = 0; i < w.n_steps; i++) {
                        step(&w);
                        for (uint64_t k = 0; k < n_each; k++) {
                                uint64_t at = draw(&w, 0, n_entries - 1);

                                release(&w, entries[at]);
                                entries[at] = alloc(&w, load, draw(&w, 1000, 3000));
                        }
                }
                end(&w);
                none(&w, "growing");
                none(&w, "leak");
                done(&w);
        }
}

/* A few blocks of any size, replaced in turns: their sum goes up and down by chance. */
static void test_few_of_any_size(void **state) {
        struct world w = {.random = 83};

        (void)state;
        for (unsigned round = 0; round < 4 * N_ROUNDS; round++) {
                uint64_t blocks[16], most;
                uint32_t next;

                begin(&w, round);
                next = frame(&w, w.serve, "next_buffer", "net.c");
                most = draw(&w, 20000, 400000);
                w.n_steps = (unsigned)draw(&w, 60, 150);
                for (unsigned i = 0; i < w.n_steps; i++) {
                        step(&w);
                        if (i >= ARRAY_SIZE(blocks))
                                release(&w, blocks[i % ARRAY_SIZE(blocks)]);
                        blocks[i % ARRAY_SIZE(blocks)] = alloc(&w, next, draw(&w, 16, most));
                }
                for (size_t i = 0; i < ARRAY_SIZE(blocks); i++)
                        release(&w, blocks[i]);
                end(&w);
                none(&w, "growing");
                done(&w);
        }
}

/* ---- large, short, temporary ----------------------------------------------------------------- */

static void test_large(void **state) {
        struct world w = {.random = 9};

        (void)state;
        for (unsigned round = 0; round < N_ROUNDS; round++) {
                uint32_t connect, inbox, outbox;
                uint64_t in_bytes, out_bytes, n;
                const struct finding *x;

                begin(&w, round);
                connect = frame(&w, w.serve, "MqttState::new", "mqtt.c");
                inbox = frame(&w, connect, "make_inbox", "mqtt.c");
                outbox = frame(&w, connect, "make_outbox", "mqtt.c");
                in_bytes = draw(&w, 30000, 300000);
                out_bytes = draw(&w, 10000, 30000);
                n = draw(&w, 20, 100);
                for (unsigned i = 0; i < w.n_steps; i++) {
                        step(&w);
                        if (i < n) {
                                keep(&w, inbox, in_bytes);
                                keep(&w, outbox, out_bytes);
                        }
                }
                end(&w);
                x = first(&w, "large-site",
                          out_bytes * 10 >= in_bytes ? "MqttState::new" : "make_inbox");
                if (strcmp(x->function, "MqttState::new") == 0)
                        near(&w, number(&w, x, "unit_bytes"), (double)(in_bytes + out_bytes), 0);
                near(&w, number(&w, x, "peak_blocks"), (double)n, 0);
                /* built once and kept: told as that too */
                assert_true(w.found->left.start_up_bytes + w.found->left.steady_bytes +
                                    w.found->left.rising_bytes + w.found->left.later_bytes >=
                            n * (in_bytes + out_bytes));
                done(&w);
        }
}

static void test_short_peak(void **state) {
        struct world w = {.random = 10};

        (void)state;
        for (unsigned round = 0; round < N_ROUNDS; round++) {
                uint64_t size, at, seq = 0;
                const struct finding *x;
                uint32_t import;

                begin(&w, round);
                import = frame(&w, w.main, "import_all", "import.c");
                size = draw(&w, 4000000, 40000000);
                at = w.n_steps * draw(&w, 0, 90) / 100;
                for (unsigned i = 0; i < w.n_steps; i++) {
                        if (i == at)
                                seq = alloc(&w, import, size);
                        step(&w);
                        if (i == at + w.n_steps / 20)
                                release(&w, seq);
                }
                end(&w);
                x = first(&w, "short-peak", "import_all");
                assert_int_equal((uint64_t)number(&w, x, "peak_bytes"),
                                 w.answer->totals.peak_bytes);
                assert_int_equal((uint64_t)number(&w, x, "site_bytes"), size);
                near(&w, number(&w, x, "level_bytes"), (double)(w.answer->totals.peak_bytes - size),
                     0.2);
                done(&w);
        }
}

/* What comes late and is still there at the end is no peak that is over. */
static void test_late(void **state) {
        struct world w = {.random = 12};

        (void)state;
        for (unsigned round = 0; round < N_ROUNDS; round++) {
                uint32_t import;

                begin(&w, round);
                import = frame(&w, w.main, "import_all", "import.c");
                for (unsigned i = 0; i < w.n_steps; i++) {
                        step(&w);
                        if (i == w.n_steps * 9 / 10)
                                alloc(&w, import, draw(&w, 4000000, 40000000));
                }
                end(&w);
                none(&w, "short-peak");
                done(&w);
        }
}

/* The strongest first, seven at most, and notes behind them. */
static void test_rank(void **state) {
        struct world w = {.random = 11};
        uint32_t leaks[5];
        static const char *const names[] = {"leak_a", "leak_b", "leak_c"};
        uint64_t n_told = 0;

        (void)state;
        begin(&w, 0);
        for (unsigned k = 0; k < ARRAY_SIZE(names); k++)
                leaks[k] = frame(&w, w.serve, names[k], "leak.c");
        for (unsigned i = 0; i < w.n_steps; i++) {
                step(&w);
                for (unsigned k = 0; k < ARRAY_SIZE(names); k++)
                        for (unsigned n = 0; n < 1 + k * (i % 2); n++)
                                alloc(&w, leaks[k], 3000 + 1000 * k);
                for (unsigned n = 0; n < 30; n++)
                        release(&w, alloc(&w, w.scratch, 100));
        }
        end(&w);
        for (size_t i = 0; i + 1 < w.found->n; i++) {
                const struct finding *x = &w.found->items[i];

                if (strcmp(x->kind, "growing") == 0 && strcmp(x[1].kind, "growing") == 0)
                        assert_true(x->bytes >= x[1].bytes);
                if (x->is_note)
                        assert_true(x[1].is_note);
                n_told += !x->is_note;
        }
        assert_true(n_told <= FINDING_MAX);
        assert_string_equal(w.found->items[0].kind, "growing");
        done(&w);
}

/* One function keeps blocks for two callers: each finding has its own bytes, and all growth has 100 % only together. */
static void test_two_callers(void **state) {
        struct world w = {.random = 31};
        unsigned n_growing = 0, n_held = 0;
        VEC(uint64_t) lines = {0};

        (void)state;
        for (unsigned round = 0; round < N_ROUNDS; round++) {
                uint32_t by[2];
                uint64_t n_a = draw(&w, 2, 5);

                begin(&w, round);
                by[0] = frame(&w, frame(&w, w.serve, "log_access", "log.c"), "make_line", "line.c");
                by[1] = frame(&w, frame(&w, w.main, "log_audit", "log.c"), "make_line", "line.c");
                for (unsigned i = 0; i < w.n_steps; i++) {
                        step(&w);
                        for (uint64_t k = 0; k < n_a; k++)
                                vec_push(&lines, alloc(&w, by[0], 40000));
                        if (i % 3 != 2)
                                vec_push(&lines, alloc(&w, by[1], 70000));
                }
                for (size_t i = 0; i < lines.n && round % 2; i++) /* torn down */
                        release(&w, lines.items[i]);
                vec_clear(&lines);
                end(&w);
                for (size_t i = 0; i < w.found->n; i++) {
                        const struct finding *x = &w.found->items[i];
                        const char *own = strstr(x->text, "; ");

                        if (strcmp(x->kind, "growing") != 0 ||
                            (double)x->shows.value <= 1.1 * x->bytes)
                                continue;
                        if (own && (strstr(own, "of all growth") || strstr(own, "of the peak")))
                                complain(&w, "a part of the growth is told as all of it");
                        n_growing += !!strstr(x->text, "All call paths through it grew by");
                        n_held += !!strstr(x->text, "All call paths through it held");
                }
                done(&w);
        }
        assert_true(n_growing > 0 && n_held > 0);
        vec_free(&lines);
}

/* Blocks of rising sizes, released in the order they were made: nothing is replaced by anything. */
static void test_batches_are_no_growth(void **state) {
        struct world w = {.random = 32};

        (void)state;
        for (unsigned round = 0; round < N_ROUNDS; round++) {
                uint32_t rows;
                uint64_t first_bytes = draw(&w, 300, 900), more_bytes = draw(&w, 10, 90);

                begin(&w, round);
                rows = frame(&w, w.serve, "read_rows", "rows.c");
                for (unsigned i = 0; i < 10 * w.n_steps; i++) {
                        uint64_t block[24], n = draw(&w, 4, ARRAY_SIZE(block));

                        for (uint64_t k = 0; k < n; k++)
                                block[k] = alloc(&w, rows, first_bytes + k * more_bytes);
                        for (uint64_t k = 0; k < n; k++)
                                release(&w, block[k]);
                }
                end(&w);
                none(&w, "regrowth");
                done(&w);
        }
}

/* What a run of a moment leaves is no finding while it is next to nothing; ten times as much is. */
static void test_trifle(void **state) {
        struct world w = {.random = 33};

        (void)state;
        for (unsigned round = 0; round < 2 * N_ROUNDS; round++) {
                bool is_more = round % 2, is_told = false;
                uint32_t log;

                begin(&w, round);
                w.n_steps = (unsigned)draw(&w, 150, 300);
                w.step_us = (unsigned)draw(&w, 1000, 5000);
                w.n_requests = 12;
                log = frame(&w, w.serve, "log_error", "log.c");
                alloc(&w, frame(&w, w.main, "read_all", "read.c"), 1000000);
                for (unsigned i = 0; i < w.n_steps; i++) {
                        step(&w);
                        if (i % 8 == 0)
                                keep(&w, log, is_more ? 800 : 80);
                }
                end(&w);
                if (!is_more) {
                        none(&w, "growing");
                        none(&w, "leak");
                }
                for (size_t i = 0; i < w.found->n; i++)
                        is_told |= strcmp(w.found->items[i].function, "log_error") == 0 &&
                                   !w.found->items[i].is_note;
                if (is_told != is_more)
                        complain(&w, "ten times as much is told, and only that");
                done(&w);
        }
}

/* Of all growth, which others take back, nobody has more than all. */
static void test_share_of_growth(void **state) {
        struct world w = {.random = 34};
        VEC(uint64_t) rows = {0};
        unsigned n = 0;

        (void)state;
        for (unsigned round = 0; round < N_ROUNDS; round++) {
                uint64_t n_rows = draw(&w, 10, 200);
                uint32_t read, log;

                begin(&w, round);
                read = frame(&w, w.main, "read_all", "read.c");
                log = frame(&w, w.serve, "log_error", "log.c");
                for (unsigned i = 0; i < w.n_steps; i++) {
                        step(&w);
                        if (i == 1)
                                for (uint64_t k = 0; k < n_rows; k++)
                                        vec_push(&rows, alloc(&w, read, 3000));
                        for (unsigned k = 0; k < 4; k++)
                                keep(&w, log, 1000);
                        if (i == w.n_steps * 4 / 5)
                                for (size_t k = 0; k < rows.n; k++)
                                        release(&w, rows.items[k]);
                }
                vec_clear(&rows);
                end(&w);
                for (size_t i = 0; i < w.found->n; i++) {
                        const struct finding *x = &w.found->items[i];
                        double pct =
                                x->shows.is_growth && x->shows.whole
                                        ? 100.0 * (double)x->shows.value / (double)x->shows.whole
                                        : 0;

                        n += pct > 101;
                        if (pct > 101 && strstr(x->text, "of all growth"))
                                complain(&w, "a share of more than all");
                        for (size_t k = 0; k < x->n_numbers; k++)
                                if (strcmp(x->numbers[k].name, "share_of_growth_pct") == 0 &&
                                    x->numbers[k].value > 100)
                                        complain(&w, "a share of more than all");
                }
                done(&w);
        }
        assert_true(n > 0);
        vec_free(&rows);
}

/* How large a garbage collector makes its heap, and its buffers, is its own affair. */
static void test_heaps_are_as_they_are(void **state) {
        struct world w = {.random = 35};

        (void)state;
        for (unsigned round = 0; round < N_ROUNDS; round++) {
                bool is_heap = round % 2;
                const char *module = is_heap ? "/usr/lib/libruby-3.1.so.3.1" : EXE;
                uint32_t arena, buffer;
                bool has_slack = false, has_regrowth = false;

                begin(&w, round);
                arena = fabric_frame(w.f, w.main, module, "heap_reserve", "heap.c", 10);
                buffer = fabric_frame(w.f, w.main, module, "buffer_add", "buffer.c", 10);
                alloc(&w, arena, 16 << 20);
                trace_put_residency(fabric_writer(w.f),
                                    &(struct trace_residency){.stack = arena,
                                                              .time_ns = 2000000,
                                                              .peak_ns = 1000000,
                                                              .now = {1, 16 << 20, 65536},
                                                              .peak = {1, 16 << 20, 65536},
                                                              .seen = {1, 16 << 20, 65536},
                                                              .max_touched_bytes = 65536});
                for (unsigned i = 0; i < w.n_steps; i++) {
                        uint64_t seq = alloc(&w, buffer, 4000);

                        for (uint64_t size = 8000; size < 100000; size *= 2) {
                                uint64_t larger = alloc(&w, buffer, size);

                                release(&w, seq);
                                seq = larger;
                        }
                        release(&w, seq);
                        step(&w);
                }
                end(&w);
                for (size_t i = 0; i < w.found->n; i++) {
                        has_slack |= strcmp(w.found->items[i].kind, "slack") == 0;
                        has_regrowth |= strcmp(w.found->items[i].kind, "regrowth") == 0;
                }
                if (has_slack == is_heap || has_regrowth == is_heap)
                        complain(&w,
                                 is_heap ? "a heap is blamed" : "slack and regrowth are missed");
                done(&w);
        }
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_trifle),
                cmocka_unit_test(test_share_of_growth),
                cmocka_unit_test(test_heaps_are_as_they_are),
                cmocka_unit_test(test_two_callers),
                cmocka_unit_test(test_batches_are_no_growth),
                cmocka_unit_test(test_small_leak),
                cmocka_unit_test(test_unit),
                cmocka_unit_test(test_tasks),
                cmocka_unit_test(test_torn_down),
                cmocka_unit_test(test_fine),
                cmocka_unit_test(test_plateau),
                cmocka_unit_test(test_saw_tooth),
                cmocka_unit_test(test_storm),
                cmocka_unit_test(test_large),
                cmocka_unit_test(test_short_peak),
                cmocka_unit_test(test_late),
                cmocka_unit_test(test_rank),
                cmocka_unit_test(test_storm_behind_a_start_up),
                cmocka_unit_test(test_full_cache),
                cmocka_unit_test(test_few_of_any_size),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
