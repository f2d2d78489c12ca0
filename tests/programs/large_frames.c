/* SPDX-License-Identifier: MIT */
/* Functions with very large locals: 600 KiB and 5 MiB on the first thread's stack; 100 MiB, 5 MiB of
 * alloca, and variable-length arrays of 70 MiB, two deep, on a thread's stack of 300 MiB.
 *
 * Each of 6 call paths asks for 16 bytes and gives them back at once, 10 times.
 *   allocations 60 + the thread's TLS table D (freed when it is joined: such a stack is not cached)
 *   frees 61   bytes 960 + D   temporary 61 (the table is the last thing its thread asked for)
 *   peak 16 + D in 2   end 0   sites 6 + 1 */
#include "truth.h"
#include <alloca.h>
#include <pthread.h>

#define KIB 1024
#define MIB (1024 * 1024)

static __attribute__((noinline)) void leaf(void) {
        free(malloc(16));
}

/* The array is used on both sides of the call, at both ends. */
#define LARGE(name, n_bytes, next)                                                                 \
        static __attribute__((noinline)) int name(void) {                                          \
                volatile char room[n_bytes];                                                       \
                                                                                                   \
                room[0] = room[(n_bytes)-1] = 1;                                                   \
                next();                                                                            \
                return room[0] + room[(n_bytes)-1];                                                \
        }

LARGE(k600, 600 * KIB, leaf)
LARGE(m5, 5 * MIB, leaf)
LARGE(k600_m5, 600 * KIB, m5)
LARGE(m100, 100 * MIB, leaf)
LARGE(m20, 20 * MIB, k600)

static __attribute__((noinline)) int on_alloca(volatile size_t *n_bytes) {
        volatile char *room = alloca(*n_bytes);

        room[0] = room[*n_bytes - 1] = 1;
        m20();
        return room[0] + room[*n_bytes - 1];
}

static __attribute__((noinline)) int on_vla(volatile size_t *n_bytes, int depth) {
        volatile char room[*n_bytes];
        int sum = 0;

        room[0] = room[*n_bytes - 1] = 1;
        if (depth > 1)
                sum = on_vla(n_bytes, depth - 1);
        else
                m5();
        return sum + room[0] + room[*n_bytes - 1];
}

/* The most aligned: x86_64 keeps the caller's frame in another register meanwhile. */
static __attribute__((noinline)) int on_aligned(volatile size_t *n_bytes) {
        volatile char aligned[256] __attribute__((aligned(256)));
        volatile char room[*n_bytes];

        room[0] = room[*n_bytes - 1] = aligned[0] = 1;
        leaf();
        return room[0] + room[*n_bytes - 1] + aligned[0];
}

static void *in_thread(void *unused) {
        volatile size_t m5_bytes = 5 * MIB, m70_bytes = 70 * MIB;

        for (int i = 0; i < 10; i++) {
                MUST(m100() == 2);
                MUST(on_alloca(&m5_bytes) == 2);
                MUST(on_vla(&m70_bytes, 2) == 4);
                MUST(on_aligned(&m70_bytes) == 3);
        }
        return unused;
}

int main(void) {
        pthread_attr_t attr;
        pthread_t thread;

        for (int i = 0; i < 10; i++) {
                MUST(k600() == 2);
                MUST(k600_m5() == 2);
        }
        pthread_attr_init(&attr);
        MUST(pthread_attr_setstacksize(&attr, 300u * MIB) == 0);
        MUST(pthread_create(&thread, &attr, in_thread, NULL) == 0);
        MUST(pthread_join(thread, NULL) == 0);
        truth_say("dtv", truth_dtv_bytes());
        return 0;
}
