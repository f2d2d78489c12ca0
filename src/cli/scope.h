/* SPDX-License-Identifier: MIT */
/* The options --by and --process, the same for every command that asks a trace. */
#pragma once

#include <stdbool.h>

#include "cli/options.h"

/* Convert p->value. False after an error was printed. */
bool cli_take_metric(struct cli_parser *p, const char **ret_metric);
bool cli_take_process(struct cli_parser *p, bool *ret_all, uint64_t *ret_pid);
