/* SPDX-License-Identifier: MIT */
/* The most that each kind of chunk can make of a file stays within the bound of docs/trace-format.md. */
#include <sys/resource.h>

#include "base/bytes.h"
#include "trace/chunk.h"
#include "trace/format.h"
#include "trace/rows.h"
#include "trace/slice.h"
#include "trace/testing/trace_file.h"

enum { HOSTILE_ROWS = 1 << 20 };

struct hostile {
        const char *name;
        uint32_t kind;
        const char *row; /* repeated */
        uint32_t row_bytes;
        bool has_ids;
};

static void hostile_append(struct trace_packer *packer, bytes_buf *out, uint32_t kind,
                           uint32_t first_id, uint32_t n_rows, const bytes_buf *body) {
        uint8_t head[TRACE_DEFS_HEAD_BYTES];

        buf_put_le32(head, first_id);
        buf_put_le32(head + 4, n_rows);
        trace_chunk_append(packer, out, kind, head, sizeof(head), body->items, body->n, 0);
}

static void hostile_rows(struct trace_packer *packer, bytes_buf *out, const struct hostile *h,
                         uint32_t first_id, uint32_t n_rows) {
        bytes_buf body = {0};

        for (uint32_t i = 0; i < n_rows; i++)
                buf_bytes(&body, h->row, h->row_bytes);
        hostile_append(packer, out, h->kind, first_id, n_rows, &body);
        vec_free(&body);
}

static const struct hostile hostile_location = {"LOCS", TRACE_LOCS, "\0\0", 2, true};
static const struct hostile hostile_process = {
        "PROC", TRACE_PROC, "\1\0\0\0\xff\xff\xff\xff\1\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0", 25, true};
static const struct hostile hostile_thread = {"THRD", TRACE_THRD,
                                              "\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0", 16, true};

/* Opens the file and reads all of it within the bound of the document. */
static void expect_bounded(const char *name, const bytes_buf *out) {
        struct trace_reader *t = NULL;
        struct rlimit limit, old;
        struct err err = {0};

        file_store(out->items, out->n);
        assert_int_equal(getrlimit(RLIMIT_DATA, &old), 0);
        limit = old;
        if (FILE_HAS_LIMIT)
                limit.rlim_cur = (64u << 20) + 512 * out->n;
        assert_int_equal(setrlimit(RLIMIT_DATA, &limit), 0);
        if (trace_reader_open(file_path, &t, &err) < 0)
                fail_msg("%s: %s", name, err.text);
        file_read_all(t);
        assert_int_equal(setrlimit(RLIMIT_DATA, &old), 0);
        /* what was meant to be valid is; there is no META */
        if (!strstr(trace_view(t)->damage, "its first chunk is damaged"))
                fail_msg("%s: %s", name, trace_view(t)->damage);
        trace_reader_free(t);
}

static void test_memory_by_kind(void **state) {
        static const struct hostile kinds[] = {
                {"MODS", TRACE_MODS, "\0\0\0\0\0\0\0\0\0\0", 10, true},
                {"LOCS", TRACE_LOCS, "\0\0", 2, true},
                {"PROC", TRACE_PROC, "\1\0\0\0\xff\xff\xff\xff\1\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0",
                 25, true},
                {"THRD", TRACE_THRD, "\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0", 16, true},
                {"TNAM", TRACE_TNAM, "\0\0\0\0\0", 5, false},
                {"TITL", TRACE_TITL, "\0\0\0\0\0", 5, false},
                {"NOTE", TRACE_NOTE, "\0\0\0\0\0\0\0\0\0", 9, false},
                {"SMPL", TRACE_SMPL, "\0\0\0\0\0\0\0\0\0", 9, false},
                {"RESI", TRACE_RESI, "\0\0\0\0\0\0\0\0\0\0\0\0\0\0", 14, false},
                {"MAPS", TRACE_MAPS, "\0\0\0\0\0\0\0\0\0\0\0", 11, false},
                {"PEND", TRACE_PEND,
                 "\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0",
                 48, false},
        };

        for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
                struct trace_packer *packer = trace_packer_new();
                bytes_buf out = {0};
                uint32_t first_id = 0;

                if (kinds[i].kind != TRACE_PROC)
                        hostile_rows(packer, &out, &hostile_process, 0, 1);
                if (kinds[i].kind == TRACE_TNAM)
                        hostile_rows(packer, &out, &hostile_thread, 0, 1);
                hostile_rows(packer, &out, &kinds[i], first_id, HOSTILE_ROWS);
                expect_bounded(kinds[i].name, &out);
                vec_free(&out);
                trace_packer_free(packer);
        }
}

