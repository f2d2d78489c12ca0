/* SPDX-License-Identifier: MIT */
/* Round trips: what a made-up program did is what the reader gives back. */
#include <errno.h>

#include "trace/events.h"
#include "trace/testing/trace_file.h"

static void check_event(const struct trace_event *got, const struct trace_event *want) {
        assert_int_equal(got->op, want->op);
        assert_int_equal(got->other, want->other);
        assert_int_equal(got->thread, want->thread);
        assert_int_equal(got->stack, want->stack);
        assert_int_equal(got->free_stack, want->free_stack);
        assert_int_equal(got->size_bytes, want->size_bytes);
        assert_int_equal(got->seq, want->seq);
        assert_int_equal(got->address, want->address);
        assert_int_equal(got->old_stack, want->old_stack);
        assert_int_equal(got->old_size_bytes, want->old_size_bytes);
        if (want->op != TRACE_OTHER || want->other == TRACE_IMPLICIT_FREE)
                assert_int_equal(got->n_blocks, want->n_blocks);
        assert_int_equal(got->old_n_blocks, want->old_n_blocks);
        assert_int_equal(got->old_seq, want->old_seq);
        /* the border of a slice may move an event on by a microsecond */
        assert_in_range(got->time_ns, want->time_ns, want->time_ns + 1000);
}

static void check_slice(struct trace_reader *t, const struct trace_fake *f, size_t i) {
        size_t first = i ? f->slice_ends.items[i - 1] : 0, n;
        const struct trace_slice_info *info = trace_slice(t, i);
        const struct trace_event *events;
        const struct trace_site *sites;
        const struct trace_counts *counts;
        const struct trace_move *moves;
        struct err err = {0};

        assert_int_equal(trace_read_events(t, i, &events, &n, &err), 0);
        assert_int_equal(n, f->slice_ends.items[i] - first);
        assert_int_equal(info->n_events, n);
        assert_true(info->has_events);
        for (size_t k = 0; k < n; k++) {
                check_event(&events[k], &f->events.items[first + k]);
                assert_true(events[k].time_ns >= info->begin_ns &&
                            events[k].time_ns < info->end_ns);
                assert_true(!k || events[k].time_ns >= events[k - 1].time_ns);
        }
        assert_int_equal(trace_read_sites(t, i, &sites, &n, &err), 0);
        assert_int_equal(n, f->slice_sites.items[i].n);
        assert_memory_equal(sites, f->slice_sites.items[i].items, n * sizeof(*sites));
        assert_int_equal(trace_read_counts(t, i, &counts, &n, &err), 0);
        assert_int_equal(n, f->slice_counts.items[i].n);
        assert_memory_equal(counts, f->slice_counts.items[i].items, n * sizeof(*counts));
        assert_int_equal(trace_read_moves(t, i, &moves, &n, &err), 0);
        assert_int_equal(n, f->slice_moves.items[i].n);
        for (size_t k = 0; k < n; k++)
                assert_memory_equal(&moves[k], &f->slice_moves.items[i].items[k], sizeof(*moves));
}

static void check_last_checkpoint(struct trace_reader *t, const struct trace_fake *f) {
        const struct trace_site *sites;
        const struct trace_counts *counts;
        size_t slice, n, n_counts;
        struct err err = {0};

        assert_int_equal(trace_read_checkpoint(t, SIZE_MAX, &slice, &sites, &n, &counts, &n_counts,
                                               &err),
                         0);
        assert_int_equal(slice, f->o.n_slices - 1);
        assert_int_equal(n, f->total_sites.n);
        assert_memory_equal(sites, f->total_sites.items, n * sizeof(*sites));
        assert_int_equal(n_counts, f->o.has_child && f->o.n_slices > 1 ? 2 : 1);
}

static void check_all(const struct trace_fake_options *o) {
        struct trace_fake f;
        struct trace_reader *t;

        file_write(&f, o);
        t = file_reader();
        assert_true(trace_view(t)->finished);
        assert_string_equal(trace_view(t)->damage, "");
        assert_int_equal(trace_view(t)->n_events, f.events.n);
        assert_int_equal(trace_view(t)->n_slices, o->n_slices);
        assert_true(trace_view(t)->knows_moves);
        for (size_t i = o->n_slices; i-- > 0;) /* any order: slices stand alone */
                check_slice(t, &f, i);
        check_last_checkpoint(t, &f);
        trace_reader_free(t);
        file_expect_valid();
        trace_fake_done(&f);
}

