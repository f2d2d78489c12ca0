/* SPDX-License-Identifier: MIT */
/* silt top: reads the command line and leaves following and drawing to live/ and top/. */
#include "base/macros.h"
#include "cli/commands.h"
#include "cli/component_files.h"
#include "cli/help_top.h"
#include "cli/missing_names.h"
#include "cli/options.h"
#include "top/top.h"

static const struct cli_command top_command = {
        .name = "top",
        .help_text = top_help_text,
        .options = top_option_table,
        .n_options = ARRAY_SIZE(top_option_table),
        .usage_exit_status = EXIT_STATUS_TROUBLE,
};

static bool take_option(struct top_options *o, enum top_option option, struct cli_parser *p) {
        switch (option) {
        case TOP_BATCH: o->is_batch = true; break;
        case TOP_JSON: o->is_json = true; break;
        case TOP_COMPONENTS: return cli_take_components(p, &o->follow.rules);
        case TOP_MAPPED: o->ask.of_mappings = true; break;
        case TOP_TASKS: o->ask.of_tasks = true; break;
        case TOP_EVERY: return cli_value_duration(p, &o->every_ns);
        case TOP_FRAMES: return cli_value_number(p, 1, UINT32_MAX, &o->n_frames);
        case TOP_OPTION_NONE: break;
        }
        return true;
}

int cmd_top(int argc, char **argv) {
        struct top_options o = {.every_ns = 1000000000,
                                .follow = {.rules = {.with_config = true}},
                                .ask = {.by = QUERY_BY_FUNCTION}};
        struct cli_parser p;
        struct err err = {0};
        int id, r;

        cli_missing_names_init();
        cli_missing_names_look_always();
        cli_parser_init(&p, &top_command, argc, argv);
        while ((id = cli_parser_next(&p)) != CLI_END) {
                if (id == CLI_STOP)
                        return p.exit_status;
                if (id == CLI_OPERAND && o.who)
                        return cli_parser_error(
                                &p, "only one process or trace can be shown: leave out '%s'",
                                p.value);
                if (id == CLI_OPERAND)
                        o.who = p.value;
                else if (!take_option(&o, (enum top_option)id, &p))
                        return p.exit_status;
        }
        if (!o.who)
                return cli_parser_error(&p, "no process or trace given: write 'silt top PID|FILE'");
        r = top_run(stdout, &o, &err);
        cli_say_err(r, &err);
        return r < 0 ? EXIT_STATUS_TROUBLE : EXIT_STATUS_OK;
}
