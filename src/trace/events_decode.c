/* SPDX-License-Identifier: MIT */
/* One loop over the columns of a slice. Reading every event of a large trace spends its time
 * here, so each column is read by a load and a shift where the value has one or two bytes,
 * without a branch on which; a column that ends too early sets `bad` and gives zeros, which the
 * loop survives and its end reports. */
#include <stdio.h>

#include "base/vec.h"
#include "trace/events.h"

/* An event brings at most so many stacks into the dictionary: a reallocation its own and its old block's, a release its
 * block's and where it happens. */
enum { MAX_NEW_STACKS = 2 };

struct column {
        const uint8_t *pos, *end;
};

struct stack_entry {
        uint32_t id;
        uint32_t next, old_next, last_free; /* as in the encoder */
        uint64_t last_size_bytes;
};

struct block {
        uint64_t size_bytes;
        uint32_t stack, entry;
        uint32_t n_blocks; /* that it stands for */
};

struct thread_entry {
        uint32_t id, context;
};

struct trace_decoder {
        VEC(struct trace_event) events;
        VEC(struct block) blocks; /* allocated in this slice, by seq - first_seq */
        VEC(struct stack_entry) stacks;
        VEC(struct thread_entry) threads;
};

/* The state of one slice. */
struct decode {
        struct column columns[TRACE_N_COLUMNS];
        struct stack_entry *stacks; /* [0] is the context "none" */
        struct block *blocks;
        uint32_t n_stacks, n_seen, old_context;
        uint32_t n_blocks, n_allocs; /* so far; as the head says */
        uint64_t first_seq, last_old_seq, last_address;
        uint32_t n_columns;
        bool is_sampled;
        bool bad;
};

struct trace_decoder *trace_decoder_new(void) {
        struct trace_decoder *d = calloc(1, sizeof(*d));

        if (!d) {
                fputs("silt: out of memory\n", stderr);
                abort();
        }
        return d;
}

struct trace_decoder *trace_decoder_free(struct trace_decoder *d) {
        if (!d)
                return NULL;
        vec_free(&d->events);
        vec_free(&d->blocks);
        vec_free(&d->stacks);
        vec_free(&d->threads);
        free(d);
        return NULL;
}

/* ---- numbers --------------------------------------------------------------------------------- */

/* Loads below may reach behind the column's end, never behind the body's slack. A number that
 * took such bytes leaves pos behind end, which fails the next read or the check that all columns
 * are used up. */
#define DECODE_INLINE static inline __attribute__((always_inline))

static __attribute__((noinline)) uint64_t decode_long(struct decode *d, struct column *c) {
        struct bytes_reader r = {c->pos, c->end, false};
        uint64_t v = bytes_varint(&r);

        c->pos = r.pos;
        d->bad |= r.bad;
        return v;
}

/* One to eight bytes at once: cut off behind the first byte without its high bit, then close the
 * gaps between the groups of seven bits. */
DECODE_INLINE uint64_t decode_wide(struct decode *d, struct column *c) {
        uint64_t w = bytes_le64(c->pos), stop = ~w & 0x8080808080808080ull;

        if (unlikely(!stop))
                return decode_long(d, c);
        c->pos += __builtin_ctzll(stop) / 8 + 1;
        w &= stop ^ (stop - 1);
        w = (w & 0x007f007f007f007full) | (w & 0x7f007f007f007f00ull) >> 1;
        w = (w & 0x00003fff00003fffull) | (w & 0x3fff00003fff0000ull) >> 2;
        return (w & 0x000000000fffffffull) | (w & 0x0fffffff00000000ull) >> 4;
}

/* One or two bytes without a branch on which. */
DECODE_INLINE uint64_t decode_varint(struct decode *d, enum trace_column column) {
        struct column *c = &d->columns[column];
        const uint8_t *p = c->pos;
        uint32_t low, high, more;

        if (unlikely(p >= c->end)) {
                d->bad = true;
                return 0;
        }
        low = p[0];
        high = p[1];
        if (unlikely((low & high & 0x80) != 0))
                return decode_wide(d, c);
        more = low >> 7;
        c->pos = p + 1 + more;
        return (low & 0x7f) | ((high << 7) & (0u - more));
}

/* ---- stacks, sizes, blocks ------------------------------------------------------------------- */

/* The entry a stack code means; 0, a harmless entry, when it means none. */
DECODE_INLINE uint32_t decode_stack(struct decode *d, enum trace_column column, uint32_t expected) {
        uint64_t code = decode_varint(d, column), entry;

        if (code == 0)
                entry = expected;
        else if (code == 1)
                entry = d->n_seen < d->n_stacks ? ++d->n_seen : 0;
        else
                entry = code - 1 <= d->n_seen ? code - 1 : 0;
        d->bad |= entry == 0;
        return (uint32_t)entry;
}