static void test_round_trip(void **state) {
        for (uint32_t seed = 1; seed <= 40; seed++) {
                struct trace_fake_options o = {
                        .seed = seed,
                        .n_stacks = 1 + seed * seed,
                        .n_threads = 1 + seed % 7,
                        .n_slices = 1 + seed % 5,
                        .n_events = 1 + seed * 37,
                        .flags = seed % 8,
                        .has_child = seed % 3 == 0,
                        .keep = true,
                };

                check_all(&o);
        }
}

static void test_definitions(void **state) {
        struct trace_fake_options o = {.seed = 7,
                                       .n_stacks = 50,
                                       .n_threads = 3,
                                       .n_slices = 3,
                                       .n_events = 100,
                                       .keep = true};
        const struct trace_sample *samples;
        const struct trace_residency *rows;
        const struct trace_mapping *mappings;
        const struct trace_view *v;
        struct trace_reader *t;
        struct trace_fake f;
        size_t n;

        file_write(&f, &o);
        t = file_reader();
        v = trace_view(t);
        assert_int_equal(v->meta.pid, 4711);
        assert_int_equal(v->meta.n_args, 3);
        assert_string_equal(v->meta.args[2], "1");
        assert_string_equal(v->meta.cwd, "/tmp");
        assert_int_equal(v->n_modules, 1);
        assert_string_equal(v->modules[0].path, "/usr/lib/libfake.so");
        assert_int_equal(v->modules[0].build_id_len, 20);
        assert_int_equal(v->modules[0].build_id[2], 3);
        assert_int_equal(v->n_locations, 50);
        assert_int_equal(v->locations[0].module, UINT32_MAX);
        assert_int_equal(v->locations[1].module, 0);
        assert_int_equal(v->n_stacks, 51);
        assert_int_equal(v->stacks[50].location, 49);
        assert_int_equal(v->n_processes, 1);
        assert_int_equal(v->processes[0].start.parent, TRACE_NO_PROCESS);
        assert_true(v->processes[0].has_end);
        assert_int_equal(v->processes[0].end.status, 3);
        assert_int_equal(v->n_threads, 3);
        assert_string_equal(v->threads[0].name, "worker");
        assert_string_equal(v->threads[1].name, "");
        assert_int_equal(v->n_notes, 1);
        assert_int_equal(v->cost.recorder_peak_bytes, 1000002); /* of several the last one */
        assert_int_equal(v->cost.recorder_cpu_ns, 20);
        assert_string_equal(v->notes[0].text, "pid 12 not followed: it is static");
        assert_int_equal(v->n_priors, 1);
        assert_int_equal(v->priors[0].flags, 7);
        assert_int_equal(v->priors[0].age_ns, 3600000000000);
        assert_int_equal(v->priors[0].anon_bytes, 9000);
        assert_int_equal(v->priors[0].held_bytes, 8000);
        assert_int_equal(v->priors[0].free_bytes, 3000);
        assert_int_equal(v->priors[0].mapped_bytes, 4096);
        assert_int_equal(v->priors[0].n_mapped, 1);
        assert_int_equal(v->priors[0].n_arenas, 2);
        assert_string_equal(v->priors[0].allocator, "glibc");
        assert_int_equal(v->n_rooms, 1 + (o.n_slices + 3) / 4);
        assert_int_equal(v->rooms[0].process, TRACE_NO_PROCESS);
        assert_int_equal(v->rooms[0].version, 2);
        assert_int_equal(v->rooms[0].of[ROOM_LIMIT], 1 << 20);
        assert_true(v->rooms[0].of[ROOM_SILT] == ROOM_UNKNOWN);
        assert_string_equal(v->rooms[0].path, "/jobs/fake");
        assert_int_equal(v->rooms[1].flags, TRACE_ROOM_KILL);
        assert_int_equal(v->rooms[1].of[ROOM_USAGE], 77);
        assert_int_equal(v->n_allocators, 1);
        assert_int_equal(v->allocators[0].n_allocs, 7);
        assert_int_equal(v->allocators[0].alloc_bytes, 700);
        assert_string_equal(v->allocators[0].name, "jemalloc");
        assert_string_equal(v->allocators[0].version, "5.3.0");
        assert_string_equal(v->allocators[0].module, "/bin/fake");
        assert_int_equal(trace_read_samples(t, &samples, &n, NULL), 0);
        assert_int_equal(n, 3);
        assert_int_equal(samples[2].anon_bytes, 8192);
        assert_int_equal(trace_read_residency(t, &rows, &n, NULL), 0);
        assert_int_equal(n, 3);
        assert_int_equal(rows[1].stack, 2);
        assert_int_equal(rows[2].stack, 1);
        assert_int_equal(rows[2].time_ns - rows[2].peak_ns, 7);
        assert_int_equal(rows[2].now.touched_bytes, 4098);
        assert_int_equal(rows[2].peak.bytes, 140000);
        assert_int_equal(rows[2].seen.n_blocks, 5);
        assert_int_equal(rows[2].max_touched_bytes, 6000);
        assert_int_equal(trace_read_mappings(t, &mappings, &n, NULL), 0);
        assert_int_equal(n, 3);
        assert_int_equal(mappings[0].thread, TRACE_NO_THREAD);
        assert_int_equal((int64_t)mappings[2].size_bytes, -4096);
        assert_int_equal(trace_read_mappings(t, &mappings, &n, NULL), 0);
        assert_int_equal(n, 3);
        trace_reader_free(t);
        trace_fake_done(&f);
}

