/* SPDX-License-Identifier: MIT */
/* Options that are the same for every command that records. */
#pragma once

#include <stdbool.h>

#include "cli/options.h"

struct run_options;

/* Convert p->value. False after an error was printed. */
bool cli_take_duration(struct cli_parser *p, struct run_options *o);
bool cli_take_max_size(struct cli_parser *p, struct run_options *o);
bool cli_take_snapshot_every(struct cli_parser *p, struct run_options *o);
bool cli_take_graph_every(struct cli_parser *p, struct run_options *o);
bool cli_take_graph_signal(struct cli_parser *p, struct run_options *o);
bool cli_take_snapshot_growth(struct cli_parser *p, struct run_options *o);
bool cli_take_sample(struct cli_parser *p, struct run_options *o);
bool cli_take_budget(struct cli_parser *p, struct run_options *o);

/* When all options are known: what a budget begins with, and what does not go with samples. */
bool cli_check_sample(struct cli_parser *p, struct run_options *o);