DECODE_INLINE uint64_t decode_size(struct decode *d, enum trace_column column,
                                   struct stack_entry *s) {
        uint64_t code = decode_varint(d, column);

        if (code)
                s->last_size_bytes = code - 1;
        return s->last_size_bytes;
}

/* A block stands for itself at least. */
static uint32_t decode_weight(struct decode *d, enum trace_column column) {
        uint64_t n = decode_varint(d, column);

        d->bad |= n == 0 || n > UINT32_MAX;
        return (uint32_t)n;
}

DECODE_INLINE void decode_new_block(struct decode *d, uint32_t *context, struct trace_event *e) {
        struct stack_entry *before = &d->stacks[*context], *s;
        uint32_t entry = decode_stack(d, TRACE_COL_STACKS, before->next);

        before->next = *context = entry;
        s = &d->stacks[entry];
        e->stack = s->id;
        e->size_bytes = decode_size(d, TRACE_COL_SIZES, s);
        e->n_blocks = unlikely(d->is_sampled) ? decode_weight(d, TRACE_COL_WEIGHTS) : 1;
        e->seq = d->first_seq + d->n_blocks;
        if (likely(d->n_blocks < d->n_allocs))
                d->blocks[d->n_blocks] =
                        (struct block){e->size_bytes, e->stack, entry, e->n_blocks};
        d->n_blocks++;
}

static void decode_old_block(struct decode *d, uint64_t *ret_seq, struct block *ret) {
        struct stack_entry *s = &d->stacks[d->old_context];
        uint32_t entry;

        d->last_old_seq += (uint64_t)bytes_unzigzag(decode_varint(d, TRACE_COL_OLD_SEQS));
        d->bad |= d->last_old_seq >= d->first_seq;
        entry = decode_stack(d, TRACE_COL_OLD_STACKS, s->old_next);
        s->old_next = d->old_context = entry;
        s = &d->stacks[entry];
        *ret_seq = d->last_old_seq;
        *ret = (struct block){decode_size(d, TRACE_COL_OLD_SIZES, s), s->id, entry, 1};
        if (d->is_sampled)
                ret->n_blocks = decode_weight(d, TRACE_COL_OLD_WEIGHTS);
}

DECODE_INLINE void decode_release(struct decode *d, uint64_t *ret_seq, struct block *ret) {
        uint64_t distance = decode_varint(d, TRACE_COL_RELEASES);
        uint32_t n_known = MIN(d->n_blocks, d->n_allocs);

        if (distance == 0) {
                decode_old_block(d, ret_seq, ret);
        } else if (likely(distance <= n_known)) {
                *ret = d->blocks[n_known - distance];
                *ret_seq = d->first_seq + n_known - distance;
        } else {
                d->bad = true;
                *ret_seq = 0;
                *ret = (struct block){0, 0, 0, 1};
        }
}

static uint32_t decode_free_stack(struct decode *d, uint32_t block_entry) {
        struct stack_entry *s = &d->stacks[block_entry];
        uint64_t code = decode_varint(d, TRACE_COL_FREE_STACKS);

        if (code) {
                if (code == (uint64_t)d->n_seen + 1 && d->n_seen < d->n_stacks)
                        d->n_seen++;
                s->last_free = code <= d->n_seen ? (uint32_t)code : 0;
        }
        d->bad |= s->last_free == 0;
        return d->stacks[s->last_free].id;
}

static void decode_other(struct decode *d, struct trace_event *e) {
        struct column *c = &d->columns[TRACE_COL_OTHERS];
        struct block b;

        if (c->pos >= c->end || *c->pos > (d->is_sampled ? TRACE_UNSAMPLED : TRACE_WRONG_SIZE)) {
                d->bad = true;
                return;
        }
        e->other = *c->pos++;
        if (e->other == TRACE_IMPLICIT_FREE) {
                decode_release(d, &e->seq, &b);
                e->stack = b.stack;
                e->size_bytes = b.size_bytes;
                e->n_blocks = b.n_blocks;
        } else
                e->size_bytes = decode_varint(d, TRACE_COL_VALUES);
}

/* ---- the loop -------------------------------------------------------------------------------- */

