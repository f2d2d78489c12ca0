/* SPDX-License-Identifier: MIT */
/* The recorder's socket at which commands of the same user ask for something (snapshot_protocol.h). Nobody is waited for: one that
 * says nothing is sent away, and one that wants no answer gets none. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "record/snapshot_protocol.h"

enum { SNAPSHOT_SERVER_N_CALLERS = 64 };

struct snapshot_server_caller {
        int fd;
        uint64_t since_ns; /* connected, and has not asked yet */
        bool has_asked;    /* waits for its answer */
};

struct snapshot_server {
        int listen_fd; /* non-blocking; -1: none */
        int folder_fd; /* for those who look for it */
        char path[128];
        struct snapshot_server_caller callers[SNAPSHOT_SERVER_N_CALLERS];
        unsigned n_callers, n_silent; /* silent: of them, that have not asked yet */
};

/* folder: only the user can enter it. 0 or -errno: then nobody can ask. */
int snapshot_server_open(struct snapshot_server *d, const char *folder);
/* Whoever waits for an answer learns that there is none. Also after a failed open. */
void snapshot_server_close(struct snapshot_server *d);

/* A request that is well-formed: its caller's number, to be answered once; -1: none now. While n_silent is not 0, ask again
 * soon. */
int snapshot_server_hear(struct snapshot_server *d, struct snapshot_request *ret);
void snapshot_server_answer(struct snapshot_server *d, int caller,
                            const struct snapshot_answer *answer);
