/* SPDX-License-Identifier: MIT */
/* silt push: follows a recording, puts a snapshot of its sites into the spool whenever one is due, and has the sender bring them to the
 * server. */
#pragma once

#include "fleet/batch.h"
#include "fleet/server_url.h"
#include "live/follower.h"

struct push_options {
        struct follower_options follow;
        struct server_url url;
        uint64_t every_ns;
        const char *service, *host; /* NULL: the program, the machine that recorded */
        const char *labels[FLEET_MAX_LABELS];
        size_t n_labels;
        const char *spool; /* NULL: a folder for each server below $XDG_STATE_HOME */
        uint64_t spool_bytes;
        uint64_t max_paths;
        const char *ca_file; /* NULL: the system's */
        uint64_t flush_ns;   /* how long what is left may take in the end */
        bool ends_with_us;   /* the recording does: when it is stopped, that is its end */
        bool is_again;       /* what was taken by an earlier one too */
        int stop_fd;         /* readable: end */
        void (*say)(void *ctx, const char *line); /* one line worth saying; from any thread */
        void *ctx;
};

struct push_told {
        uint64_t n_taken;   /* snapshots put into the spool */
        uint64_t n_batches; /* sent */
        size_t n_left;      /* batches in the spool when it ended */
        uint64_t n_dropped, n_damaged, n_refused;
        bool was_done; /* nothing was new: all of it was taken before */
        char why[480]; /* why some are left; "" none are */
};

int push_run(const struct push_options *o, struct push_told *ret, struct err *reterr);