DECODE_INLINE void decode_one(struct decode *d, uint32_t flags, uint32_t op, uint32_t *context,
                              struct trace_event *e) {
        struct block b;

        switch (op) {
        case TRACE_FREE:
                decode_release(d, &e->seq, &b);
                e->stack = b.stack;
                e->size_bytes = b.size_bytes;
                e->n_blocks = b.n_blocks;
                if (unlikely(flags & TRACE_HAS_FREE_STACKS))
                        e->free_stack = decode_free_stack(d, b.entry);
                return;
        case TRACE_REALLOC:
                decode_release(d, &e->old_seq, &b);
                e->old_stack = b.stack;
                e->old_size_bytes = b.size_bytes;
                e->old_n_blocks = b.n_blocks;
                decode_new_block(d, context, e);
                break;
        case TRACE_ALLOC: decode_new_block(d, context, e); break;
        default: decode_other(d, e); return;
        }
        if (unlikely(flags & TRACE_HAS_ADDRESSES)) {
                d->last_address += (uint64_t)bytes_unzigzag(decode_varint(d, TRACE_COL_ADDRESSES));
                e->address = d->last_address;
        }
}

/* A release whose block nobody asks about: what the columns and the dictionary of stacks go through all the same. */
DECODE_INLINE void decode_past_release(struct decode *d) {
        uint64_t distance = decode_varint(d, TRACE_COL_RELEASES), seq;
        struct block b;

        if (distance == 0)
                decode_old_block(d, &seq, &b);
        d->bad |= distance > MIN(d->n_blocks, d->n_allocs);
}

/* The number of events kept. */
DECODE_INLINE uint32_t decode_loop(struct decode *d, struct trace_decoder *t, uint32_t n_events,
                                   uint32_t flags, uint64_t time_us, bool only_allocs) {
        struct thread_entry none = {0, 0}, *thread = &none;
        const uint8_t *ops = d->columns[TRACE_COL_OPS].pos;
        struct trace_event *e = t->events.items;
        uint64_t run_left = 0;

        for (uint32_t i = 0; i < n_events; i++) {
                uint32_t op = ops[i / 4] >> (i % 4 * 2) & 3;

                if (run_left == 0) {
                        uint64_t idx = decode_varint(d, TRACE_COL_RUN_THREADS);

                        run_left = decode_varint(d, TRACE_COL_RUN_LENGTHS) + 1;
                        d->bad |= idx >= t->threads.n || run_left - 1 >= n_events - i;
                        if (d->bad)
                                return 0;
                        thread = &t->threads.items[idx];
                }
                run_left--;
                time_us += decode_varint(d, TRACE_COL_TIMES);
                if (only_allocs && op == TRACE_FREE && !(flags & TRACE_HAS_FREE_STACKS)) {
                        d->bad |= thread->id == TRACE_NO_THREAD;
                        decode_past_release(d);
                        continue;
                }
                *e = (struct trace_event){.op = (uint8_t)op,
                                          .thread = thread->id,
                                          .time_ns = time_us * 1000};
                d->bad |= thread->id == TRACE_NO_THREAD && op != TRACE_OTHER;
                decode_one(d, flags, op, &thread->context, e);
                e += !only_allocs || op == TRACE_ALLOC || op == TRACE_REALLOC;
        }
        return (uint32_t)(e - t->events.items);
}

static __attribute__((noinline)) uint32_t decode_all(struct decode *d, struct trace_decoder *t,
                                                     uint32_t n_events, uint32_t flags,
                                                     uint64_t time_us) {
        return decode_loop(d, t, n_events, flags, time_us, false);
}

static __attribute__((noinline)) uint32_t decode_allocs(struct decode *d, struct trace_decoder *t,
                                                        uint32_t n_events, uint32_t flags,
                                                        uint64_t time_us) {
        return decode_loop(d, t, n_events, flags, time_us, true);
}

/* ---- set-up ---------------------------------------------------------------------------------- */

static int decode_threads(struct decode *d, struct trace_decoder *t, uint64_t n, size_t n_threads) {
        if (n >
            (uint64_t)(d->columns[TRACE_COL_THREAD_IDS].end - d->columns[TRACE_COL_THREAD_IDS].pos))
                return TRACE_E_BAD_PAYLOAD;
        vec_clear(&t->threads);
        vec_reserve(&t->threads, n);
        for (uint64_t i = 0; i < n; i++) {
                uint64_t id = decode_varint(d, TRACE_COL_THREAD_IDS);

                if (id > n_threads)
                        return TRACE_E_BAD_ID;
                t->threads.items[t->threads.n++] = (struct thread_entry){(uint32_t)id - 1, 0};
        }
        return 0;
}

