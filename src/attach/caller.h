/* SPDX-License-Identifier: MIT */
/* Has a stopped thread call a function of its process. At every instant the thread, left alone, comes back to where it was: by the
 * signal frame that is its return address (docs/attaching.md). */
#pragma once

#include "attach/safepoint.h"
#include "attach/target.h"
#include "base/err.h"

struct caller {
        const struct target *target;
        struct safepoint *safepoint;
        uint64_t return_to;
        uint64_t slack; /* where the first frame is; what was there: */
        uint8_t slack_before[MACHINE_MAX_FRAME_BYTES + 1024];
        size_t slack_bytes;
        uint64_t room, room_bytes; /* mapped for the calls; 0: none */
        int64_t syscall_result;    /* of the last system call that the function made */
        bool is_lost;
        /* the thread was let go, and comes back by itself; room and slack are not silt's any more */ /* a call did not come back: the thread was let go and comes back by itself */
};

/* Finds a place for the first frame and maps room for the others: its upper end is free for what functions are told. */
int caller_begin(struct caller *c, const struct target *t, struct safepoint *m, struct err *reterr);

/* args: up to six. 0 when it has returned. */
int caller_call(struct caller *c, uint64_t function, const uint64_t *args, unsigned n_args,
                uint64_t patience_ms, struct err *reterr);

/* The same for the last call: the thread is let go at once, makes the call and comes back by itself. 0 when the int32_t at done_addr is no longer
 * `undone`. Where the kernel has to be told what is left of a time-out, the thread is held as ever. */
int caller_send(struct caller *c, uint64_t function, const uint64_t *args, unsigned n_args,
                uint64_t done_addr, int32_t undone, uint64_t patience_ms, struct err *reterr);

/* CALLER_DATA_BYTES in the room, for what functions are told. */
enum { CALLER_DATA_BYTES = 8192 };
uint64_t caller_data(const struct caller *c);

/* Where the frame lies by which the thread comes back from a call that was sent. */
uint64_t caller_frame(const struct caller *c);

/* Gives the room back, and the thread everything it had; it is let go. */
void caller_end(struct caller *c);
