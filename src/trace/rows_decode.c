/* SPDX-License-Identifier: MIT */
#include "trace/errors.h"
#include "trace/format.h"
#include "trace/rows.h"

struct site_columns {
        const uint8_t *flags;
        struct bytes_reader keys, numbers, sizes;
        uint8_t version;
        bool bad;
};

static unsigned site_field(unsigned flags, enum trace_site_shift shift) {
        return flags >> shift &
               (shift == TRACE_SITE_INHERITED || shift == TRACE_SITE_INHERITED_FREES ? 1 : 3);
}

static void site_get_key(struct site_columns *c, struct trace_site *s,
                         const struct trace_site *before) {
        uint64_t key = bytes_varint(&c->keys), process = before ? before->process : 0,
                 stack = key >> 1;

        if (key & 1)
                process += 1 + bytes_varint(&c->keys);
        else
                stack += before ? (uint64_t)before->stack + 1 : 0;
        c->bad |= process > UINT32_MAX || stack > UINT32_MAX;
        s->process = (uint32_t)process;
        s->stack = (uint32_t)stack;
}

static void site_get_allocs(struct site_columns *c, struct trace_site *s, unsigned how) {
        c->bad |= how == 3;
        if (!how)
                return;
        s->alloc_bytes = bytes_varint(&c->sizes);
        s->n_allocs = how == 1 ? 1 : bytes_varint(&c->numbers) + 2;
}

static void site_get_frees(struct site_columns *c, struct trace_site *s, unsigned how) {
        if (how == 1) {
                s->n_frees = s->n_allocs;
                s->free_bytes = s->alloc_bytes;
        } else if (how) {
                s->free_bytes = bytes_varint(&c->sizes);
                s->n_frees = how == 3 ? 1 : bytes_varint(&c->numbers);
        }
}

static uint64_t site_get_number(struct site_columns *c, unsigned how, uint64_t usual) {
        c->bad |= how == 3;
        return how == 2 ? bytes_varint(&c->numbers) : how == 1 ? usual : 0;
}

static void site_get_peak(struct site_columns *c, const struct trace_site *s, unsigned how,
                          int64_t other_blocks, int64_t other_bytes, int64_t *ret_blocks,
                          int64_t *ret_bytes) {
        switch (how) {
        case 1:
                *ret_blocks = (int64_t)(s->n_inherited + s->n_allocs - s->n_frees);
                *ret_bytes = (int64_t)(s->inherited_bytes + s->alloc_bytes - s->free_bytes);
                break;
        case 2:
                *ret_blocks = bytes_unzigzag(bytes_varint(&c->numbers));
                *ret_bytes = bytes_unzigzag(bytes_varint(&c->sizes));
                break;
        case 3:
                *ret_blocks = other_blocks;
                *ret_bytes = other_bytes;
                break;
        default: break;
        }
}

static void site_get_life(struct site_columns *c, struct trace_site *s, unsigned how) {
        uint64_t used;

        c->bad |= how == 3;
        if (!how)
                return;
        used = bytes_varint(&c->numbers);
        if (how == 1) {
                if (used < TRACE_N_LIFE_BUCKETS)
                        s->n_life[used] = (uint32_t)s->n_frees;
                c->bad |= used >= TRACE_N_LIFE_BUCKETS;
                return;
        }
        c->bad |= used >> TRACE_N_LIFE_BUCKETS != 0;
        for (unsigned i = 0; i < TRACE_N_LIFE_BUCKETS; i++)
                if (used >> i & 1) {
                        uint64_t n = bytes_varint(&c->numbers);

                        c->bad |= n > UINT32_MAX;
                        s->n_life[i] = (uint32_t)n;
                }
}

static void site_get(struct site_columns *c, struct trace_site *s) {
        unsigned flags = c->flags[0] | (unsigned)c->flags[1] << 8;

        c->flags += 2;
        site_get_allocs(c, s, site_field(flags, TRACE_SITE_ALLOCS));
        site_get_frees(c, s, site_field(flags, TRACE_SITE_FREES));
        s->n_temporary = site_get_number(c, site_field(flags, TRACE_SITE_TEMPORARY), s->n_frees);
        s->n_reallocs = site_get_number(c, site_field(flags, TRACE_SITE_REALLOCS), s->n_allocs);
        if (site_field(flags, TRACE_SITE_INHERITED)) {
                s->n_inherited = bytes_varint(&c->numbers);
                s->inherited_bytes = bytes_varint(&c->sizes);
        }
        site_get_peak(c, s, site_field(flags, TRACE_SITE_PEAK), (int64_t)s->n_allocs,
                      (int64_t)s->alloc_bytes, &s->peak_blocks, &s->peak_bytes);
        site_get_peak(c, s, site_field(flags, TRACE_SITE_ALL_PEAK), s->peak_blocks, s->peak_bytes,
                      &s->all_peak_blocks, &s->all_peak_bytes);
        site_get_life(c, s, site_field(flags, TRACE_SITE_LIFE));
        if (site_field(flags, TRACE_SITE_INHERITED_FREES)) {
                c->bad |= c->version < TRACE_ROWS_VERSION;
                s->n_inherited_frees = bytes_varint(&c->numbers);
                s->inherited_free_bytes = bytes_varint(&c->sizes);
        }
}

