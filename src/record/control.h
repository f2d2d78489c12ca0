/* SPDX-License-Identifier: MIT */
/* What the supervisor (the `silt run` the shell sees) and the recorder say to each other over a SEQPACKET
 * pair. The recorder goes on when the supervisor is gone; the supervisor notices the recorder's death as its parent. */
#pragma once

#include <stdint.h>

enum control_kind {
        CONTROL_READY = 1,        /* recorder → supervisor: the target may start */
        CONTROL_TARGET_ENDED = 2, /* supervisor → recorder */
        CONTROL_WRITTEN = 3,      /* recorder → supervisor: the target's part is in the file */
        CONTROL_DUE = 6,  /* recorder → supervisor: the time is over, of a target that runs on */
        CONTROL_STOP = 5, /* supervisor → recorder: end the recording, of a target that runs on */
        CONTROL_PRIOR =
                7, /* supervisor → recorder: what the target had before it was attached to */
        CONTROL_HELD = 8, /* supervisor → recorder: how long the target's threads stood still */
        CONTROL_REPLACED =
                9, /* supervisor → recorder: the target that was attached to has become another program; as STOP */
        CONTROL_GRAPH = 10,   /* supervisor → recorder: look at what points to what, now */
        CONTROL_FINISHED = 4, /* recorder → supervisor: the file is whole; nobody is left */
};

/* struct trace_prior has what it means. */
struct control_prior {
        uint32_t flags;
        uint32_t n_arenas, n_mapped;
        uint64_t age_ns, anon_bytes, held_bytes, free_bytes, mapped_bytes;
        char allocator[16];
};

enum { CONTROL_MAX_LIMITS = 5 };

struct control_message {
        uint32_t kind;
        int32_t wait_status;                                /* TARGET_ENDED */
        uint64_t max_rss_bytes;                             /* TARGET_ENDED */
        uint64_t n_events, n_lost, file_bytes, duration_ns; /* WRITTEN, FINISHED */
        uint64_t n_unwritten;                 /* of n_events: the disk did not take them */
        uint64_t recorder_cpu_ns, blocked_ns; /* WRITTEN, FINISHED: what recording cost */
        /* WRITTEN, FINISHED: samples and waits, what they stand for, and records of them that are lost */
        uint64_t n_samples, n_waits, cpu_ns, waited_ns, n_lost_samples, n_threads_seen;
        uint32_t n_images;              /* images that reported; 0: nothing was recorded */
        uint32_t n_living;              /* descendants still followed */
        uint32_t target_was_oom_killed; /* WRITTEN, FINISHED */
        struct control_prior prior;     /* PRIOR */
        uint64_t held_ns;               /* HELD: to attach, or to leave it: */
        uint32_t is_leaving;
        uint32_t n_limits; /* WRITTEN, FINISHED: what kept it from seeing all, worst first */
        uint32_t n_more_limits[CONTROL_MAX_LIMITS]; /* of the same kind */
        char limits[CONTROL_MAX_LIMITS][320];
        char program
                [64]; /* REPLACED: which; WRITTEN, FINISHED: which the target had become that a signal ended; "": none else */
        uint64_t n_unseen; /* WRITTEN, FINISHED: processes that silt could not enter, and which: */
        char unseen[200];
        char trouble[240]; /* "" or one sentence: disk full, symbols missing, … */
};
