/* SPDX-License-Identifier: MIT */
/* What workers say on their pipes (worker.h), understood. A worker has read hostile files and may say
 * anything: places, jobs and namings that do not exist are passed over; what no worker says, or says so
 * much of, makes it mad, and nothing more is heard from it. Inside symbol/ only. */
#pragma once

#include "base/arena.h"
#include "base/bytes.h"
#include "base/map.h"
#include "trace/model.h"

enum {
        WORKER_REPLY_MAX_TEXT_BYTES = 1 << 20,
        WORKER_REPLY_MAX_SYMBOLS =
                32, /* for each place, on average; inlined functions among them */
        WORKER_REPLY_MIN_SYMBOLS = 1 << 16,
};

/* What became of a job. */
struct worker_reply_outcome {
        enum trace_naming naming;
        const char *file, *text;
        bool is_done, is_cached;
};

/* What all workers share. */
struct worker_replies {
        struct arena *arena; /* of the caller; holds what was heard */
        struct map texts;    /* hash of a string → its copy in the arena */
        size_t n_locations;
        uint32_t n_jobs;
        struct worker_reply_outcome *outcomes; /* one a job */
        uint64_t n_results;                    /* heard so far */
};

/* One worker after the other, on one seat. */
struct worker_reply {
        bytes_buf in; /* bytes not yet understood */
        VEC(struct trace_symbol) symbols;
        size_t n_sure; /* symbols of jobs that came to their end */
        bool has_ended, is_mad;
};

/* Understands as many whole messages as h->in has; the rest waits for more. */
void worker_reply_understand(struct worker_replies *all, struct worker_reply *h);
void worker_reply_restart(struct worker_reply *h); /* another worker; what is sure stays */
void worker_reply_done(struct worker_reply *h);
