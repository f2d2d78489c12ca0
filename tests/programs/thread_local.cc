// SPDX-License-Identifier: MIT
// C++ thread_local objects whose destructors free and allocate when their thread ends; main's run in exit.
//
// Registering such an object takes calloc(1, 32) from libc, freed when its destructor has run.
// A thread of std::thread takes a block of 16 bytes for its state, allocated by the creator and freed in the thread.
// Per thread, of 20 one after the other: touch A and B: each is registered (32) and allocates 100 in its constructor.
// At the end: B's destructor frees its 100 and allocates 5, frees that (temporary); its record is freed; the same for
// A.  libstdc++ runs constructor first, then registers: order 100(A) 32(A) 100(B) 32(B); B: free 100, [5], free 32;
// A: free 100, [5], free 32.
//   allocations 2 + 2 + 2 + 1 (state) = 7   frees 7   bytes 200 + 64 + 10 + 16 = 290   temporary 2
// One TLS table of D bytes, not freed: one stack is reused.
// main touches A and B as well: 6 allocations, 274 bytes, temporary 2, all freed in exit.
//   allocations 20 * 7 + 1 + 6 = 147   frees 146   bytes 5,800 + 274 + D   temporary 42   end D in 1
// Peak: main touches first: 264 in 4, then in each thread: + D + 264 in 4 (the state is gone when the thread's function
// has begun to run): D + 528 in 9; before it: 264 + D + 16. The state is freed at the thread's very end by
// libstdc++ (the unique_ptr lives around the run): so D + 528 + 16 in 10. Destructors run after that.
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
