/* SPDX-License-Identifier: MIT */
#include "cli/source_places.h"

#include <string.h>

bool cli_take_source_dir(struct cli_parser *p, struct source_options *o) {
        if (!p->value[0]) {
                cli_parser_error(p,
                                 "--source-dir: '' is not a directory: write '--source-dir DIR'");
                return false;
        }
        if (o->n_dirs == SOURCE_MAX_DIRS) {
                cli_parser_error(
                        p, "--source-dir: given more than %d times: name a common parent directory",
                        SOURCE_MAX_DIRS);
                return false;
        }
        o->dirs[o->n_dirs++] = p->value;
        return true;
}

bool cli_take_source_map(struct cli_parser *p, struct source_options *o) {
        const char *equals = strchr(p->value, '=');

        if (!equals || equals == p->value || !equals[1]) {
                cli_parser_error(p, "--map: '%s' is not a mapping: write '--map OLD=NEW'",
                                 p->value);
                return false;
        }
        if (o->n_maps == SOURCE_MAX_MAPS) {
                cli_parser_error(p, "--map: given more than %d times: use --source-dir",
                                 SOURCE_MAX_MAPS);
                return false;
        }
        o->maps[o->n_maps++] =
                (struct source_map){p->value, (size_t)(equals - p->value), equals + 1};
        return true;
}
