/* SPDX-License-Identifier: MIT */
/* What a process had before it was attached to, on its way from the supervisor, which looks, to the trace, which the recorder writes. */
#pragma once

#include <sys/types.h>

#include "attach/prior_scan.h"
#include "record/control.h"
#include "trace/writer.h"

/* The kernel's word: how old it is, and its memory. Before anything of silt's is in it. */
void prior_ask_kernel(pid_t pid, struct control_prior *ret);

enum { PRIORS_MAX = 3 }; /* of glibc, jemalloc and mimalloc */

/* What silt saw in it: a message for each allocator, or one without. */
void prior_tell(int control_fd, const struct control_prior *kernel, const struct prior *seen);

/* Those that came before the process they are of. */
struct priors {
        struct control_prior items[PRIORS_MAX];
        size_t n;
};

/* More than there are allocators are not kept. */
void priors_keep(struct priors *p, const struct control_prior *x);

/* Writes what was kept. */
void priors_write(struct priors *p, struct trace_writer *w, uint32_t trace_process);
