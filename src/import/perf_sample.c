/* SPDX-License-Identifier: MIT */
#include "import/perf_sample.h"

#include "base/macros.h"

enum {
        SAMPLE_HEAD_BYTES = 8,
        SAMPLE_MISC_CPU = 7, /* where it was taken: 1 in the kernel */
        SAMPLE_MISC_KERNEL = 1,
        SAMPLE_READ_GROUP = 1 << 3,
        SAMPLE_BRANCH_INDEX = 1 << 17,
        SAMPLE_BRANCH_BYTES = 24,
        SAMPLE_ABI_64 = 2,
};

/* The values of counters that a sample may carry. */
static void skip_read(struct bytes_reader *r, uint64_t format) {
        uint64_t n_each = 1 + !!(format & 4) + !!(format & 16);
        uint64_t n_times = !!(format & 1) + !!(format & 2), n = 1;

        if (format & SAMPLE_READ_GROUP)
                n = bytes_u64(r);
        if (n > bytes_left(r))
                r->bad = true;
        else
                bytes_take(r, (n_times + n * n_each) * 8);
}

static void skip_branches(struct bytes_reader *r, uint64_t branch_type) {
        uint64_t n = bytes_u64(r);

        if (branch_type & SAMPLE_BRANCH_INDEX)
                bytes_u64(r);
        if (n > bytes_left(r) / SAMPLE_BRANCH_BYTES)
                r->bad = true;
        else
                bytes_take(r, n * SAMPLE_BRANCH_BYTES);
}

static const uint8_t *take_words(struct bytes_reader *r, uint64_t n) {
        if (n > bytes_left(r) / 8) {
                r->bad = true;
                return NULL;
        }
        return bytes_take(r, n * 8);
}

/* Behind the call chain: where the program was, and its stack. */
static void take_copy(struct bytes_reader *r, const struct perf_event *e, struct perf_sample *s) {
        uint64_t type = e->sample_type;

        if (type & PERF_HAS_RAW)
                bytes_take(r, bytes_u32(r));
        if (type & PERF_HAS_BRANCHES)
                skip_branches(r, e->branch_type);
        if (type & PERF_HAS_REGS_USER) {
                uint64_t abi = bytes_u64(r);
                const uint8_t *regs =
                        abi ? take_words(r, (uint64_t)__builtin_popcountll(e->regs_mask)) : NULL;

                s->regs = abi == SAMPLE_ABI_64 ? regs : NULL;
        }
        if (type & PERF_HAS_STACK_USER) {
                uint64_t n = bytes_u64(r), n_true;

                s->stack = bytes_take(r, n);
                n_true = n ? bytes_u64(r) : 0; /* of the room that many bytes were filled */
                s->n_stack_bytes = MIN(n, n_true);
        }
}

bool perf_sample_parse(const struct perf_event *e, const struct perf_record *record,
                       struct perf_sample *s) {
        struct bytes_reader r =
                bytes_reader_of(record->bytes + SAMPLE_HEAD_BYTES, record->n - SAMPLE_HEAD_BYTES);
        uint64_t type = e->sample_type;

        *s = (struct perf_sample){.period = e->period};
        s->is_in_kernel = (record->misc & SAMPLE_MISC_CPU) == SAMPLE_MISC_KERNEL;
        if (type & PERF_HAS_IDENTIFIER)
                bytes_u64(&r);
        if (type & PERF_HAS_IP)
                s->ip = bytes_u64(&r);
        if (type & PERF_HAS_TID) {
                s->pid = bytes_u32(&r);
                s->tid = bytes_u32(&r);
        }
        if (type & PERF_HAS_TIME)
                bytes_u64(&r);
        if (type & PERF_HAS_ADDR)
                bytes_u64(&r);
        if (type & PERF_HAS_ID)
                bytes_u64(&r);
        if (type & PERF_HAS_STREAM_ID)
                bytes_u64(&r);
        if (type & PERF_HAS_CPU)
                bytes_u64(&r);
        if (type & PERF_HAS_PERIOD)
                s->period = bytes_u64(&r);
        if (type & PERF_HAS_READ)
                skip_read(&r, e->read_format);
        if (type & PERF_HAS_CALLCHAIN) {
                s->n_chain = bytes_u64(&r);
                s->chain = take_words(&r, s->n_chain);
        }
        if (r.bad)
                return false;
        take_copy(&r, e, s); /* what is odd there leaves the rest as it is */
        if (r.bad)
                s->regs = s->stack = NULL;
        return true;
}
