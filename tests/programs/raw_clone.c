/* SPDX-License-Identifier: MIT */
/* Processes made without libc's fork: raw clone, clone3 and _Fork run no fork handlers; clone with
 * CLONE_VM shares the memory.
 *
 * Parent: 4 blocks of 100 first. Three children by clone, clone3 and _Fork: each frees 2 inherited
 * ones, allocates one of 40 and frees it (temporary), allocates 7 and ends.
 *   each: inherits 400 in 4; allocations 2, frees 3, bytes 47, temporary 1, peak 400 in 4, end 207
 *   in 3
 * A fourth by clone(CLONE_VM | CLONE_VFORK) on a mapped stack allocates 60 and ends: it is the
 * parent's memory, so
 * the parent's block: the parent frees it.   parent: allocations 5, frees 1, bytes 460, peak 460 in
 * 5, end 400 in 4 The 60 were allocated by the parent's thread as far as anyone can tell, and
 * nothing since: temporary, 1. */
#include "truth.h"
#include <linux/sched.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>

static void *block[4], *volatile shared;

static void run_child(void) {
        free(block[0]);
        free(block[1]);
        free(malloc(40));
        MUST(malloc(7));
        syscall(SYS_exit_group, 6);
}

static int run_shared(void *unused) {
        (void)unused;
        shared = malloc(60);
        syscall(SYS_exit, 6);
        return 0;
}

static void await(const char *name, pid_t child) {
        int status;

        MUST(child > 0 && waitpid(child, &status, __WALL) == child && WIFEXITED(status) &&
             WEXITSTATUS(status) == 6);
        truth_say(name, child);
}

int main(void) {
        struct clone_args args = {.exit_signal = SIGCHLD};
        size_t stack_bytes = 256 << 10;
        pid_t child;

        for (int i = 0; i < 4; i++)
                MUST(block[i] = malloc(100));
        child = (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
        if (child == 0)
                run_child();
        await("by_clone", child);
        child = (pid_t)syscall(SYS_clone3, &args, sizeof(args));
        if (child == 0)
                run_child();
        await("by_clone3", child);
        child = _Fork();
        if (child == 0)
                run_child();
        await("by_Fork", child);
        char *stack =
                mmap(NULL, stack_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        MUST(stack != MAP_FAILED);
        await("by_vm",
              clone(run_shared, stack + stack_bytes, CLONE_VM | CLONE_VFORK | SIGCHLD, NULL));
        MUST(shared);
        free(shared);
        return 0;
}
