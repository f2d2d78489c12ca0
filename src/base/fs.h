/* SPDX-License-Identifier: MIT */
/* System calls that return -errno, and whole-file helpers. */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

int fs_open(const char *path, int flags, mode_t mode);      /* fd or -errno; retries EINTR */
int fs_write_all(int fd, const void *p, size_t size_bytes); /* 0 or -errno */
ssize_t fs_read_some(int fd, void *p, size_t size_bytes);   /* bytes, 0 at the end, -errno */
ssize_t fs_read_at(int fd, void *p, size_t size_bytes,
                   uint64_t off); /* as many as there are, or -errno */

/* A file that is gone when it is closed, in TMPDIR; where that folder cannot have one, memory. fd or -errno. */
int fs_open_nameless(void);

/* The first cap-1 bytes of a small text file such as those of /proc, NUL-terminated; length or -errno. */
ssize_t fs_read_text(const char *path, char *buf, size_t cap);

/* The file of that name that was installed with this program: beside it, or in ../lib/silt. mode: as for access. 0, or -errno; -ENOENT: in neither place. */
int fs_find_companion(const char *name, int mode, char *ret_path, size_t cap);