static int decode_stacks(struct decode *d, struct trace_decoder *t, uint64_t n, size_t n_stacks) {
        uint64_t id = 0;

        if (n >
            (uint64_t)(d->columns[TRACE_COL_STACK_IDS].end - d->columns[TRACE_COL_STACK_IDS].pos))
                return TRACE_E_BAD_PAYLOAD;
        vec_clear(&t->stacks);
        vec_reserve(&t->stacks, n + 1);
        memset(t->stacks.items, 0, (n + 1) * sizeof(struct stack_entry));
        t->stacks.n = n + 1;
        for (uint64_t i = 1; i <= n; i++) {
                id += (uint64_t)bytes_unzigzag(decode_varint(d, TRACE_COL_STACK_IDS));
                if (id >= n_stacks)
                        return TRACE_E_BAD_ID;
                t->stacks.items[i].id = (uint32_t)id;
        }
        d->stacks = t->stacks.items;
        d->n_stacks = (uint32_t)n;
        return 0;
}

static bool decode_columns(struct decode *d, struct bytes_reader *r, uint32_t n_events) {
        uint64_t lengths[TRACE_N_COLUMNS];
        struct column *ops = &d->columns[TRACE_COL_OPS];

        for (size_t i = 0; i < d->n_columns; i++)
                lengths[i] = bytes_varint(r);
        for (size_t i = 0; i < d->n_columns; i++) {
                const uint8_t *p =
                        lengths[i] <= bytes_left(r) ? bytes_take(r, (size_t)lengths[i]) : NULL;

                if (!p)
                        return false;
                d->columns[i] = (struct column){p, p + lengths[i]};
        }
        return !bytes_left(r) && lengths[TRACE_COL_OPS] == (n_events + 3) / 4 &&
               (n_events % 4 == 0 || ops->end[-1] >> (n_events % 4 * 2) == 0);
}

static bool decode_is_used_up(struct decode *d) {
        bool used = !d->bad && d->n_seen == d->n_stacks && d->n_blocks == d->n_allocs;

        d->columns[TRACE_COL_OPS].pos = d->columns[TRACE_COL_OPS].end;
        for (size_t i = 0; i < d->n_columns; i++)
                used &= d->columns[i].pos == d->columns[i].end;
        return used;
}

int trace_decode_events(struct trace_decoder *t, const struct trace_chunk *c,
                        const struct trace_body *b, size_t n_threads, size_t n_stacks,
                        bool only_allocs, const struct trace_event **ret, size_t *ret_n) {
        uint32_t n_events = bytes_le32(c->head + 4), flags = bytes_le32(c->head + 28);
        struct bytes_reader r = bytes_reader_of(b->raw.items, b->raw.n);
        struct decode d = {
                .first_seq = bytes_le64(c->head + 8),
                .last_old_seq = bytes_le64(c->head + 8),
                .n_allocs = bytes_le32(c->head + 24),
                .is_sampled = c->version == TRACE_EVTS_VERSION,
        };
        uint64_t n_thread_entries, n_stack_entries;
        uint32_t n_kept;
        int error;

        d.n_columns = d.is_sampled ? TRACE_N_COLUMNS : TRACE_N_EXACT_COLUMNS;
        if (c->head_bytes != TRACE_EVTS_HEAD_BYTES || !n_events ||
            n_events > TRACE_MAX_SLICE_EVENTS || d.n_allocs > n_events ||
            flags & ~(TRACE_HAS_ADDRESSES | TRACE_HAS_FREE_STACKS | TRACE_IS_SAMPLED) ||
            (flags & TRACE_IS_SAMPLED) != (d.is_sampled ? TRACE_IS_SAMPLED : 0))
                return TRACE_E_BAD_PAYLOAD;
        n_thread_entries = bytes_varint(&r);
        n_stack_entries = bytes_varint(&r);
        if (n_thread_entries > n_events || n_stack_entries > (uint64_t)MAX_NEW_STACKS * n_events ||
            !decode_columns(&d, &r, n_events))
                return TRACE_E_BAD_PAYLOAD;
        error = decode_threads(&d, t, n_thread_entries, n_threads);
        if (!error)
                error = decode_stacks(&d, t, n_stack_entries, n_stacks);
        if (error)
                return error;

        vec_clear(&t->events);
        vec_reserve(&t->events, n_events);
        vec_clear(&t->blocks);
        vec_reserve(&t->blocks, d.n_allocs + 1);
        d.blocks = t->blocks.items;
        n_kept = (only_allocs ? decode_allocs : decode_all)(&d, t, n_events, flags,
                                                            bytes_le64(c->head + 16));
        if (!decode_is_used_up(&d))
                return TRACE_E_BAD_PAYLOAD;
        *ret = t->events.items;
        *ret_n = n_kept;
        return 0;
}
