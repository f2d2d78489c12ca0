/* SPDX-License-Identifier: MIT */
/* Memory that processes share: what a recorder and whom it records have in common is the arena. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/vec.h"

/* A file, as the kernel tells them apart. */
struct shared_file {
        uint64_t device, inode;
};

typedef VEC(struct shared_file) shared_files;

/* Files that a process has mapped as shared memory it can write. 0 or -errno. */
int shared_memory_list(pid_t pid, shared_files *ret);
/* Whether a file is in both. */
bool shared_memory_meet(const shared_files *a, const shared_files *b);