static void test_symbols(void **state) {
        struct trace_fake_options o = {.seed = 7,
                                       .n_stacks = 50,
                                       .n_threads = 1,
                                       .n_slices = 2,
                                       .n_events = 100,
                                       .keep = true};
        const struct trace_symbol symbols[] = {
                {40, "outer", "b.c", 12, false, true},
                {3, "inner", "a.c", 7, true, false},
                {3, "outer", "b.c", 9, false, false},
        };
        const struct trace_symbol again[] = {{1, "new", "", 0, false, false}};
        struct trace_reader *t;
        struct trace_fake f;

        file_write(&f, &o);
        assert_int_equal(trace_append_symbols(file_path, symbols, 3, NULL), 0);
        t = file_reader();
        assert_true(trace_view(t)->finished);
        assert_int_equal(trace_view(t)->n_symbols, 3);
        assert_int_equal(trace_view(t)->symbols[0].location, 3);
        assert_string_equal(trace_view(t)->symbols[0].function, "inner");
        assert_true(trace_view(t)->symbols[0].inlined);
        assert_string_equal(trace_view(t)->symbols[1].file, "b.c");
        assert_int_equal(trace_view(t)->symbols[1].line, 9);
        assert_true(trace_view(t)->symbols[2].guess);
        check_slice(t, &f, 1);
        trace_reader_free(t);

        assert_int_equal(trace_append_symbols(file_path, again, 1, NULL), 0);
        t = file_reader();
        assert_int_equal(trace_view(t)->n_symbols, 1);
        assert_string_equal(trace_view(t)->symbols[0].function, "new");
        trace_reader_free(t);
        file_expect_valid();
        trace_fake_done(&f);
}

static uint64_t file_bytes(void) {
        struct stat st;

        assert_int_equal(stat(file_path, &st), 0);
        return (uint64_t)st.st_size;
}

static void expect_names(const char *function, const char *text) {
        struct trace_reader *t = file_reader();
        const struct trace_view *v = trace_view(t);

        assert_true(v->finished);
        assert_int_equal(v->n_symbols, 1);
        assert_string_equal(v->symbols[0].function, function);
        assert_int_equal(v->n_module_names, text ? 1 : 0);
        if (text) {
                assert_int_equal(v->module_names[0].module, 0);
                assert_int_equal(v->module_names[0].naming, TRACE_NAMING_SYMTAB);
                assert_string_equal(v->module_names[0].file, "/usr/lib/debug/a");
                assert_string_equal(v->module_names[0].text, text);
        }
        trace_reader_free(t);
        file_expect_valid();
}

static void put_names(const char *function, const char *text) {
        struct trace_symbol s = {1, function, "", 0, false, false};
        struct trace_module_names m = {0, TRACE_NAMING_SYMTAB, "/usr/lib/debug/a", text};
        struct trace_names names = {&s, 1, &m, text ? 1 : 0};
        struct err err = {0};

        if (trace_put_names(file_path, &names, &err) < 0)
                fail_msg("%s", err.text);
}

