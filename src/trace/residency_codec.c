/* SPDX-License-Identifier: MIT */
#include "trace/residency_codec.h"

static void get_look(struct bytes_reader *r, struct trace_look *ret) {
        ret->n_blocks = bytes_varint(r);
        ret->bytes = bytes_varint(r);
        ret->touched_bytes = bytes_varint(r);
}

/* All blocks of the smaller are among those of the larger. */
static bool look_is_within(const struct trace_look *small, const struct trace_look *large) {
        return small->n_blocks <= large->n_blocks && small->bytes <= large->bytes &&
               small->touched_bytes <= large->touched_bytes && large->touched_bytes <= large->bytes;
}

static bool residency_is_sound(const struct trace_residency *row) {
        return row->peak_ns <= row->time_ns && look_is_within(&row->now, &row->seen) &&
               look_is_within(&row->peak, &row->seen) && row->now.bytes <= row->peak.bytes &&
               row->now.touched_bytes <= row->max_touched_bytes &&
               row->peak.touched_bytes <= row->max_touched_bytes &&
               row->max_touched_bytes <= row->peak.bytes;
}

bool trace_decode_residency(struct bytes_reader *r, uint64_t *last_ns,
                            struct trace_residency *ret) {
        uint64_t process = bytes_varint(r), stack = bytes_varint(r);

        *ret = (struct trace_residency){.process = (uint32_t)process, .stack = (uint32_t)stack};
        *last_ns += (uint64_t)bytes_unzigzag(bytes_varint(r));
        ret->time_ns = *last_ns;
        ret->peak_ns = ret->time_ns - bytes_varint(r);
        get_look(r, &ret->now);
        get_look(r, &ret->peak);
        get_look(r, &ret->seen);
        ret->max_touched_bytes = bytes_varint(r);
        return !r->bad && process == ret->process && stack == ret->stack && residency_is_sound(ret);
}
