/* SPDX-License-Identifier: MIT */
/* `silt report`, `silt report --json` and `silt verify` on traces cut off at every byte, with bits flipped, and with
 * numbers in every chunk replaced by hostile ones. Each case: answers or one line, never a crash, memory and time
 * within bounds. What was recorded before a cut is reported with the figures of the last whole slice. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/fs.h"
#include "base/heap_peak.h"
#include "base/system_clock.h"
#include "base/testing/seed.h"
#include "query/testing/fabric.h"
#include "report/report.h"
#include "request/testing/request_made.h"
#include "trace/reader.h"
#include "trace/rehash.h"
#include "trace/testing/trace_plain.h"
#include "trace/writer.h"
#include "verify/verify.h"

/* What the file justifies is 64 MiB and 512 times its size (docs/trace-format.md); for files of a few KB far less is
 * needed, so hold them to that. Under a sanitizer everything is slower, and blocks are rounded up. */
enum { MAX_HEAP_BYTES = 8 << 20, MAX_CASE_MS = 2000 };

/* Sanitizers are slow: a third of the places for one, a sample for the other, which has nothing to find in one thread. */
#if defined(__SANITIZE_THREAD__)
enum { STRIDE = 41 };
#elif defined(HEAP_IS_SANITIZED)
enum { STRIDE = 3 };
#else
enum { STRIDE = 1 };
#endif

/* To the next place: all with SILT_HOSTILE_ALL (`make soak`), otherwise one in so many, by the run's seed. */
enum { ONE_CUT_IN = 3, ONE_FLIP_IN = 12 };

static size_t to_next(size_t one_in) {
        static bool is_all, is_known;

        if (!is_known) {
                uint64_t seed = seed_of_run();

                is_known = true;
                is_all = getenv("SILT_HOSTILE_ALL");
                srandom((unsigned)seed);
                if (!is_all)
                        printf("places: SILT_SEED=%llu\n", (unsigned long long)seed);
        }
        return STRIDE * (is_all ? 1 : 1 + (size_t)random() % (2 * one_in - 1));
}

static char path[64];
static struct {
        size_t n_cases, n_refused, most_heap_bytes;
        uint64_t most_ns;
} tally;

/* ---- files ------------------------------------------------------------------------------------- */