/* New names take the place of the old: the file does not grow, and a reader of the old one reads on. */
static void test_names_again(void **state) {
        struct trace_fake_options o = {
                .seed = 8, .n_stacks = 50, .n_threads = 1, .n_slices = 2, .n_events = 100};
        struct trace_reader *old;
        struct trace_fake f;
        char link_path[80];
        uint64_t n_bytes;

        file_write(&f, &o);
        put_names("first", "no lines: build it with -g");
        expect_names("first", "no lines: build it with -g");
        n_bytes = file_bytes();
        old = file_reader();
        for (int i = 0; i < 5; i++)
                put_names("other", "no lines: build it with -g");
        expect_names("other", "no lines: build it with -g");
        assert_true(file_bytes() <= n_bytes + 8);
        assert_int_equal(file_read_all(old), 200);
        trace_reader_free(old);
        put_names("third", NULL);
        expect_names("third", NULL);

        /* a file of two names stays one file: appended */
        snprintf(link_path, sizeof(link_path), "%s-2", file_path);
        n_bytes = file_bytes();
        assert_int_equal(link(file_path, link_path), 0);
        put_names("fourth", "again");
        expect_names("fourth", "again");
        assert_true(file_bytes() > n_bytes);
        assert_int_equal(unlink(link_path), 0);
        put_names("fifth", "again");
        expect_names("fifth", "again");
        trace_fake_done(&f);
}

/* The example of docs/trace-format.md, byte for byte. */
static void test_worked_example(void **state) {
        static const uint8_t want[] = {
                0x01, 0x02, /* one thread, two stacks */
                2,    1,    1,    1,    5,    2, 3, 3,
                2,    1,    1,    1,    0,    0, 0, 0, /* bytes of each column */
                0x40, 0x01,                            /* ops: ALLOC ALLOC ALLOC FREE, FREE */
                0x01,                                  /* thread_ids: thread 0 */
                0x00, 0x04,                            /* one run of five events */
                0x03, 0x01, 0x00, 0x03, 0x00,          /* times: 5, 6, 6, 9, 9 us */
                0x0e, 0x04,                            /* stack_ids: 7, 9 */
                0x01, 0x01, 0x02,                      /* stacks: new, new, the first */
                0x65, 0x19, 0x00,                      /* sizes: 100, 24, as before */
                0x02, 0x00,       /* releases: two allocations ago, an old block */
                0x11, 0x02, 0x00, /* seq 41 (50 - 9), the first stack, its size */
        };
        static const struct trace_staged events[] = {
                {.time_op = 5000 << 2 | TRACE_ALLOC, .stack = 7, .size_bytes = 100},
                {.time_op = 6100 << 2 | TRACE_ALLOC, .stack = 9, .size_bytes = 24},
                {.time_op = 6900 << 2 | TRACE_ALLOC, .stack = 7, .size_bytes = 100},
                {.time_op = 9000 << 2 | TRACE_FREE, .seq = 51, .stack = 9, .size_bytes = 24},
                {.time_op = 9500 << 2 | TRACE_FREE, .seq = 41, .stack = 7, .size_bytes = 100},
        };
        struct trace_stage_buf *b = calloc(1, sizeof(*b));
        struct trace_encoder *e = trace_encoder_new(0);
        uint8_t head[TRACE_EVTS_HEAD_BYTES];
        struct trace_cuts cuts;
        bytes_buf body = {0};

        assert_non_null(b);
        memcpy(b->items, events, sizeof(events));
        b->n = ARRAY_SIZE(events);
        trace_encoder_begin(e, 50, 2);
        trace_encode(e, b);
        trace_encoder_end(e, 3, head, &body, &cuts);
        assert_int_equal(body.n, sizeof(want));
        assert_memory_equal(body.items, want, sizeof(want));
        assert_int_equal(cuts.n, TRACE_N_EXACT_COLUMNS);
        assert_int_equal(cuts.at[cuts.n - 1], body.n);
        vec_free(&body);
        trace_encoder_free(e);
        free(b);
}

