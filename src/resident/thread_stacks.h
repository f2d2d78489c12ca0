/* SPDX-License-Identifier: MIT */
/* Where the threads of a process have their stacks: each one's stack pointer, as far as the kernel tells it. A thread that runs at this moment has none to tell.
 * Nothing is stopped. */
#pragma once

#include <stdint.h>
#include <sys/types.h>

#include "base/vec.h"

enum { THREAD_STACKS_MAX = 65536 };

struct thread_stack {
        uint32_t tid;
        uint64_t sp; /* 0: not known */
};

struct thread_stacks {
        VEC(struct thread_stack) list; /* by sp */
        uint64_t stack_bytes;          /* what a thread is given by default; 0 unknown */
};

void thread_stacks_read(struct thread_stacks *s, const char *proc_root, pid_t pid);
void thread_stacks_done(struct thread_stacks *s);

/* The thread whose stack pointer is in [begin, end), the lowest; NULL: none. */
const struct thread_stack *thread_stacks_in(const struct thread_stacks *s, uint64_t begin,
                                            uint64_t end);
