/* SPDX-License-Identifier: MIT */
/* The library in C++ that deepbind opens; see there. */
#include <cstdlib>
#include <new>

extern "C" __attribute__((noinline)) void work(void) {
        void *block = ::operator new(4);

        ::operator delete(block);
        block = ::operator new[](0), ::operator delete[](block);
        block = ::operator new(100, std::align_val_t(64)),
        ::operator delete(block, std::align_val_t(64));
        block = ::operator new(30, std::nothrow), ::operator delete(block, std::nothrow);
        block = ::operator new[](4), ::operator delete[](block, 4ul);
        block = std::malloc(100), std::free(block);
}

extern "C" void *give_block(void) {
        return ::operator new(7);
}
