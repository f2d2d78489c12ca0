/* SPDX-License-Identifier: MIT */
/* silt push: reads the command line and leaves following, keeping and sending to fleet/. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "base/macros.h"
#include "base/units.h"
#include "cli/certificates.h"
#include "cli/commands.h"
#include "cli/help_push.h"
#include "cli/missing_names.h"
#include "cli/options.h"
#include "fleet/push.h"
#include "live/live_subject.h"

enum {
        PUSH_MIN_EVERY_MS = 1000,
        PUSH_MIN_SPOOL_BYTES = 1 << 20,
};

struct push_command {
        struct push_options o;
        const char *who; /* a pid or a trace */
        const char *to;
        bool quiet;
};

static const struct cli_command push_command = {
        .name = "push",
        .help_text = push_help_text,
        .options = push_option_table,
        .n_options = ARRAY_SIZE(push_option_table),
        .usage_exit_status = EXIT_STATUS_TROUBLE,
};

/* ---- the command line ---------------------------------------------------------------------------- */

static bool refuse(struct cli_parser *p, const char *what) {
        cli_parser_error(p, "%s", what);
        return false;
}

static bool take_every(struct push_command *c, struct cli_parser *p) {
        return cli_value_duration(p, &c->o.every_ns) &&
               (c->o.every_ns >= PUSH_MIN_EVERY_MS * 1000000ull ||
                refuse(p, "--every: give one second (1s) or more"));
}

static bool take_label(struct push_command *c, struct cli_parser *p) {
        const char *equals = strchr(p->value, '=');

        if (!equals || equals == p->value)
                return refuse(p, "--label: write K=V");
        if (c->o.n_labels == FLEET_MAX_LABELS)
                return refuse(p, "--label: at most 32 of them");
        c->o.labels[c->o.n_labels++] = p->value;
        return true;
}

static bool take_name(struct cli_parser *p, const char **ret) {
        if (!p->value[0] || strlen(p->value) > 200) {
                cli_parser_error(p, "--%s: give 1 to 200 bytes of text", p->name);
                return false;
        }
        *ret = p->value;
        return true;
}

static bool take_spool_size(struct push_command *c, struct cli_parser *p) {
        return cli_value_bytes(p, &c->o.spool_bytes) &&
               (c->o.spool_bytes >= PUSH_MIN_SPOOL_BYTES ||
                refuse(p, "--spool-size: give one megabyte (1M) or more"));
}

static bool take_option(struct push_command *c, enum push_option option, struct cli_parser *p) {
        switch (option) {
        case PUSH_TO: c->to = p->value; break;
        case PUSH_EVERY: return take_every(c, p);
        case PUSH_SERVICE: return take_name(p, &c->o.service);
        case PUSH_HOST: return take_name(p, &c->o.host);
        case PUSH_LABEL: return take_label(c, p);
        case PUSH_MAX_PATHS: return cli_value_number(p, 2, 50000, &c->o.max_paths);
        case PUSH_SPOOL: c->o.spool = p->value; break;
        case PUSH_SPOOL_SIZE: return take_spool_size(c, p);
        case PUSH_FLUSH: return cli_value_duration(p, &c->o.flush_ns);
        case PUSH_CA: c->o.ca_file = p->value; break;
        case PUSH_AGAIN: c->o.is_again = true; break;
        case PUSH_DEBUG_PATH: return cli_take_debug_path(p);
        case PUSH_QUIET: c->quiet = true; break;
        case PUSH_OPTION_NONE: break;
        }
        return true;
}

static bool parse(int argc, char **argv, struct push_command *c, int *ret_exit_status) {
        struct cli_parser p;
        struct err err = {0};
        bool ok = true;
        int id;

        cli_missing_names_init();
        cli_parser_init(&p, &push_command, argc, argv);
        while (ok && (id = cli_parser_next(&p)) != CLI_END) {
                if (id == CLI_STOP)
                        ok = false;
                else if (id != CLI_OPERAND)
                        ok = take_option(c, (enum push_option)id, &p);
                else if (c->who)
                        ok = refuse(
                                &p,
                                "more than one process or trace given: start one 'silt push' for each");
                else
                        c->who = p.value;
        }
        if (ok && !c->who)
                ok = refuse(&p, "no process or trace given: write 'silt push PID|FILE --to URL'");
        if (ok && !c->to)
                ok = refuse(&p, "no server given: add --to clickhouse://HOST/DATABASE");
        if (ok && server_url_parse(c->to, &c->o.url, &err) < 0) {
                cli_parser_error(&p, "--to: %s", err.text);
                ok = false;
        }
        if (ok && c->o.ca_file)
                ok = cli_check_certificates(&p, c->o.ca_file);
        *ret_exit_status = p.exit_status;
        return ok;
}

