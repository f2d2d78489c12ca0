/* SPDX-License-Identifier: MIT */
/* Copies of files of code that a source carries with it: a folder of its own below TMPDIR, in which they have the paths they had, for names to be
 * looked up in them. It goes with what is in it. Inside import/ only. */
#pragma once

#include <stdint.h>

struct kept_files;

struct kept_files *kept_files_new(uint64_t max_bytes);    /* of all files together */
struct kept_files *kept_files_free(struct kept_files *k); /* NULL ok; returns NULL */
/* An empty file for n_bytes at that path; the caller closes it. -errno: it is not kept, as where the path is not one to be trusted, or was kept before. */
int kept_files_create(struct kept_files *k, const char *path, uint64_t n_bytes);
/* NULL: none was kept. */
const char *kept_files_root(const struct kept_files *k);
