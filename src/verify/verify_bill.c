/* SPDX-License-Identifier: MIT */
/* Checks what resident memory was made of (docs/trace-format.md, "BILL"): its columns, and that what adds up does. */
#include "trace/format.h"
#include "verify/verify_state.h"

enum {
        BILL_N_FIGURES = 8,
        BILL_N_GROUP = 10,
        BILL_N_HEAP = 19,
        BILL_MAX_NAMES = 8192,
        BILL_MAX_NAME_BYTES = 512,
        BILL_N_KINDS = 9,
        BILL_HAS_BLOCKS = 1,
};

#define BILL_MAX_COUNT ((uint64_t)1 << 50)

/* A letter for each column: + address, n name, w 32 bits, t any, c count. */
struct bill_table {
        const char *what, *columns;
        uint64_t max_rows;
};

enum { BILL_AREAS, BILL_N_TABLES = 5 };
static const struct bill_table bill_tables[BILL_N_TABLES] = {
        {"areas", "+cwnwcccccccccc", 4096}, {"pins", "wccccc", 256},
        {"allocators", "nwccww", 64},       {"frees", "nccc", 4096},
        {"cells", "+wwcttww", 16384},
};

struct bill_sums {
        uint64_t n_names, rss, heap_rss;
};

static bool value_is_sound(char column, uint64_t v, uint64_t n_names) {
        switch (column) {
        case 'c': return v <= BILL_MAX_COUNT;
        case 'w': return v <= UINT32_MAX;
        case 'n': return v < n_names || v == 0;
        default: return true;
        }
}

static bool values_are_sound(struct verify *v, struct bytes_reader *r, const char *columns,
                             uint64_t n_names, uint64_t *ret) {
        for (size_t i = 0; columns[i]; i++) {
                uint64_t value = bytes_varint(r);

                if (r->bad || !value_is_sound(columns[i], value, n_names))
                        return verify_bad(v, TRACE_E_BAD_PAYLOAD, "figure %zu is out of range", i);
                ret[i] = value;
        }
        return true;
}

static bool names_are_sound(struct verify *v, struct bytes_reader *r, uint64_t *ret_n) {
        uint64_t n = bytes_varint(r);

        if (n > BILL_MAX_NAMES)
                return verify_bad(v, TRACE_E_TOO_LARGE, "%llu names", (unsigned long long)n);
        for (uint64_t i = 0; i < n; i++) {
                uint64_t len = bytes_varint(r);
                const uint8_t *text;

                if (len > BILL_MAX_NAME_BYTES || (i == 0 && len) ||
                    !(text = bytes_take(r, (size_t)len)) || memchr(text, 0, (size_t)len))
                        return verify_bad(v, TRACE_E_BAD_PAYLOAD, "name %llu",
                                          (unsigned long long)i);
        }
        *ret_n = n;
        return true;
}

static bool table_is_sound(struct verify *v, struct bytes_reader *r, const struct bill_table *t,
                           struct bill_sums *sums) {
        bool is_area = t == &bill_tables[BILL_AREAS];
        uint64_t n = bytes_varint(r);

        if (n > t->max_rows || n * strlen(t->columns) > bytes_left(r))
                return verify_bad(v, TRACE_E_TOO_LARGE, "claims %llu %s", (unsigned long long)n,
                                  t->what);
        for (size_t k = 0; t->columns[k]; k++) {
                uint64_t address = 0;

                for (uint64_t i = 0; i < n; i++) {
                        uint64_t value = bytes_varint(r);

                        if (r->bad || !value_is_sound(t->columns[k], value, sums->n_names) ||
                            (t->columns[k] == '+' && value > UINT64_MAX - address) ||
                            (is_area && k == 2 && value >= BILL_N_KINDS))
                                return verify_bad(v, TRACE_E_BAD_PAYLOAD,
                                                  "row %llu of its %s is out of range",
                                                  (unsigned long long)i, t->what);
                        address += value;
                        sums->rss += is_area && k == 5 ? value : 0;
                        sums->heap_rss += is_area && k == 11 ? value : 0;
                }
        }
        return true;
}

bool verify_bill_chunk(struct verify *v) {
        struct bytes_reader r = bytes_reader_of(v->raw.items, v->raw.n);
        uint64_t flags, figures[BILL_N_FIGURES], group[BILL_N_GROUP], heap[BILL_N_HEAP];
        struct bill_sums sums = {0};

        if (v->head_bytes != TRACE_BILL_HEAD_BYTES)
                return verify_bad(v, TRACE_E_BAD_PAYLOAD, "a head of %u bytes", v->head_bytes);
        if (bytes_le32(v->head + 4) >= v->processes.n)
                return verify_bad(v, TRACE_E_BAD_PAYLOAD, "process %u is not defined",
                                  bytes_le32(v->head + 4));
        if (bytes_le64(v->head + 24))
                return verify_bad(v, TRACE_E_BAD_PAYLOAD, "reserved bytes that are not zero");
        if (v->raw.n > TRACE_BILL_MAX_BYTES)
                return verify_bad(v, TRACE_E_TOO_LARGE, "%zu bytes in one bill", v->raw.n);
        flags = bytes_varint(&r);
        if (flags > 7)
                return verify_bad(v, TRACE_E_BAD_PAYLOAD, "flags that are not defined");
        if (!values_are_sound(v, &r, "ccccccct", 0, figures) ||
            !names_are_sound(v, &r, &sums.n_names) ||
            !values_are_sound(v, &r, "nwctcccccc", sums.n_names, group) ||
            !values_are_sound(v, &r, "ccccccccccccccccccc", 0, heap))
                return false;
        for (size_t i = 0; i < BILL_N_TABLES; i++)
                if (!table_is_sound(v, &r, &bill_tables[i], &sums))
                        return false;
        if (r.bad || bytes_left(&r))
                return verify_bad(v, TRACE_E_BAD_PAYLOAD,
                                  r.bad ? "the bill ends too early" : "%zu bytes are left over",
                                  bytes_left(&r));
        if (sums.rss != figures[1] || sums.rss != bytes_le64(v->head + 16) ||
            sums.heap_rss != heap[0] ||
            (flags & BILL_HAS_BLOCKS && heap[0] != heap[4] + heap[5] + heap[6] + heap[7] + heap[8]))
                return verify_bad(v, TRACE_E_BAD_PAYLOAD, "its parts do not add up");
        return true;
}
