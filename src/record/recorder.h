/* SPDX-License-Identifier: MIT */
/* The recorder: a process of its own that drains the rings, follows processes, samples their memory
 * and writes the trace. It ends when the last process of the recording has ended, or recording stops.
 *
 * Threads: the main one owns everything; the watcher only sleeps on descriptors and wakes it. */
#pragma once

#include <sys/types.h>

#include "record/counter.h"
#include "record/rendezvous.h"
#include "record/shm.h"
#include "record/supervisor.h"

struct known_files;

struct recorder_config {
        struct shm *shm;
        struct counter_moment arena_opened;
        struct rendezvous *rendezvous;
        int control_fd; /* to the supervisor */
        int trace_fd;
        int log_fd; /* -1: none */
        const char *trace_path, *runtime_path;
        const struct known_files *known; /* from before it ran; the recorder's from now on */
        const struct run_options *options;
        pid_t target; /* the supervisor's child, not yet running */
};

void recorder_main(const struct recorder_config *config) __attribute__((noreturn));
