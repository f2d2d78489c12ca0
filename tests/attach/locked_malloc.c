/* SPDX-License-Identifier: MIT */
/* An allocator that is nearly always in code without a name, holding its lock, and below no frame of malloc: a thread stopped there must not be made to call
 * dlopen, which allocates. With LIBRARY it is one; with PROGRAM it is what uses one; with both it has it inside, and sleeps now and then. SIGTERM ends
 * it: "ok ROUNDS". */
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static inline void spend(unsigned rounds) {
        for (volatile unsigned i = 0; i < rounds; i++) {}
}

#ifdef LIBRARY
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static _Alignas(64) uint8_t heap[256 << 20];
static size_t n_used;

/* Not among the names that others see. */
static __attribute__((noinline, section(".text.slow"))) void *take(size_t n) {
        uint64_t *block;

        pthread_mutex_lock(&lock);
        spend(200000);
        block = (uint64_t *)(heap + n_used);
        *block = n;
        n_used += (n + 16 + 63) & ~(size_t)63;
        if (n_used > sizeof(heap) - (1 << 20))
                n_used = sizeof(heap) / 2; /* nobody keeps those for so long */
        pthread_mutex_unlock(&lock);
        return block + 2;
}

void *malloc(size_t n) {
        return take(n);
}

void free(void *block) {
        (void)block;
}

void *calloc(size_t n, size_t each) {
        return memset(take(n * each), 0, n * each);
}

void *realloc(void *old, size_t n) {
        uint64_t *block = take(n);

        if (old)
                memcpy(block, old, n < ((uint64_t *)old)[-2] ? n : ((uint64_t *)old)[-2]);
        return block;
}
#endif

#ifdef PROGRAM
static volatile sig_atomic_t is_over;

static void on_term(int sig) {
        (void)sig;
        is_over = 1;
}

int main(void) {
        unsigned long rounds = 0;

        signal(SIGTERM, on_term);
        dprintf(1, "ready %d\n", (int)getpid());
        for (; !is_over; rounds++) {
                free(malloc(100));
                spend(20000); /* a moment between two calls */
#ifdef LIBRARY
                poll(NULL, 0, 1);
#endif
        }
        dprintf(1, "ok %lu\n", rounds);
        return 0;
}
#endif
