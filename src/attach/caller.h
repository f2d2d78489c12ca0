/* SPDX-License-Identifier: MIT */
/* Has a stopped thread call a function of its process. At every instant the thread, left alone, comes back to where it was: by the
 * signal frame that is its return address (docs/attaching.md). */
#pragma once

#include "attach/safepoint.h"
#include "attach/target.h"
#include "base/err.h"

/* Places in a process, found before anything is stopped. */
struct caller_code {
        uint64_t return_to;  /* makes rt_sigreturn */
        uint64_t syscall_at; /* makes a system call, and returns */
        uint64_t slack;      /* memory that belongs to nobody; 0: none */
        size_t slack_bytes;
};

struct caller {
        const struct target *target;
        struct safepoint *safepoint;
        uint64_t return_to, syscall_at;
        uint64_t slack; /* where the first frame is; what was there: */
        uint8_t slack_before[MACHINE_MAX_FRAME_BYTES + 1024];
        size_t slack_bytes;
        uint64_t room, room_bytes; /* mapped for the calls; 0: none */
        int64_t syscall_result;    /* of the last system call that the function made */
        pid_t child;               /* that it has made, as silt sees it; 0: none */
        bool is_lost; /* the thread was let go, and comes back by itself: room and slack are not silt's any more */
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

/* System calls, for which there is no room: the one frame is where caller_begin has its first. Below it there are below_bytes for the caller's use,
 * which end at *ret_below. Nothing is called yet. */
bool caller_find_code(const struct target *t, struct caller_code *ret);
int caller_open(struct caller *c, const struct target *t, const struct caller_code *code,
                struct safepoint *m, size_t below_bytes, uint64_t *ret_below, struct err *reterr);

/* 0 when it is over: syscall_result is what it returned. The thread stands at its end, and would return to its frame. errno is the program's, and stays. */
int caller_syscall(struct caller *c, int64_t number, const uint64_t args[6], uint64_t patience_ms,
                   struct err *reterr);

/* Gives the room back, and the thread everything it had; it is let go. */
void caller_end(struct caller *c);
