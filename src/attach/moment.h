/* SPDX-License-Identifier: MIT */
/* A thread at a moment when it can make calls for silt: docs/attaching.md says what that takes. */
#pragma once

#include "attach/code.h"
#include "attach/machine.h"
#include "attach/stack.h"
#include "attach/target.h"
#include "attach/tracee.h"
#include "base/err.h"

struct moment {
        struct tracee thread; /* stopped */
        struct machine_state
                state; /* what it is to have again: a call that was interrupted is about to be made */
        enum machine_again
                again; /* AGAIN_RESTART: machine.set_restart, when the registers are put back by silt */
        uint64_t tried_ns; /* how long others, or it before, stood still and were let go again */
};

/* Stops one thread. -ETIMEDOUT: no thread came to such a moment in this time; all of them run on. */
int moment_find(const struct target *t, const struct code *code, struct stack_walker *walker,
                uint64_t until_ns, struct moment *ret, struct err *reterr);

/* Lets a thread go that was stopped for something else, or asked to: a call that ended only for that is made again. */
void moment_release(const struct target *t, struct tracee *thread);
