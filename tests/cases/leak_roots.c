/* SPDX-License-Identifier: MIT */
/* leak_roots MODE: keeps blocks where a process may well keep them, and ends. None of them is lost. */
#include <dlfcn.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { N_SLOTS = 252000, N_BLOCKS = 100, BLOCK_BYTES = 100, POOL_BYTES = 256 << 10 };

static __thread void *volatile slots[N_SLOTS];
static pthread_key_t key;

static void *take(size_t n) {
        void *p = malloc(n);

        if (!p)
                _exit(3);
        memset(p, 0, n);
        return p;
}

static void thread_local_data(void) {
        for (unsigned i = 0; i < N_SLOTS; i += N_SLOTS / N_BLOCKS)
                slots[i] = take(BLOCK_BYTES);
}

static void specific(void) {
        pthread_key_create(&key, NULL);
        pthread_setspecific(key, take(BLOCK_BYTES));
}

static void **pool(void *at) {
        void **p = mmap(at, POOL_BYTES, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | (at ? MAP_FIXED_NOREPLACE : 0), -1, 0);

        return p == MAP_FAILED ? NULL : p;
}

static void fill(void **p) {
        if (!p)
                _exit(4);
        for (unsigned i = 0; i < N_BLOCKS; i++)
                p[i] = take(BLOCK_BYTES);
}

/* The block has a mapping of its own, and the pool lies right beside it. */
static void beside(size_t alignment, int is_above) {
        static char *volatile block;
        void **p;

        block = aligned_alloc(alignment, alignment);
        if (!block)
                _exit(3);
        p = NULL;
        for (size_t off = 0; !p && off < 64 << 20; off += 4096)
                p = pool(is_above ? block + alignment + off : block - POOL_BYTES - off);
        fill(p);
}

static void dontfork(void) {
        void **p = pool(NULL);

        fill(p);
        if (madvise(p, POOL_BYTES, MADV_DONTFORK) != 0)
                _exit(5);
}

int main(int argc, char **argv) {
        const char *mode = argc > 1 ? argv[1] : "";

        if (!strcmp(mode, "thread_local"))
                thread_local_data();
        else if (!strcmp(mode, "specific"))
                specific();
        else if (!strcmp(mode, "above_256k"))
                beside(256 << 10, 1);
        else if (!strcmp(mode, "below_256k"))
                beside(256 << 10, 0);
        else if (!strcmp(mode, "above_1m"))
                beside(1 << 20, 1);
        else if (!strcmp(mode, "below_1m"))
                beside(1 << 20, 0);
        else if (!strcmp(mode, "dontfork"))
                dontfork();
        else if (!strcmp(mode, "destructor"))
                return dlopen(argv[2], RTLD_NOW) ? 0 : 6;
        else
                return 2;
        return 0;
}
