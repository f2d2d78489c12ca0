/* SPDX-License-Identifier: MIT */
/* The shell of silt sql: lines are edited, remembered from one time to the next, and completed with Tab. */
#pragma once

#include "cli/sql_session.h"

/* Until Ctrl-D or .quit. with_other: there is a second trace. */
int sql_shell_run(struct sql_session *s, bool with_other, struct err *reterr);
