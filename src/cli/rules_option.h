/* SPDX-License-Identifier: MIT */
/* The option --rules FILE of every command that shows functions. */
#pragma once

#include <stdbool.h>

#include "cli/options.h"
#include "name/name.h"

/* Adds p->value to the files of rules. False after an error was printed. */
bool cli_take_rules(struct cli_parser *p, struct name_sources *rules);
