/* SPDX-License-Identifier: MIT */
/* Checks spans of ticks (docs/trace-format.md, "TICK"). */
#include "verify/verify_state.h"

enum { TICK_COLUMNS = 5, TICK_MAX_ROWS = 65536 };

static bool columns_are_there(struct verify *v, struct bytes_reader *columns) {
        struct bytes_reader r = bytes_reader_of(v->raw.items, v->raw.n);

        for (size_t i = 0; i < TICK_COLUMNS; i++) {
                uint64_t n = bytes_varint(&r);

                if (r.bad || n > bytes_left(&r))
                        return verify_bad(v, TRACE_E_BAD_PAYLOAD, "column %zu ends too late", i);
                columns[i] = bytes_reader_of(r.pos, (size_t)n);
                r.pos += n;
        }
        if (bytes_left(&r))
                return verify_bad(v, TRACE_E_BAD_PAYLOAD, "%zu bytes are left over",
                                  bytes_left(&r));
        return true;
}

static bool row_is_sound(struct verify *v, uint64_t i, uint64_t thread, uint64_t stack,
                         uint64_t kind, uint64_t weight_ns) {
        if (thread >= v->n_threads)
                return verify_bad(v, TRACE_E_BAD_REFERENCE, "tick %llu: no thread %llu",
                                  (unsigned long long)i, (unsigned long long)thread);
        if (stack >= v->n_stacks)
                return verify_bad(v, TRACE_E_BAD_REFERENCE, "tick %llu: no stack %llu",
                                  (unsigned long long)i, (unsigned long long)stack);
        if (kind % 4 >= TRACE_N_TICK_STATES || kind / 4 > UINT32_MAX)
                return verify_bad(v, TRACE_E_BAD_PAYLOAD, "tick %llu: no kind %llu",
                                  (unsigned long long)i, (unsigned long long)kind);
        if (weight_ns > TRACE_TICK_MAX_NS)
                return verify_bad(v, TRACE_E_BAD_PAYLOAD, "tick %llu: it stands for too long",
                                  (unsigned long long)i);
        return true;
}

bool verify_tick_chunk(struct verify *v) {
        struct bytes_reader columns[TICK_COLUMNS];
        uint64_t n = bytes_le32(v->head), flags = bytes_le32(v->head + 4);
        uint64_t at_us = bytes_le64(v->head + 8), end_us = bytes_le64(v->head + 16), weight_ns = 0;

        if (v->head_bytes != TRACE_TICK_HEAD_BYTES)
                return verify_bad(v, TRACE_E_BAD_PAYLOAD, "a head of %u bytes", v->head_bytes);
        if (flags & ~(uint64_t)TRACE_TICK_MERGED)
                return verify_bad(v, TRACE_E_BAD_PAYLOAD, "unknown flags");
        if (n > TICK_MAX_ROWS || at_us >= end_us || end_us > UINT64_MAX / 1000)
                return verify_bad(v, TRACE_E_BAD_PAYLOAD, "no such span of ticks");
        if (!columns_are_there(v, columns))
                return false;
        for (uint64_t i = 0; i < n; i++) {
                uint64_t step_us = bytes_varint(&columns[0]);
                uint64_t thread = bytes_varint(&columns[1]), stack = bytes_varint(&columns[2]);
                uint64_t kind = bytes_varint(&columns[3]);

                weight_ns += (uint64_t)bytes_unzigzag(bytes_varint(&columns[4]));
                if (columns[4].bad)
                        return verify_bad(v, TRACE_E_BAD_PAYLOAD, "its columns end too early");
                if (step_us >= end_us - at_us || (flags & TRACE_TICK_MERGED && step_us))
                        return verify_bad(v, TRACE_E_BAD_PAYLOAD, "tick %llu: outside of its span",
                                          (unsigned long long)i);
                at_us += step_us;
                if (!row_is_sound(v, i, thread, stack, kind, weight_ns))
                        return false;
        }
        for (size_t i = 0; i < TICK_COLUMNS; i++)
                if (columns[i].bad || bytes_left(&columns[i]))
                        return verify_bad(v, TRACE_E_BAD_PAYLOAD,
                                          "column %zu has another length than %llu rows", i,
                                          (unsigned long long)n);
        return true;
}
