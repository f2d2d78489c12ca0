/* SPDX-License-Identifier: MIT */
/* Decodes rows by the document. */
#include "verify/verify_state.h"

struct row_columns {
        struct bytes_reader flags, keys, numbers, sizes;
};

static bool rows_split(struct verify *v, struct bytes_reader *r, uint64_t n,
                       struct row_columns *ret) {
        uint64_t keys_bytes = bytes_varint(r), numbers_bytes = bytes_varint(r),
                 left = bytes_left(r);
        const uint8_t *at = r->pos;

        if (r->bad || n > left / 2 || keys_bytes > left - 2 * n ||
            numbers_bytes > left - 2 * n - keys_bytes)
                return verify_bad(v, TRACE_E_BAD_PAYLOAD, "columns are longer than the chunk");
        ret->flags = bytes_reader_of(at, (size_t)(2 * n));
        ret->keys = bytes_reader_of(at + 2 * n, (size_t)keys_bytes);
        ret->numbers = bytes_reader_of(at + 2 * n + keys_bytes, (size_t)numbers_bytes);
        ret->sizes = bytes_reader_of(at + 2 * n + keys_bytes + numbers_bytes,
                                     (size_t)(left - 2 * n - keys_bytes - numbers_bytes));
        r->pos = r->end;
        return true;
}

/* Field i of a row: what its two bits say, with the three meanings of a number. */
static uint64_t row_number(struct row_columns *c, unsigned how, uint64_t usual) {
        switch (how) {
        case 0: return 0;
        case 1: return usual;
        default: return bytes_varint(&c->numbers);
        }
}

static void row_peak(struct row_columns *c, unsigned how, const struct trace_site *s,
                     int64_t same_blocks, int64_t same_bytes, int64_t *blocks, int64_t *bytes) {
        if (how == 1) {
                *blocks = (int64_t)(s->n_inherited + s->n_allocs - s->n_frees);
                *bytes = (int64_t)(s->inherited_bytes + s->alloc_bytes - s->free_bytes);
        } else if (how == 2) {
                *blocks = bytes_unzigzag(bytes_varint(&c->numbers));
                *bytes = bytes_unzigzag(bytes_varint(&c->sizes));
        } else if (how == 3) {
                *blocks = same_blocks;
                *bytes = same_bytes;
        }
}

static bool row_life(struct row_columns *c, unsigned how, struct trace_site *s) {
        uint64_t first = how ? bytes_varint(&c->numbers) : 0;

        if (how == 1) {
                if (first >= TRACE_N_LIFE_BUCKETS)
                        return false;
                s->n_life[first] = (uint32_t)s->n_frees;
        }
        if (how == 2)
                for (unsigned i = 0; i < 64; i++)
                        if (first >> i & 1) {
                                if (i >= TRACE_N_LIFE_BUCKETS)
                                        return false;
                                s->n_life[i] = (uint32_t)bytes_varint(&c->numbers);
                        }
        return how != 3;
}

static bool row_parse(struct row_columns *c, struct trace_site *s, uint8_t version) {
        unsigned low = bytes_u8(&c->flags), flags = low | (unsigned)bytes_u8(&c->flags) << 8;
        unsigned allocs = flags & 3, frees = flags >> 2 & 3, temporary = flags >> 4 & 3,
                 reallocs = flags >> 6 & 3;

        if (allocs == 3 || temporary == 3 || reallocs == 3 ||
            (flags >> 15 && version != TRACE_ROWS_VERSION))
                return false;
        if (allocs) {
                s->alloc_bytes = bytes_varint(&c->sizes);
                s->n_allocs = allocs == 1 ? 1 : bytes_varint(&c->numbers) + 2;
        }
        if (frees == 1) {
                s->n_frees = s->n_allocs;
                s->free_bytes = s->alloc_bytes;
        } else if (frees) {
                s->free_bytes = bytes_varint(&c->sizes);
                s->n_frees = frees == 3 ? 1 : bytes_varint(&c->numbers);
        }
        s->n_temporary = row_number(c, temporary, s->n_frees);
        s->n_reallocs = row_number(c, reallocs, s->n_allocs);
        if (flags >> 8 & 1) {
                s->n_inherited = bytes_varint(&c->numbers);
                s->inherited_bytes = bytes_varint(&c->sizes);
        }
        row_peak(c, flags >> 9 & 3, s, (int64_t)s->n_allocs, (int64_t)s->alloc_bytes,
                 &s->peak_blocks, &s->peak_bytes);
        row_peak(c, flags >> 11 & 3, s, s->peak_blocks, s->peak_bytes, &s->all_peak_blocks,
                 &s->all_peak_bytes);
        if (!row_life(c, flags >> 13 & 3, s))
                return false;
        if (flags >> 15) {
                s->n_inherited_frees = bytes_varint(&c->numbers);
                s->inherited_free_bytes = bytes_varint(&c->sizes);
        }
        return true;
}

