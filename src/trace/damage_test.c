/* SPDX-License-Identifier: MIT */
/* Traces cut off, flipped, overwritten, or written to a full disk: what is whole is read, and
 * nothing else happens. */
#include <errno.h>
#include <signal.h>
#include <sys/resource.h>
#include <xxhash.h>

#include "base/bytes.h"
#include "trace/chunk.h"
#include "trace/format.h"
#include "trace/rehash.h"
#include "trace/testing/trace_file.h"

static const struct trace_fake_options small = {.seed = 3,
                                                .n_stacks = 12,
                                                .n_threads = 2,
                                                .n_slices = 4,
                                                .n_events = 40,
                                                .has_child = true,
                                                .keep = true};

/* Slices that are whole in the first n bytes: a slice is there when its SLIC chunk is. */
static size_t count_slices(const uint8_t *p, size_t n) {
        size_t n_slices = 0;

        for (size_t at = 0; at + TRACE_HEADER_BYTES <= n;) {
                size_t stored = bytes_le32(p + at + 12);

                if (bytes_le32(p + at) == TRACE_TRAILER_MAGIC) {
                        at += TRACE_TRAILER_BYTES;
                        continue;
                }
                if (at + TRACE_HEADER_BYTES + stored > n)
                        break;
                n_slices += bytes_le32(p + at + 4) == TRACE_SLIC;
                at += TRACE_HEADER_BYTES + ALIGN_UP(stored, 8);
        }
        return n_slices;
}

static void check_cut(const struct trace_fake *f, const uint8_t *p, size_t n, size_t whole) {
        const struct trace_view *v;
        struct trace_reader *t = NULL;
        struct err err = {0};
        char text[4096];
        size_t want = count_slices(p, n);

        file_store(p, n);
        if (trace_reader_open(file_path, &t, &err) < 0) {
                assert_true(err.text[0]);
                assert_int_equal(want, 0);
                return;
        }
        v = trace_view(t);
        assert_int_equal(v->n_slices, want);
        assert_int_equal(file_read_all(t), want ? f->slice_ends.items[want - 1] : 0);
        assert_true(n == whole ? v->finished : true);
        trace_reader_free(t);
        assert_int_equal(file_verify(text, sizeof(text)), n != whole);
}

static void test_cut_at_every_byte(void **state) {
        struct trace_fake f;
        uint8_t *p;
        size_t n;

        file_write(&f, &small);
        n = file_load(&p);
        for (size_t cut = 0; cut <= n; cut++)
                check_cut(&f, p, cut, n);
        free(p);
        trace_fake_done(&f);
}

/* A flipped bit costs at most the chunk it is in; verify never misses one. */
static void test_bit_flips(void **state) {
        struct trace_fake f;
        uint64_t random = 88172645463325252ull;
        char text[4096];
        uint8_t *p;
        size_t n;

        file_write(&f, &small);
        n = file_load(&p);
        for (int i = 0; i < 4000; i++) {
                size_t byte = trace_fake_random(&random) % n;
                uint8_t bit = (uint8_t)(1u << trace_fake_random(&random) % 8);
                struct trace_reader *t = NULL;
                struct err err = {0};

                p[byte] ^= bit;
                file_store(p, n);
                if (trace_reader_open(file_path, &t, &err) == 0) {
                        assert_in_range(trace_view(t)->n_slices, small.n_slices - 1,
                                        small.n_slices);
                        assert_in_range(file_read_all(t), (small.n_slices - 1) * small.n_events,
                                        small.n_slices * small.n_events);
                        trace_reader_free(t);
                } else
                        fail_msg("bit %u of byte %zu: %s", bit, byte, err.text);
                if (file_verify(text, sizeof(text)) != 1)
                        fail_msg("verify missed bit %u of byte %zu", bit, byte);
                p[byte] ^= bit;
        }
        free(p);
        trace_fake_done(&f);
}

