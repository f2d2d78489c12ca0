/* SPDX-License-Identifier: MIT */
/* silt snapshot: marks a moment in a recording that is being made. */
#include <stdio.h>
#include <string.h>

#include "base/json.h"
#include "base/macros.h"
#include "base/str.h"
#include "base/units.h"
#include "cli/cmd_parse.h"
#include "cli/commands.h"
#include "cli/help_snapshot.h"
#include "record/snapshot_client.h"

static const struct cli_command snapshot_command = {
        .name = "snapshot",
        .help_text = snapshot_help_text,
        .options = snapshot_option_table,
        .n_options = ARRAY_SIZE(snapshot_option_table),
        .usage_exit_status = EXIT_STATUS_TROUBLE,
};

static bool take_name(struct snapshot_options *o, struct cli_parser *p) {
        struct err err = {0};

        o->name = p->value;
        if (snapshot_check_name(p->value, strlen(p->value), &err) >= 0)
                return true;
        cli_parser_error(p, "--name: %s", err.text);
        return false;
}

static bool take_operand(struct snapshot_options *o, struct cli_parser *p) {
        if (o->who)
                cli_parser_error(p, "only one recording can be marked: leave out '%s'", p->value);
        else if (!p->value[0])
                cli_parser_error(p,
                                 "'' is neither a process nor a trace: write 'silt snapshot PID'");
        else {
                o->who = p->value;
                return true;
        }
        return false;
}

static bool take_word(struct snapshot_options *o, int id, struct cli_parser *p) {
        switch (id) {
        case CLI_STOP: return false;
        case CLI_OPERAND: return take_operand(o, p);
        case SNAPSHOT_NAME: return take_name(o, p);
        case SNAPSHOT_GRAPH: o->graph = true; break;
        case SNAPSHOT_JSON: o->json = true; break;
        case SNAPSHOT_QUIET: o->quiet = true; break;
        default: break;
        }
        return true;
}

bool snapshot_options_parse(int argc, char **argv, struct snapshot_options *ret_options,
                            int *ret_exit_status) {
        struct snapshot_options o = {0};
        struct cli_parser p;
        bool ok = true;
        int id;

        cli_parser_init(&p, &snapshot_command, argc, argv);
        while (ok && (id = cli_parser_next(&p)) != CLI_END)
                ok = take_word(&o, id, &p);
        if (ok && !o.who) {
                cli_parser_error(
                        &p,
                        "no recording given: write 'silt snapshot PID' or 'silt snapshot FILE'");
                ok = false;
        }
        *ret_exit_status = p.exit_status;
        *ret_options = o;
        return ok;
}

static void print_json(const struct snapshot_answer *a) {
        struct json j;

        json_init(&j, stdout);
        json_object(&j);
        json_put_string(&j, "schema", "silt.snapshot/1");
        json_put_string(&j, "name", a->name);
        json_put_double(&j, "at_s", (double)a->time_ns / 1e9, 6);
        json_put_string(&j, "mode", a->flags & SNAPSHOT_ESTIMATE ? "sampled" : "exact");
        json_put_uint(&j, "live_bytes", a->live_bytes);
        json_put_uint(&j, "live_blocks", a->live_blocks);
        if (a->pause_ns)
                json_put_double(&j, "pause_s", (double)a->pause_ns / 1e9, 6);
        json_put_string(&j, "trace", a->path);
        json_end(&j);
}

static void print_text(const struct snapshot_answer *a, const char *path) {
        struct unit_text at, bytes, blocks, pause;
        struct str command = {0}, moment = {0};

        str_addf(&moment, "@%s", a->name);
        str_add(&command, a->pause_ns ? "silt holders " : "silt report ");
        str_add_shell(&command, path);
        if (!a->pause_ns) {
                str_add(&command, " --at ");
                str_add_shell(&command, str_text(&moment));
        }
        printf("%s at %s: %s%s live in %s block%s", str_text(&moment),
               unit_duration(&at, a->time_ns), a->flags & SNAPSHOT_ESTIMATE ? "about " : "",
               unit_bytes(&bytes, a->live_bytes), unit_count(&blocks, a->live_blocks),
               a->live_blocks == 1 ? "" : "s");
        if (a->pause_ns)
                printf("; it was stopped for %s", unit_duration(&pause, a->pause_ns));
        printf("\nnext:  %s\n", str_text(&command));
        str_done(&command);
        str_done(&moment);
}

int cmd_snapshot(int argc, char **argv) {
        static struct snapshot_answer answer;
        struct snapshot_options o;
        struct err err = {0};
        int exit_status;

        if (!snapshot_options_parse(argc, argv, &o, &exit_status))
                return exit_status;
        if (snapshot_client_take(o.who, o.name, o.graph, &answer, &err) < 0) {
                fprintf(stderr, "silt: %s\n", err.text);
                return EXIT_STATUS_TROUBLE;
        }
        err_make_one_line(answer.path);
        err_make_one_line(answer.name);
        if (o.json)
                print_json(&answer);
        else if (!o.quiet)
                print_text(&answer, o.who[strspn(o.who, "0123456789")] ? o.who : answer.path);
        if (!answer.text[0])
                return EXIT_STATUS_OK;
        err_make_one_line(answer.text);
        fprintf(stderr, "silt: snapshot '%s': %s\n", answer.name, answer.text);
        return EXIT_STATUS_TROUBLE;
}
