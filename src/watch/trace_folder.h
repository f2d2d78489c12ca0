/* SPDX-License-Identifier: MIT */
/* The folder that traces of a watch go to: their names, and how much all of them may take (docs/watch.md).
 *
 * Only files whose names are as trace_folder_name makes them are ever removed, and none that somebody writes. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"

enum {
        TRACE_FOLDER_MAX_FILES =
                10000, /* a folder of more is slow to list, and nobody looks through it */
        TRACE_FOLDER_NAME_BYTES = 96,
};

struct trace_folder {
        char path[4096]; /* absolute */
        int lock_fd;     /* held: two watches would remove each other's traces */
        uint64_t max_bytes, max_trace_bytes;
        /* as the last look found it */
        uint64_t n_files, n_written, bytes; /* n_written: that are being written */
        /* ever */
        uint64_t n_removed, removed_bytes;
};

/* Makes the folder where there is none. */
int trace_folder_open(const char *path, uint64_t max_bytes, uint64_t max_trace_bytes,
                      struct trace_folder *ret, struct err *reterr);
void trace_folder_close(struct trace_folder *f);

/* The path of a new trace: silt.PROGRAM.PID.BEGAN.silt, BEGAN when the process began (UTC), with a number where that one is taken.
 * ret: as large as path and a name. */
void trace_folder_name(const struct trace_folder *f, const char *program, pid_t pid,
                       uint64_t began_unix_s, char *ret, size_t cap);

/* What was removed, and why. */
typedef void trace_folder_told(void *ctx, const char *name, uint64_t bytes);

/* Removes the oldest that are finished until what is left, and what those that are being written can become, fits. 0 or -errno. */
int trace_folder_tidy(struct trace_folder *f, trace_folder_told *told, void *ctx);

/* "silt.redis-server.4711.20261117T180721.silt": the pid, or 0. */
pid_t trace_folder_pid(const char *name);
