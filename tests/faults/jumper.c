/* SPDX-License-Identifier: MIT */
/* A library whose wall clock jumps: each look at it is an hour ahead or an hour behind, in turn.
 * Preloaded, it is what a program sees that runs while somebody sets the time. */
#define _GNU_SOURCE
#include <stdatomic.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static _Atomic unsigned n_looks;

static time_t jump(void) {
        return atomic_fetch_add(&n_looks, 1) % 2 ? -3600 : 3600;
}

int clock_gettime(clockid_t clock, struct timespec *ret) {
        int r = (int)syscall(SYS_clock_gettime, clock, ret);

        if (r == 0 && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE))
                ret->tv_sec += jump();
        return r;
}

int gettimeofday(struct timeval *restrict ret, void *restrict zone) {
        struct timespec now;

        (void)zone;
        clock_gettime(CLOCK_REALTIME, &now);
        ret->tv_sec = now.tv_sec;
        ret->tv_usec = now.tv_nsec / 1000;
        return 0;
}

time_t time(time_t *ret) {
        struct timespec now;

        clock_gettime(CLOCK_REALTIME, &now);
        if (ret)
                *ret = now.tv_sec;
        return now.tv_sec;
}
