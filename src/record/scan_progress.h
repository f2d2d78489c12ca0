/* SPDX-License-Identifier: MIT */
/* A line on the terminal while the memory of a process is read, from the second second on. */
#pragma once

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct scan_progress {
        _Atomic uint64_t done_bytes, all_bytes; /* whoever reads sets them */
        pthread_mutex_t lock;
        pthread_cond_t end;
        bool is_over; /* under the lock */
        pthread_t drawer;
        bool is_drawing;
};

/* It stays where it is until its end. */
void scan_progress_begin(struct scan_progress *p);
void scan_progress_end(struct scan_progress *p);
