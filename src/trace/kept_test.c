/* SPDX-License-Identifier: MIT */
/* One trace of every version of the format, kept for ever: kept/vN.silt must read the same with
 * every later silt. v1: reader_seeds's seed 7 as the writer of version 1 wrote it (two
 * processes, addresses and free stacks, symbols). v1-bounded: its seed 9, kept within a bound.
 * v1-inherited: the same, with SITE of version 2. v1-names: seed 7 with NSRC.
 * v1-moves: seed 8, kept within a bound, with MOVE and RESI. */
#include "trace/testing/trace_file.h"

/* Sums over everything that is read; any difference shows. */
struct digest {
        uint64_t n_events, events, sites, counts;
};

static uint64_t mix(uint64_t h, uint64_t v) {
        return (h ^ v) * 0x9e3779b97f4a7c15ull;
}

static void digest_slice(struct trace_reader *t, size_t i, struct digest *d) {
        const struct trace_event *e;
        const struct trace_site *s;
        const struct trace_counts *c;
        size_t n;

        assert_int_equal(trace_read_events(t, i, &e, &n, NULL), 0);
        d->n_events += n;
        for (size_t k = 0; k < n; k++) {
                d->events = mix(mix(d->events, e[k].op * 8u + e[k].other), e[k].time_ns);
                d->events = mix(mix(mix(d->events, e[k].seq), e[k].size_bytes), e[k].stack);
                d->events = mix(mix(mix(d->events, e[k].address), e[k].free_stack), e[k].old_seq);
        }
        assert_int_equal(trace_read_sites(t, i, &s, &n, NULL), 0);
        for (size_t k = 0; k < n; k++)
                d->sites = mix(mix(mix(d->sites, s[k].alloc_bytes), s[k].free_bytes),
                               (uint64_t)s[k].peak_bytes);
        assert_int_equal(trace_read_counts(t, i, &c, &n, NULL), 0);
        for (size_t k = 0; k < n; k++)
                d->counts = mix(mix(d->counts, c[k].live_bytes), c[k].peak_bytes);
}

/* SLIC version 2: merged slices, and the first that keeps its events. */
static void test_v1_bounded(void **state) {
        struct trace_reader *t = NULL;
        struct digest d = {0};
        struct err err = {0};

        if (trace_reader_open(KEPT_DIRECTORY "/v1-bounded.silt", &t, &err) < 0)
                fail_msg("%s", err.text);
        assert_true(trace_view(t)->finished);
        assert_string_equal(trace_view(t)->damage, "");
        assert_int_equal(trace_view(t)->n_processes, 2);
        assert_int_equal(trace_view(t)->n_events, 3180);
        assert_true(trace_slice(t, 0)->is_dropped && !trace_slice(t, 1)->is_dropped);
        assert_int_equal(trace_view(t)->detail_from_ns, trace_slice(t, 1)->begin_ns);
        for (size_t i = 0; i < trace_view(t)->n_slices; i++)
                digest_slice(t, i, &d);
        assert_int_equal(d.n_events, 3180 - trace_view(t)->n_dropped_events);
        assert_int_equal(d.events, 0x75c617766ce96105ull);
        assert_int_equal(d.sites, 0x3632f152ebab4b12ull);
        assert_int_equal(d.counts, 0xf90f6e8e5e1c2386ull);
        trace_reader_free(t);
        assert_int_equal(trace_verify(KEPT_DIRECTORY "/v1-bounded.silt", stdout, &err), 0);
}

static void test_v1(void **state) {
        struct trace_reader *t = NULL;
        struct digest d = {0};
        struct err err = {0};

        if (trace_reader_open(KEPT_DIRECTORY "/v1.silt", &t, &err) < 0)
                fail_msg("%s", err.text);
        assert_true(trace_view(t)->finished);
        assert_string_equal(trace_view(t)->damage, "");
        assert_int_equal(trace_view(t)->n_processes, 2);
        assert_int_equal(trace_view(t)->n_symbols, 2);
        assert_string_equal(trace_view(t)->symbols[1].function, "main");
        for (size_t i = 0; i < trace_view(t)->n_slices; i++)
                digest_slice(t, i, &d);
        assert_int_equal(d.n_events, 86);
        assert_int_equal(d.events, 0xc7e9c1a5fbb15677ull);
        assert_int_equal(d.sites, 0x5b353faadbdbc2deull);
        assert_int_equal(d.counts, 0x9b5fea5a5508b070ull);
        trace_reader_free(t);
        assert_int_equal(trace_verify(KEPT_DIRECTORY "/v1.silt", stdout, &err), 0);
}

