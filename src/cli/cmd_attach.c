/* SPDX-License-Identifier: MIT */
/* silt attach: reads the command line and leaves entering and recording to record/. */
#include <errno.h>
#include <stdlib.h>

#include "base/macros.h"
#include "base/units.h"
#include "cli/beside_recording.h"
#include "cli/cmd_parse.h"
#include "cli/commands.h"
#include "cli/help_attach.h"
#include "cli/options.h"
#include "cli/recording.h"
#include "record/supervisor.h"
#include "symbol/symbol.h"
#include "watch/roster.h"
#include "watch/watch.h"

static const struct cli_command attach_command = {
        .name = "attach",
        .help_text = attach_help_text,
        .options = attach_option_table,
        .n_options = ARRAY_SIZE(attach_option_table),
        .usage_exit_status = EXIT_STATUS_TROUBLE,
};

enum { ATTACH_MAX_PID = 1 << 22, ATTACH_MIN_LOOK_NS = 10000000 };

static bool take_pid(struct run_options *o, struct cli_parser *p) {
        unsigned long long pid;
        char *end;

        if (o->attached) {
                cli_parser_error(p, "more than one process given: write 'silt attach PID'");
                return false;
        }
        errno = 0;
        pid = strtoull(p->value, &end, 10);
        if (p->value[0] < '0' || p->value[0] > '9' || *end || errno || pid < 1 ||
            pid > ATTACH_MAX_PID) {
                cli_parser_error(p, "'%s' is not a pid: see 'ps' or 'pidof'", p->value);
                return false;
        }
        o->attached = (pid_t)pid;
        return true;
}

static bool take_matching(struct watch_options *w, struct cli_parser *p) {
        struct err err = {0};

        if (wanted_add(&w->wanted, p->value, &err) == 0)
                return true;
        cli_parser_error(p, "--all-matching: %s", err.text);
        return false;
}

static bool take_max_processes(struct watch_options *w, struct cli_parser *p) {
        uint64_t n;

        if (!cli_value_number(p, 1, ROSTER_MAX_PROCESSES, &n))
                return false;
        w->max_processes = (uint32_t)n;
        return true;
}

static bool take_max_total(struct watch_options *w, struct cli_parser *p) {
        if (!cli_value_bytes(p, &w->max_total_bytes))
                return false;
        if (w->max_total_bytes == 0)
                cli_parser_error(p, "--max-total: '%s' is too small for a trace: give at least 1M",
                                 p->value);
        return w->max_total_bytes != 0;
}

static bool take_look_every(struct watch_options *w, struct cli_parser *p) {
        if (!cli_value_duration(p, &w->look_ns))
                return false;
        if (w->look_ns < ATTACH_MIN_LOOK_NS)
                cli_parser_error(p, "--look-every: '%s' is too short: give at least 10ms",
                                 p->value);
        return w->look_ns >= ATTACH_MIN_LOOK_NS;
}

/* False after an error was printed. */
static bool take_option(struct attach_command *c, enum attach_option option, struct cli_parser *p) {
        struct run_options *o = &c->run;

        switch (option) {
        case ATTACH_ALL_MATCHING: return take_matching(&c->watch, p);
        case ATTACH_MAX_PROCESSES: return take_max_processes(&c->watch, p);
        case ATTACH_MAX_TOTAL: return take_max_total(&c->watch, p);
        case ATTACH_LOOK_EVERY: return take_look_every(&c->watch, p);
        case ATTACH_OUTPUT: o->output_path = p->value; break;
        case ATTACH_FORCE: o->overwrite = true; break;
        case ATTACH_DURATION: return cli_take_duration(p, o);
        case ATTACH_MAX_SIZE: return cli_take_max_size(p, o);
        case ATTACH_SNAPSHOT_EVERY: return cli_take_snapshot_every(p, o);
        case ATTACH_GRAPH_SIGNAL: return cli_take_graph_signal(p, o);
        case ATTACH_GRAPH_EVERY: return cli_take_graph_every(p, o);
        case ATTACH_SNAPSHOT_GROWTH: return cli_take_snapshot_growth(p, o);
        case ATTACH_SNAPSHOT_RSS: return cli_take_snapshot_rss(p, o);
        case ATTACH_SNAPSHOT_PEAK: o->snapshot_peaks = true; break;
        case ATTACH_SNAPSHOT_PRESSURE: o->snapshot_pressure = true; break;
        case ATTACH_SAMPLE: return cli_take_sample(p, o);
        case ATTACH_BUDGET: return cli_take_budget(p, o);
        case ATTACH_CPU: cli_take_cpu(o); break;
        case ATTACH_CPU_RATE: return cli_take_cpu_rate(p, o);
        case ATTACH_QUIET: o->quiet = true; break;
        case ATTACH_LOG: o->log_path = p->value; break;
        case ATTACH_VERBOSE: o->verbose = true; break;
        case ATTACH_FREE_STACKS: o->free_stacks = true; break;
        case ATTACH_ADDRESSES: o->addresses = true; break;
        case ATTACH_NO_SYMBOLS: o->no_symbols = true; break;
        case ATTACH_LOSSY: o->lossy = true; break;
        case ATTACH_RUNTIME: o->runtime_path = p->value; break;
        case ATTACH_VIEW: o->with_view = true; break;
        case ATTACH_METRICS: return cli_take_metrics(p, o);
        case ATTACH_OPTION_NONE: break;
        }
        return true;
}

