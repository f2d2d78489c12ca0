/* SPDX-License-Identifier: MIT */
/* The options that say where source files are, the same for every command that shows them: --source-dir and --map. */
#pragma once

#include <stdbool.h>

#include "cli/options.h"
#include "source/source.h"

/* False after an error was printed. */
bool cli_take_source_dir(struct cli_parser *p, struct source_options *o);
bool cli_take_source_map(struct cli_parser *p, struct source_options *o);