/* SITE version 2: releases of inherited blocks are told apart, also where events are gone. */
static void test_v1_inherited(void **state) {
        struct trace_reader *t = NULL;
        struct digest d = {0};
        struct err err = {0};
        uint64_t n_inherited_frees = 0, inherited_free_bytes = 0;

        if (trace_reader_open(KEPT_DIRECTORY "/v1-inherited.silt", &t, &err) < 0)
                fail_msg("%s", err.text);
        assert_true(trace_view(t)->finished);
        assert_string_equal(trace_view(t)->damage, "");
        assert_true(trace_slice(t, 0)->is_dropped);
        for (size_t i = 0; i < trace_view(t)->n_slices; i++) {
                const struct trace_site *rows;
                size_t n;

                digest_slice(t, i, &d);
                assert_int_equal(trace_read_sites(t, i, &rows, &n, NULL), 0);
                for (size_t k = 0; k < n; k++) {
                        n_inherited_frees += rows[k].n_inherited_frees;
                        inherited_free_bytes += rows[k].inherited_free_bytes;
                        assert_true(rows[k].process == 0 || trace_slice(t, i)->has_inherited_frees);
                }
        }
        assert_int_equal(n_inherited_frees, 2);
        assert_int_equal(inherited_free_bytes, 48);
        assert_int_equal(d.events, 0xe372bc6b6946408bull);
        assert_int_equal(d.sites, 0x3632f152ebab4b12ull);
        assert_int_equal(d.counts, 0xf90f6e8e5e1c2386ull);
        trace_reader_free(t);
        assert_int_equal(trace_verify(KEPT_DIRECTORY "/v1-inherited.silt", stdout, &err), 0);
}

/* NSRC: how the module's names were found. */
static void test_v1_names(void **state) {
        struct trace_reader *t = NULL;
        struct digest d = {0};
        struct err err = {0};

        if (trace_reader_open(KEPT_DIRECTORY "/v1-names.silt", &t, &err) < 0)
                fail_msg("%s", err.text);
        assert_true(trace_view(t)->finished);
        assert_string_equal(trace_view(t)->damage, "");
        assert_int_equal(trace_view(t)->n_symbols, 2);
        assert_int_equal(trace_view(t)->n_module_names, 1);
        assert_int_equal(trace_view(t)->module_names[0].naming, 2);
        assert_string_equal(trace_view(t)->module_names[0].file, "/usr/lib/debug/a");
        assert_string_equal(trace_view(t)->module_names[0].text, "no lines: build it with -g");
        for (size_t i = 0; i < trace_view(t)->n_slices; i++)
                digest_slice(t, i, &d);
        assert_int_equal(d.n_events, 86);
        assert_int_equal(d.events, 0xc7e9c1a5fbb15677ull);
        trace_reader_free(t);
        assert_int_equal(trace_verify(KEPT_DIRECTORY "/v1-names.silt", stdout, &err), 0);
}

/* MOVE: of a merged slice and of one with its events. Older traces do not know their moves. */
static void test_v1_moves(void **state) {
        static const char *const older[] = {"/v1.silt", "/v1-bounded.silt", "/v1-inherited.silt",
                                            "/v1-names.silt"};
        struct trace_reader *t = NULL;
        struct trace_move sum = {0};
        struct err err = {0};

        if (trace_reader_open(KEPT_DIRECTORY "/v1-moves.silt", &t, &err) < 0)
                fail_msg("%s", err.text);
        assert_true(trace_view(t)->knows_moves);
        assert_true(trace_slice(t, 0)->is_dropped && !trace_slice(t, 2)->is_dropped);
        for (size_t i = 0; i < trace_view(t)->n_slices; i++) {
                const struct trace_move *rows;
                size_t n;

                assert_int_equal(trace_read_moves(t, i, &rows, &n, &err), 0);
                assert_true(n > 0);
                for (size_t k = 0; k < n; k++)
                        trace_move_add(&sum, &rows[k]);
        }
        assert_int_equal(sum.n_foreign_frees, 859);
        assert_int_equal(sum.foreign_bytes, 178271);
        assert_int_equal(sum.n_grown, 32);
        assert_int_equal(sum.copied_bytes, 3359);
        assert_int_equal(sum.grown_bytes, 31054);
        assert_int_equal(sum.in_place_bytes, 240);
        assert_int_equal(sum.n_shrunk, 2);
        trace_reader_free(t);
        assert_int_equal(trace_verify(KEPT_DIRECTORY "/v1-moves.silt", stdout, &err), 0);
        for (size_t i = 0; i < ARRAY_SIZE(older); i++) {
                char path[4096];

                snprintf(path, sizeof(path), "%s%s", KEPT_DIRECTORY, older[i]);
                assert_int_equal(trace_reader_open(path, &t, &err), 0);
                assert_false(trace_view(t)->knows_moves);
                trace_reader_free(t);
        }
}

/* The same trace has RESI: rows of two call paths. */
static void test_v1_residency(void **state) {
        struct trace_reader *t = NULL;
        const struct trace_residency *rows;
        struct err err = {0};
        uint64_t sum = 0;
        size_t n;

        if (trace_reader_open(KEPT_DIRECTORY "/v1-moves.silt", &t, &err) < 0)
                fail_msg("%s", err.text);
        assert_int_equal(trace_read_residency(t, &rows, &n, &err), 0);
        assert_int_equal(n, 2);
        for (size_t i = 0; i < n; i++) {
                sum = mix(mix(mix(sum, rows[i].stack), rows[i].time_ns), rows[i].peak_ns);
                sum = mix(mix(sum, rows[i].now.bytes), rows[i].now.touched_bytes);
                sum = mix(mix(sum, rows[i].peak.bytes), rows[i].seen.n_blocks);
                sum = mix(sum, rows[i].max_touched_bytes);
        }
        assert_int_equal(sum, 0x61561c9c6867990dull);
        trace_reader_free(t);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_v1),           cmocka_unit_test(test_v1_bounded),
                cmocka_unit_test(test_v1_inherited), cmocka_unit_test(test_v1_names),
                cmocka_unit_test(test_v1_moves),     cmocka_unit_test(test_v1_residency),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
