/* SPDX-License-Identifier: MIT */
#include "cli/recording.h"

#include <signal.h>
#include <string.h>

#include "record/supervisor.h"

enum {
        RECORDING_MIN_TRACE_BYTES = 1 << 20,
        RECORDING_MIN_EVERY_NS = 10000000,
        RECORDING_MIN_GRAPH_EVERY_NS = 100000000,
        /* fewer bytes are more samples: one in each of the smallest blocks is as good as all of them */
        RECORDING_MIN_SAMPLE_BYTES = 64,
        RECORDING_MAX_SAMPLE_BYTES = 64 << 20,
        RECORDING_SAMPLE_BYTES = 512 << 10,
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

bool cli_check_sample(struct cli_parser *p, struct run_options *o) {
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
