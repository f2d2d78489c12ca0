/* SPDX-License-Identifier: MIT */
/* longjmp out of deep calls: the blocks of the frames that were left stay, and the next stacks are
 * right.
 *
 * 1,000 rounds: go down 1..20 levels (round % 20 + 1), each level allocates 10 bytes and puts it on
 * a list, the deepest jumps back to main, which frees the whole list, last first: that one is
 * temporary. Levels: each 20 rounds have 1 + .. + 20 = 210: 1,000 rounds have 10,500.
 *   allocations 10,500   frees 10,500   bytes 105,000   temporary 1,000   peak 200 in 20
 * Then siglongjmp out of a handler that allocated 33 bytes: +10 allocations, kept: 330 bytes.
 * One site per depth: 20, and the handler's one: 21. */
#include "truth.h"
#include <setjmp.h>
#include <signal.h>

static jmp_buf back;
static sigjmp_buf sig_back;
static void **volatile list;

__attribute__((noinline)) static void down(int levels) {
        void **block = malloc(10);

        *block = list;
        list = block;
        if (levels == 1)
                longjmp(back, 1);
        if (levels > 1)
                down(levels - 1);
        __asm__ volatile(""); /* no tail call */
}

static void on_signal(int sig) {
        (void)sig;
        MUST(malloc(33));
        siglongjmp(sig_back, 1);
}

int main(void) {
        struct sigaction action = {.sa_handler = on_signal};

        for (volatile int round = 0; round < 1000; round++) {
                list = NULL;
                if (!setjmp(back))
                        down(round % 20 + 1);
                while (list) {
                        void **next = *list;
                        free(list);
                        list = next;
                }
        }
        MUST(sigaction(SIGUSR1, &action, NULL) == 0);
        for (volatile int i = 0; i < 10; i++)
                if (!sigsetjmp(sig_back, 1))
                        raise(SIGUSR1);
        return 0;
}
