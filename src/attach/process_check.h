/* SPDX-License-Identifier: MIT */
/* Can silt enter a process that runs? What /proc tells, before it is touched. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"

/* machine: ELF e_machine of the runtime. 0, or -errno with the reason and what to do. */
int process_check(pid_t pid, uint16_t machine, struct err *reterr);

/* It has ended, or is gone. */
bool process_is_over(pid_t pid);

/* Why ptrace said no. */
int process_explain(pid_t pid, int error, struct err *reterr);
