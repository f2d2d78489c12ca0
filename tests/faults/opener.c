/* SPDX-License-Identifier: MIT */
/* Opens and closes libraries: `opener ROUNDS LIBRARY...`. In each round one of them is opened, at
 * one of 16 addresses in turn, makes 3 blocks of 20 bytes in lib_take, releases them, and is closed.
 * What the loader allocates comes on top. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#define MUST(x)                                                                                    \
        do {                                                                                       \
                if (!(x))                                                                          \
                        _exit(98);                                                                 \
        } while (0)

int main(int argc, char **argv) {
        long n_rounds = argc > 2 ? atol(argv[1]) : 0;

        for (long i = 0; i < n_rounds; i++) {
                size_t gap_bytes = (size_t)(i % 16 + 1) << 16;
                void *gap = mmap(NULL, gap_bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
                void *library = dlopen(argv[2 + i % (argc - 2)], RTLD_NOW | RTLD_LOCAL);
                void (*take)(void **), (*drop)(void **);
                void *blocks[3];

                MUST(gap != MAP_FAILED && library);
                take = (void (*)(void **))dlsym(library, "lib_take");
                drop = (void (*)(void **))dlsym(library, "lib_drop");
                MUST(take && drop);
                take(blocks);
                drop(blocks);
                MUST(dlclose(library) == 0 && munmap(gap, gap_bytes) == 0);
        }
        return n_rounds > 0 ? 0 : 99;
}
