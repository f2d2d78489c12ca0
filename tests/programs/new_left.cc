// SPDX-License-Identifier: MIT
// An operator new of the program's own that is left by longjmp, with a block that it got for nobody.
//
//   100 times new(24), which gets 24 bytes from malloc through a function of its own and jumps away; main, whose frame lies above,
//     releases the block: 100 allocations, 100 frees, 2,400 bytes, all temporary, one at a time
//   20 times the same, and nobody releases the block: 20 allocations, 480 bytes, which stay
//   one block of 10 bytes comes and goes in a function whose frame lies below: that nothing is being made any more can be told there
#include "truth.h"
#include <csetjmp>
#include <new>

static jmp_buf away;
static void *volatile kept;

__attribute__((noinline)) static void *get(size_t n_bytes) {
        kept = malloc(n_bytes);
        longjmp(away, 1);
}

__attribute__((noinline)) void *operator new(size_t n_bytes) {
        void *block = get(n_bytes);

        __asm__ volatile("" ::: "memory");
        return block;
}

void operator delete(void *block) noexcept {
        free(block);
}

void operator delete(void *block, size_t) noexcept {
        free(block);
}

__attribute__((noinline)) static void go_below() {
        volatile char room[4096];

        room[0] = 0;
        kept = malloc(10);
        free(kept);
        __asm__ volatile("" : : "r"(room) : "memory");
}

int main(int argc, char **argv) {
        if (truth_baseline(argc, argv))
                return 0;
        for (volatile int i = 0; i < 120; i++) {
                if (!setjmp(away))
                        kept = ::operator new(24);
                if (i < 100)
                        free(kept);
        }
        go_below();
        return 0;
}
