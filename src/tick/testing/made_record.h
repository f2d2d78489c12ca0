/* SPDX-License-Identifier: MIT */
/* Records of a perf ring as the kernel lays them out for what silt asks for (perf_events.c), made by hand. */
#pragma once

#include <linux/perf_event.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "tick/perf_record.h"

struct made_record {
        uint8_t bytes[4096];
        size_t n;
};

static inline void made_add(struct made_record *m, uint64_t v) {
        memcpy(m->bytes + m->n, &v, 8);
        m->n += 8;
}

static inline void made_add_pair(struct made_record *m, uint32_t a, uint32_t b) {
        made_add(m, a | (uint64_t)b << 32);
}

static inline struct made_record made_begin(uint32_t type, uint16_t misc) {
        struct perf_event_header h = {.type = type, .misc = misc};
        struct made_record m = {.n = sizeof(h)};

        memcpy(m.bytes, &h, sizeof(h));
        return m;
}

static inline void made_end(struct made_record *m) {
        uint16_t size = (uint16_t)m->n;

        memcpy(m->bytes + offsetof(struct perf_event_header, size), &size, sizeof(size));
}

static inline void made_end_with_trailer(struct made_record *m, uint64_t time_ns) {
        made_add_pair(m, 11, 12);
        made_add(m, time_ns);
        made_add(m, 77);
        made_end(m);
}

static inline struct made_record made_sample(uint64_t time_ns) {
        struct made_record m = made_begin(PERF_RECORD_SAMPLE, 0);

        made_add(&m, 77);
        made_add_pair(&m, 11, 12);
        made_add(&m, time_ns);
        made_add(&m, 5);
        made_add(&m, (uint64_t)PERF_CONTEXT_KERNEL);
        made_add(&m, 0xffffffff81000010);
        made_add(&m, 0xffffffff81000020);
        made_add(&m, (uint64_t)PERF_CONTEXT_USER);
        made_add(&m, 0x401000);
        made_add(&m, PERF_ABI_64);
        for (uint64_t i = 0; i < PERF_N_REGS; i++)
                made_add(&m, 0x1000 + i);
        made_add(&m, 64); /* room, then bytes that are the stack's */
        for (uint64_t i = 0; i < 8; i++)
                made_add(&m, i);
        made_add(&m, 40);
        made_end(&m);
        return m;
}
