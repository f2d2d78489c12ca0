// SPDX-License-Identifier: MIT
// Every form of operator new and delete. Sizes are those given to operator new: 0 stays 0 although
// the library asks malloc for 1, and an aligned size stays what it was although the library rounds
// it up. libstdc++'s own block (the emergency pool for exceptions) is in the baseline.
//
// Each released at once, by the form named, so each is temporary:
//   new/delete, new/sized delete, new[]/delete[], new[]/sized delete[]    4: 10 + 11 + 12 + 13 = 46
//   new(nothrow)/delete(nothrow), the same for arrays                     2: 14 + 15 = 29
//   aligned to 64, sizes no multiples of it: new/delete, new/sized,
//     new[]/delete[], new[]/sized[], nothrow, nothrow[]                   6: 100 + .. + 105 = 615
//   new(0), delete                                                        1: 0
//   new T of 20 bytes; new T[3] with a destructor: a cookie of 8 and 60   2: 20 + 68 = 88
//   a class with its own operator new that calls malloc(size + 1)         1: 33, as asked of malloc
//   placement new                                                         nothing
// Kept: new(50), new[](60), new(70, align 128)                            3: 180
//   allocations +4 + 2 + 6 + 1 + 2 + 1 + 3 = +19   frees +16   temporary +16
//   bytes +46 + 29 + 615 + 0 + 88 + 33 + 180 = +991   end +180 in +3
// The three are allocated first, so the peak is with the largest of the others: +180 + 105 in +4.
//
// A last argument `wrong_size` releases 5 more blocks of 40 bytes by sized deletes that name
// another size: allocations +5, frees +5, temporary +5, and nothing else may change.
#include "truth.h"
#include <new>

struct Plain {
        char bytes[20];
};
struct WithDestructor {
        char bytes[20];
        ~WithDestructor() {
                __asm__ volatile("" : : "r"(this));
        }
};
struct OwnNew {
        char bytes[32];
        static void *operator new(size_t size) {
                return malloc(size + 1);
        }
        static void operator delete(void *block) {
                free(block);
        }
};

static void every_form() {
        using std::align_val_t;
        using std::nothrow;
        constexpr align_val_t wide{64};

        ::operator delete(::operator new(10));
        ::operator delete(::operator new(11), (size_t)11);
        ::operator delete[](::operator new[](12));
        ::operator delete[](::operator new[](13), (size_t)13);
        ::operator delete(::operator new(14, nothrow), nothrow);
        ::operator delete[](::operator new[](15, nothrow), nothrow);
        ::operator delete(::operator new(100, wide), wide);
        ::operator delete(::operator new(101, wide), (size_t)101, wide);
        ::operator delete[](::operator new[](102, wide), wide);
        ::operator delete[](::operator new[](103, wide), (size_t)103, wide);
        ::operator delete(::operator new(104, wide, nothrow), wide, nothrow);
        ::operator delete[](::operator new[](105, wide, nothrow), wide, nothrow);
        ::operator delete(::operator new(0));
        delete new Plain;
        delete[] new WithDestructor[3];
        delete new OwnNew;
        alignas(Plain) char room[sizeof(Plain)];
        Plain *placed = new (room) Plain;
        __asm__ volatile("" : : "r"(placed));
}

static void wrong_sizes() {
        ::operator delete(::operator new(40), (size_t)1);
        ::operator delete(::operator new(40), (size_t)41);
        ::operator delete[](::operator new[](40), (size_t)0);
        ::operator delete[](::operator new[](40), (size_t)400);
        ::operator delete (::operator new (40, std::align_val_t{64}), (size_t)64,
                           std::align_val_t{64});
}

int main(int argc, char **argv) {
        if (truth_baseline(argc, argv))
                return 0;
        MUST(::operator new(50) && ::operator new[](60) &&
             ::operator new (70, std::align_val_t{128}));
        every_form();
        if (strcmp(argv[argc - 1], "wrong_size") == 0)
                wrong_sizes();
        return 0;
}
