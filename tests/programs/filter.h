/* SPDX-License-Identifier: MIT */
/* For programs that forbid themselves system calls: a seccomp filter, written as a list of what is allowed.
 *   static struct sock_filter calls[] = {FILTER_BEGIN, FILTER_MALLOCS_CALLS, FILTER_ALLOW(clone), FILTER_END};
 *   filter_apply(calls, sizeof(calls)); */
#pragma once

#include "truth.h"
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#define FILTER_BEGIN BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr))

#define FILTER_ALLOW(name)                                                                         \
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_##name, 0, 1),                                     \
                BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)

/* Those that malloc makes by itself, and what it takes to tell something and to end. */
#define FILTER_MALLOCS_CALLS                                                                       \
        FILTER_ALLOW(brk), FILTER_ALLOW(mmap), FILTER_ALLOW(munmap), FILTER_ALLOW(mremap),         \
                FILTER_ALLOW(madvise), FILTER_ALLOW(mprotect), FILTER_ALLOW(futex),                \
                FILTER_ALLOW(write), FILTER_ALLOW(exit_group)

/* Any other call kills. */
#define FILTER_END BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS)

static inline void filter_apply(struct sock_filter *calls, size_t size_bytes) {
        struct sock_fprog program = {(unsigned short)(size_bytes / sizeof(calls[0])), calls};

        MUST(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
        MUST(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0);
}
