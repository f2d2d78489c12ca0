/* SPDX-License-Identifier: MIT */
/* Coroutines by makecontext: stacks from malloc and from mmap, allocations on each, switched round
 * robin.
 *
 * 10 coroutines, the even ones with a malloc'ed stack of 64 KiB (5 allocations of 65,536), the odd
 * ones mapped. Each 50 times: p = malloc(20 + its number), yields, frees p after all the others had
 * their turn (so not temporary, but for the very last one, after which nothing is allocated: 1).
 * Per coroutine 50 allocations and frees of 20 + number: 50 * (200 + 45) = 12,250 bytes in all.
 * Afterwards the 5 stacks are freed (the last allocation was a coroutine's: not temporary).
 *   allocations 505   frees 505   bytes 327,680 + 12,250   temporary 1
 * Peak: all ten wait with a block: 327,680 + 245 in 15 blocks; a coroutine frees its old one before
 * it takes the next. */
#include "truth.h"
#include <sys/mman.h>
#include <ucontext.h>

#define N 10
static ucontext_t home, routine[N];

static void run(int number) {
        for (int i = 0; i < 50; i++) {
                void *p = malloc(20 + number);
                MUST(swapcontext(&routine[number], &home) == 0);
                free(p);
        }
}

int main(void) {
        size_t stack_bytes = 64 << 10;

        for (volatile int i = 0; i < N; i++) {
                MUST(getcontext(&routine[i]) == 0);
                routine[i].uc_stack.ss_size = stack_bytes;
                routine[i].uc_stack.ss_sp =
                        i % 2 == 0 ? malloc(stack_bytes)
                                   : mmap(NULL, stack_bytes, PROT_READ | PROT_WRITE,
                                          MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
                routine[i].uc_link = &home;
                makecontext(&routine[i], (void (*)(void))run, 1, i);
        }
        for (int round = 0; round < 51; round++)
                for (int i = 0; i < N; i++)
                        MUST(swapcontext(&home, &routine[i]) == 0);
        for (int i = 0; i < N; i += 2)
                free(routine[i].uc_stack.ss_sp);
        return 0;
}