/* Numbers at random places become huge; with and without right checksums no memory is spent on
 * them. */
static void test_hostile_lengths(void **state) {
        struct trace_fake f;
        uint64_t random = 5;
        struct rlimit limit, old;
        uint8_t *p, *copy, saved[8];
        size_t n;

        file_write(&f, &small);
        n = file_load(&p);
        copy = malloc(n);
        assert_int_equal(getrlimit(RLIMIT_DATA, &old), 0);
        limit = old;
        if (FILE_HAS_LIMIT)
                limit.rlim_cur = 256u << 20;
        assert_int_equal(setrlimit(RLIMIT_DATA, &limit), 0);
        for (int i = 0; i < 4000; i++) {
                size_t at = trace_fake_random(&random) % (n - 8);
                struct trace_reader *t = NULL;

                memcpy(saved, p + at, 8);
                memset(p + at, i % 3 ? 0xff : 0x7f, 1 + (size_t)i % 8);
                copy = memcpy(copy, p, n);
                if (i % 2)
                        trace_rehash(copy, n);
                file_store(copy, n);
                if (trace_reader_open(file_path, &t, NULL) == 0) {
                        file_read_all(t);
                        trace_reader_free(t);
                }
                memcpy(p + at, saved, 8);
        }
        assert_int_equal(setrlimit(RLIMIT_DATA, &old), 0);
        free(copy);
        free(p);
        trace_fake_done(&f);
}

/* The most that can be packed into a file: 32 times its size in rows of two bytes, all valid. */
static void test_memory_is_bounded(void **state) {
        enum { N_ROWS = 8 << 20 };
        struct trace_packer *packer = trace_packer_new();
        bytes_buf body = {0}, out = {0};
        struct trace_reader *t = NULL;
        struct rlimit limit, old;
        uint8_t head[TRACE_DEFS_HEAD_BYTES] = {0};

        vec_reserve(&body, 2 * (size_t)N_ROWS);
        body.n = 2 * (size_t)N_ROWS;
        memset(body.items, 0, body.n);
        buf_put_le32(head + 4, N_ROWS);
        trace_chunk_append(packer, &out, TRACE_LOCS, head, sizeof(head), body.items, body.n, 0);
        assert_in_range(out.n, body.n / TRACE_MAX_RATIO, body.n / TRACE_MAX_RATIO + 64);
        file_store(out.items, out.n);
        vec_free(&body);
        trace_packer_free(packer);

        assert_int_equal(getrlimit(RLIMIT_DATA, &old), 0);
        limit = old;
        if (FILE_HAS_LIMIT)
                limit.rlim_cur = (64u << 20) + 512 * out.n;
        assert_int_equal(setrlimit(RLIMIT_DATA, &limit), 0);
        assert_int_equal(trace_reader_open(file_path, &t, NULL), 0);
        assert_int_equal(trace_view(t)->n_locations, N_ROWS);
        trace_reader_free(t);
        assert_int_equal(setrlimit(RLIMIT_DATA, &old), 0);

        /* one byte less, and the ratio is broken: nothing is read at all */
        buf_put_le32(out.items + 12, bytes_le32(out.items + 12) - 2);
        trace_rehash(out.items, out.n);
        file_store(out.items, out.n);
        assert_int_equal(trace_reader_open(file_path, &t, NULL), -EINVAL);
        vec_free(&out);
}

