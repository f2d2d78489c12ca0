/* SPDX-License-Identifier: MIT */
/* Libraries opened with RTLD_DEEPBIND look for malloc in what they need themselves before they ask the program's scope, so that
 * nothing they call passes a preloaded library; neither does what dlsym says of a handle, nor __libc_malloc.
 *
 * The last argument is a library in C, the one before it one in C++, which brings the C++ library along. What the loader, the threads
 * and the C++ library allocate for themselves is the same in the baseline. More than that:
 *
 *   work() of the C library, a call:                8 allocations of 354 bytes, 8 frees, 1 reallocation
 *   work() of the C++ library, a call:              6 allocations of 238 bytes, 6 frees
 *   each open and close of the C library            3 allocations of 30 bytes, 3 frees
 *   give_block() of either                          1 allocation of 7 bytes, which stays
 *
 *   20 rounds: open, C work, give_block, nested C++ work and give_block, close
 *                                                   20 * 19 = 380, 20 * (30 + 354 + 7 + 238 + 7) = 12,720 bytes; 340 frees
 *   opened for good: 3 of 30 bytes, in the destructor they go at exit; and 4 threads with 250 times both kinds of work
 *                                                   3 + 4 * 250 * 14 = 14,003, 30 + 1,000 * 592 = 592,030 bytes; 14,003 frees
 *   5 of 11 bytes by dlsym and 5 of 13 by __libc_malloc
 *                                                   10, 120 bytes; 10 frees
 *
 *   allocations +14,393   frees +14,353   reallocations +1,020   bytes +604,870   end +280 in +40 */
#include "truth.h"
#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>

void *__libc_malloc(size_t size_bytes);

int is_baseline;
static void (*work_c)(void), (*work_cxx)(void);

static void *open_deep(const char *path) {
        void *library = dlopen(path, RTLD_LAZY | RTLD_LOCAL | RTLD_DEEPBIND);

        MUST(library);
        return library;
}

static void *find(void *library, const char *name) {
        void *found = dlsym(library, name);

        MUST(found);
        return found;
}

static void *run(void *unused) {
        for (int i = 0; i < 250 && !is_baseline; i++) {
                work_c();
                work_cxx();
        }
        return unused;
}

static void open_and_close(const char *path, const char *path_cxx) {
        void *library = open_deep(path);
        void (*work)(void) = (void (*)(void))find(library, "work");
        void *(*give_block)(void) = (void *(*)(void))find(library, "give_block");
        void (*nest)(const char *) = (void (*)(const char *))find(library, "nest");

        if (!is_baseline) {
                work();
                MUST(give_block());
        }
        nest(path_cxx);
        MUST(dlclose(library) == 0);
}

static void call_past_all(void) {
        void *libc = dlopen("libc.so.6", RTLD_LAZY | RTLD_NOLOAD);
        void *(*take)(size_t) = (void *(*)(size_t))find(libc, "malloc");
        void (*give)(void *) = (void (*)(void *))find(libc, "free");

        for (int i = 0; i < 5 && !is_baseline; i++) {
                void *one = take(11), *other = __libc_malloc(13);

                MUST(one && other);
                give(one);
                free(other);
        }
}

int main(int argc, char **argv) {
        pthread_t threads[4];
        void *library, *library_cxx;

        MUST(argc > 2);
        is_baseline = truth_baseline(argc, argv);
        library_cxx = open_deep(argv[argc - 2]); /* the C++ library stays */
        for (int i = 0; i < 20; i++)
                open_and_close(argv[argc - 1], argv[argc - 2]);
        library = open_deep(argv[argc - 1]);
        work_c = (void (*)(void))find(library, "work");
        work_cxx = (void (*)(void))find(library_cxx, "work");
        for (int i = 0; i < 4; i++)
                MUST(pthread_create(&threads[i], NULL, run, NULL) == 0);
        for (int i = 0; i < 4; i++)
                MUST(pthread_join(threads[i], NULL) == 0);
        call_past_all();
        return 0;
}
