/* SPDX-License-Identifier: MIT */
/* Traces whose checksums are right and whose content lies: the verifier names the lie. */
#include <errno.h>

#include "base/bytes.h"
#include "trace/format.h"
#include "trace/testing/trace_file.h"

/* What a lying recorder writes: two slices, a few blocks, everything in order until `lie` has
 * changed it. */
struct liar {
        struct trace_writer *w;
        struct trace_site sites[2];
        struct trace_counts counts[2], total;
        uint64_t end_ns[2];
        bool free_twice, free_with_wrong_size;
        const struct trace_prior *prior; /* NULL: none */
        const struct trace_room *room;
};

static void liar_fill(struct liar *l) {
        /* slice 0: four blocks of 100 bytes at stack 1, one released at once. Slice 1: one old
         * block released. */
        l->sites[0] = (struct trace_site){.stack = 1,
                                          .n_allocs = 4,
                                          .alloc_bytes = 400,
                                          .n_frees = 1,
                                          .free_bytes = 100,
                                          .n_temporary = 1,
                                          .peak_blocks = 3,
                                          .peak_bytes = 300,
                                          .n_life = {1}};
        l->counts[0] = (struct trace_counts){.n_allocs = 4,
                                             .n_frees = 1,
                                             .alloc_bytes = 400,
                                             .n_temporary = 1,
                                             .live_blocks = 3,
                                             .live_bytes = 300,
                                             .peak_blocks = 3,
                                             .peak_bytes = 300,
                                             .peak_ns = 9000};
        l->sites[1] =
                (struct trace_site){.stack = 1, .n_frees = 1, .free_bytes = 100, .n_life = {0, 1}};
        l->counts[1] = (struct trace_counts){.n_frees = 1,
                                             .live_blocks = 2,
                                             .live_bytes = 200,
                                             .peak_blocks = 3,
                                             .peak_bytes = 300,
                                             .peak_ns = 10000};
        l->total = (struct trace_counts){.n_allocs = 4,
                                         .n_frees = 2,
                                         .alloc_bytes = 400,
                                         .n_temporary = 1,
                                         .live_blocks = 2,
                                         .live_bytes = 200,
                                         .peak_blocks = 3,
                                         .peak_bytes = 300,
                                         .peak_ns = 9000};
        l->end_ns[0] = 10000;
        l->end_ns[1] = 20000;
}

static void liar_write(struct liar *l, const struct trace_site *checkpoint) {
        struct trace_writer *w = l->w = file_writer(0);

        trace_add_stack(w, 0, trace_add_location(w, &(struct trace_location){UINT32_MAX, 1}));
        trace_add_process(w,
                          &(struct trace_process){.pid = 1, .parent = TRACE_NO_PROCESS, .exe = ""});
        trace_add_thread(w, &(struct trace_thread){.process = 0, .tid = 1});
        if (l->prior)
                trace_put_prior(w, l->prior);
        if (l->room)
                trace_put_room(w, l->room);
        trace_put_alloc(w, 0, 1000, 1, 100, 0);
        trace_put_free(w, 0, 2000, 0, 1, 100, 0);
        for (uint64_t i = 0; i < 3; i++)
                trace_put_alloc(w, 0, 3000 + 3000 * i, 1, 100, 0);
        trace_end_slice(w, l->end_ns[0], &l->sites[0], 1, &l->counts[0], 1);
        trace_put_free(w, 0, 15000, l->free_twice ? 0 : 2, 1, l->free_with_wrong_size ? 99 : 100,
                       0);
        trace_end_slice(w, l->end_ns[1], &l->sites[1], 1, &l->counts[1], 1);
        trace_put_checkpoint(w, checkpoint, 1, &l->total, 1);
        trace_writer_finish(w, NULL);
        trace_writer_free(w);
}

static const struct trace_site right_checkpoint = {.stack = 1,
                                                   .n_allocs = 4,
                                                   .alloc_bytes = 400,
                                                   .n_frees = 2,
                                                   .free_bytes = 200,
                                                   .n_temporary = 1};

