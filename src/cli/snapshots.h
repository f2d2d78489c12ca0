/* SPDX-License-Identifier: MIT */
/* The options --snapshot-every and --snapshot-growth, the same for every command that records. */
#pragma once

#include <stdbool.h>

#include "cli/options.h"

struct run_options;

/* Convert p->value. False after an error was printed. */
bool cli_take_snapshot_every(struct cli_parser *p, struct run_options *o);
bool cli_take_snapshot_growth(struct cli_parser *p, struct run_options *o);
