/* SPDX-License-Identifier: MIT */
#include "cli/component_files.h"

bool cli_take_components(struct cli_parser *p, struct name_sources *s) {
        if (s->n_components == NAME_MAX_FILES) {
                cli_parser_error(p, "--components: given more than %d times: merge the files",
                                 NAME_MAX_FILES);
                return false;
        }
        s->components[s->n_components++] = p->value;
        return true;
}
