/* SPDX-License-Identifier: MIT */
/* silt bill: reads the command line, looks at a process where one is meant, and leaves the rest to bill/. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "attach/frozen_check.h"
#include "base/fs.h"
#include "base/macros.h"
#include "bill/bill.h"
#include "cli/asking.h"
#include "cli/commands.h"
#include "cli/graph_source.h"
#include "cli/help_bill.h"
#include "cli/missing_names.h"
#include "record/snapshot_client.h"
#include "record/unrecorded_bill.h"

static const struct cli_command bill_command = {
        .name = "bill",
        .help_text = bill_help_text,
        .options = bill_option_table,
        .n_options = ARRAY_SIZE(bill_option_table),
        .usage_exit_status = EXIT_STATUS_TROUBLE,
};

struct bill_words {
        struct bill_options options;
        struct request request;
};

static bool take_operand(struct bill_words *w, struct cli_parser *p) {
        if (w->options.view.path) {
                cli_parser_error(p, "only one trace or process can be shown: leave out '%s'",
                                 p->value);
                return false;
        }
        w->options.view.path = p->value;
        return true;
}

/* False after an error was printed. */
static bool take_word(struct bill_words *w, int id, struct cli_parser *p) {
        switch (id) {
        case CLI_STOP: return false;
        case CLI_OPERAND: return take_operand(w, p);
        case BILL_JSON: w->options.view.json = true; break;
        case BILL_FULL: w->options.is_full = true; break;
        case BILL_DEBUG_PATH: return cli_take_debug_path(p);
        case BILL_AT:
        case BILL_PROCESS:
        case BILL_RULES: return cli_take_key(p, &w->request);
        default: break;
        }
        return true;
}

static bool check(struct bill_words *w, struct cli_parser *p) {
        if (!w->options.view.path) {
                cli_parser_error(p, "no trace given: write 'silt bill FILE' or 'silt bill PID'");
                return false;
        }
        if (cli_is_pid(w->options.view.path) && (w->request.at.is_set || w->request.process)) {
                cli_parser_error(p, "--%s is about a trace, and %s is a process: leave it out",
                                 w->request.at.is_set ? "at" : "process", w->options.view.path);
                return false;
        }
        return true;
}

static bool parse(int argc, char **argv, struct bill_words *w, int *ret_exit_status) {
        struct cli_parser p;
        bool ok = true;
        int id;

        cli_missing_names_init();
        cli_parser_init(&p, &bill_command, argc, argv);
        while (ok && (id = cli_parser_next(&p)) != CLI_END)
                ok = take_word(w, id, &p);
        ok = ok && check(w, &p);
        *ret_exit_status = p.exit_status;
        return ok;
}

/* What the trace says of the moment its recorder looked. -ESRCH: it is silt itself; -ENODATA: needs_blocks, and they are not known. */
static int print_recorded(struct bill_words *w, const struct snapshot_answer *answer,
                          bool needs_blocks, struct err *reterr) {
        struct bill_options o = w->options;
        struct request request = REQUEST_DEFAULT;
        int r;

        request.rules = w->request.rules;
        request.at = (struct request_time){.is_set = true, .ns = answer->time_ns};
        request.process = (char *)o.view.path;
        o.view.path = answer->path;
        o.view.request = &request;
        o.needs_blocks = needs_blocks;
        r = bill_print(stdout, &o, reterr);
        return r < 0 && reterr->key && strcmp(reterr->key, "process") == 0 ? -ESRCH : r;
}

/* recorded: the trace of a recorder that does not know its blocks. -ENODATA: then they cannot be listed either, and nothing is printed. */
static int print_unrecorded(struct bill_options *o, const char *recorded, struct err *reterr) {
        char path[64], program[64];
        struct err why = {0}, unsaid = {0};
        struct resident now;
        int r;

        o->pid = (uint32_t)strtoul(o->view.path, NULL, 10);
        o->recorded = recorded;
        r = unrecorded_bill_take((pid_t)o->pid, &now, &why, reterr);
        if (r < 0)
                return r;
        if (recorded && !now.has_blocks) {
                resident_done(&now);
                return -ENODATA;
        }
        snprintf(path, sizeof(path), "/proc/%u/comm", o->pid);
        if (fs_read_text(path, program, sizeof(program)) <= 0)
                program[0] = '\0';
        program[strcspn(program, "\n")] = '\0';
        o->program = program;
        if (why.text[0])
                fprintf(stderr, "silt: %s: blocks are unknown\n", why.text);
        o->is_closed = !now.has_blocks && frozen_check((pid_t)o->pid, &unsaid) < 0;
        o->now = &now;
        o->view.path = NULL;
        r = bill_print(stdout, o, reterr);
        resident_done(&now);
        return r;
}

/* Its recorder looks at it now, if it has one. Attached late, that does not know blocks from before; the allocator's own data list them. */
static int print_process(struct bill_words *w, struct err *reterr) {
        static struct snapshot_answer answer;
        struct err unsaid = {0};
        int r = snapshot_client_take(w->options.view.path, NULL, false, &answer, &unsaid);
        bool is_recorded = r >= 0;

        if (is_recorded)
                r = print_recorded(w, &answer, true, &unsaid);
        if (r == -ESRCH || r == -EPERM)
                return print_unrecorded(&w->options, NULL, reterr);
        if (is_recorded && r == -ENODATA) {
                struct bill_options o = w->options;

                if (print_unrecorded(&o, answer.path, &unsaid) >= 0)
                        return 0;
                unsaid = (struct err){0};
                r = print_recorded(w, &answer, false, &unsaid);
        }
        if (r < 0)
                *reterr = unsaid;
        return r;
}

int cmd_bill(int argc, char **argv) {
        struct bill_words w = {.options = BILL_OPTIONS_DEFAULT, .request = REQUEST_DEFAULT};
        struct err err = {0};
        int exit_status, r;

        w.options.view.request = &w.request;
        if (parse(argc, argv, &w, &exit_status)) {
                w.request.rules.with_config = true;
                r = cli_is_pid(w.options.view.path) ? print_process(&w, &err)
                                                    : bill_print(stdout, &w.options, &err);
                cli_say_err(r, &err);
                exit_status = r < 0 ? EXIT_STATUS_TROUBLE : EXIT_STATUS_OK;
        }
        request_done(&w.request);
        return exit_status;
}
