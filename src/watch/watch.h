/* SPDX-License-Identifier: MIT */
/* Keeps watch of processes as they come and go, and has each that is wanted recorded (docs/watch.md): `silt attach --all-matching`.
 *
 * One process, one thread: it lists /proc every second or so, and starts a child for each recording. It touches no process itself;
 * when it is killed, its recordings go on, and the next watch of the folder takes them over. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "record/supervisor.h"
#include "watch/wanted.h"

#define WATCH_LOOK_NS 1000000000ull
#define WATCH_MAX_TRACE_BYTES (64ull << 20)
#define WATCH_MAX_TOTAL_BYTES (4ull << 30)

enum { WATCH_MAX_PROCESSES = 64 };

struct watch_options {
        struct wanted wanted;
        const char *folder;       /* NULL: the working directory */
        uint64_t max_total_bytes; /* 0: WATCH_MAX_TOTAL_BYTES */
        uint32_t max_processes;   /* at once; 0: WATCH_MAX_PROCESSES */
        uint64_t look_ns;         /* 0: WATCH_LOOK_NS */
        const struct run_options *
                each; /* how each is recorded; max_trace_bytes 0: WATCH_MAX_TRACE_BYTES; duration_ns: of the watch */
        /* Called once the folder, whose path is given, is there; it must not wait for anything. NULL: nothing. */
        void (*on_begin)(void *ctx, const char *folder);
        void *on_begin_ctx;
};

/* Until SIGTERM, SIGINT or SIGHUP, or the duration is over; all processes are as they were then. 0 or -errno. */
int watch_run(const struct watch_options *o, struct err *reterr);
