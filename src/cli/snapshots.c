/* SPDX-License-Identifier: MIT */
#include "cli/snapshots.h"

#include "record/front.h"

enum { SNAPSHOTS_MIN_EVERY_NS = 10000000 };

bool cli_take_snapshot_every(struct cli_parser *p, struct run_options *o) {
        if (!cli_value_duration(p, &o->snapshot_every_ns))
                return false;
        if (o->snapshot_every_ns < SNAPSHOTS_MIN_EVERY_NS)
                cli_parser_error(p, "--snapshot-every: '%s' is too short: give at least 10ms",
                                 p->value);
        return o->snapshot_every_ns >= SNAPSHOTS_MIN_EVERY_NS;
}

bool cli_take_snapshot_growth(struct cli_parser *p, struct run_options *o) {
        if (!cli_value_percent(p, &o->snapshot_growth_pct))
                return false;
        if (o->snapshot_growth_pct < 1)
                cli_parser_error(p, "--snapshot-growth: '%s' is too little: give at least 1%%",
                                 p->value);
        return o->snapshot_growth_pct >= 1;
}
