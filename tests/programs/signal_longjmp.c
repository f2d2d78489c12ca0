/* SPDX-License-Identifier: MIT */
/* A timer's handler leaves malloc, realloc and free by siglongjmp at any instruction, as often as
 * 600,000 rounds let it, at most 2,000 times; what it left never ends. The allocator is bump_lib.c,
 * which can be left anywhere and reuses no address.
 *
 * main: rounds of malloc(40), through one of 64 chains of calls so that stacks change, a realloc to
 * 48 in every eighth, and free. n_allocs, n_reallocs and n_frees count the calls that returned. A
 * jump leaves at most one call, which may have been recorded or not: each figure is at least what
 * returned and at most that and the jumps. A left realloc was recorded by half at most, and changes
 * nothing then. Every second handler allocates 24 bytes first, and keeps them: n_handler.
 * Blocks left over: at most one per jump, and the handler's.
 *
 * When the timer has stopped everything is exact again: 1,000 times malloc(1000) and free, each
 * temporary. */
#include "truth.h"
#include <setjmp.h>
#include <signal.h>
#include <sys/time.h>

enum { JUMPS = 2000, ROUNDS_MAX = 600000, CHAINS = 64 };

static sigjmp_buf back;
static volatile sig_atomic_t is_armed;
static volatile unsigned long n_jumps, n_handler, n_allocs, n_reallocs, n_frees;
static volatile unsigned long n_rounds;

static void on_alarm(int sig) {
        (void)sig;
        if (!is_armed)
                return;
        is_armed = 0;
        if (n_jumps++ % 2) {
                MUST(malloc(24));
                n_handler++;
        }
        siglongjmp(back, 1);
}

__attribute__((noinline)) static void *down(unsigned chain, unsigned levels) {
        void *block;

        if (levels == 0)
                block = malloc(40);
        else if (chain & 1)
                block = down(chain >> 1, levels - 1);
        else
                block = down(chain >> 1, levels - 1);
        __asm__ volatile("" : "+r"(block)); /* no tail call */
        return block;
}

static void work(void) {
        while (n_jumps < JUMPS && n_rounds < ROUNDS_MAX) {
                unsigned long round = n_rounds++;
                void *block = down((unsigned)(round % CHAINS), 6), *moved;

                MUST(block);
                n_allocs++;
                if (round % 8 == 0) {
                        moved = realloc(block, 48);
                        MUST(moved);
                        block = moved;
                        n_reallocs++;
                }
                free(block);
                n_frees++;
        }
}

int main(void) {
        struct sigaction action = {.sa_handler = on_alarm, .sa_flags = SA_NODEFER};
        struct itimerval every = {{0, 100}, {0, 100}}, never = {{0, 0}, {0, 0}};

        MUST(sigaction(SIGALRM, &action, NULL) == 0 && setitimer(ITIMER_REAL, &every, NULL) == 0);
        while (n_jumps < JUMPS && n_rounds < ROUNDS_MAX) {
                if (sigsetjmp(back, 1))
                        continue;
                is_armed = 1;
                work();
                is_armed = 0;
        }
        is_armed = 0;
        MUST(setitimer(ITIMER_REAL, &never, NULL) == 0);
        for (int i = 0; i < 1000; i++) {
                void *volatile block = malloc(1000);

                MUST(block);
                free(block);
        }
        truth_say("jumps", n_jumps);
        truth_say("handler", n_handler);
        truth_say("allocs", n_allocs);
        truth_say("reallocs", n_reallocs);
        truth_say("frees", n_frees);
        return 0;
}
