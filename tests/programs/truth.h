/* SPDX-License-Identifier: MIT */
/* What a program that states its own truth needs, without stdio and without one hidden allocation.
 *
 * A program prints what only it can know (pids, how often a handler ran) as `name value` lines; the
 * expectation beside it (NAME.json) may use these names in its figures. */
#ifndef TRUTH_H
#define TRUTH_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include <link.h>
#include <sched.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Writes "name value\n" to stdout in one write(2), so that lines of several processes do not mix.
 * */
static inline void truth_say(const char *name, unsigned long value) {
        char line[96], digits[24];
        size_t n = strlen(name), n_digits = 0;

        memcpy(line, name, n);
        line[n++] = ' ';
        do {
                digits[n_digits++] = (char)('0' + value % 10);
                value /= 10;
        } while (value);
        while (n_digits)
                line[n++] = digits[--n_digits];
        line[n++] = '\n';
        if (write(1, line, n) != (ssize_t)n)
                _exit(99);
}

static inline int truth_count_tls_module(struct dl_phdr_info *info, size_t size, void *ret_max) {
        size_t *max = (size_t *)ret_max;

        (void)size;
        if (info->dlpi_tls_modid && !strstr(info->dlpi_name, "libsilt"))
                ++*max;
        return 0;
}

/* glibc gives each new thread a table of its TLS modules with calloc(max_module + 14 + 2, 16). silt's own is one of them,
 * which the figures are without. The block stays with the thread's stack, which joining puts into a cache of 40 MiB for the next
 * thread: so there are as many of these blocks as threads lived at once, while their stacks fit the
 * cache. */
static inline unsigned long truth_dtv_bytes(void) {
        size_t max = 0;

        dl_iterate_phdr(truth_count_tls_module, &max);
        return 16 * (max + 14 + 2);
}

/* `prog baseline` does everything but the allocations the test is about; the measured run has an
 * argument of the same length in its place, because some libraries copy their command line. */
static inline int truth_baseline(int argc, char **argv) {
        return argc > 1 && strcmp(argv[1], "baseline") == 0;
}

/* Ends the program when a step did not do what the figures count on. */
#define MUST(x)                                                                                    \
        do {                                                                                       \
                if (!(x))                                                                          \
                        _exit(98);                                                                 \
        } while (0)

#endif
