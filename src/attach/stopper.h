/* SPDX-License-Identifier: MIT */
/* A process of silt's own that stops threads and lets them go: who kills silt does not kill it, so it comes to the end of what it has begun. */
#pragma once

#include <sys/types.h>

#include "attach/attach.h"
#include "base/err.h"

extern pid_t stopper_of; /* in a stopper: the silt it belongs to; 0: this is no stopper */

/* What work does to *a, beside its target, code and walker, is done to the caller's; so is what it returns and says. */
int stopper_run(struct attach *a,
                int (*work)(struct attach *a, const void *arg, struct err *reterr), const void *arg,
                struct err *reterr);

/* In a stopper: should it be killed from here on, silt knows so much. */
void stopper_tell(const struct attach *a);