/* Of a watch: what was left out, and what does not go together. */
static bool check_watch(struct attach_command *c, struct cli_parser *p) {
        struct watch_options *w = &c->watch;
        struct run_options *o = &c->run;
        uint64_t n_fit;

        if (o->attached || o->with_view || o->overwrite) {
                cli_parser_error(p, "--all-matching: cannot be combined with %s: leave one out",
                                 o->attached    ? "a pid"
                                 : o->with_view ? "--view"
                                                : "-f");
                return false;
        }
        w->folder = o->output_path ? o->output_path : ".";
        if (!o->max_trace_bytes)
                o->max_trace_bytes = WATCH_MAX_TRACE_BYTES;
        if (!w->max_total_bytes)
                w->max_total_bytes = MAX(WATCH_MAX_TOTAL_BYTES, o->max_trace_bytes);
        if (!w->look_ns)
                w->look_ns = WATCH_LOOK_NS;
        n_fit = w->max_total_bytes / o->max_trace_bytes;
        if (n_fit == 0 || (w->max_processes && n_fit < w->max_processes)) {
                struct unit_text a, b;

                cli_parser_error(
                        p,
                        "--max-total: %s have no room for %u trace%s of up to %s: raise it, or lower --max-size or --max-processes",
                        unit_bytes(&a, w->max_total_bytes), MAX(w->max_processes, 1u),
                        unit_s(MAX(w->max_processes, 1u)), unit_bytes(&b, o->max_trace_bytes));
                return false;
        }
        if (!w->max_processes)
                w->max_processes = (uint32_t)MIN(n_fit, (uint64_t)WATCH_MAX_PROCESSES);
        return true;
}

static bool check_one(const struct attach_command *c, struct cli_parser *p) {
        const struct watch_options *w = &c->watch;

        if (w->max_processes || w->max_total_bytes || w->look_ns)
                cli_parser_error(p, "%s: has no effect without --all-matching: leave it out",
                                 w->max_processes     ? "--max-processes"
                                 : w->max_total_bytes ? "--max-total"
                                                      : "--look-every");
        else if (!c->run.attached)
                cli_parser_error(p, "no process given: write 'silt attach PID'");
        else
                return true;
        return false;
}

bool attach_options_parse(int argc, char **argv, struct attach_command *ret_command,
                          int *ret_exit_status) {
        struct attach_command c = {0};
        struct cli_parser p;
        bool is_fine;
        int id;

        cli_parser_init(&p, &attach_command, argc, argv);
        while ((id = cli_parser_next(&p)) != CLI_END) {
                is_fine = id != CLI_STOP &&
                          (id == CLI_OPERAND ? take_pid(&c.run, &p)
                                             : take_option(&c, (enum attach_option)id, &p));
                if (!is_fine) {
                        *ret_exit_status = p.exit_status;
                        return false;
                }
        }
        if (!(c.watch.wanted.n ? check_watch(&c, &p) : check_one(&c, &p)) ||
            !cli_check_sample(&p, &c.run)) {
                *ret_exit_status = p.exit_status;
                return false;
        }
        *ret_command = c;
        return true;
}

static int watch_all(struct attach_command *c) {
        struct beside_watch beside = {.options = &c->run};
        struct err err = {0};
        int r;

        c->watch.each = &c->run;
        c->watch.on_begin = beside_watch_start;
        c->watch.on_begin_ctx = &beside;
        r = watch_run(&c->watch, &err);
        beside_watch_end(&beside);
        cli_say_err(r, &err);
        return r < 0 ? EXIT_STATUS_TROUBLE : EXIT_STATUS_OK;
}

int cmd_attach(int argc, char **argv) {
        struct beside_recording beside;
        struct attach_command c;
        int exit_status;

        if (!attach_options_parse(argc, argv, &c, &exit_status))
                return exit_status;
        c.run.silt_version = SILT_VERSION;
        c.run.symbolize = c.run.no_symbols ? NULL : symbol_append;
        if (c.watch.wanted.n)
                return watch_all(&c);
        beside_recording_init(&beside, &c.run);
        exit_status = supervisor_attach(&c.run);
        beside_recording_wait(&beside);
        return exit_status;
}
