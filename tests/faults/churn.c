/* SPDX-License-Identifier: MIT */
/* A program to be killed: `churn FILE THREADS CHILDREN` allocates on every thread until the first
 * word of FILE becomes 1, in itself and in CHILDREN forked processes.
 *
 * FILE is mapped shared, so that what it says outlives a SIGKILL: one page for the process and one
 * for each child, with its pid, how many threads it made (each costs one TLS table, by libc's
 * calloc), and per thread how many allocations and releases had returned. Thread i works in a
 * function of its own, work_i, so that a report tells its allocations apart: what was recorded there
 * is what had returned, or one more. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

enum { N_THREADS_MAX = 16, N_KEPT = 48, PAGE_BYTES = 4096 };

struct tally {
        _Atomic uint64_t stop; /* of the first page only */
        _Atomic uint64_t pid, n_created;
        struct {
                _Atomic uint64_t n_allocated, n_released;
        } thread[N_THREADS_MAX];
};

static struct tally *pages, *own;
static unsigned n_threads;

static void count(_Atomic uint64_t *word) {
        atomic_fetch_add_explicit(word, 1, memory_order_release);
}

/* A block from some levels deeper, so that stacks differ from call to call. */
__attribute__((noinline)) static void *deeper(unsigned level, size_t size) {
        void *block = level ? deeper(level - 1, size) : malloc(size);

        __asm__ volatile("" : "+r"(block)); /* no tail call */
        return block;
}

static inline __attribute__((always_inline)) void work(unsigned no) {
        void *kept[N_KEPT] = {0};

        for (unsigned long i = 0; !atomic_load_explicit(&pages->stop, memory_order_relaxed); i++) {
                void **at = &kept[i % N_KEPT];

                if (*at && i % 5 == 0) {
                        *at = realloc(*at, 24 + i % 700);
                        count(&own->thread[no].n_released);
                } else {
                        if (*at) {
                                free(*at);
                                count(&own->thread[no].n_released);
                        }
                        *at = deeper((unsigned)(i * 7 % 9), 16 + i % 500);
                }
                count(&own->thread[no].n_allocated);
        }
}

#define WORK(no)                                                                                   \
        __attribute__((noinline)) static void work_##no(void) {                                    \
                work(no);                                                                          \
                __asm__ volatile("");                                                              \
        }
/* clang-format off */
WORK(0) WORK(1) WORK(2) WORK(3) WORK(4) WORK(5) WORK(6) WORK(7)
WORK(8) WORK(9) WORK(10) WORK(11) WORK(12) WORK(13) WORK(14) WORK(15)

static void (*const works[N_THREADS_MAX])(void) = {
        work_0, work_1, work_2, work_3, work_4, work_5, work_6, work_7,
        work_8, work_9, work_10, work_11, work_12, work_13, work_14, work_15,
};
/* clang-format on */

static void *thread_main(void *no) {
        works[(uintptr_t)no]();
        return NULL;
}

/* All threads of one process; returns when they were told to stop. */
static void churn(unsigned page) {
        pthread_t threads[N_THREADS_MAX];

        own = (struct tally *)((char *)pages + page * PAGE_BYTES);
        atomic_store(&own->pid, (uint64_t)getpid());
        for (unsigned i = 1; i < n_threads; i++) {
                if (pthread_create(&threads[i], NULL, thread_main, (void *)(uintptr_t)i) != 0)
                        _exit(98);
                count(&own->n_created);
        }
        works[0]();
        for (unsigned i = 1; i < n_threads; i++)
                pthread_join(threads[i], NULL);
}

int main(int argc, char **argv) {
        unsigned n_children = argc > 3 ? (unsigned)atoi(argv[3]) : 0;
        int fd = argc > 2 ? open(argv[1], O_RDWR | O_CREAT, 0600) : -1;

        if (fd < 0 || ftruncate(fd, (n_children + 1) * PAGE_BYTES) < 0)
                return 98;
        pages = mmap(NULL, (n_children + 1) * PAGE_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd,
                     0);
        n_threads = (unsigned)atoi(argv[2]);
        if (pages == MAP_FAILED || n_threads < 1 || n_threads > N_THREADS_MAX)
                return 98;
        for (unsigned i = 1; i <= n_children; i++)
                if (fork() == 0) {
                        churn(i);
                        _exit(0);
                }
        churn(0);
        while (wait(NULL) > 0)
                ;
        return 0;
}
