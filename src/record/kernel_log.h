/* SPDX-License-Identifier: MIT */
/* The kernel's log from the begin of a recording on, as far as it may be read: what it says of processes that it killed. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

enum { KERNEL_LOG_LINE_BYTES = 1024 };

struct kernel_log {
        int fd; /* -1: it cannot be read; owned */
        size_t n_read;
        char rest[KERNEL_LOG_LINE_BYTES * 8]; /* read, and not yet a whole line */
        size_t n_rest;
};

/* path: "/dev/kmsg" but for tests. What stands there already is passed over. */
void kernel_log_open(struct kernel_log *l, const char *path);
void kernel_log_close(struct kernel_log *l);

/* The next line since, without the kernel's prefix and with nothing in it that moves a terminal. False: there is none now; it never waits. */
bool kernel_log_next(struct kernel_log *l, char line[KERNEL_LOG_LINE_BYTES]);
