/* SPDX-License-Identifier: MIT */
/* A program without unwind tables (chromium and many programs that know no exceptions are built so).
 * Where it keeps frame pointers its functions say so themselves, in their first instructions, and
 * stacks are complete. Where it does not, or where a function in the middle does not, frames are
 * missing, and no stack through it is complete.
 *
 * Each of 2 call paths asks for 16 bytes and gives them back at once, 10 times; one of them on a
 * thread, whose TLS table of D bytes stays.
 *   allocations 21   frees 20   bytes 320 + D   temporary 20   peak 16 + D in 2   end D in 1
 * Complete are all; or, without frame pointers, those not through this program: the thread's table,
 * which libpthread asks for, has this program's main in its stack, too, so none. */
#include "truth.h"
#include <pthread.h>

static __attribute__((noinline)) void leaf(volatile int *n) {
        free(malloc(16));
        ++*n;
}

static __attribute__((noinline)) void small(volatile int *n) {
        leaf(n);
        ++*n;
}

/* Locals, saved registers, more arguments than registers, a frame too large for one instruction. */
static __attribute__((noinline)) long large(volatile int *n, long a, long b, long c, long d, long e,
                                            long f, long g, long h, long i) {
        volatile char room[20000];
        long sum = 0;

        room[*n] = (char)a;
        for (int round = 0; round < 2; round++)
                sum += a * b + c * d + e * f + g * h + i + room[*n];
        small(n);
        return sum + a + b + c + d + e + f + g + h + i + room[*n];
}

static __attribute__((noinline)) int early(volatile int *n) {
        if (!n)
                return 0;
        large(n, 1, 2, 3, 4, 5, 6, 7, 8, 9);
        return *n;
}

static void *in_thread(void *unused) {
        volatile int n = 0;

        for (int i = 0; i < 10; i++)
                early(&n);
        return unused;
}

int main(void) {
        volatile int n = 0;
        pthread_t thread;

        for (int i = 0; i < 10; i++)
                early(&n);
        MUST(pthread_create(&thread, NULL, in_thread, NULL) == 0);
        MUST(pthread_join(thread, NULL) == 0);
        truth_say("dtv", truth_dtv_bytes());
        return 0;
}