/* Garbage between chunks: both sides of it are read. */
static void test_resync(void **state) {
        struct trace_fake f;
        struct trace_reader *t;
        uint8_t *p;
        size_t n, from = 0, n_slices = 0;

        file_write(&f, &small);
        n = file_load(&p);
        for (size_t at = 0; n_slices < 2;
             at += TRACE_HEADER_BYTES + ALIGN_UP((size_t)bytes_le32(p + at + 12), 8)) {
                n_slices += bytes_le32(p + at + 4) == TRACE_SLIC;
                if (bytes_le32(p + at + 4) == TRACE_EVTS && n_slices == 1)
                        from = at;
        }
        memset(p + from, 0xa5, TRACE_HEADER_BYTES); /* EVTS of slice 1 loses its header */
        memset(p + n - TRACE_TRAILER_BYTES, 0, TRACE_TRAILER_BYTES);
        file_store(p, n);
        t = file_reader();
        assert_int_equal(trace_view(t)->n_slices, small.n_slices);
        assert_false(trace_slice(t, 1)->has_events);
        assert_true(trace_slice(t, 2)->has_events);
        assert_true(trace_view(t)->n_damaged_bytes > TRACE_HEADER_BYTES);
        assert_true(trace_view(t)->damage[0]);
        assert_int_equal(file_read_all(t), (small.n_slices - 1) * small.n_events);
        trace_reader_free(t);
        free(p);
        trace_fake_done(&f);
}

/* Ids that a lost chunk defined stay usable, and unnamed. */
static void test_lost_definitions(void **state) {
        struct trace_fake f;
        struct trace_reader *t;
        uint8_t *p;
        size_t n, at = 0;

        file_write(&f, &small);
        n = file_load(&p);
        while (bytes_le32(p + at + 4) != TRACE_STKS)
                at += TRACE_HEADER_BYTES + ALIGN_UP((size_t)bytes_le32(p + at + 12), 8);
        p[at + TRACE_HEADER_BYTES + TRACE_DEFS_HEAD_BYTES] ^=
                1; /* the body: its head can be believed */
        file_store(p, n);
        t = file_reader();
        assert_int_equal(trace_view(t)->n_stacks, small.n_stacks + 1);
        assert_non_null(strstr(trace_view(t)->damage, "STKS"));
        assert_int_equal(file_read_all(t), small.n_slices * small.n_events);
        trace_reader_free(t);
        free(p);
        trace_fake_done(&f);
}

static void test_not_a_trace(void **state) {
        struct trace_reader *t = NULL;
        struct err err = {0};

        file_store((const uint8_t *)"not a one\n", 10);
        assert_int_equal(trace_reader_open(file_path, &t, &err), -EINVAL);
        assert_non_null(strstr(err.text, "not a silt trace: record one"));
        file_store(NULL, 0);
        assert_int_equal(trace_reader_open(file_path, &t, &err), -EINVAL);
        assert_non_null(strstr(err.text, "is empty"));
        assert_int_equal(trace_reader_open("/", &t, &err), -EINVAL);
        assert_int_equal(trace_reader_open("/nonexistent", &t, &err), -ENOENT);
}

/* A trace with a chunk of a kind from the future behind it. */
static void write_future(uint8_t flags) {
        struct trace_packer *packer = trace_packer_new();
        struct trace_fake f;
        bytes_buf out = {0};
        uint8_t *p;
        size_t n = 0;

        file_write(&f, &small);
        n = file_load(&p);
        buf_bytes(&out, p, n);
        trace_chunk_append(packer, &out, TRACE_KIND('N', 'E', 'W', 'S'), NULL, 0, "abc", 3, 0);
        out.items[n + 9] = flags;
        buf_put_le32(out.items + n + 20, (uint32_t)XXH3_64bits(out.items + n, 20));
        buf_put_le64(out.items + n + 24,
                     XXH3_64bits_withSeed("abc", 3, bytes_le32(out.items + n + 20)));
        file_store(out.items, out.n);
        vec_free(&out);
        free(p);
        trace_packer_free(packer);
        trace_fake_done(&f);
}

static void test_from_the_future(void **state) {
        struct trace_reader *t = NULL;
        struct err err = {0};

        write_future(0);
        t = file_reader();
        assert_int_equal(file_read_all(t), small.n_slices * small.n_events);
        trace_reader_free(t);
        write_future(TRACE_FLAG_REQUIRED);
        assert_int_equal(trace_reader_open(file_path, &t, &err), -EPROTONOSUPPORT);
        assert_non_null(strstr(err.text, "NEWS version 1"));
        assert_non_null(strstr(err.text, ": read it with a newer silt"));
}

