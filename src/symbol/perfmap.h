/* SPDX-License-Identifier: MIT */
/* Names of code made at run time, from the file a runtime writes for profilers: /tmp/perf-PID.map with
 * lines `START SIZE NAME`, numbers hexadecimal. Anybody can put a file there: it counts only when it
 * belongs to root or to the target's user, is a plain file and is not older than the process; what it
 * says is read as hostile, PERFMAP_MAX_BYTES of it. Inside symbol/ only. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"

enum { PERFMAP_MAX_BYTES = 256 << 20, PERFMAP_MAX_NAME = 4096 };

/* The map of a process that began at this time. A descriptor or -errno: -ENOENT none, -EPERM another
 * user's, -ESTALE older than the process, -EINVAL no plain file. While the process lives its own /tmp
 * and its pid there are used. */
int perfmap_open(uint32_t pid, uint64_t since_unix_ns);

/* Sets ret_names[i] where the file names address i (sorted); of several entries the last counts.
 * 0, or -E2BIG when the rest of the file was left out. Names live in the arena. */
int perfmap_name(int fd, const uint64_t *addresses, size_t n, struct arena *arena,
                 const char **ret_names);
