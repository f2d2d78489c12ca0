/* SPDX-License-Identifier: MIT */
#include "cli/sql_words.h"

#define MIN_MEMORY_BYTES (1u << 20) /* SQLite starts with a tenth of it */

bool sql_take_form(struct cli_parser *p, enum sql_form form, enum sql_form *ret) {
        if (*ret != SQL_FORM_TABLE && *ret != form) {
                cli_parser_error(p, "--json and --csv are two forms of one answer: leave out one");
                return false;
        }
        *ret = form;
        return true;
}

bool sql_take_max_memory(struct cli_parser *p, uint64_t *ret_bytes) {
        if (!cli_value_bytes(p, ret_bytes))
                return false;
        if (*ret_bytes < MIN_MEMORY_BYTES)
                cli_parser_error(
                        p, "--max-memory: '%s' is too little for any statement: give at least 1M",
                        p->value);
        return *ret_bytes >= MIN_MEMORY_BYTES;
}
