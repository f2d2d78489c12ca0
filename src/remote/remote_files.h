/* SPDX-License-Identifier: MIT */
/* The files with code that all spaces share. Inside remote/ only. */
#pragma once

#include <stdint.h>
#include <sys/types.h>

#include "remote/remote_file.h"

struct remote_known {
        struct remote_file *file; /* NULL: cannot be read, or has no code of this machine */
        const char *path;
        unsigned id;
        uint32_t n_users;
};

/* Where files of a process are to be looked for. */
struct remote_root {
        pid_t pid;
        bool is_other; /* its root is not this process's: the same path is another file here */
};

struct remote_root remote_files_root(pid_t pid);

/* The file mapped at [begin, end) of a process under this path; to be given back. Never NULL. */
struct remote_known *remote_files_take(const struct remote_root *root, uint64_t begin, uint64_t end,
                                       const char *path);
struct remote_known *remote_files_share(struct remote_known *k); /* one more user; returns k */
void remote_files_give_back(struct remote_known *k);
