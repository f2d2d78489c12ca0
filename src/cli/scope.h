/* SPDX-License-Identifier: MIT */
/* The options --by and --process, the same for every command that asks a trace. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "cli/options.h"

/* Convert p->value. False after an error was printed. */
bool cli_take_metric(struct cli_parser *p, const char **ret_metric);
/* Why a window is empty, from 0 or from a time that was given. */
const char *cli_empty_window(uint64_t from_ns, bool is_at);
bool cli_take_process(struct cli_parser *p, const char **ret_process);