/* ---- disk full ------------------------------------------------------------------------------- */

static void limit_file_size(rlim_t bytes) {
        struct rlimit limit;

        assert_int_equal(getrlimit(RLIMIT_FSIZE, &limit), 0);
        limit.rlim_cur = bytes;
        assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
}

/* Totals of what is in the file, by adding up rows. */
static struct trace_site sum_rows(struct trace_reader *t) {
        struct trace_site sum = {0};

        for (size_t i = 0; i < trace_view(t)->n_slices; i++) {
                const struct trace_site *sites;
                size_t n;

                assert_int_equal(trace_read_sites(t, i, &sites, &n, NULL), 0);
                for (size_t k = 0; k < n; k++) {
                        sum.n_allocs += sites[k].n_allocs;
                        sum.alloc_bytes += sites[k].alloc_bytes;
                        sum.n_frees += sites[k].n_frees;
                        sum.n_temporary += sites[k].n_temporary;
                }
        }
        return sum;
}

struct full_disk {
        struct trace_writer *w;
        uint64_t time_ns, bytes_live, n_allocs;
};

/* A slice of allocations of one site, with its rows. The peak is at its end. */
static void full_disk_slice(struct full_disk *d, uint32_t n) {
        struct trace_site s = {.process = 0,
                               .stack = 1,
                               .n_allocs = n,
                               .alloc_bytes = 64ull * n,
                               .peak_blocks = n,
                               .peak_bytes = 64 * (int64_t)n,
                               .all_peak_blocks = n,
                               .all_peak_bytes = 64 * (int64_t)n};
        struct trace_counts c = {.process = 0, .n_allocs = n, .alloc_bytes = 64ull * n};

        for (uint32_t i = 0; i < n; i++)
                trace_put_alloc(d->w, 0, d->time_ns += 3000 + 977u * i % 5000, 1, 64, 0);
        d->n_allocs += n;
        d->bytes_live += 64ull * n;
        c.live_blocks = c.peak_blocks = d->n_allocs;
        c.live_bytes = c.peak_bytes = d->bytes_live;
        c.peak_ns = d->time_ns;
        trace_put_mapping(d->w, &(struct trace_mapping){.thread = 0, .time_ns = d->time_ns});
        trace_end_slice(d->w, d->time_ns, &s, 1, &c, 1);
}

static void full_disk_begin(struct full_disk *d) {
        *d = (struct full_disk){.w = file_writer(0)};
        trace_add_process(d->w,
                          &(struct trace_process){.pid = 1, .parent = TRACE_NO_PROCESS, .exe = ""});
        trace_add_thread(d->w, &(struct trace_thread){.process = 0, .tid = 1});
        trace_add_stack(d->w, 0, trace_add_location(d->w, &(struct trace_location){UINT32_MAX, 7}));
}

