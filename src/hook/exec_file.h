/* SPDX-License-Identifier: MIT */
/* The program that exec is asked for, looked at before it is run: whether the runtime can go there. */
#pragma once

#include <stdbool.h>

#include "hook/readable.h"
#include "wire/record.h"

#pragma GCC visibility push(hidden)

/* As the exec functions name it. */
struct exec_file {
        int dir_fd;
        const char *path;
        int flags;      /* AT_EMPTY_PATH, AT_SYMLINK_NOFOLLOW */
        bool is_search; /* path is looked for in PATH when it has no slash */
};

/* The runtime is not to be preloaded there. The loader would say on stderr that it cannot (another root, another machine), it
 * would end the program (musl's), or it would not do it (set-user-id). */
bool exec_file_must_strip(const struct exec_file *file, struct readable *readable,
                          enum wire_unseen *ret_unseen); /* why nothing is seen of it */

/* The value, when entry is one of this name. NULL: it is another, or cannot be read. */
const char *exec_value(struct readable *readable, const char *entry, const char *name);

#pragma GCC visibility pop
