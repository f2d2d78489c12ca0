/* SPDX-License-Identifier: MIT */
/* Files that are given in place of a trace: what they are, told by how they begin. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

/* What a file is that begins with these bytes, and what to do with it: "a massif profile"; "read it with ms_print". Both are
 * static texts; false: nobody knows. base: its name without folders, or "". */
struct foreign {
        const char *what, *advice;
};
int foreign_find(const uint8_t *bytes, size_t n, const char *base, struct foreign *ret);

/* The error of whoever wanted a trace: always -EINVAL. fd may be anything that can be read at offsets. */
int foreign_refuse(int fd, const char *path, struct err *reterr);

/* Makes a trace of such a file: a descriptor of it, the caller's; -ENOENT: it cannot be made of this one; or another -errno, with a
 * sentence. Readers ask it before they refuse a file. */
typedef int (*foreign_import_fn)(int fd, const char *path, struct err *reterr);
/* What it makes traces of: "a pprof profile"; NULL: nothing that it knows. */
typedef const char *(*foreign_title_fn)(int fd);
/* For all readers from now on; NULL: none, as at the start. */
void foreign_set_importer(foreign_import_fn fn, foreign_title_fn title);
int foreign_import(int fd, const char *path, struct err *reterr);
