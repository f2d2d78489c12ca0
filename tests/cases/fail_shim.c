/* SPDX-License-Identifier: MIT */
/* Makes one allocation fail, without silt: what a program does then is compared with what it does under silt. Counts the calls of the
 * allocation functions from the moment at which the program's own code is entered. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

static _Atomic long n_calls;
static atomic_int has_started;
static long nth;
static __thread int inside;
static char early[65536];
static size_t n_early;

#define NEXT(name) ((__typeof__(&name))next_of(#name))

static void *next_of(const char *name) {
        static struct {
                const char *name;
                void *fn;
        } known[16];

        for (int i = 0; i < 16; i++) {
                if (known[i].name == name)
                        return known[i].fn;
                if (!known[i].name) {
                        inside++;
                        known[i].fn = dlsym(RTLD_NEXT, name);
                        inside--;
                        known[i].name = name;
                        return known[i].fn;
                }
        }
        abort();
}

static int is_chosen(void) {
        if (!has_started || inside)
                return 0;
        if (atomic_fetch_add(&n_calls, 1) + 1 != nth)
                return 0;
        errno = ENOMEM;
        return 1;
}

/* dlsym itself may want some. */
static void *early_block(size_t n) {
        char *p = early + n_early;

        n_early += (n + 31) & ~(size_t)15;
        return n_early <= sizeof(early) ? p : NULL;
}

static int is_early(void *p) {
        return (uintptr_t)p - (uintptr_t)early < sizeof(early);
}

void *malloc(size_t n) {
        if (inside == 1 && !has_started)
                return early_block(n);
        return is_chosen() ? NULL : NEXT(malloc)(n);
}

void *calloc(size_t a, size_t b) {
        if (inside == 1 && !has_started)
                return early_block(a * b);
        return is_chosen() ? NULL : NEXT(calloc)(a, b);
}

void *realloc(void *p, size_t n) {
        if ((!p || n) && is_chosen())
                return NULL;
        return NEXT(realloc)(p, n);
}

void *reallocarray(void *p, size_t a, size_t b) {
        void *block;

        if ((!p || a * b) && is_chosen())
                return NULL;
        inside += 2;
        block = NEXT(reallocarray)(p, a, b);
        inside -= 2;
        return block;
}

void free(void *p) {
        if (p && !is_early(p))
                NEXT(free)(p);
}

void *aligned_alloc(size_t a, size_t n) {
        return is_chosen() ? NULL : NEXT(aligned_alloc)(a, n);
}

void *memalign(size_t a, size_t n) {
        static void *(*next)(size_t, size_t);

        if (!next)
                next = (void *(*)(size_t, size_t))dlsym(RTLD_NEXT, "memalign");
        return is_chosen() ? NULL : next(a, n);
}

int posix_memalign(void **ret, size_t a, size_t n) {
        int before = errno;

        if (is_chosen()) {
                errno = before;
                return ENOMEM;
        }
        return NEXT(posix_memalign)(ret, a, n);
}

/* The loader has run the constructors of libraries, and jumps into the program. */
int __libc_start_main(int (*main)(int, char **, char **), int argc, char **argv, void (*init)(void),
                      void (*fini)(void), void (*rtld_fini)(void), void *stack_end) {
        __typeof__(&__libc_start_main) next =
                (__typeof__(&__libc_start_main))dlvsym(RTLD_NEXT, "__libc_start_main",
                                                       "GLIBC_2.34");

        if (!next)
                next = (__typeof__(&__libc_start_main))dlsym(RTLD_NEXT, "__libc_start_main");
        next_of("malloc"), next_of("calloc"), next_of("realloc"), next_of("free");
        next_of("reallocarray"), next_of("aligned_alloc"), next_of("posix_memalign");
        nth = atol(getenv("FAIL_SHIM_NTH"));
        has_started = 1;
        return next(main, argc, argv, init, fini, rtld_fini, stack_end);
}
