/* SPDX-License-Identifier: MIT */
/* What code lies where in a process that is looked at from outside, and what unwind tables it has.
 *  - the files are read here, never the process's own copy of them; what they say is hostile
 *  - a file is read once, however many processes map it: all spaces share what is known of it
 *  - one thread uses all spaces of a program */
#pragma once

#include <stdint.h>
#include <sys/types.h>

#include "base/macros.h"

struct remote_space;

/* A file with code, at one place of one process. */
struct remote_module {
        const char *path; /* as the kernel names it; "[vdso]" */
        uint8_t build_id[32];
        uint32_t build_id_len; /* 0: none */
        uint64_t size_bytes;   /* extent of its segments */
        uint64_t bias;         /* address = bias + address in the file */
        unsigned id;           /* of the file: the same in all spaces, never used again */
};

/* What a process has mapped now. Never NULL; of a process that cannot be read it is empty. pid: whose memory is read where
 * a copy of a stack does not reach. */
struct remote_space *remote_space_new(pid_t pid);
/* A child's, before it maps anything itself. */
struct remote_space *remote_space_fork(const struct remote_space *of, pid_t pid);
struct remote_space *remote_space_free(struct remote_space *s); /* NULL ok; returns NULL */
DEFINE_CLEANUP(struct remote_space, remote_space_free)

/* Code was mapped: what lay there is no more. path: "" or "//anon" for code in no file. */
void remote_space_map(struct remote_space *s, uint64_t begin, uint64_t end, uint64_t file_offset,
                      const char *path);

/* The module that holds the instruction before the return address pc; *ret_offset is pc's address in the file. NULL: code in
 * no file. Valid until the next call of remote_space_map or _free. */
const struct remote_module *remote_space_locate(struct remote_space *s, uint64_t pc,
                                                uint64_t *ret_offset);