/* ---- doing it ------------------------------------------------------------------------------------ */

static void say(void *ctx, const char *line) {
        (void)ctx;
        fprintf(stderr, "silt: push: %s\n", line);
}

static int end_signals(void) {
        sigset_t signals;

        sigemptyset(&signals);
        sigaddset(&signals, SIGINT);
        sigaddset(&signals, SIGTERM);
        sigaddset(&signals, SIGHUP);
        pthread_sigmask(SIG_BLOCK, &signals, NULL);
        signal(SIGPIPE, SIG_IGN);
        return signalfd(-1, &signals, SFD_CLOEXEC);
}

static void tell(const struct push_command *c, const struct push_told *told) {
        struct unit_text n, m;

        if (told->n_left)
                fprintf(stderr,
                        "silt: push: %zu batch%s left in the spool: %s: the next 'silt push' sends them\n",
                        told->n_left, told->n_left == 1 ? " is" : "es are", told->why);
        if (told->n_dropped)
                fprintf(stderr,
                        "silt: push: %s batch%s lost: the spool was full: give --spool-size more\n",
                        unit_count(&n, told->n_dropped), told->n_dropped == 1 ? " was" : "es were");
        if (told->n_damaged)
                fprintf(stderr,
                        "silt: push: %s file%s of the spool could not be read and %s set aside as *.damaged\n",
                        unit_count(&n, told->n_damaged), unit_s(told->n_damaged),
                        told->n_damaged == 1 ? "was" : "were");
        if (told->n_refused)
                fprintf(stderr,
                        "silt: push: %s batch%s not sent, as figures would be doubled: %s has this recording with other moments or call paths: give --every and --max-paths as then (set aside as *.refused)\n",
                        unit_count(&n, told->n_refused), told->n_refused == 1 ? " was" : "es were",
                        c->o.url.shown);
        if (c->quiet || told->n_left || told->n_refused)
                return;
        if (told->was_done && !told->n_batches)
                fprintf(stderr,
                        "silt: push: all snapshots of '%s' were sent before: --again sends them again\n",
                        c->who);
        else
                fprintf(stderr, "silt: push: %s snapshot%s taken, %s batch%s sent to %s\n",
                        unit_count(&n, told->n_taken), unit_s(told->n_taken),
                        unit_count(&m, told->n_batches), told->n_batches == 1 ? "" : "es",
                        c->o.url.shown);
}

static int run(struct push_command *c, struct push_told *told, struct err *reterr) {
        _cleanup_(live_subject_freep) struct live_subject *subject = NULL;
        int r = live_subject_open(&(struct live_subject_options){.who = c->who}, &subject, reterr);

        if (r < 0)
                return r;
        c->o.follow.path = live_subject_path(subject);
        c->o.ends_with_us = live_subject_is_attached(subject);
        c->o.stop_fd = end_signals();
        if (c->o.stop_fd < 0)
                return err_set_errno(reterr, -errno, "cannot make a descriptor (see ulimit -n)");
        r = push_run(&c->o, told, reterr);
        close(c->o.stop_fd);
        return r;
}

int cmd_push(int argc, char **argv) {
        struct push_command c = {.o = {.every_ns = 60000000000,
                                       .spool_bytes = 256 << 20,
                                       .max_paths = 500,
                                       .flush_ns = 10000000000,
                                       .say = say,
                                       .follow = {.rules = {.with_config = true}}}};
        struct push_told told = {0};
        struct err err = {0};
        int exit_status, r;

        if (!parse(argc, argv, &c, &exit_status))
                return exit_status;
        r = run(&c, &told, &err);
        if (r >= 0)
                tell(&c, &told);
        cli_say_err(r, &err);
        return r < 0                           ? EXIT_STATUS_TROUBLE
               : told.n_left || told.n_refused ? EXIT_STATUS_FOUND
                                               : EXIT_STATUS_OK;
}
