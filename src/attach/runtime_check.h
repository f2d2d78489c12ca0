/* SPDX-License-Identifier: MIT */
/* Whether a runtime is one that this silt can talk to: told by its bytes, before it is brought into a program or asked for anything. */
#pragma once

#include "attach/target.h"
#include "base/err.h"

/* 0: it is. */
int runtime_check_file(const char *path, struct err *reterr);

/* 0: what is inside the process is, or there is none. */
int runtime_check_target(const struct target *t, struct err *reterr);