static bool site_split_columns(struct bytes_reader *r, size_t n, struct site_columns *ret) {
        uint64_t keys_bytes = bytes_varint(r), numbers_bytes = bytes_varint(r);
        const uint8_t *keys, *numbers;

        if (r->bad || n > bytes_left(r) / 2)
                return false;
        ret->flags = bytes_take(r, n * 2);
        keys = keys_bytes <= bytes_left(r) ? bytes_take(r, (size_t)keys_bytes) : NULL;
        numbers = numbers_bytes <= bytes_left(r) ? bytes_take(r, (size_t)numbers_bytes) : NULL;
        if (!ret->flags || !keys || !numbers)
                return false;
        ret->keys = bytes_reader_of(keys, (size_t)keys_bytes);
        ret->numbers = bytes_reader_of(numbers, (size_t)numbers_bytes);
        ret->sizes = *r;
        r->pos = r->end;
        return true;
}

int trace_decode_sites(struct bytes_reader *r, uint8_t version, size_t n, size_t n_processes,
                       size_t n_stacks, trace_site_vec *ret) {
        struct site_columns c = {.version = version};

        vec_clear(ret);
        if (!site_split_columns(r, n, &c))
                return TRACE_E_BAD_PAYLOAD;
        vec_reserve(ret, n);
        for (size_t i = 0; i < n; i++) {
                struct trace_site *s = vec_add(ret);

                site_get_key(&c, s, i ? s - 1 : NULL);
                site_get(&c, s);
                if (c.bad)
                        return TRACE_E_BAD_PAYLOAD;
                if (s->process >= n_processes || s->stack >= n_stacks)
                        return TRACE_E_BAD_ID;
        }
        if (c.keys.bad || c.numbers.bad || c.sizes.bad || bytes_left(&c.keys) ||
            bytes_left(&c.numbers) || bytes_left(&c.sizes))
                return TRACE_E_BAD_PAYLOAD;
        return 0;
}

static bool counts_get(struct bytes_reader *r, struct trace_counts *c) {
        uint64_t *const fields[TRACE_N_COUNT_FIELDS] = {
                &c->n_allocs,        &c->n_frees,       &c->n_reallocs,       &c->n_failed,
                &c->n_unknown_frees, &c->n_prior_frees, &c->n_implicit_frees, &c->alloc_bytes,
                &c->n_temporary,     &c->n_lost,        &c->n_wrong_sizes,    &c->n_complete_stacks,
                &c->n_inversions,    &c->live_blocks,   &c->live_bytes,       &c->peak_blocks,
                &c->peak_bytes,      &c->peak_ns,
        };
        uint64_t process = bytes_varint(r), used = bytes_varint(r);

        if (process > UINT32_MAX || used >> TRACE_N_COUNT_FIELDS)
                return false;
        c->process = (uint32_t)process - 1;
        for (unsigned i = 0; i < TRACE_N_COUNT_FIELDS; i++)
                if (used >> i & 1)
                        *fields[i] = bytes_varint(r);
        return !r->bad;
}

int trace_decode_counts(struct bytes_reader *r, size_t n, size_t n_processes,
                        trace_counts_vec *ret) {
        vec_clear(ret);
        if (n > bytes_left(r) / 2)
                return TRACE_E_BAD_PAYLOAD;
        vec_reserve(ret, n);
        for (size_t i = 0; i < n; i++) {
                struct trace_counts *c = vec_add(ret);

                if (!counts_get(r, c))
                        return TRACE_E_BAD_PAYLOAD;
                if (c->process != TRACE_NO_PROCESS && c->process >= n_processes)
                        return TRACE_E_BAD_ID;
                if (i && c->process + 1 <= c[-1].process + 1)
                        return TRACE_E_BAD_ORDER;
        }
        return 0;
}
