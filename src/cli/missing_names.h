/* SPDX-License-Identifier: MIT */
/* Names for traces that lack them: one that is still being written, or one whose debug files --debug-path names now. They are looked up for the command at hand; the trace stays as it is. */
#pragma once

#include <stddef.h>

#include "cli/options.h"

enum { CLI_MAX_DEBUG_PATHS = 16 };

/* For every command that names frames; before its options are read. */
void cli_missing_names_init(void);

/* --debug-path DIR|FILE. False after an error was printed. */
bool cli_take_debug_path(struct cli_parser *p);

/* Also those of a finished trace that was made without: live/live_subject.h makes such. */
void cli_missing_names_look_always(void);