/* Two graphs, one in three parts; a slice before, between and behind. */
static void test_graphs(void **state) {
        size_t n_bytes[2] = {100, 2 * TRACE_GRPH_PART_BYTES + 77};
        uint8_t *bytes = malloc(n_bytes[1]);
        bytes_buf got = {0};
        struct trace_fake f;
        struct trace_fake_options o = {
                .seed = 3, .n_stacks = 9, .n_threads = 2, .n_slices = 3, .n_events = 50};
        struct trace_writer *w = file_writer(0);
        struct trace_reader *t;
        struct err err = {0};

        for (size_t i = 0; i < n_bytes[1]; i++)
                bytes[i] = (uint8_t)(i * i >> 7);
        trace_fake_run(&f, &o, w);
        for (size_t i = 0; i < 2; i++)
                assert_true(trace_put_graph(
                        w, &(struct trace_graph){.time_ns = 5 + i, .n_bytes = n_bytes[i]}, bytes));
        assert_false(trace_put_graph(w, &(struct trace_graph){0}, bytes));
        assert_int_equal(trace_writer_finish(w, &err), 0);
        trace_writer_free(w);
        t = file_reader();
        assert_int_equal(trace_n_graphs(t), 2);
        for (size_t i = 0; i < 2; i++) {
                vec_clear(&got);
                assert_int_equal(trace_graph(t, i)->time_ns, 5 + i);
                assert_int_equal(trace_graph(t, i)->n_bytes, n_bytes[i]);
                assert_int_equal(trace_read_graph(t, i, &got, &err), 0);
                assert_int_equal(got.n, n_bytes[i]);
                assert_memory_equal(got.items, bytes, got.n);
        }
        assert_int_equal(trace_read_graph(t, 2, &got, &err), -ERANGE);
        trace_reader_free(t);
        trace_fake_done(&f);
        vec_free(&got);
        free(bytes);
}

/* Bills between slices, and what is no bill. */
static void test_bills(void **state) {
        uint8_t bytes[300];
        bytes_buf got = {0};
        struct trace_fake f;
        struct trace_fake_options o = {
                .seed = 3, .n_stacks = 9, .n_threads = 2, .n_slices = 3, .n_events = 50};
        struct trace_writer *w = file_writer(0);
        struct trace_reader *t;
        struct err err = {0};

        for (size_t i = 0; i < sizeof(bytes); i++)
                bytes[i] = (uint8_t)(i * i >> 3);
        trace_fake_run(&f, &o, w);
        for (uint64_t i = 0; i < 3; i++)
                assert_true(trace_put_bill(w,
                                           &(struct trace_bill){.time_ns = 5 + i,
                                                                .rss_bytes = 77 * i,
                                                                .n_bytes = 100 * (i + 1)},
                                           bytes));
        assert_false(trace_put_bill(w, &(struct trace_bill){0}, bytes));
        assert_false(trace_put_bill(w, &(struct trace_bill){.n_bytes = TRACE_BILL_MAX_BYTES + 1},
                                    bytes));
        assert_int_equal(trace_writer_finish(w, &err), 0);
        trace_writer_free(w);
        t = file_reader();
        assert_int_equal(trace_n_bills(t), 3);
        for (uint64_t i = 0; i < 3; i++) {
                vec_clear(&got);
                assert_int_equal(trace_bill(t, i)->time_ns, 5 + i);
                assert_int_equal(trace_bill(t, i)->rss_bytes, 77 * i);
                assert_int_equal(trace_read_bill(t, i, &got, &err), 0);
                assert_int_equal(got.n, 100 * (i + 1));
                assert_memory_equal(got.items, bytes, got.n);
        }
        assert_null(trace_bill(t, 3));
        assert_int_equal(trace_read_bill(t, 3, &got, &err), -ERANGE);
        trace_reader_free(t);
        trace_fake_done(&f);
        vec_free(&got);
}

