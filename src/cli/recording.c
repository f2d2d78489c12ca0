/* SPDX-License-Identifier: MIT */
#include "cli/recording.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "cli/beside_recording.h"
#include "cli/commands.h"
#include "cli/fail_words.h"
#include "cli/help_run.h"
#include "cli/own_machine.h"
#include "patch/given.h"
#include "record/program_check.h"
#include "record/supervisor.h"
#include "symbol/symbol.h"

enum {
        RECORDING_MIN_TRACE_BYTES = 1 << 20,
        RECORDING_MIN_EVERY_NS = 10000000,
        RECORDING_MIN_GRAPH_EVERY_NS = 100000000,
        /* fewer bytes are more samples: one in each of the smallest blocks is as good as all of them */
        RECORDING_MIN_SAMPLE_BYTES = 64,
        RECORDING_MAX_SAMPLE_BYTES = 64 << 20,
        RECORDING_SAMPLE_BYTES = 512 << 10,
        RECORDING_CPU_RATE_HZ = 1000,
        RECORDING_MAX_CPU_RATE_HZ = 20000,
};

bool cli_take_duration(struct cli_parser *p, struct run_options *o) {
        if (!cli_value_duration(p, &o->duration_ns))
                return false;
        if (o->duration_ns == 0)
                cli_parser_error(p, "--duration: '%s' is too short: give a longer time", p->value);
        return o->duration_ns != 0;
}

bool cli_take_max_size(struct cli_parser *p, struct run_options *o) {
        if (!cli_value_bytes(p, &o->max_trace_bytes))
                return false;
        if (o->max_trace_bytes < RECORDING_MIN_TRACE_BYTES)
                cli_parser_error(p, "--max-size: '%s' is too small for a trace: give at least 1M",
                                 p->value);
        return o->max_trace_bytes >= RECORDING_MIN_TRACE_BYTES;
}

bool cli_take_snapshot_every(struct cli_parser *p, struct run_options *o) {
        if (!cli_value_duration(p, &o->snapshot_every_ns))
                return false;
        if (o->snapshot_every_ns < RECORDING_MIN_EVERY_NS)
                cli_parser_error(p, "--snapshot-every: '%s' is too short: give at least 10ms",
                                 p->value);
        return o->snapshot_every_ns >= RECORDING_MIN_EVERY_NS;
}

bool cli_take_graph_every(struct cli_parser *p, struct run_options *o) {
        if (!cli_value_duration(p, &o->graph_every_ns))
                return false;
        if (o->graph_every_ns < RECORDING_MIN_GRAPH_EVERY_NS)
                cli_parser_error(p, "--graph-every: '%s' is too short: give at least 100ms",
                                 p->value);
        return o->graph_every_ns >= RECORDING_MIN_GRAPH_EVERY_NS;
}

bool cli_take_graph_signal(struct cli_parser *p, struct run_options *o) {
        const char *name = strncmp(p->value, "SIG", 3) == 0 ? p->value + 3 : p->value;

        o->graph_signal = !strcmp(name, "USR1") ? SIGUSR1 : !strcmp(name, "USR2") ? SIGUSR2 : 0;
        if (!o->graph_signal)
                cli_parser_error(p, "--graph-signal: '%s' is not USR1 or USR2", p->value);
        return o->graph_signal != 0;
}

bool cli_take_snapshot_growth(struct cli_parser *p, struct run_options *o) {
        if (!cli_value_percent(p, &o->snapshot_growth_pct))
                return false;
        if (o->snapshot_growth_pct < 1)
                cli_parser_error(p, "--snapshot-growth: '%s' is too small: give at least 1%%",
                                 p->value);
        return o->snapshot_growth_pct >= 1;
}

bool cli_take_snapshot_rss(struct cli_parser *p, struct run_options *o) {
        struct err err = {0};
        int r = snapshot_levels_parse(p->value, &o->snapshot_levels, &err);

        if (r < 0)
                cli_parser_error(p, "--snapshot-rss: %s", err.text);
        return r == 0;
}

bool cli_take_sample(struct cli_parser *p, struct run_options *o) {
        if (!cli_value_bytes(p, &o->sample_bytes))
                return false;
        if (o->sample_bytes < RECORDING_MIN_SAMPLE_BYTES ||
            o->sample_bytes > RECORDING_MAX_SAMPLE_BYTES) {
                cli_parser_error(p, "--sample: '%s' is out of range: give 64 to 64M, such as 512K",
                                 p->value);
                return false;
        }
        return true;
}