/* Full for a while, then roomy again: events of that while are gone, totals are not. */
static void test_disk_full_for_a_while(void **state) {
        struct full_disk d;
        struct trace_reader *t;
        const struct trace_site *sites;
        struct err err = {0};
        struct stat st;
        size_t n;

        full_disk_begin(&d);
        full_disk_slice(&d, 1000);
        assert_int_equal(stat(file_path, &st), 0);
        limit_file_size((rlim_t)st.st_size + 100);
        trace_add_stack(d.w, 1, 0); /* a definition that has to wait */
        full_disk_slice(&d, 2000);
        full_disk_slice(&d, 3000);
        limit_file_size(RLIM_INFINITY);
        assert_int_equal(stat(file_path, &st), 0);
        assert_int_equal(st.st_size, trace_writer_size_bytes(d.w));
        full_disk_slice(&d, 500);
        assert_int_equal(trace_writer_finish(d.w, &err), -EFBIG);
        trace_writer_free(d.w);

        t = file_reader();
        assert_true(trace_view(t)->finished);
        assert_int_equal(trace_view(t)->n_slices, 3);
        assert_int_equal(trace_view(t)->n_stacks, 3);
        assert_int_equal(trace_view(t)->n_events, 6500);
        assert_int_equal(trace_view(t)->n_unwritten_events, 5000);
        assert_false(trace_slice(t, 1)->has_events);
        assert_int_equal(trace_slice(t, 2)->first_seq, 6000);
        assert_int_equal(trace_read_sites(t, 1, &sites, &n, NULL), 0);
        assert_int_equal(sites[0].peak_blocks, 5000);
        assert_int_equal(sites[0].all_peak_bytes, 5000 * 64);
        assert_int_equal(file_read_all(t), 1500);
        assert_int_equal(sum_rows(t).alloc_bytes, 6500 * 64);
        assert_int_equal(trace_view(t)->n_notes, 1);
        assert_string_equal(trace_view(t)->notes[0].text,
                            "2 mappings are missing: the trace could not be written");
        trace_reader_free(t);
        file_expect_valid();
}

/* Full to the end: what went before is there. */
static void test_disk_full_to_the_end(void **state) {
        struct full_disk d;
        struct trace_reader *t;
        struct err err = {0};
        struct stat st;

        full_disk_begin(&d);
        full_disk_slice(&d, 1000);
        assert_int_equal(stat(file_path, &st), 0);
        limit_file_size((rlim_t)st.st_size + 100);
        for (int i = 0; i < 20; i++)
                full_disk_slice(&d, 100);
        assert_int_equal(trace_writer_finish(d.w, &err), -EFBIG);
        assert_int_equal(trace_writer_n_events(d.w), 3000);
        trace_writer_free(d.w);
        limit_file_size(RLIM_INFINITY);
        t = file_reader();
        assert_false(trace_view(t)->finished);
        assert_int_equal(trace_view(t)->n_slices, 1);
        assert_string_equal(trace_view(t)->damage, "");
        assert_int_equal(file_read_all(t), 1000);
        trace_reader_free(t);
}

/* Full from the first byte, then not. */
static void test_disk_full_from_the_start(void **state) {
        struct full_disk d;
        struct trace_reader *t;

        limit_file_size(10);
        full_disk_begin(&d);
        full_disk_slice(&d, 10);
        limit_file_size(RLIM_INFINITY);
        full_disk_slice(&d, 20);
        trace_writer_finish(d.w, NULL);
        trace_writer_free(d.w);
        t = file_reader();
        assert_int_equal(trace_view(t)->meta.pid, 4711);
        assert_int_equal(trace_view(t)->n_unwritten_events, 10);
        assert_int_equal(file_read_all(t), 20);
        trace_reader_free(t);
        file_expect_valid();
}

/* ---- while it is being written --------------------------------------------------------------- */

static void test_still_being_written(void **state) {
        struct full_disk d;
        struct trace_reader *t;

        full_disk_begin(&d);
        for (uint32_t i = 1; i <= 3; i++) {
                full_disk_slice(&d, 100);
                t = file_reader();
                assert_false(trace_view(t)->finished);
                assert_int_equal(trace_view(t)->n_slices, i);
                assert_string_equal(trace_view(t)->damage, "");
                assert_int_equal(trace_view(t)->n_damaged_bytes, 0);
                assert_int_equal(file_read_all(t), 100 * i);
                trace_reader_free(t);
        }
        assert_int_equal(trace_append_symbols(file_path, NULL, 0, NULL), -EBUSY);
        trace_writer_free(d.w); /* the recorder dies */

        /* symbols for a trace without an index: it gets one, which says so */
        assert_int_equal(trace_append_symbols(file_path,
                                              &(struct trace_symbol){0, "f", "", 0, false, false},
                                              1, NULL),
                         0);
        t = file_reader();
        assert_false(trace_view(t)->finished);
        assert_int_equal(trace_view(t)->n_symbols, 1);
        assert_int_equal(file_read_all(t), 300);
        trace_reader_free(t);
        file_expect_valid();
}

