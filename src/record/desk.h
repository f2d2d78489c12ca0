/* SPDX-License-Identifier: MIT */
/* The recorder's desk: the socket at which commands of the same user ask it for something (ask.h). Nobody is waited for: one that
 * says nothing is sent away, and one that wants no answer gets none. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "record/ask.h"

enum { DESK_N_CALLERS = 64 };

struct desk_caller {
        int fd;
        uint64_t since_ns; /* connected, and has not asked yet */
        bool has_asked;    /* waits for its answer */
};

struct desk {
        int listen_fd; /* non-blocking; -1: none */
        int folder_fd; /* for those who look for the desk */
        char path[128];
        struct desk_caller callers[DESK_N_CALLERS];
        unsigned n_callers, n_silent; /* silent: of them, that have not asked yet */
};

/* folder: only the user can enter it. 0 or -errno: then nobody can ask. */
int desk_open(struct desk *d, const char *folder);
/* Whoever waits for an answer learns that there is none. Also after a failed open. */
void desk_close(struct desk *d);

/* A request that is well-formed: its caller's number, to be answered once; -1: none now. While n_silent is not 0, ask again
 * soon. */
int desk_hear(struct desk *d, struct ask_request *ret);
void desk_answer(struct desk *d, int caller, const struct ask_answer *answer);
