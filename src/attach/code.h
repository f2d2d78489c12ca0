/* SPDX-License-Identifier: MIT */
/* Which code of the process may be interrupted by a call into ld.so. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "attach/target.h"
#include "base/err.h"
#include "base/vec.h"

enum code_kind {
        CODE_OWN = 0,   /* the program's, and that of other libraries */
        CODE_LIBC,      /* interrupted only in a system call that waits */
        CODE_UNTOUCHED, /* ld.so, allocators, fork and the like, the runtime */
        CODE_DOUBTFUL, /* of a file in which an allocator is, nobody knows where: interrupted only in a system call that waits, and not for a lock */
};

struct code_span {
        uint64_t begin, end;
        enum code_kind kind;
};

struct code {
        VEC(struct code_span) list; /* the first that fits counts */
        bool has_libc;              /* the C library's allocator was found */
        bool is_libc_unread;        /* its file is there, and could not be read */
};

/* Reads the symbols of all its files, those that cannot be read being untouched altogether: long before a thread is stopped. */
int code_read(struct code *c, const struct target *t, struct err *reterr);
void code_done(struct code *c);

enum code_kind code_at(const struct code *c, uint64_t addr);