bool cli_take_budget(struct cli_parser *p, struct run_options *o) {
        if (!cli_value_percent(p, &o->budget_pct))
                return false;
        if (!(o->budget_pct >= 0.1 && o->budget_pct <= 100)) {
                cli_parser_error(p,
                                 "--budget: '%s' is out of range: give 0.1%% to 100%%, such as 2%%",
                                 p->value);
                return false;
        }
        return true;
}

bool cli_take_cpu_rate(struct cli_parser *p, struct run_options *o) {
        uint64_t n;

        if (!cli_value_number(p, 1, RECORDING_MAX_CPU_RATE_HZ, &n))
                return false;
        o->cpu_rate_hz = (uint32_t)n;
        return true;
}

void cli_take_cpu(struct run_options *o) {
        if (!o->cpu_rate_hz)
                o->cpu_rate_hz = RECORDING_CPU_RATE_HZ;
}

bool cli_check_sample(struct cli_parser *p, struct run_options *o) {
        o->off_cpu = o->cpu_rate_hz != 0;
        if (o->budget_pct > 0 && !o->sample_bytes)
                o->sample_bytes = RECORDING_SAMPLE_BYTES;
        if (o->sample_bytes && o->free_stacks) {
                cli_parser_error(
                        p,
                        "--free-stacks: cannot be combined with --sample or --budget, which see few frees: leave one out");
                return false;
        }
        return true;
}

/* ---- of a program that silt starts ---------------------------------------------------------------- */

static bool take_start_after(struct run_options *o, struct cli_parser *p) {
        if (!cli_value_duration(p, &o->start_after_ns))
                return false;
        if (o->start_after_ns == 0)
                cli_parser_error(p, "--start-after: '%s' is no delay: leave out --dormant",
                                 p->value);
        return o->start_after_ns != 0;
}

static bool take_start_above(struct run_options *o, struct cli_parser *p) {
        if (!cli_value_bytes(p, &o->start_above_bytes))
                return false;
        if (o->start_above_bytes == 0)
                cli_parser_error(p, "--start-above: '%s' is always exceeded: leave out --dormant",
                                 p->value);
        return o->start_above_bytes != 0;
}

/* A dormant program is entered by patching its entries, and has nothing of silt in it before. */
static bool check_dormant(const struct run_options *o, struct cli_parser *p) {
        const char *wrong = o->launcher               ? "--launcher"
                            : o->has_fails            ? "--fail-nth, --fail-above or --fail-rate"
                            : o->no_patch             ? "--no-patch"
                            : o->wait_for_descendants ? "--wait"
                                                      : NULL;

        if (!o->dormant && (o->start_after_ns || o->start_above_bytes)) {
                cli_parser_error(p, "%s: has no effect without --dormant: add --dormant",
                                 o->start_after_ns ? "--start-after" : "--start-above");
                return false;
        }
        if (o->dormant && wrong)
                cli_parser_error(p, "%s: cannot be combined with --dormant: leave one out", wrong);
        return !o->dormant || !wrong;
}

static bool take_launcher(struct run_options *o, struct cli_parser *p) {
        bool is_blank = p->value[strspn(p->value, " \t")] == '\0';

        if (is_blank)
                cli_parser_error(p, "--launcher: empty command: name an emulator, or leave it out");
        o->launcher = p->value;
        return !is_blank;
}

static bool take_hook(struct run_options *o, struct cli_parser *p) {
        if (o->n_hooks == RUN_MAX_HOOKS) {
                cli_parser_error(p, "--hook: given more than %d times", RUN_MAX_HOOKS);
                return false;
        }
        o->hooks[o->n_hooks++] = p->value;
        return true;
}

static bool take_fail_rate(struct run_options *o, struct cli_parser *p) {
        if (!cli_value_percent(p, &o->fail_pct))
                return false;
        o->has_fails = true;
        if (!(o->fail_pct > 0 && o->fail_pct <= 100))
                cli_parser_error(p, "--fail-rate: '%s' is out of range: give up to 100%%",
                                 p->value);
        return o->fail_pct > 0 && o->fail_pct <= 100;
}