static void expect(struct liar *l, const struct trace_site *checkpoint, int error,
                   const char *words) {
        char text[4096], start[16];

        liar_write(l, checkpoint);
        assert_int_equal(file_verify(text, sizeof(text)), 1);
        snprintf(start, sizeof(start), "T%d chunk", error);
        if (strncmp(text, start, strlen(start)) != 0 || !strstr(text, words))
                fail_msg("expected %s … %s, got %s", start, words, text);
}

static void test_truth(void **state) {
        struct liar l = {0};

        liar_fill(&l);
        liar_write(&l, &right_checkpoint);
        file_expect_valid();
}

/* Each field, one too many. */
static void test_lying_rows(void **state) {
        static const struct {
                size_t off;
                const char *name;
        } fields[] = {
                {offsetof(struct trace_site, n_allocs), "n_allocs"},
                {offsetof(struct trace_site, alloc_bytes), "alloc_bytes"},
                {offsetof(struct trace_site, n_frees), "lifetimes"},
                {offsetof(struct trace_site, free_bytes), "free_bytes"},
                {offsetof(struct trace_site, n_temporary), "temporary"},
        };

        for (size_t i = 0; i < ARRAY_SIZE(fields); i++) {
                struct liar l = {0};

                liar_fill(&l);
                ++*(uint64_t *)((char *)&l.sites[0] + fields[i].off);
                expect(&l, &right_checkpoint, 13, fields[i].name);
        }
}

static void test_lying_counts(void **state) {
        static const struct {
                size_t off;
                int error;
                const char *name;
        } fields[] = {
                {offsetof(struct trace_counts, n_allocs), 13, "n_allocs"},
                {offsetof(struct trace_counts, n_frees), 13, "n_frees"},
                {offsetof(struct trace_counts, n_reallocs), 13, "n_reallocs"},
                {offsetof(struct trace_counts, alloc_bytes), 13, "alloc_bytes"},
                {offsetof(struct trace_counts, n_temporary), 13, "n_temporary"},
                {offsetof(struct trace_counts, n_failed), 13, "n_failed"},
                {offsetof(struct trace_counts, n_lost), 13, "n_lost"},
                {offsetof(struct trace_counts, n_wrong_sizes), 13, "n_wrong_sizes"},
                {offsetof(struct trace_counts, n_unknown_frees), 13, "n_unknown_frees"},
                {offsetof(struct trace_counts, n_prior_frees), 13, "n_prior_frees"},
                {offsetof(struct trace_counts, peak_bytes), 13, "peak_bytes"},
                {offsetof(struct trace_counts, peak_blocks), 13, "peak_blocks"},
                {offsetof(struct trace_counts, live_blocks), 14, "from the slice before follow"},
                {offsetof(struct trace_counts, n_inversions), 15, "sum of its slices"},
        };

        for (size_t i = 0; i < ARRAY_SIZE(fields); i++) {
                struct liar l = {0};

                liar_fill(&l);
                ++*(uint64_t *)((char *)&l.counts[0] + fields[i].off);
                expect(&l, &right_checkpoint, fields[i].error, fields[i].name);
        }
}

static void test_lying_checkpoint(void **state) {
        struct trace_site wrong = right_checkpoint;
        struct liar l = {0};

        liar_fill(&l);
        wrong.free_bytes--;
        expect(&l, &wrong, 15, "the slices add up to");
        l.total.n_allocs++;
        expect(&l, &right_checkpoint, 15, "counts of process 0");
}

static void test_lying_releases(void **state) {
        struct liar l = {.free_twice = true};

        liar_fill(&l);
        expect(&l, &right_checkpoint, 12, "not live");
        l.free_twice = false;
        l.free_with_wrong_size = true;
        expect(&l, &right_checkpoint, 12, "stack or size");
}