bool verify_parse_sites(struct verify *v, struct bytes_reader *r, uint64_t n,
                        verify_site_rows *ret) {
        struct row_columns c = {0};
        uint64_t process = 0, next_stack = 0;

        if (!rows_split(v, r, n, &c))
                return false;
        for (uint64_t i = 0; i < n; i++) {
                struct trace_site s = {0};
                uint64_t key = bytes_varint(&c.keys), stack = key / 2;

                if (key % 2)
                        process += 1 + bytes_varint(&c.keys);
                else
                        stack += next_stack;
                if (process >= v->processes.n || stack >= v->n_stacks)
                        return verify_bad(v, TRACE_E_BAD_ID,
                                          "row %llu is of process %llu, stack %llu: not defined",
                                          (unsigned long long)i, (unsigned long long)process,
                                          (unsigned long long)stack);
                s.process = (uint32_t)process;
                s.stack = (uint32_t)stack;
                next_stack = stack + 1;
                if (!row_parse(&c, &s, v->header[TRACE_VERSION_OFF]))
                        return verify_bad(v, TRACE_E_BAD_PAYLOAD,
                                          "row %llu has flags that mean nothing",
                                          (unsigned long long)i);
                vec_push(ret, s);
        }
        if (c.keys.bad || c.numbers.bad || c.sizes.bad || bytes_left(&c.keys) ||
            bytes_left(&c.numbers) || bytes_left(&c.sizes))
                return verify_bad(v, TRACE_E_BAD_PAYLOAD,
                                  "a column of the rows has too few bytes or too many");
        return true;
}

bool verify_parse_counts(struct verify *v, struct bytes_reader *r, uint64_t n,
                         verify_count_rows *ret) {
        uint64_t next = 0;

        for (uint64_t i = 0; i < n; i++) {
                uint64_t process = bytes_varint(r), used = bytes_varint(r),
                         f[TRACE_N_COUNT_FIELDS] = {0};

                for (unsigned k = 0; k < TRACE_N_COUNT_FIELDS; k++)
                        if (used >> k & 1)
                                f[k] = bytes_varint(r);
                if (r->bad || used >> TRACE_N_COUNT_FIELDS)
                        return verify_bad(v, TRACE_E_BAD_PAYLOAD,
                                          "row %llu of the counts is not valid",
                                          (unsigned long long)i);
                if (process > v->processes.n)
                        return verify_bad(v, TRACE_E_BAD_ID,
                                          "counts of process %llu, which is not defined",
                                          (unsigned long long)process - 1);
                if (process < next)
                        return verify_bad(v, TRACE_E_BAD_ORDER, "rows of counts are not in order");
                next = process + 1;
                vec_push(ret, (struct trace_counts){
                                      .process = (uint32_t)process - 1,
                                      .n_allocs = f[0],
                                      .n_frees = f[1],
                                      .n_reallocs = f[2],
                                      .n_failed = f[3],
                                      .n_unknown_frees = f[4],
                                      .n_prior_frees = f[5],
                                      .n_implicit_frees = f[6],
                                      .alloc_bytes = f[7],
                                      .n_temporary = f[8],
                                      .n_lost = f[9],
                                      .n_wrong_sizes = f[10],
                                      .n_complete_stacks = f[11],
                                      .n_inversions = f[12],
                                      .live_blocks = f[13],
                                      .live_bytes = f[14],
                                      .peak_blocks = f[15],
                                      .peak_bytes = f[16],
                                      .peak_ns = f[17],
                              });
        }
        return true;
}
