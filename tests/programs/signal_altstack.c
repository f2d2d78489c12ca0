/* SPDX-License-Identifier: MIT */
/* Handlers on an alternate stack of the smallest size the system calls sufficient, on top of a
 * stack that ran over: the classic handler for stack overflow, which allocates its report. The
 * runtime must fit there.
 *
 * A recursion overflows a 64 KiB coroutine stack; SIGSEGV arrives on the alternate stack, its
 * handler allocates 500 bytes and jumps out. 20 times. Before each overflow the recursion allocated
 * 5 blocks of 30 bytes (lost).
 *   allocations 20 * 6   bytes 20 * (500 + 150)   nothing freed; peak = end = 13,000 in 120
 * Stacks and the alternate stack are mapped, not allocated. */
#include "truth.h"
#include <setjmp.h>
#include <signal.h>
#include <sys/mman.h>
#include <ucontext.h>

static sigjmp_buf escape;
static ucontext_t home, deep;
static volatile int depth_reached, endless = 1 << 30;

static void on_overflow(int sig) {
        (void)sig;
        MUST(malloc(500));
        siglongjmp(escape, 1);
}

__attribute__((noinline)) static int recurse(int depth) {
        volatile char frame[256];

        frame[0] = (char)depth;
        if (depth < 5)
                MUST(malloc(30));
        depth_reached = depth;
        return depth == endless ? 0 : recurse(depth + 1) + frame[0];
}

static void run_over(void) {
        if (!sigsetjmp(escape, 1))
                recurse(0);
}

int main(void) {
        long alt_bytes = sysconf(_SC_SIGSTKSZ);
        char *region = mmap(NULL, 128 << 10, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        stack_t alt = {.ss_size = (size_t)alt_bytes};
        struct sigaction action = {.sa_handler = on_overflow, .sa_flags = SA_ONSTACK};

        alt.ss_sp =
                mmap(NULL, alt.ss_size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        MUST(region != MAP_FAILED && alt.ss_sp != MAP_FAILED);
        MUST(mprotect(region + (64 << 10), 64 << 10, PROT_READ | PROT_WRITE) == 0);
        MUST(sigaltstack(&alt, NULL) == 0 && sigaction(SIGSEGV, &action, NULL) == 0);
        for (int i = 0; i < 20; i++) {
                MUST(getcontext(&deep) == 0);
                deep.uc_stack.ss_sp = region + (64 << 10);
                deep.uc_stack.ss_size = 64 << 10;
                deep.uc_link = &home;
                makecontext(&deep, run_over, 0);
                MUST(swapcontext(&home, &deep) == 0);
                MUST(depth_reached > 100);
        }
        return 0;
}
