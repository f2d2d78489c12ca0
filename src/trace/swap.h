/* SPDX-License-Identifier: MIT */
/* A new file that takes an open file's name. Until the commit it has no name (or, where the file system
 * knows no such files, one of its own), and the old file stays as it is; a kill at any instant leaves one of the two,
 * whole, under the name. The old file is found by its descriptor, so that moving it to another name or its directory
 * to another place does no harm. */
#pragma once

#include <stdbool.h>

struct trace_swap {
        int fd;                        /* the new file, for writing */
        int dir_fd;                    /* where the old one lies */
        char name[256], temporary[64]; /* of the old one; of the new one, "" while it has none */
};
#define TRACE_SWAP_NONE ((struct trace_swap){.fd = -1, .dir_fd = -1})

/* An empty new file with the owner and rights of the one behind old_fd. 0 or -errno. */
int trace_swap_begin(int old_fd, struct trace_swap *ret);

/* The new file takes the name, the lock (flock) and the descriptor number of the old one. 0, or -errno with
 * everything as it was. */
int trace_swap_commit(struct trace_swap *s, int old_fd);

/* Throws the new file away unless it was committed. */
void trace_swap_done(struct trace_swap *s);
