/* SPDX-License-Identifier: MIT */
/* Brings the runtime into a running process, and takes its hooks out again. Used by one thread; threads
 * of the process are stopped by a process of its own (attach/stopper.h). docs/attaching.md has the steps and what happens when silt dies in any of them. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "attach/code.h"
#include "attach/entries.h"
#include "attach/safepoint.h"
#include "attach/stack.h"
#include "attach/target.h"
#include "base/err.h"

struct attach_request {
        const char *runtime_path; /* libsilt.so, as we see it */
        const char *
                rendezvous; /* where its recorder waits, as WIRE_ENV has it: reachable for the process */
};

struct attach {
        struct target target;
        struct code code;
        struct stack_walker *walker; /* owned */
        struct entries entries;
        struct safepoint_return back; /* of the thread that made the calls */
        uint64_t
                call_pause_ns; /* how long the thread that made the calls stood still for the program */
        uint64_t call_queued_ns; /* and how long, beside that, it waited for a processor */
        uint64_t entry_pause_ns; /* and all that ran, when the entries were written */
        uint64_t enter_pause_ns,
                leave_pause_ns; /* at most so long did any thread stand still, one stop after another */
        void (*leave)(void *ctx); /* as entries_take_back calls it; NULL: nothing */
        void *leave_ctx;
        bool is_on;          /* entries may be written */
        bool is_list_unseen; /* libraries were opened meanwhile that nobody has looked at for allocators */
};

/* Looks at the process and its files, which takes longer than all the rest; it is not touched. attach_done in any case. */
int attach_open(struct attach *a, pid_t pid, struct err *reterr);

/* 0: it records, for the recorder at the rendezvous, which must be serving it. -errno: refused, and the process is as it was. */
int attach_begin(struct attach *a, const struct attach_request *request, struct err *reterr);

/* False when the program that was entered is no more: the process has ended, or has become another by exec. */
bool attach_is_there(const struct attach *a);

/* The entries as they were. Recording must have ended: what still is in the runtime passes through. */
int attach_end(struct attach *a, struct err *reterr);
void attach_done(struct attach *a);
