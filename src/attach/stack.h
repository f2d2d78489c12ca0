/* SPDX-License-Identifier: MIT */
/* Walks the stack of a stopped thread by the unwind tables of the files it has mapped. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "attach/machine.h"
#include "attach/target.h"
#include "base/err.h"

struct stack_walker;

/* Reads the list of mapped files; their tables when they are met. */
int stack_walker_new(const struct target *t, struct stack_walker **ret, struct err *reterr);
void stack_walker_free(struct stack_walker *w);

/* From the inside out: the address of an instruction of each frame, the calling one of outer frames. is_interrupted: a signal came there.
 * False ends the walk. */
typedef bool (*stack_visit)(void *ctx, uint64_t addr, bool is_innermost, bool is_interrupted);

/* True when it came to the end of the stack. */
bool stack_walk(struct stack_walker *w, pid_t tid, const struct machine_state *s, stack_visit visit,
                void *ctx);