/* A slice with a row for each stack; and a checkpoint to follow it. */
static void hostile_sites(struct trace_packer *packer, bytes_buf *out, bytes_buf *ret_checkpoint) {
        struct trace_site *sites = calloc(HOSTILE_ROWS, sizeof(*sites));
        struct trace_counts counts = {.process = 0};
        struct trace_slice_rows s = {.sites = sites,
                                     .n_sites = HOSTILE_ROWS,
                                     .counts = &counts,
                                     .n_counts = 1,
                                     .end_us = 1};
        uint8_t head[TRACE_CKPT_HEAD_BYTES] = {0};
        struct trace_cuts cuts;
        bytes_buf body = {0};

        assert_non_null(sites);
        for (uint32_t i = 0; i < HOSTILE_ROWS; i++)
                sites[i].stack = i + 1;
        trace_slice_append_site(packer, out, &body, &s);
        trace_slice_append_slic(packer, out, &body, &s);
        buf_put_le32(head + 4, HOSTILE_ROWS);
        vec_clear(&body);
        buf_varint(&body, 0);
        trace_encode_sites(&body, sites, HOSTILE_ROWS, &cuts);
        trace_chunk_append(packer, ret_checkpoint, TRACE_CKPT, head, sizeof(head), body.items,
                           body.n, HOSTILE_ROWS);
        vec_free(&body);
        free(sites);
}

/* Kinds whose rows are columns, or name other things. */
static void test_memory_of_columns(void **state) {
        struct trace_packer *packer = trace_packer_new();
        bytes_buf out = {0}, body = {0}, checkpoint = {0};

        /* stacks, each the child of the one before */
        hostile_rows(packer, &out, &hostile_process, 0, 1);
        hostile_rows(packer, &out, &hostile_location, 0, 1);
        for (uint32_t i = 0; i < HOSTILE_ROWS; i++)
                buf_u8(&body, 1);
        for (uint32_t i = 0; i < HOSTILE_ROWS; i++)
                buf_u8(&body, 0);
        hostile_append(packer, &out, TRACE_STKS, 1, HOSTILE_ROWS, &body);
        expect_bounded("STKS", &out);

        hostile_sites(packer, &out, &checkpoint);
        vec_clear(&body);
        expect_bounded("SITE", &out);
        buf_bytes(&out, checkpoint.items, checkpoint.n);
        expect_bounded("CKPT", &out);

        /* names: rows, and strings that no row uses */
        vec_clear(&out);
        vec_clear(&body);
        hostile_rows(packer, &out, &hostile_process, 0, 1);
        hostile_rows(packer, &out, &hostile_location, 0, 1);
        buf_varint(&body, HOSTILE_ROWS);
        buf_varint(&body, HOSTILE_ROWS);
        for (uint32_t i = 0; i < 6 * HOSTILE_ROWS; i++)
                buf_u8(&body, 0);
        hostile_append(packer, &out, TRACE_SYMS, 0, HOSTILE_ROWS, &body);
        expect_bounded("SYMS", &out);

        vec_free(&checkpoint);
        vec_free(&out);
        vec_free(&body);
        trace_packer_free(packer);
}

/* A dictionary of stacks far larger than the events could fill. */
static void test_memory_of_events(void **state) {
        struct trace_packer *packer = trace_packer_new();
        bytes_buf out = {0}, body = {0};
        uint8_t head[TRACE_EVTS_HEAD_BYTES] = {0};
        struct trace_counts counts = {.process = 0};
        struct trace_slice_rows s = {
                .n_events = 1, .n_allocs = 1, .end_us = 1, .counts = &counts, .n_counts = 1};
        enum { N_STACKS = 8 << 20 };

        hostile_rows(packer, &out, &hostile_process, 0, 1);
        hostile_rows(packer, &out, &hostile_thread, 0, 1);
        buf_put_le32(head + 4, 1);
        buf_put_le32(head + 24, 1);
        buf_varint(&body, 1);
        buf_varint(&body, N_STACKS);
        for (int i = 0; i < TRACE_N_COLUMNS; i++)
                buf_varint(&body,
                           i == TRACE_COL_STACK_IDS ? N_STACKS
                           : i <= TRACE_COL_TIMES || i == TRACE_COL_STACKS || i == TRACE_COL_SIZES
                                   ? 1
                                   : 0);
        for (uint32_t i = 0; i < N_STACKS + 7; i++)
                buf_u8(&body, 0);
        trace_chunk_append(packer, &out, TRACE_EVTS, head, sizeof(head), body.items, body.n, 0);
        trace_slice_append_slic(packer, &out, &body, &s);
        expect_bounded("EVTS", &out);
        vec_free(&out);
        vec_free(&body);
        trace_packer_free(packer);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_memory_by_kind),
                cmocka_unit_test(test_memory_of_columns),
                cmocka_unit_test(test_memory_of_events),
        };

        return cmocka_run_group_tests(tests, file_setup, file_teardown);
}
