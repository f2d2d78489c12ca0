/* SPDX-License-Identifier: MIT */
/* Options that silt sql and silt ask share. False after an error was printed. */
#pragma once

#include "cli/options.h"
#include "sql/sql_print.h"

bool sql_take_form(struct cli_parser *p, enum sql_form form, enum sql_form *ret);
bool sql_take_max_memory(struct cli_parser *p, uint64_t *ret_bytes);
