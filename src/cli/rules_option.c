/* SPDX-License-Identifier: MIT */
#include "cli/rules_option.h"

bool cli_take_rules(struct cli_parser *p, struct name_sources *rules) {
        if (rules->n_files == NAME_MAX_FILES) {
                cli_parser_error(p, "--rules: given more than %d times: merge the files",
                                 NAME_MAX_FILES);
                return false;
        }
        rules->files[rules->n_files++] = p->value;
        return true;
}
