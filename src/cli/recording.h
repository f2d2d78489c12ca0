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
bool cli_take_snapshot_rss(struct cli_parser *p, struct run_options *o);
bool cli_take_sample(struct cli_parser *p, struct run_options *o);
bool cli_take_budget(struct cli_parser *p, struct run_options *o);

bool cli_take_cpu_rate(struct cli_parser *p, struct run_options *o);
void cli_take_cpu(struct run_options *o); /* at the usual rate, unless one was given */

/* When all options are known: what a budget begins with, and what does not go with samples. */
bool cli_check_sample(struct cli_parser *p, struct run_options *o);

/* Commands that start a program: an option of `silt run` (help_run.h), and what must hold when all are known. */
bool cli_take_run_option(struct cli_parser *p, struct run_options *o, int id);
bool cli_check_run(struct cli_parser *p, struct run_options *o);

/* Starts o->argv and records it: the exit status of silt. */
int cli_record_program(struct run_options *o);