/* What was there before: verifier and reader see alike what cannot be so. */
static void test_lying_prior(void **state) {
        static const struct {
                struct trace_prior row;
                int error;
        } cases[] = {
                {{.flags = 7, .held_bytes = 9, .free_bytes = 9, .n_arenas = 1, .n_mapped = 1}, 0},
                {{.flags = 0, .age_ns = 1, .anon_bytes = 1}, 0},
                {{.flags = 8}, 9},
                {{.flags = 2}, 9},
                {{.flags = 1, .held_bytes = 9, .free_bytes = 10}, 9},
                {{.flags = 0, .held_bytes = 9}, 9},
                {{.flags = 4, .n_arenas = 1}, 9},
                {{.flags = 3, .n_mapped = 1}, 9},
                {{.flags = 3, .mapped_bytes = 1}, 9},
                {{.process = 1}, 10},
        };

        for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
                struct trace_prior row = cases[i].row;
                struct liar l = {.prior = &row};
                struct trace_reader *t;

                row.allocator = "glibc";
                liar_fill(&l);
                if (cases[i].error) {
                        expect(&l, &right_checkpoint, cases[i].error, "row 0");
                } else {
                        liar_write(&l, &right_checkpoint);
                        file_expect_valid();
                }
                t = file_reader();
                assert_int_equal(trace_view(t)->n_priors, cases[i].error ? 0 : 1);
                trace_reader_free(t);
        }
}

static void test_lying_room(void **state) {
        static const struct {
                struct trace_room row;
                int error;
        } cases[] = {
                {{.version = 0, .path = ""}, 0},
                {{.version = 2, .path = "/a", .flags = 1, .process = TRACE_NO_PROCESS}, 0},
                {{.version = 0, .path = "/a"}, 9},
                {{.version = 1, .path = ""}, 9},
                {{.version = 3, .path = "/a"}, 9},
                {{.version = 1, .path = "/a", .flags = 2}, 9},
                {{.version = 1, .path = "/a", .process = 1}, 10},
        };

        for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
                struct liar l = {.room = &cases[i].row};
                struct trace_reader *t;

                liar_fill(&l);
                if (cases[i].error) {
                        expect(&l, &right_checkpoint, cases[i].error, "row 0");
                } else {
                        liar_write(&l, &right_checkpoint);
                        file_expect_valid();
                }
                t = file_reader();
                assert_int_equal(trace_view(t)->n_rooms, cases[i].error ? 0 : 1);
                trace_reader_free(t);
        }
}

/* An index that names another file's chunks, with a right checksum. */
static void test_lying_index(void **state) {
        struct trace_fake_options o = {.seed = 1,
                                       .n_stacks = 5,
                                       .n_threads = 1,
                                       .n_slices = 2,
                                       .n_events = 50,
                                       .keep = true};
        struct trace_fake f;
        uint8_t *a, *b, *joined;
        size_t n_a, n_b, index_a, index_b;
        char text[4096];

        file_write(&f, &o);
        trace_fake_done(&f);
        n_a = file_load(&a);
        o.n_events = 51;
        file_write(&f, &o);
        trace_fake_done(&f);
        n_b = file_load(&b);
        index_a = (size_t)bytes_le64(a + n_a - 24);
        index_b = (size_t)bytes_le64(b + n_b - 24);
        joined = malloc(n_a + n_b);
        memcpy(joined, a, index_a);
        memcpy(joined + index_a, b + index_b, n_b - index_b);
        file_store(joined, index_a + n_b - index_b);
        assert_int_equal(file_verify(text, sizeof(text)), 1);
        assert_int_equal(strncmp(text, "T16 ", 4), 0);
        free(a);
        free(b);
        free(joined);
}

static void test_not_a_trace(void **state) {
        char text[4096];
        struct err err = {0};

        file_store((const uint8_t *)"hello", 5);
        assert_int_equal(file_verify(text, sizeof(text)), 1);
        assert_int_equal(strncmp(text, "T1 ", 3), 0);
        assert_int_equal(trace_verify("/nonexistent", stdout, &err), -ENOENT);
        assert_int_equal(trace_verify("/", stdout, &err), -EINVAL);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_truth),          cmocka_unit_test(test_lying_rows),
                cmocka_unit_test(test_lying_counts),   cmocka_unit_test(test_lying_checkpoint),
                cmocka_unit_test(test_lying_releases), cmocka_unit_test(test_lying_prior),
                cmocka_unit_test(test_lying_room),     cmocka_unit_test(test_lying_index),
                cmocka_unit_test(test_not_a_trace),
        };

        return cmocka_run_group_tests(tests, file_setup, file_teardown);
}
