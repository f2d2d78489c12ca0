/* SPDX-License-Identifier: MIT */
/* One address passes between two threads as fast as they can: A allocates, B frees it and allocates
 * the same address again from its own free list, A frees that, and so on. Events of one address
 * come from two threads microseconds apart; any two of them taken in the wrong order show as an
 * unknown free, a block that never ends, or a peak of two blocks.
 *
 * 10,000 rounds of: B frees and allocates 48 bytes, A frees and allocates 48 bytes; A starts with
 * one and frees the last.
 *   allocations 1 + 20,000 (+ 1 TLS table), frees 20,001   peak D + 48 in 2 blocks, exactly
 * A block is always released by the other thread, but for A's last one: it is freed by B too. 0
 * temporary. */
#include "truth.h"
#include <pthread.h>
#include <stdatomic.h>

#define N_ROUNDS 10000
static void *_Atomic cell;
static _Atomic int turn; /* 0: A's, 1: B's */

static void *swap_block(int mine) {
        while (atomic_load(&turn) != mine)
                sched_yield();
        free(atomic_load(&cell));
        return malloc(48);
}

static void hand_over(void *p, int mine) {
        atomic_store(&cell, p);
        atomic_store(&turn, !mine);
}

static void *b_side(void *unused) {
        for (int i = 0; i < N_ROUNDS; i++)
                hand_over(swap_block(1), 1);
        while (atomic_load(&turn) != 1)
                sched_yield();
        free(atomic_load(&cell));
        return unused;
}

int main(void) {
        pthread_t b;

        MUST(pthread_create(&b, NULL, b_side, NULL) == 0);
        hand_over(malloc(48), 0);
        for (int i = 0; i < N_ROUNDS; i++)
                hand_over(swap_block(0), 0);
        pthread_join(b, NULL);
        truth_say("dtv", truth_dtv_bytes());
        return 0;
}
