/* SPDX-License-Identifier: MIT */
/* The copy of a process, for whoever traces it: made by a system call that one of its threads makes, killed, and collected by another. Inside attach/ only. */
#pragma once

#include <stdint.h>
#include <sys/types.h>

#include "attach/caller.h"
#include "attach/standstill.h"
#include "attach/target.h"
#include "attach/tracee.h"
#include "base/err.h"

struct frozen_copy {
        struct target *target;
        struct caller_code code;
        struct tracee copy; /* stopped before its first instruction; tid 0: there is none */
        pid_t inner_pid;    /* as the process itself sees it */
        uint64_t moment_ns, moment_counter, pause_ns;
};

/* What is to be done while no thread runs: before the copy is made, when all registers are what they were; and once it is made. */
struct frozen_copy_steps {
        int (*look)(void *ctx, const struct standstill *s); /* 0 or -errno */
        void (*at_moment)(void *ctx, const struct frozen_copy *c);
        void *ctx;
};

/* c has its target and code. -errno: there is no copy, and the process runs on. */
int frozen_copy_make(struct frozen_copy *c, const struct frozen_copy_steps *steps,
                     struct err *reterr);

/* It is dead, and not traced any more. */
void frozen_copy_kill(struct frozen_copy *c);

/* The process takes its status. 0; -errno: it stays a zombie. */
int frozen_copy_collect(struct frozen_copy *c, struct err *reterr);