/* Of a bounded file: few, in order, among them the newest and the highest. */
static void test_bills_are_thinned(void **state) {
        enum { N_BILLS = 200, HIGHEST = 77, BILL_BYTES = 150, MAX_BYTES = 110000 };
        struct trace_fake_options o = {
                .seed = 4, .n_stacks = 30, .n_threads = 3, .n_slices = 400, .n_events = 300};
        struct trace_writer *w = file_writer(0);
        bool has_highest = false, has_newest = false;
        uint8_t bytes[1000];
        bytes_buf got = {0};
        struct trace_reader *t;
        struct trace_fake f;
        struct err err = {0};

        trace_writer_bound(w, MAX_BYTES);
        for (uint64_t i = 0; i < N_BILLS; i++) {
                memset(bytes, (int)i, sizeof(bytes));
                assert_true(
                        trace_put_bill(w,
                                       &(struct trace_bill){.time_ns = 1 + i,
                                                            .rss_bytes = i == HIGHEST ? 9999 : i,
                                                            .n_bytes = BILL_BYTES},
                                       bytes));
        }
        assert_false(trace_put_bill(w, &(struct trace_bill){.n_bytes = sizeof(bytes)}, bytes));
        trace_fake_run(&f, &o, w);
        assert_int_equal(trace_writer_finish(w, &err), 0);
        assert_true(trace_writer_n_thinned(w) > 0);
        trace_writer_free(w);
        t = file_reader();
        assert_in_range(trace_n_bills(t), 4, TRACE_MAX_KEPT_BILLS);
        for (size_t i = 0; i < trace_n_bills(t); i++) {
                const struct trace_bill *b = trace_bill(t, i);

                assert_true(!i || b->time_ns > trace_bill(t, i - 1)->time_ns);
                has_highest |= b->rss_bytes == 9999;
                has_newest |= b->time_ns == N_BILLS;
                vec_clear(&got);
                assert_int_equal(trace_read_bill(t, i, &got, &err), 0);
                assert_int_equal(got.n, BILL_BYTES);
                assert_int_equal(got.items[BILL_BYTES - 1], b->time_ns - 1);
        }
        assert_true(has_highest && has_newest);
        trace_reader_free(t);
        trace_fake_done(&f);
        vec_free(&got);
}

/* What totals lack is said of totals alone, and other weights than bytes are not of blocks. */
static void test_flags_go_together(void **state) {
        const uint32_t totals = TRACE_IS_TOTALS, lacks = TRACE_LACKS_TIME | TRACE_LACKS_BLOCKS;

        (void)state;
        assert_true(trace_flags_are_valid(0, TRACE_UNIT_BYTES));
        assert_true(trace_flags_are_valid(totals, TRACE_UNIT_BYTES));
        assert_true(trace_flags_are_valid(totals | TRACE_LACKS_TIME, TRACE_UNIT_BYTES));
        assert_true(trace_flags_are_valid(totals | lacks, TRACE_UNIT_OTHER));
        assert_true(trace_flags_are_valid(TRACE_LACKS_TIME, TRACE_UNIT_BYTES)); /* of events */
        assert_false(trace_flags_are_valid(TRACE_LACKS_BLOCKS, TRACE_UNIT_BYTES));
        assert_false(trace_flags_are_valid(TRACE_LACKS_TIME, TRACE_UNIT_NS));
        assert_false(trace_flags_are_valid(totals | TRACE_HAS_ADDRESSES, TRACE_UNIT_BYTES));
        assert_false(trace_flags_are_valid(totals | TRACE_LACKS_TIME, TRACE_UNIT_SAMPLES));
        assert_false(trace_flags_are_valid(totals | lacks, TRACE_N_UNITS));
        assert_false(trace_flags_are_valid(0, TRACE_UNIT_NS));
        assert_true(trace_flags_are_valid(totals | TRACE_LACKS_LIVE | TRACE_LACKS_PEAK,
                                          TRACE_UNIT_BYTES));
        assert_false(trace_flags_are_valid(totals | TRACE_LACKS_LIVE, TRACE_UNIT_BYTES));
        assert_false(trace_flags_are_valid(totals | TRACE_LACKS_LIVE | TRACE_LACKS_PEAK |
                                                   TRACE_LACKS_TRAFFIC,
                                           TRACE_UNIT_BYTES));
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_flags_go_together),
                cmocka_unit_test(test_round_trip),
                cmocka_unit_test(test_definitions),
                cmocka_unit_test(test_symbols),
                cmocka_unit_test(test_names_again),
                cmocka_unit_test(test_worked_example),
                cmocka_unit_test(test_graphs),
                cmocka_unit_test(test_bills),
                cmocka_unit_test(test_bills_are_thinned),
        };

        return cmocka_run_group_tests(tests, file_setup, file_teardown);
}