bool cli_take_run_option(struct cli_parser *p, struct run_options *o, int id) {
        switch ((enum run_option)id) {
        case RUN_OUTPUT: o->output_path = p->value; break;
        case RUN_FORCE: o->overwrite = true; break;
        case RUN_DURATION: return cli_take_duration(p, o);
        case RUN_MAX_SIZE: return cli_take_max_size(p, o);
        case RUN_DORMANT: o->dormant = true; break;
        case RUN_START_AFTER: return take_start_after(o, p);
        case RUN_START_ABOVE: return take_start_above(o, p);
        case RUN_SNAPSHOT_EVERY: return cli_take_snapshot_every(p, o);
        case RUN_GRAPH_SIGNAL: return cli_take_graph_signal(p, o);
        case RUN_GRAPH_EVERY: return cli_take_graph_every(p, o);
        case RUN_SNAPSHOT_GROWTH: return cli_take_snapshot_growth(p, o);
        case RUN_SNAPSHOT_RSS: return cli_take_snapshot_rss(p, o);
        case RUN_SNAPSHOT_PEAK: o->snapshot_peaks = true; break;
        case RUN_SNAPSHOT_PRESSURE: o->snapshot_pressure = true; break;
        case RUN_CPU: cli_take_cpu(o); break;
        case RUN_CPU_RATE: return cli_take_cpu_rate(p, o);
        case RUN_LEAKS: o->leaks = true; break;
        case RUN_QUIET: o->quiet = true; break;
        case RUN_LOG: o->log_path = p->value; break;
        case RUN_VERBOSE: o->verbose = true; break;
        case RUN_WAIT: o->wait_for_descendants = true; break;
        case RUN_FREE_STACKS: o->free_stacks = true; break;
        case RUN_ADDRESSES: o->addresses = true; break;
        case RUN_NO_SYMBOLS: o->no_symbols = true; break;
        case RUN_LOSSY: o->lossy = true; break;
        case RUN_STRICT: o->strict = true; break;
        case RUN_NO_PATCH: o->no_patch = true; break;
        case RUN_HOOK: return take_hook(o, p);
        case RUN_LAUNCHER: return take_launcher(o, p);
        case RUN_SAMPLE: return cli_take_sample(p, o);
        case RUN_BUDGET: return cli_take_budget(p, o);
        case RUN_RUNTIME: o->runtime_path = p->value; break;
        case RUN_VIEW: o->with_view = true; break;
        case RUN_METRICS: return cli_take_metrics(p, o);
        case RUN_FAIL_NTH:
                o->has_fails = true;
                return cli_value_number(p, 1, UINT64_MAX / 2, &o->fail_nth);
        case RUN_FAIL_ABOVE:
                o->has_fails = o->has_fail_above = true;
                return cli_value_bytes(p, &o->fail_above_bytes);
        case RUN_FAIL_RATE: return take_fail_rate(o, p);
        case RUN_FAIL_SEED: return cli_value_number(p, 0, UINT64_MAX / 2, &o->fail_seed);
        case RUN_FAIL_CHILDREN: o->fail_children = true; break;
        case RUN_OPTION_NONE: break;
        }
        return true;
}

bool cli_check_run(struct cli_parser *p, struct run_options *o) {
        if (o->n_hooks && o->no_patch) {
                cli_parser_error(p, "--hook has no effect with --no-patch: leave one out");
                return false;
        }
        if (!o->has_fails && (o->fail_seed || o->fail_children)) {
                cli_parser_error(
                        p,
                        "--fail-seed and --fail-children: have no effect alone: add --fail-nth, --fail-above or --fail-rate");
                return false;
        }
        if (!o->fail_seed)
                o->fail_seed = 1;
        return cli_check_sample(p, o) && check_dormant(o, p);
}

/* Functions that were named are looked at before anything runs. False after an error was printed. */
static bool check_hooks(struct run_options *o) {
        static struct given given;
        struct err err = {0};
        struct checked_program entry = {0};
        const char *path = o->argv[0];

        if (!o->n_hooks)
                return true;
        if (!o->launcher) {
                if (program_check(o->argv[0], OWN_MACHINE, &entry, &err) != PROGRAM_OK)
                        return true; /* which is said in its place */
                path = entry.interpreter[0] ? entry.interpreter : entry.path;
        }
        for (size_t i = 0; i < o->n_hooks; i++)
                if (given_add(&given, o->hooks[i], path, &err) < 0) {
                        fprintf(stderr, "silt: %s\n", err.text);
                        return false;
                }
        o->given = &given;
        return true;
}

int cli_record_program(struct run_options *o) {
        struct fail_words words = {.options = o};
        const struct run_stage fails = {.ctx = &words,
                                        .ended = fail_words_ended,
                                        .say = fail_words_say};
        struct beside_recording beside;
        int exit_status;

        if (!check_hooks(o))
                return EXIT_STATUS_RUN_FAILED;
        o->silt_version = SILT_VERSION;
        o->symbolize = o->no_symbols ? NULL : symbol_append;
        beside_recording_init(&beside, o);
        if (o->has_fails && !o->stage)
                o->stage = &fails;
        exit_status = supervisor_run(o);
        beside_recording_wait(&beside);
        return exit_status;
}
