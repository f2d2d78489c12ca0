/* SPDX-License-Identifier: MIT */
/* pauses MS BYTES: looks at the clock without end for so many milliseconds of its CPU time, with so many bytes on its stack, and tells how
 * often and for how long it was not there: "CPU_NS N SUM_NS MIDDLE_NS". Gaps below a microsecond are its own, those of half a
 * millisecond and more are the scheduler's: neither counts. */
#define _GNU_SOURCE
#include <alloca.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { SHORTEST_NS = 1000, LONGEST_NS = 500000, MAX_GAPS = 1 << 20 };

static int64_t ns_of(clockid_t clock) {
        struct timespec t;

        clock_gettime(clock, &t);
        return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static int compare(const void *x, const void *y) {
        uint32_t a = *(const uint32_t *)x, b = *(const uint32_t *)y;

        return a < b ? -1 : a > b;
}

static __attribute__((noinline)) size_t look(int64_t cpu_ns, uint32_t *gaps) {
        int64_t last = ns_of(CLOCK_MONOTONIC);
        size_t n = 0;

        while (ns_of(CLOCK_THREAD_CPUTIME_ID) < cpu_ns) {
                last = ns_of(CLOCK_MONOTONIC);
                for (int i = 0; i < 20000; i++) {
                        int64_t now = ns_of(CLOCK_MONOTONIC), gap = now - last;

                        if (gap >= SHORTEST_NS && gap < LONGEST_NS && n < MAX_GAPS)
                                gaps[n++] = (uint32_t)gap;
                        last = now;
                }
        }
        return n;
}

int main(int argc, char **argv) {
        int64_t cpu_ns = (argc > 1 ? atol(argv[1]) : 1000) * 1000000;
        size_t n_bytes = argc > 2 ? (size_t)atol(argv[2]) : 0, n;
        volatile char *room = alloca(n_bytes + 1);
        uint32_t *gaps = malloc(MAX_GAPS * sizeof(*gaps));
        uint64_t sum = 0;

        if (!gaps)
                return 1;
        memset(gaps, 0, MAX_GAPS * sizeof(*gaps));
        for (size_t i = 0; i <= n_bytes; i += 1024)
                room[i] = 1;
        n = look(cpu_ns, gaps);
        for (size_t i = 0; i < n; i++)
                sum += gaps[i];
        qsort(gaps, n, sizeof(*gaps), compare);
        printf("%lld %zu %llu %u\n", (long long)ns_of(CLOCK_THREAD_CPUTIME_ID), n,
               (unsigned long long)sum, n ? gaps[n / 2] : 0);
        return 0;
}
