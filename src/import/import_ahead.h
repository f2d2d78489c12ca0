/* SPDX-License-Identifier: MIT */
/* A thread that makes bytes before they are wanted: unpacking a file and reading what is in it go on at the same time. Inside import/ only.
 *
 * The maker is called by that thread alone from start to stop; what it was asked to make is handed on in order. */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"

struct import_ahead;

/* Bytes written, at most cap; 0 at the end; or -errno with a sentence. Not called again after either. */
typedef ssize_t (*import_ahead_fn)(void *ctx, uint8_t *to, size_t cap, struct err *reterr);

struct import_ahead *import_ahead_start(import_ahead_fn make, void *ctx); /* NULL: no thread */
/* As the maker. */
ssize_t import_ahead_take(struct import_ahead *a, uint8_t *to, size_t cap, struct err *reterr);
struct import_ahead *import_ahead_stop(struct import_ahead *a); /* NULL ok; returns NULL */
