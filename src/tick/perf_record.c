/* SPDX-License-Identifier: MIT */
#include "tick/perf_record.h"

#include <linux/perf_event.h>
#include <string.h>
#include <sys/mman.h>

#include "base/macros.h"

/* Behind every record that is no sample: pid and tid, time, identifier (sample_id_all). */
enum { TRAILER_BYTES = 24, HEADER_BYTES = sizeof(struct perf_event_header) };

struct cursor {
        const uint8_t *at, *end;
        bool is_short;
};

static uint64_t take_u64(struct cursor *c) {
        uint64_t v = 0;

        if (c->end - c->at < 8) {
                c->is_short = true;
                return 0;
        }
        memcpy(&v, c->at, 8);
        c->at += 8;
        return v;
}

static uint32_t take_u32(struct cursor *c, uint32_t *ret_second) {
        uint64_t v = take_u64(c);

        *ret_second = (uint32_t)(v >> 32);
        return (uint32_t)v;
}

static uint64_t u64_at(const uint8_t *p) {
        uint64_t v;

        memcpy(&v, p, 8);
        return v;
}

/* Marks between addresses say whose they are. */
static void take_callchain(struct cursor *c, struct perf_sample *s) {
        uint64_t n = take_u64(c);
        bool is_kernel = false;

        if (n > (uint64_t)(c->end - c->at) / 8) {
                c->is_short = true;
                return;
        }
        for (uint64_t i = 0; i < n; i++) {
                uint64_t pc = take_u64(c);

                if (pc >= (uint64_t)PERF_CONTEXT_MAX)
                        is_kernel = pc == (uint64_t)PERF_CONTEXT_KERNEL;
                else if (is_kernel && s->n_kernel < PERF_MAX_KERNEL_FRAMES)
                        s->kernel_pcs[s->n_kernel++] = pc;
        }
}

static void take_registers(struct cursor *c, struct perf_sample *s) {
        uint64_t abi = take_u64(c), regs[PERF_N_REGS];

        s->abi = abi <= PERF_ABI_64 ? (enum perf_abi)abi : PERF_ABI_NONE;
        if (abi == PERF_ABI_NONE)
                return;
        for (size_t i = 0; i < PERF_N_REGS; i++)
                regs[i] = take_u64(c);
#if defined(__aarch64__)
        s->fp = regs[0];
        s->lr = regs[1];
#else
        s->lr = regs[0];
        s->fp = regs[1];
#endif
        s->sp = regs[PERF_N_REGS - 2];
        s->pc = regs[PERF_N_REGS - 1];
}

/* Room for so many bytes, and behind it how many of them are the stack's. */
static void take_stack(struct cursor *c, struct perf_sample *s) {
        uint64_t room = take_u64(c), n;

        if (room == 0 || c->is_short)
                return;
        if (room > (uint64_t)(c->end - c->at)) {
                c->is_short = true;
                return;
        }
        s->stack = c->at;
        c->at += room;
        n = take_u64(c);
        s->n_stack = (size_t)MIN(n, room);
}

/* In the order of the kernel: identifier, pid and tid, time, callchain, registers, stack. */
static bool decode_sample(struct cursor *c, struct perf_record *ret) {
        ret->event_id = take_u64(c);
        ret->pid = take_u32(c, &ret->tid);
        ret->time_ns = take_u64(c);
        take_callchain(c, &ret->sample);
        take_registers(c, &ret->sample);
        take_stack(c, &ret->sample);
        return !c->is_short;
}

/* NUL-ended within the record, or nothing. */
static const char *take_text(const struct cursor *c) {
        return c->end > c->at && memchr(c->at, 0, (size_t)(c->end - c->at)) ? (const char *)c->at
                                                                            : NULL;
}

static bool decode_mmap2(struct cursor *c, struct perf_record *ret) {
        uint32_t prot, flags;
        uint64_t n_bytes;

        ret->pid = take_u32(c, &ret->tid);
        ret->begin = take_u64(c);
        n_bytes = take_u64(c);
        ret->file_offset = take_u64(c);
        take_u64(c); /* device, or a build-id, which is the file's own business */
        take_u64(c);
        take_u64(c);
        prot = take_u32(c, &flags);
        ret->is_code = prot & PROT_EXEC;
        ret->text = take_text(c);
        if (c->is_short || !ret->text || __builtin_add_overflow(ret->begin, n_bytes, &ret->end))
                return false;
        return true;
}

static bool decode_task(struct cursor *c, struct perf_record *ret) {
        ret->pid = take_u32(c, &ret->parent_pid);
        ret->tid = take_u32(c, &ret->parent_tid);
        return !c->is_short;
}

static bool decode_comm(struct cursor *c, struct perf_record *ret) {
        ret->pid = take_u32(c, &ret->tid);
        ret->text = take_text(c);
        return !c->is_short && ret->text;
}

static bool decode_lost(struct cursor *c, struct perf_record *ret) {
        take_u64(c);
        ret->n_lost = take_u64(c);
        return !c->is_short;
}

uint64_t perf_record_time_ns(const uint8_t *bytes, size_t n) {
        struct perf_event_header h;

        if (n < HEADER_BYTES + TRAILER_BYTES)
                return 0;
        memcpy(&h, bytes, sizeof(h));
        return h.type == PERF_RECORD_SAMPLE ? u64_at(bytes + HEADER_BYTES + 16)
                                            : u64_at(bytes + n - 16);
}

bool perf_record_decode(const uint8_t *bytes, size_t n, struct perf_record *ret) {
        struct cursor c = {bytes + HEADER_BYTES, bytes + n, false};
        struct perf_event_header h;
        uint64_t ids;

        if (n < HEADER_BYTES)
                return false;
        memcpy(&h, bytes, sizeof(h));
        *ret = (struct perf_record){.type = h.type};
        if (h.type == PERF_RECORD_SAMPLE)
                return decode_sample(&c, ret);
        if (n < HEADER_BYTES + TRAILER_BYTES)
                return false;
        c.end -= TRAILER_BYTES;
        ids = u64_at(c.end);
        ret->pid = (uint32_t)ids;
        ret->tid = (uint32_t)(ids >> 32);
        ret->time_ns = u64_at(c.end + 8);
        ret->event_id = u64_at(c.end + 16);
        switch (h.type) {
        case PERF_RECORD_MMAP2: return decode_mmap2(&c, ret);
        case PERF_RECORD_FORK:
        case PERF_RECORD_EXIT: return decode_task(&c, ret);
        case PERF_RECORD_COMM:
                ret->is_exec = h.misc & PERF_RECORD_MISC_COMM_EXEC;
                return decode_comm(&c, ret);
        case PERF_RECORD_LOST: return decode_lost(&c, ret);
        case PERF_RECORD_SWITCH:
                ret->is_out = h.misc & PERF_RECORD_MISC_SWITCH_OUT;
                ret->is_preempted = h.misc & PERF_RECORD_MISC_SWITCH_OUT_PREEMPT;
                return true;
        }
        return true;
}
