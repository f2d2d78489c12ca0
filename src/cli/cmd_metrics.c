/* SPDX-License-Identifier: MIT */
/* silt metrics: reads the command line and leaves reading and serving to metrics/. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "base/macros.h"
#include "base/vec.h"
#include "cli/commands.h"
#include "cli/component_files.h"
#include "cli/help_metrics.h"
#include "cli/missing_names.h"
#include "cli/options.h"
#include "metrics/metrics.h"

static const struct cli_command metrics_command = {
        .name = "metrics",
        .help_text = metrics_help_text,
        .options = metrics_option_table,
        .n_options = ARRAY_SIZE(metrics_option_table),
        .usage_exit_status = EXIT_STATUS_TROUBLE,
};

struct command {
        VEC(const char *) paths;
        struct metrics_options o;
        struct metrics_serving serving;
        bool has_listen, is_once;
        enum exposition exposition;
};

static bool take_listen(struct command *c, struct cli_parser *p) {
        struct err err = {0};

        c->has_listen = true;
        if (listen_address_parse(p->value, &c->serving.address, &err) >= 0)
                return true;
        cli_parser_error(p, "--listen: %s", err.text);
        return false;
}

static bool take_option(struct command *c, enum metrics_option option, struct cli_parser *p) {
        switch (option) {
        case METRICS_COMPONENTS: return cli_take_components(p, &c->o.rules);
        case METRICS_LISTEN: return take_listen(c, p);
        case METRICS_ONCE: c->is_once = true; break;
        case METRICS_OPENMETRICS: c->exposition = EXPOSITION_OPENMETRICS; break;
        case METRICS_UNTIL_OVER: c->serving.is_child = true; break;
        case METRICS_WAIT: return cli_value_duration(p, &c->o.wait_ns);
        case METRICS_OPTION_NONE: break;
        }
        return true;
}

/* Where it is a child of a recording, whoever reads its errors to their end is not made to wait for the last scrape. */
static void let_go_of_stderr(void) {
        int null = open("/dev/null", O_RDWR | O_CLOEXEC);

        if (null >= 0) {
                dup2(null, STDERR_FILENO);
                close(null);
        }
}

static void say_where(const char *address, bool is_loopback) {
        if (!is_loopback)
                fprintf(stderr,
                        "silt: metrics: other machines reach this address, and nothing is encrypted: whoever can connect can read the figures and names of functions\n");
        fprintf(stderr, "silt: metrics: %s\n", address);
}

static void say_where_and_let_go(const char *address, bool is_loopback) {
        say_where(address, is_loopback);
        let_go_of_stderr();
}

static void say_late(const struct err *why) {
        fprintf(stderr, "silt: metrics: %s: trying for a minute\n", why->text);
}

static int serve(struct command *c, struct metrics *m, struct err *reterr) {
        sigset_t signals;
        int r;

        sigemptyset(&signals);
        sigaddset(&signals, SIGINT);
        sigaddset(&signals, SIGTERM);
        sigaddset(&signals, SIGHUP);
        sigaddset(&signals, SIGQUIT);
        sigprocmask(SIG_BLOCK, &signals, NULL); /* before any thread is there */
        signal(SIGPIPE, SIG_IGN);
        c->serving.stop_fd = signalfd(-1, &signals, SFD_CLOEXEC);
        if (c->serving.stop_fd < 0)
                return err_set_errno(reterr, -errno, "cannot make a descriptor (see ulimit -n)");
        c->serving.say = c->serving.is_child ? say_where_and_let_go : say_where;
        c->serving.say_late = say_late;
        r = metrics_serve(m, &c->serving, reterr);
        close(c->serving.stop_fd);
        return r;
}

static int run(struct command *c, struct err *reterr) {
        _cleanup_(metrics_freep) struct metrics *m = NULL;
        int r;

        c->o.subjects = c->paths.items;
        c->o.n_subjects = c->paths.n;
        c->o.is_once = c->is_once || !c->has_listen;
        r = metrics_open(&c->o, &m, reterr);
        if (r < 0)
                return r;
        return c->o.is_once ? metrics_write(m, c->exposition, stdout, reterr) : serve(c, m, reterr);
}

int cmd_metrics(int argc, char **argv) {
        struct command c = {.o = {.rules = {.with_config = true}, .version = SILT_VERSION}};
        struct cli_parser p;
        struct err err = {0};
        int id, r;

        cli_missing_names_init();
        cli_missing_names_look_always();
        cli_parser_init(&p, &metrics_command, argc, argv);
        while ((id = cli_parser_next(&p)) != CLI_END) {
                if (id == CLI_OPERAND)
                        vec_push(&c.paths, p.value);
                else if (id == CLI_STOP || !take_option(&c, (enum metrics_option)id, &p)) {
                        vec_free(&c.paths);
                        return p.exit_status;
                }
        }
        if (c.paths.n == 0)
                return cli_parser_error(&p,
                                        "no process or trace given: write 'silt metrics PID|FILE'");
        r = run(&c, &err);
        vec_free(&c.paths);
        cli_say_err(r, &err);
        return r < 0 ? EXIT_STATUS_TROUBLE : EXIT_STATUS_OK;
}
