/* SPDX-License-Identifier: MIT */
/* reopen LIBRARY TIMES: opens a library with an allocator in it, uses it and closes it; each time at an address where it was not
 * before, and every tenth time at the same one again. Prints at how many addresses that was. */
#include <dlfcn.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

enum { PAGE_BYTES = 4096 };

static size_t n_addresses;

static int use(const char *path, uintptr_t *ret_base) {
        void *library = dlopen(path, RTLD_NOW);
        void *(*take)(size_t n) =
                library ? (void *(*)(size_t))dlsym(library, "stand_malloc") : NULL;
        void (*give)(void *p) = library ? (void (*)(void *))dlsym(library, "stand_free") : NULL;
        struct link_map *m = library;

        if (!take || !give)
                return 3;
        *ret_base = m->l_addr;
        for (int i = 0; i < 10; i++) {
                void *p = take(100);

                if (!p)
                        return 4;
                if (i < 9)
                        give(p);
        }
        return dlclose(library) == 0 ? 0 : 5;
}

int main(int argc, char **argv) {
        uintptr_t base = 0, before = 0;
        void *plug = NULL;

        for (int i = 0; argc > 2 && i < atoi(argv[2]); i++) {
                int r;

                /* something lies where it was */
                if (i % 10 != 9 && base) {
                        if (plug)
                                munmap(plug, PAGE_BYTES);
                        plug = mmap((void *)base, PAGE_BYTES, PROT_NONE,
                                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
                }
                r = use(argv[1], &base);
                if (r)
                        return r;
                n_addresses += base != before;
                before = base;
        }
        printf("%zu\n", n_addresses);
        return 0;
}
