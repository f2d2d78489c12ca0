// SPDX-License-Identifier: MIT
// Exceptions thrown through many frames with owners in them; the remembered stacks of the frames
// that were left must not be believed.
//
// An exception object is a block of libstdc++'s: a header of 128 bytes and the object.
//   1,000 rounds: go down round % 30 + 1 levels, each owning a block of 25 bytes by a destructor;
//   the deepest throws an int (132 bytes); the destructors free on the way up; caught in main.
//     levels: 33 whole thirties of 465 = 15,345, and rounds 990..999 have 1..10 = 55: 15,400 blocks
//     of 25
//     allocations +16,400   frees +16,400   bytes +385,000 + 132,000
//     temporary: the exception object is the last allocation and is freed at the end of the
//     handler: +1,000; the blocks are freed while it is the last: none.
//   100 rounds of a Big of 1,000 bytes (1,128), caught, rethrown by `throw;` through another level
//   that owns a block of 10 allocated before, caught again: one object, one block.
//     allocations +200   frees +200   bytes +113,800   temporary +100 (the Big; the block of 10 is
//     older)
//   A kept exception_ptr: made by throwing a long in a function (136), kept: +1 allocation, stays.
//   Peak: 10 + 1,128 in 2, or 30 * 25 + 132 = 882 in 31: +1,138 in +2. End +136 in +1.
#include "truth.h"
#include <exception>

struct Owner {
        void *block;
        explicit Owner(size_t size) : block(malloc(size)) {}
        ~Owner() {
                free(block);
        }
};
struct Big {
        char bytes[1000];
};

__attribute__((noinline)) static int down(int levels) {
        Owner owner(25);

        if (levels == 1)
                throw levels;
        int below = down(levels - 1);
        __asm__ volatile("" : : "r"(owner.block));
        return below + 1;
}

__attribute__((noinline)) static void throw_big() {
        throw Big{};
}

__attribute__((noinline)) static void pass_on() {
        Owner owner(10);

        try {
                throw_big();
        } catch (const Big &) {
                throw;
        }
}

int main(int argc, char **argv) {
        static std::exception_ptr kept;
        int n_caught = 0;

        if (truth_baseline(argc, argv))
                return 0;
        for (int round = 0; round < 1000; round++)
                try {
                        down(round % 30 + 1);
                } catch (int value) {
                        n_caught += value;
                }
        for (int round = 0; round < 100; round++)
                try {
                        pass_on();
                } catch (const Big &) {
                        n_caught++;
                }
        MUST(n_caught == 1100);
        try {
                throw 5L;
        } catch (long) {
                kept = std::current_exception();
        }
        _exit(0); // without kept's destructor
}