static int setup(void **state) {
        int fd;

        snprintf(path, sizeof(path), "%s/silt-hostile-test-XXXXXX",
                 access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp");
        fd = mkstemp(path);
        return fd < 0 ? -1 : close(fd);
}

static int teardown(void **state) {
        printf("%zu cases, %zu refused; at most %zu KiB of memory and %llu ms of CPU each\n",
               tally.n_cases, tally.n_refused, tally.most_heap_bytes / 1024,
               (unsigned long long)(tally.most_ns / 1000000));
        return unlink(path);
}

static void store(const uint8_t *p, size_t n) {
        int fd = open(path, O_WRONLY | O_TRUNC);

        assert_true(fd >= 0);
        assert_int_equal(fs_write_all(fd, p, n), 0);
        close(fd);
}

static size_t load(const char *from, uint8_t **ret) {
        int fd = open(from, O_RDONLY);
        struct stat st;

        assert_true(fd >= 0);
        assert_int_equal(fstat(fd, &st), 0);
        *ret = malloc((size_t)st.st_size + 64);
        assert_int_equal(fs_read_at(fd, *ret, (size_t)st.st_size, 0), st.st_size);
        close(fd);
        return (size_t)st.st_size;
}

/* Processes, threads, reallocs, mappings, samples, symbols, some slices and checkpoints. */
static void write_fresh(void) {
        struct fabric_options o = {.seed = 12,
                                   .n_stacks = 5,
                                   .slice_events = 16,
                                   .max_processes = 3,
                                   .max_threads = 2,
                                   .checkpoint_every = 2,
                                   .max_step_us = 300};
        struct fabric *f = fabric_new(path, &o);
        uint32_t caller = fabric_frame(f, 0, "/bin/x", "main", "a.c", 3);
        struct trace_mapping m = {.op = TRACE_MMAP,
                                  .stack = fabric_frame(f, caller, "/bin/x", "f<int>(int)", "a.c",
                                                        9),
                                  .address = 0x700000,
                                  .size_bytes = 65536};

        fabric_run(f, 10);
        m.time_ns = fabric_now_ns(f);
        trace_put_mapping(fabric_writer(f), &m);
        trace_put_sample(fabric_writer(f), &(struct trace_sample){.time_ns = m.time_ns});
        trace_put_residency(fabric_writer(f), &(struct trace_residency){.stack = m.stack,
                                                                        .time_ns = m.time_ns,
                                                                        .now = {1, 65536, 4096},
                                                                        .peak = {1, 65536, 4096},
                                                                        .seen = {1, 65536, 4096},
                                                                        .max_touched_bytes = 4096});
        trace_put_note(fabric_writer(f), m.time_ns, "pid 7 not followed");
        fabric_run(f, 60);
        fabric_end(f);
}

/* ---- one case ---------------------------------------------------------------------------------- */

/* The report, or NULL when it was refused; the caller frees it. */
static char *report(bool json, struct err *e) {
        struct request request = request_made(json ? "process=main" : "process=all");
        const struct show_options o = {.path = path, .request = &request, .json = json};
        size_t n = 0;
        char *text = NULL;
        FILE *out = open_memstream(&text, &n);
        int r;

        r = report_print(out, &o, e);
        request_done(&request);
        fclose(out);
        if (r == 0 && n > 0)
                return text;
        if (r == 0 || n > 0 || !e->text[0] || strchr(e->text, '\n'))
                fail_msg("status %d, %zu bytes printed, '%s'", r, n, e->text);
        free(text);
        return NULL;
}

struct outcome {
        char *json;   /* NULL: refused */
        int problems; /* of trace_verify */
};

/* Each way to ask, one after the other. */
static struct outcome ask(const char *what, size_t where, bool as_text) {
        static FILE *null;
        uint64_t began_ns = clock_ns(CLOCK_PROCESS_CPUTIME_ID), took_ns;
        struct err errors[3] = {0};
        struct outcome o;
        char *text = NULL;

        if (!null)
                null = fopen("/dev/null", "w");
        heap_peak_begin();
        o.problems = trace_verify(path, null, &errors[0]);
        if (as_text)
                text = report(false, &errors[1]);
        o.json = report(true, &errors[2]);
        took_ns = clock_ns(CLOCK_PROCESS_CPUTIME_ID) - began_ns;
        tally.n_cases++;
        tally.n_refused += !o.json;
        tally.most_heap_bytes = MAX(tally.most_heap_bytes, heap_peak_bytes());
        tally.most_ns = MAX(tally.most_ns, took_ns);
        if (heap_peak_bytes() > MAX_HEAP_BYTES || took_ns > MAX_CASE_MS * 1000000ull)
                fail_msg("%s %zu: %zu bytes of memory, %llu ms", what, where, heap_peak_bytes(),
                         (unsigned long long)(took_ns / 1000000));
        if (as_text && (text != NULL) != (o.json != NULL))
                fail_msg("%s %zu: text says '%s', JSON '%s'", what, where, errors[1].text,
                         errors[2].text);
        if (o.problems < 0 && (!errors[0].text[0] || strchr(errors[0].text, '\n')))
                fail_msg("%s %zu: verify says '%s'", what, where, errors[0].text);
        free(text);
        return o;
}

static uint64_t number_in(const char *json, const char *name) {
        char key[64];
        const char *at;

        snprintf(key, sizeof(key), "\"%s\":", name);
        at = strstr(json, key);
        if (!at)
                fail_msg("no %s in %.300s", key, json);
        return strtoull(at + strlen(key), NULL, 10);
}

/* ---- cut off ----------------------------------------------------------------------------------- */

/* The main process after each slice of the whole file, from its rows of counts: what a cut file must still say. */
struct figures {
        uint64_t n_allocs, n_frees, alloc_bytes, peak_bytes, live_bytes;
};

static void add_slice(struct figures *f, struct trace_reader *t, size_t slice_idx) {
        const struct trace_counts *rows;
        size_t n;

        assert_int_equal(trace_read_counts(t, slice_idx, &rows, &n, NULL), 0);
        for (size_t i = 0; i < n; i++)
                if (rows[i].process == 0) {
                        f->n_allocs += rows[i].n_allocs;
                        f->n_frees += rows[i].n_frees;
                        f->alloc_bytes += rows[i].alloc_bytes;
                        f->peak_bytes = MAX(f->peak_bytes, rows[i].peak_bytes);
                        f->live_bytes = rows[i].live_bytes;
                }
}

static size_t read_figures(struct figures **ret) {
        struct trace_reader *t = NULL;
        size_t n;

        assert_int_equal(trace_reader_open(path, &t, NULL), 0);
        n = trace_view(t)->n_slices;
        *ret = calloc(n + 1, sizeof(**ret));
        for (size_t i = 0; i < n; i++) {
                (*ret)[i + 1] = (*ret)[i];
                add_slice(&(*ret)[i + 1], t, i);
        }
        trace_reader_free(t);
        return n;
}

/* A slice is whole when its SLIC chunk is. */
static size_t whole_slices(const uint8_t *p, size_t n) {
        size_t n_slices = 0;

        for (size_t at = 0; at + TRACE_HEADER_BYTES <= n;) {
                size_t end = at + TRACE_HEADER_BYTES + bytes_le32(p + at + 12);

                if (bytes_le32(p + at) == TRACE_TRAILER_MAGIC) {
                        at += TRACE_TRAILER_BYTES;
                        continue;
                }
                n_slices += end <= n && bytes_le32(p + at + 4) == TRACE_SLIC;
                at = ALIGN_UP(end, 8);
        }
        return n_slices;
}

static bool has_index(void) {
        struct trace_reader *t = NULL;
        bool r;

        assert_int_equal(trace_reader_open(path, &t, NULL), 0);
        r = trace_view(t)->finished;
        trace_reader_free(t);
        return r;
}

static void check_cut(const uint8_t *p, size_t n, const struct figures *slices) {
        const struct figures *f = &slices[whole_slices(p, n)];
        /* what ends in a trailer is whole: symbols are appended behind the first */
        bool is_whole = n >= TRACE_TRAILER_BYTES && n % 8 == 0 &&
                        bytes_le32(p + n - TRACE_TRAILER_BYTES) == TRACE_TRAILER_MAGIC;
        struct outcome o;

        store(p, n);
        o = ask("cut at", n, true);
        assert_int_equal(o.problems == 0, is_whole);
        if (!o.json) {
                assert_int_equal(f->n_allocs, 0);
                return;
        }
        assert_int_equal(number_in(o.json, "allocations"), f->n_allocs);
        assert_int_equal(number_in(o.json, "frees"), f->n_frees);
        assert_int_equal(number_in(o.json, "bytes_allocated"), f->alloc_bytes);
        assert_int_equal(number_in(o.json, "peak_live_bytes"), f->peak_bytes);
        assert_int_equal(number_in(o.json, "end_live_bytes"), f->live_bytes);
        if (!is_whole && !strstr(o.json, "the file ends inside a chunk") &&
            !strstr(o.json, "the end of the recording is missing") && !has_index())
                fail_msg("cut at %zu, and the report does not say so", n);
        if (!has_index() && f == slices && strstr(o.json, "made no allocations"))
                fail_msg("cut at %zu, before the first slice: nobody knows of allocations", n);
        free(o.json);
}

static void cut_everywhere(const char *file) {
        struct figures *slices;
        uint8_t *p;
        size_t n = load(file, &p), n_slices;

        store(p, n);
        n_slices = read_figures(&slices);
        assert_true(n_slices > 1 && slices[n_slices].n_allocs > 0);
        for (size_t cut = 0; cut <= n; cut += to_next(ONE_CUT_IN))
                check_cut(p, cut, slices);
        check_cut(p, n, slices);
        free(slices);
        free(p);
}

static void test_cut_kept(void **state) {
        cut_everywhere(KEPT_DIRECTORY "/v1.silt");
}

static void test_cut_fresh(void **state) {
        write_fresh();
        cut_everywhere(path);
}

/* ---- flipped ----------------------------------------------------------------------------------- */

/* Every bit of the kept trace: verify sees each, and a report loses at most the chunk it is in. */
static void test_every_bit(void **state) {
        uint8_t *p;
        size_t n = load(KEPT_DIRECTORY "/v1.silt", &p);

        for (size_t bit = 0; bit < 8 * n; bit += to_next(ONE_FLIP_IN)) {
                struct outcome o;

                p[bit / 8] ^= (uint8_t)(1u << bit % 8);
                store(p, n);
                o = ask("bit", bit, bit % 8 == 0);
                if (o.problems == 0)
                        fail_msg("verify missed bit %zu of byte %zu", bit % 8, bit / 8);
                if (!o.json)
                        fail_msg("bit %zu of byte %zu: refused", bit % 8, bit / 8);
                free(o.json);
                p[bit / 8] ^= (uint8_t)(1u << bit % 8);
        }
        free(p);
}

/* ---- hostile numbers --------------------------------------------------------------------------- */

static void ask_hostile(uint8_t *p, size_t n, size_t where) {
        trace_rehash(p, n);
        store(p, n);
        free(ask("hostile number at", where, tally.n_cases % 4 == 0).json);
}

/* Every byte is a small number or a part of a large one: smallest, largest, off by one, with and without the bit that
 * says a varint goes on. */
static void replace_bytes(const uint8_t *p, size_t from, size_t n, uint8_t *copy) {
        for (size_t at = from; at < n; at += to_next(ONE_FLIP_IN)) {
                const uint8_t values[] = {
                        0, 0x7f, 0x80, 0xff, (uint8_t)(p[at] + 1), (uint8_t)(p[at] - 1)};

                for (size_t i = 0; i < sizeof(values); i++) {
                        if (values[i] == p[at])
                                continue;
                        memcpy(copy, p, n);
                        copy[at] = values[i];
                        ask_hostile(copy, n, at);
                }
        }
}

/* Every aligned word as a length or count of 32 or 64 bits. */
static void replace_words(const uint8_t *p, size_t from, size_t n, uint8_t *copy) {
        for (size_t at = from; at + 8 <= n; at += 4 * to_next(ONE_FLIP_IN)) {
                const uint32_t values[] = {0,
                                           INT32_MAX,
                                           UINT32_MAX,
                                           (uint32_t)n,
                                           bytes_le32(p + at) + 1,
                                           bytes_le32(p + at) - 1};

                for (size_t i = 0; i < ARRAY_SIZE(values); i++) {
                        memcpy(copy, p, n);
                        buf_put_le32(copy + at, values[i]);
                        ask_hostile(copy, n, at);
                }
                memcpy(copy, p, n);
                memset(copy + at, 0xff, 8);
                ask_hostile(copy, n, at);
        }
}

/* The chunk at `at` with one byte of its body replaced by a long varint, its length made right; bytes in copy. */
static size_t grow_byte(const uint8_t *p, size_t n, size_t at, size_t off, const uint8_t *varint,
                        size_t varint_bytes, uint8_t *copy) {
        size_t stored = bytes_le32(p + at + 12),
               old_end = at + TRACE_HEADER_BYTES + ALIGN_UP(stored, 8);
        size_t new_end = at + TRACE_HEADER_BYTES + ALIGN_UP(stored + varint_bytes - 1, 8);
        size_t end = at + TRACE_HEADER_BYTES + stored;

        memset(copy, 0, n + 64);
        memcpy(copy, p, off);
        memcpy(copy + off, varint, varint_bytes);
        memcpy(copy + off + varint_bytes, p + off + 1, end - off - 1);
        memcpy(copy + new_end, p + old_end, n - old_end);
        buf_put_le32(copy + at + 12, (uint32_t)(stored + varint_bytes - 1));
        buf_put_le32(copy + at + 16, (uint32_t)(bytes_le32(p + at + 16) + varint_bytes - 1));
        return n + new_end - old_end;
}

/* Every byte of every body as the largest varint of 32 and of 64 bits. */
static void grow_bytes(const uint8_t *p, size_t n, uint8_t *copy) {
        static const uint8_t max64[] = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1};
        static const uint8_t max32[] = {0xff, 0xff, 0xff, 0xff, 0x0f};

        for (size_t at = 0;
             at + TRACE_HEADER_BYTES <= n && bytes_le32(p + at) == TRACE_CHUNK_MAGIC;) {
                size_t end = at + TRACE_HEADER_BYTES + bytes_le32(p + at + 12);

                for (size_t off = at + TRACE_HEADER_BYTES + p[at + 10]; off < end;
                     off += to_next(ONE_FLIP_IN)) {
                        ask_hostile(copy, grow_byte(p, n, at, off, max64, sizeof(max64), copy),
                                    off);
                        ask_hostile(copy, grow_byte(p, n, at, off, max32, sizeof(max32), copy),
                                    off);
                }
                at = ALIGN_UP(end, 8);
        }
}

/* Bodies are plain and checksums made right, so that the numbers themselves are read. Without an index, since it would
 * contradict a changed header; then the index itself. */
static void test_hostile_numbers(void **state) {
        uint8_t *p, *copy;
        size_t n, n_without;

        write_fresh();
        trace_make_plain(path, false, 0);
        n_without = load(path, &p) - 1; /* without the byte for a fuzzer */
        copy = malloc(n_without + 64);
        assert_non_null(copy);
        replace_bytes(p, 0, n_without, copy);
        replace_words(p, 0, n_without, copy);
        grow_bytes(p, n_without, copy);
        free(copy);
        free(p);

        write_fresh();
        trace_make_plain(path, true, 0);
        n = load(path, &p) - 1;
        copy = malloc(n + 64);
        assert_non_null(copy);
        replace_bytes(p, n_without, n, copy);
        replace_words(p, n_without, n, copy);
        free(copy);
        free(p);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_cut_kept),
                cmocka_unit_test(test_cut_fresh),
                cmocka_unit_test(test_every_bit),
                cmocka_unit_test(test_hostile_numbers),
        };

        return cmocka_run_group_tests(tests, setup, teardown);
}
