/* SPDX-License-Identifier: MIT */
/* --components of commands that have no request. */
#pragma once

#include "cli/options.h"
#include "name/name.h"

/* Takes the file just read. False after an error was printed. */
bool cli_take_components(struct cli_parser *p, struct name_sources *s);
