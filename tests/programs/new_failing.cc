// SPDX-License-Identifier: MIT
// operator new that fails: by exception, by NULL, and after its handler helped.
//
//   10 times new(2^62), which throws bad_alloc: 10 failed. The exception object is a block of
//     libstdc++'s, 8 bytes and a header of 128, allocated when thrown and freed when caught, with
//     nothing in between: allocations +10, frees +10, bytes +1,360, temporary +10
//   10 times new(2^62, nothrow): 10 failed. libstdc++ makes it from the one above and throws and
//     catches inside: these exceptions live and die within a call that changes nothing, and need
//     not be seen: +0 to +10 of 136 bytes each
//   new(2^62) with a new_handler that gives up when called the third time by throwing an int (132
//     bytes): 1 failed; +1, +1, +132, +1
//   new(1 GiB) under a limit of address space, with a handler that lifts it when called the second
//     time: the call returns a block in the end: 1 allocation and no failure; freed: temporary
//   The last one is the peak: +2^30 in +1; nothing is left.
#include "truth.h"
#include <new>
#include <sys/resource.h>

static int n_called;
static rlimit unlimited;

static void give_up() {
        if (++n_called == 3)
                throw 7;
}

static void lift_limit() {
        if (++n_called == 2)
                MUST(setrlimit(RLIMIT_AS, &unlimited) == 0);
}

int main(int argc, char **argv) {
        volatile size_t huge = (size_t)1 << 62;
        void *volatile got = nullptr;
        int n_caught = 0;

        if (truth_baseline(argc, argv))
                return 0;
        for (int i = 0; i < 10; i++)
                try {
                        got = ::operator new(huge);
                } catch (const std::bad_alloc &) {
                        n_caught++;
                }
        for (int i = 0; i < 10; i++)
                MUST(!::operator new(huge, std::nothrow));
        std::set_new_handler(give_up);
        try {
                got = ::operator new(huge);
        } catch (int value) {
                n_caught += value;
        }
        MUST(n_caught == 17 && !got);

        n_called = 0;
        MUST(getrlimit(RLIMIT_AS, &unlimited) == 0);
        rlimit tight = unlimited;
        tight.rlim_cur = 64 << 20;
        std::set_new_handler(lift_limit);
        MUST(setrlimit(RLIMIT_AS, &tight) == 0);
        void *block = ::operator new((size_t)1 << 30);
        MUST(block && n_called == 2);
        ::operator delete(block);
        return 0;
}
