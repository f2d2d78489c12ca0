/* SPDX-License-Identifier: MIT */
/* The bytes of a file: by descriptor, or in memory. Inside remote/ only. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/fs.h"

struct remote_bytes {
        int fd; /* -1: they are in memory */
        const uint8_t *bytes;
        size_t n_bytes;
};

/* All n of them or none. */
static inline bool remote_bytes_read(const struct remote_bytes *b, void *p, uint64_t n,
                                     uint64_t off) {
        if (b->fd >= 0)
                return fs_read_at(b->fd, p, n, off) == (ssize_t)n;
        if (off > b->n_bytes || n > b->n_bytes - off)
                return false;
        memcpy(p, b->bytes + off, n);
        return true;
}
