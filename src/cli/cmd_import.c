/* SPDX-License-Identifier: MIT */
/* silt import: reads the command line, leaves the reading to import/, and puts the trace where it belongs. */
#include <stdio.h>
#include <stdlib.h>

#include "base/macros.h"
#include "base/units.h"
#include "base/vec.h"
#include "cli/commands.h"
#include "cli/help_import.h"
#include "cli/imported.h"
#include "cli/options.h"
#include "cli/product.h"
#include "import/import.h"

struct import_command {
        VEC(const char *) paths;
        const char *output;
        struct import_options options;
        bool force;
};

static const struct cli_command import_command = {
        .name = "import",
        .help_text = import_help_text,
        .options = import_option_table,
        .n_options = ARRAY_SIZE(import_option_table),
        .usage_exit_status = EXIT_STATUS_TROUBLE,
};

static bool parse(int argc, char **argv, struct import_command *c, int *ret_exit_status) {
        struct cli_parser p;
        int id;

        cli_parser_init(&p, &import_command, argc, argv);
        while ((id = cli_parser_next(&p)) != CLI_END) {
                switch (id) {
                case CLI_STOP: *ret_exit_status = p.exit_status; return false;
                case CLI_OPERAND: vec_push(&c->paths, p.value); break;
                case IMPORT_OUTPUT: c->output = p.value; break;
                case IMPORT_FORCE: c->force = true; break;
                case IMPORT_SAMPLE_TYPE: c->options.sample_type = p.value; break;
                default: break;
                }
        }
        if (!c->paths.n)
                cli_parser_error(&p, "no file given: write 'silt import FILE -o OUT.silt'");
        else if (!c->output)
                cli_parser_error(&p, "no output given: add -o OUT.silt");
        *ret_exit_status = p.exit_status;
        return c->paths.n && c->output;
}

static void tell(const struct import_command *c, const struct import_told *told) {
        const char *what = told->n_events ? "event" : "moment";
        uint64_t n_told = told->n_events ? told->n_events : told->n_moments;
        struct unit_text n, stacks;

        if (told->is_reordered)
                cli_say("the files were read in the order of their numbers, from '%s' to '%s'",
                        told->first, told->last);
        cli_say("imported %s: %s %s%s, %s call path%s: see 'silt report %s'", told->title,
                unit_count(&n, n_told), what, unit_s(n_told), unit_count(&stacks, told->n_stacks),
                unit_s(told->n_stacks), c->output);
}

int cmd_import(int argc, char **argv) {
        struct import_command c = {0};
        struct product product = {.is_private = true};
        struct product_stream stream;
        struct import_told told = {0};
        struct err err = {0};
        int exit_status, r;

        if (!parse(argc, argv, &c, &exit_status)) {
                vec_free(&c.paths);
                return exit_status;
        }
        product.path = c.output;
        product.force = c.force;
        r = product_begin(&stream, &product, &err);
        if (r >= 0)
                r = product_end(&stream,
                                imported_files(c.paths.items, c.paths.n, &c.options, stream.fd,
                                               &told, &err),
                                &err);
        if (r >= 0)
                tell(&c, &told);
        vec_free(&c.paths);
        cli_say_err(r, &err);
        return r < 0 ? EXIT_STATUS_TROUBLE : EXIT_STATUS_OK;
}
