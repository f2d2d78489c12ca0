/* SPDX-License-Identifier: MIT */
/* A file of ours as a process with another root, or of another user, can open it: a copy that is lent and taken back. */
#pragma once

#include <sys/types.h>

#include "base/err.h"

struct visible_copy {
        char path[4096];          /* as the process calls it */
        char dir[128], copy[160]; /* of the copy, as we call it; "" there is none */
};

/* The file itself where the process sees the same one, and may open it. */
int visible_copy_make(struct visible_copy *l, pid_t pid, const char *path, struct err *reterr);
void visible_copy_end(struct visible_copy *l);
