/* SPDX-License-Identifier: MIT */
/* The same work on another malloc: jemalloc, tcmalloc, mimalloc, linked or preloaded (see the cases
 * beside). What these libraries allocate for themselves or for libstdc++ is in the baseline.
 *
 * main:
 *   1,000 blocks of 1..1000 bytes (500,500), all freed last first (the last: temporary)
 *   calloc(10, 10), realloc to 1,000, to 10, free
 *     3 allocations, 1,110 bytes, 2 reallocations, 3 temporary
 *   memalign(256, 300), aligned_alloc(64, 640), posix_memalign(4096, 5000), valloc(70), freed in
 *   order
 *     4 allocations, 6,010 bytes, the last one temporary
 *   reallocarray(NULL, 5, 6), strdup("twelve bytes"), kept: 2 allocations, 43 bytes
 *   malloc(PTRDIFF_MAX) fails, realloc of the strdup block to it fails: 2 failed; free(NULL)
 *   malloc(0), free: 1 allocation, temporary
 * 4 threads, all created before any of them works, 2,000 times malloc(33) and free each: 8,000
 * allocations, 264,000 bytes, 8,000 temporary. The baseline has the threads without their work.
 *   allocations +1,000 + 3 + 4 + 2 + 1 + 8,000 = +9,010
 *   frees +1,000 + 3 + 4 + 1 + 8,000 = +9,008
 *   bytes +500,500 + 1,110 + 6,010 + 43 + 264,000 = +771,663
 *   temporary +1 + 3 + 1 + 1 + 8,000 = +8,006
 * Peak: a block of 1 MiB, in the baseline too, stands while main's 1,000 are live: +500,500 in
 * +1,000. It is freed after them and is main's last allocation in the baseline: temporary there,
 * not here: so +8,005. */
#include "truth.h"
#include <malloc.h>
#include <pthread.h>

static int baseline;
static pthread_barrier_t barrier;

static void *work(void *unused) {
        pthread_barrier_wait(&barrier);
        for (int i = 0; i < 2000 && !baseline; i++)
                free(malloc(33));
        return unused;
}

static void work_in_main(void) {
        volatile size_t half = (size_t)PTRDIFF_MAX;
        void *aligned[4];

        void *p = calloc(10, 10);
        p = realloc(p, 1000);
        p = realloc(p, 10);
        free(p);
        aligned[0] = memalign(256, 300);
        aligned[1] = aligned_alloc(64, 640);
        MUST(posix_memalign(&aligned[2], 4096, 5000) == 0);
        aligned[3] = valloc(70);
        for (int i = 0; i < 4; i++)
                free(aligned[i]);
        MUST(reallocarray(NULL, 5, 6));
        p = strdup("twelve bytes");
        MUST(p && !malloc(half) && !realloc(p, half));
        free(NULL);
        free(malloc(0));
}

int main(int argc, char **argv) {
        static void *block[1001];
        pthread_t thread[4];

        baseline = truth_baseline(argc, argv);
        void *large = malloc(1 << 20);
        for (int i = 1; i <= 1000 && !baseline; i++)
                MUST(block[i] = malloc(i));
        for (int i = 1000; i >= 1; i--)
                free(block[i]);
        free(large);
        if (!baseline)
                work_in_main();
        pthread_barrier_init(&barrier, NULL, 4);
        for (int i = 0; i < 4; i++)
                MUST(pthread_create(&thread[i], NULL, work, NULL) == 0);
        for (int i = 0; i < 4; i++)
                pthread_join(thread[i], NULL);
        return 0;
}
