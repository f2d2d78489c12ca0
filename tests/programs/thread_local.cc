// SPDX-License-Identifier: MIT
// C++ thread_local objects whose destructors free and allocate when their thread ends; main's run
// in exit.
//
// Registering such an object takes calloc(1, 32) from libc, freed when its destructor has run.
// std::thread takes a block of 16 bytes for its state, allocated by the creator and freed in the
// thread when its function has returned, before the destructors.
//   Per thread, of 20 one after the other: A and B allocate 100 each when constructed, and are
//   registered: 100, 32, 100, 32. At the end each frees its 100, allocates 5, frees that
//   (temporary), and its record is freed.
//   allocations 2 + 2 + 2 + 1 = 7   frees 7   bytes 200 + 64 + 10 + 16 = 290   temporary 2
//   One TLS table of D bytes stays: one stack is reused.
//   main has A and B as well, constructed first and destroyed in exit: 6 allocations, 274 bytes, 2
//   temporary, all freed.
//   allocations 20 * 7 + 1 + 6 = 147   frees 146   bytes 5,800 + 274 + D   temporary 42   end D in
//   1
// Peak: main's 264 in 4, the thread's 264 in 4, its state and its table: 544 + D in 10.
#include "truth.h"
#include <thread>

struct Tracked {
        void *block = malloc(100);
        ~Tracked() {
                free(block);
                free(malloc(5));
        }
};
static thread_local Tracked a;
static thread_local Tracked b;

__attribute__((noinline)) static void touch() {
        MUST(a.block && b.block);
}

int main(int argc, char **argv) {
        if (truth_baseline(argc, argv))
                return 0;
        touch();
        for (int i = 0; i < 20; i++) {
                std::thread thread(touch);
                thread.join();
        }
        truth_say("dtv", truth_dtv_bytes());
        return 0;
}
