/* SPDX-License-Identifier: MIT */
/* What code lay where in the processes of a recording of perf, as it is told in the order of times; and the kernel's. Inside import/ only. */
#pragma once

#include "import/import_trace.h"
#include "import/perf_sample.h"

struct perf_space;

/* file: for build-ids and names of the machine. Borrowed. asks_files: those of this machine are asked, for places and unwind tables. */
struct perf_space *perf_space_new(const struct perf_file *file, bool asks_files);
struct perf_space *perf_space_free(struct perf_space *s); /* NULL ok; returns NULL */

/* A record of a mapping, of the program's or the kernel's. */
int perf_space_map(struct perf_space *s, const struct perf_record *r, struct err *reterr);
/* A new process has what its parent had, a new program nothing. */
int perf_space_fork(struct perf_space *s, uint32_t pid, uint32_t parent_pid, uint64_t at,
                    struct err *reterr);
void perf_space_exec(struct perf_space *s, uint32_t pid);

/* Where a return address is; without a module if it is in no file. ret points into the space. */
void perf_space_place(struct perf_space *s, uint32_t pid, uint64_t return_address,
                      struct import_place *ret);
void perf_space_kernel_place(const struct perf_space *s, uint64_t return_address,
                             struct import_place *ret);

/* The call path of a copy of a stack, by the files that surely are those that ran: return addresses, innermost first, that of the interrupted
 * instruction too. How many; 0: there is no copy. *ret_is_whole: it ends where a program or a thread begins. */
size_t perf_space_walk(struct perf_space *s, const struct perf_event *e,
                       const struct perf_sample *sample, uint64_t *ret_pcs, size_t cap,
                       bool *ret_is_whole);

/* The recording is of this machine. */
bool perf_space_is_here(const struct perf_space *s);