/* Appending cut off at every byte: old content stays whole. */
static void test_append_cut_off(void **state) {
        const struct trace_symbol symbols[] = {{1, "main", "a.c", 1, false, false},
                                               {2, "f", "a.c", 2, true, false}};
        struct trace_fake f;
        struct stat st;
        uint8_t *p;
        size_t n;

        file_write(&f, &small);
        assert_int_equal(stat(file_path, &st), 0);
        assert_int_equal(trace_append_symbols(file_path, symbols, 2, NULL), 0);
        n = file_load(&p);
        for (size_t cut = (size_t)st.st_size; cut <= n; cut++) {
                struct trace_reader *t;

                file_store(p, cut);
                t = file_reader();
                assert_true(trace_view(t)->finished);
                assert_int_equal(file_read_all(t), small.n_slices * small.n_events);
                trace_reader_free(t);
        }
        free(p);
        trace_fake_done(&f);
}

/* No room for the new names, or for some bytes of them: the old ones stay, and the trace is sound. */
static void test_names_on_a_full_disk(void **state) {
        const struct trace_symbol old_names[] = {{1, "old", "a.c", 1, false, false}};
        const struct trace_symbol new_names[] = {{1, "new", "a.c", 1, false, false},
                                                 {2, "f", "a_file_of_its_own.c", 2, true, false}};
        unsigned n_failed = 0, n_done = 0;
        struct trace_fake f;
        struct stat st;
        uint8_t *p;
        size_t n;

        file_write(&f, &small);
        assert_int_equal(trace_append_symbols(file_path, old_names, 1, NULL), 0);
        n = file_load(&p);
        for (uint64_t max_bytes = 8; max_bytes < n + 600; max_bytes += 8) {
                const char *expected = "new";
                struct trace_reader *t;
                struct err err = {0};

                limit_file_size(RLIM_INFINITY);
                file_store(p, n);
                limit_file_size(max_bytes);
                n_done++;
                if (trace_append_symbols(file_path, new_names, 2, &err) < 0) {
                        assert_non_null(strstr(err.text, "File too large"));
                        expected = "old";
                        n_failed++;
                        assert_int_equal(stat(file_path, &st), 0);
                        assert_int_equal(st.st_size, n);
                }
                limit_file_size(RLIM_INFINITY);
                t = file_reader();
                assert_true(trace_view(t)->finished);
                assert_string_equal(trace_view(t)->symbols[0].function, expected);
                assert_int_equal(file_read_all(t), small.n_slices * small.n_events);
                trace_reader_free(t);
                file_expect_valid();
        }
        assert_true(n_failed > n / 16 && n_done - n_failed > 10);
        free(p);
        trace_fake_done(&f);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_cut_at_every_byte),
                cmocka_unit_test(test_bit_flips),
                cmocka_unit_test(test_hostile_lengths),
                cmocka_unit_test(test_memory_is_bounded),
                cmocka_unit_test(test_resync),
                cmocka_unit_test(test_lost_definitions),
                cmocka_unit_test(test_not_a_trace),
                cmocka_unit_test(test_from_the_future),
                cmocka_unit_test(test_disk_full_for_a_while),
                cmocka_unit_test(test_disk_full_to_the_end),
                cmocka_unit_test(test_disk_full_from_the_start),
                cmocka_unit_test(test_still_being_written),
                cmocka_unit_test(test_append_cut_off),
                cmocka_unit_test(test_names_on_a_full_disk),
        };

        signal(SIGXFSZ, SIG_IGN);
        return cmocka_run_group_tests(tests, file_setup, file_teardown);
}
