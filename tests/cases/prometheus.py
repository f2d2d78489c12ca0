# SPDX-License-Identifier: MIT
"""The dashboard and the alerts that silt ships, with a real Prometheus and Alertmanager."""

import contextlib
import json
import os
import re
import subprocess

from harness.cgroup import MemoryGroup
from harness.process import run
from harness.prometheus import Alertmanager, Prometheus, Webhook, free_port, needs_prometheus, wait_for

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
RULES = os.path.join(ROOT, "share/prometheus/silt.rules.yml")
DASHBOARD = os.path.join(ROOT, "share/grafana/silt.json")
MIB = 1 << 20
MINUTES = 300  # of a story


# ---- timing: made-up series, hours in a second ---------------------------------------------------

def steady(value, n=MINUTES):
    return f"{value}+0x{n}"


def healthy(**other):
    """A program of 100 MiB below a limit of 1 GiB, for five hours; other: what is different."""
    series = {
        "up": steady(1), "silt_up": steady(1), "silt_recording_time_seconds": f"0+60x{MINUTES}",
        "silt_heap_live_bytes": steady(100 * MIB), "silt_resident_bytes": steady(130 * MIB),
        "silt_memory_limit_usage_bytes": steady(150 * MIB), "silt_memory_limit_bytes": steady(1024 * MIB),
        "silt_memory_limit_files_bytes": steady(15 * MIB),
        "silt_bill_bytes{part=live}": steady(100 * MIB), "silt_bill_bytes{part=free_between}": steady(10 * MIB), "silt_bill_bytes{part=files}": steady(10 * MIB),
        "silt_bill_age_seconds": steady(60), "silt_leaked_bytes": steady(5 * MIB), "silt_lost_events_total": steady(7),
        "silt_unwritten_events_total": steady(0), "silt_trace_age_seconds": steady(2), "silt_trace_damaged": steady(0),
        **{re.sub(r"__(\w+)$", r"{part=\1}", name): values for name, values in other.items()},
    }
    return [{"series": labelled(name), "values": values} for name, values in series.items() if values]


def many(n, **other):
    """So many of them in one group."""
    one = [s for s in healthy(**other) if re.match("silt_(up|rec|heap|res|mem)", s["series"])]
    return [{**s, "series": s["series"].replace('pid="12"', f'pid="{pid}"')} for pid in range(12, 12 + n) for s in one]


def labelled(name):
    name, _, part = name.partition("{part=")
    program = "" if name == "up" else 'program="shop",pid="12",'
    part = f'part="{part[:-1]}",' if part else ""
    return f'{name}{{{program}{part}instance="h:9464",job="silt"}}'


def ramp(begin_mib, mib_a_minute, minutes, n=MINUTES):
    """Grows for so long, then stays."""
    end = begin_mib + mib_a_minute * minutes
    return f"{begin_mib * MIB}+{mib_a_minute * MIB}x{minutes} {steady(end * MIB, n - minutes)}"


# Name of the alert, the series, minutes at which it must not fire yet, and at which it must.
STORIES = [
    ("SiltLimitWithinAnHour", healthy(silt_resident_bytes=ramp(130, 10, 85), silt_memory_limit_usage_bytes=ramp(150, 10, 85), silt_heap_live_bytes=ramp(100, 10, 85)), 19, 35),
    ("SiltLimitWithinAnHour", many(8, silt_resident_bytes=ramp(130, 1, 85), silt_memory_limit_usage_bytes=ramp(150, 8, 85)), 19, 60),
    ("SiltResidentFarAboveLive", healthy(silt_heap_live_bytes=f"{120 * MIB}x60 {steady(20 * MIB)}"), 70, 80),
    ("SiltFragmented", healthy(silt_bill_bytes__live=f"{100 * MIB}x60 {steady(40 * MIB)}", silt_bill_bytes__free_between=f"{10 * MIB}x60 {steady(60 * MIB)}"), 70, 80),
    ("SiltLeakGrows", healthy(silt_leaked_bytes=f"{5 * MIB}x60 {6 * MIB}x60 {steady(8 * MIB)}"), 110, 130),
    ("SiltLosesEvents", healthy(silt_lost_events_total=f"7x60 {steady(5000)}"), 59, 63),
    ("SiltLosesEvents", healthy(silt_unwritten_events_total=f"0x60 {steady(5000)}"), 59, 63),
    ("SiltTraceNotWritten", healthy(silt_trace_age_seconds=f"2x60 0+60x{MINUTES}"), 61, 66),
    ("SiltTraceDamaged", healthy(silt_trace_damaged=f"0x60 {steady(1)}"), 60, 64),
    ("SiltGone", healthy(up=f"1x60 {steady(0)}", silt_up="1x60 stale"), 62, 68),
    ("SiltGone", healthy(silt_up=f"1x60 {steady(0)}"), 62, 68),
]
# What looks like one of them and is none.
QUIET = {
    "a healthy program": healthy(),
    "caches that fill while it starts": healthy(silt_resident_bytes=ramp(130, 40, 14), silt_memory_limit_usage_bytes=ramp(150, 40, 14), silt_heap_live_bytes=ramp(100, 40, 14)),
    "slow growth, whose limit is hours away": healthy(silt_resident_bytes=ramp(130, 1, 300), silt_memory_limit_usage_bytes=ramp(150, 1, 300), silt_heap_live_bytes=ramp(100, 1, 300)),
    "files that its group reads": healthy(silt_memory_limit_usage_bytes=ramp(150, 10, 85), silt_memory_limit_files_bytes=ramp(15, 10, 85)),
    "files that fill its group, and slow growth": healthy(silt_memory_limit_usage_bytes=steady(1023 * MIB), silt_resident_bytes=ramp(130, 1, 300),
                                                          silt_memory_limit_files_bytes=f"{883 * MIB}-{MIB}x{MINUTES}", silt_heap_live_bytes=ramp(100, 1, 300)),
    "another process of its group": healthy(silt_memory_limit_usage_bytes=ramp(150, 10, 85)),
    "mapped files": healthy(silt_resident_bytes=steady(9000 * MIB), silt_bill_bytes__files=steady(8880 * MIB)),
    "an interpreter that maps its arenas itself": healthy(silt_resident_bytes=steady(900 * MIB), silt_bill_bytes__mapped=steady(700 * MIB)),
    "Go's runtime, whose mappings nobody saw": healthy(silt_resident_bytes=steady(900 * MIB), silt_bill_bytes__remainder=steady(700 * MIB)),
    "a program without a bill": healthy(silt_resident_bytes=steady(900 * MIB), silt_bill_bytes__live="", silt_bill_bytes__free_between="", silt_bill_bytes__files=""),
    "older blocks that nobody knows": healthy(silt_resident_bytes=steady(900 * MIB), silt_bill_bytes__heap=steady(700 * MIB)),
    "no limit, bill or graph": healthy(silt_memory_limit_bytes="", silt_memory_limit_usage_bytes="", silt_memory_limit_files_bytes="", silt_bill_bytes__live="", silt_bill_bytes__free_between="",
                                       silt_bill_bytes__files="", silt_bill_age_seconds="", silt_leaked_bytes=""),
    "a leak found once": healthy(silt_leaked_bytes=f"{0}x60 {steady(50 * MIB)}"),
    "fragmented once, and nobody looked again": healthy(silt_bill_bytes__free_between=steady(300 * MIB), silt_bill_age_seconds=steady(86400),
                                                        silt_resident_bytes=steady(200 * MIB)),
    "one that ended while its endpoint went on being asked, before that": healthy(silt_up=steady(0)),
}


def firing_at(minute, *names):
    return {"expr": 'group by (alertname) (ALERTS{alertstate="firing"})', "eval_time": f"{minute}m",
            "exp_samples": [{"labels": f'{{alertname="{name}"}}', "value": 1} for name in names]}


def test_alerts_fire_on_their_stories_and_on_no_other(t):
    needs_prometheus()
    shown = set(re.findall(r"alert: (\w+)", open(RULES).read()))
    assert shown == {name for name, *_ in STORIES}, shown
    tests = [{"name": name, "interval": "1m", "input_series": series, "promql_expr_test": [firing_at(quiet), firing_at(fires, name)]} for name, series, quiet, fires in STORIES]
    tests += [{"name": name, "interval": "1m", "input_series": series, "promql_expr_test": [firing_at(minute) for minute in (10, 19, 25, 60, 121, 290)]}
              for name, series in QUIET.items()]
    with open(t.path("stories.yml"), "w") as f:
        json.dump({"rule_files": [RULES], "evaluation_interval": "1m", "tests": tests}, f)
    r = run(["promtool", "test", "rules", t.path("stories.yml")])
    assert r.code == 0, r.text[-3000:] + r.errors[-3000:]


# ---- for real ------------------------------------------------------------------------------------

# Fills 160 MiB with small blocks, and keeps every sixth: far more memory than its live blocks need, in pages that hold one. With
# "healthy" it keeps all. Then it goes on in small, until it is told to end.
PROGRAM = """
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
enum { N = 160 * 1024, EVERY = 6 };
static char *blocks[N];
static char *make(int i) { return memset(malloc(1000), i, 1000); }
static void fill(int n) { for (int i = 0; i < n; i++) blocks[i] = make(i); }
static void work(void) { for (int i = 0; i < 1000; i++) free(make(i)); }
int main(int argc, char **argv) {
        int is_healthy = argc > 1;
        fill(is_healthy ? N / 2 : N);
        for (int i = 0; i < N && !is_healthy; i++) if (i % EVERY) { free(blocks[i]); blocks[i] = NULL; }
        void *lost = malloc(5000); memset(&lost, 0, sizeof(lost));
        puts("ready"); fflush(stdout);
        for (;;) { work(); usleep(50000); }
}
"""

# Metrics that this machine need not have, or only processes attached to; and a slope is not always upwards.
ABSENT = ("silt_pressure_stall_seconds_total", "silt_prior_bytes", "deriv(silt_memory_limit_usage_bytes")
LIMIT = "silt_memory_limit_"  # where no group can be made


def faster(rules, path):
    """The same rules, a minute as a second."""
    def seconds(found):
        return f"{found[1]}{int(found[2]) * {'m': 1, 'h': 60}[found[3]]}s"
    with open(rules) as f, open(path, "w") as out:
        text = re.sub(r"(for: |\[)(\d+)([mh])\b", seconds, f.read())
        out.write(text)
    assert "m]" not in text and "h]" not in text
    return path


def start(t, name, port, program, *args, options=(), group=None):
    """silt run with an endpoint, until the program has done its work."""
    argv = t.silt.run_argv(t.path(name + ".silt"), [program, *args], ["--metrics", f"127.0.0.1:{port}", *options])
    process = subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, start_new_session=True,
                               preexec_fn=group.enter if group else None)
    t.running.append(process)
    assert process.stdout.readline() == b"ready\n"
    return process


def queries_of_dashboard():
    """[(panel, query)], with what Grafana puts into them."""
    with open(DASHBOARD) as f:
        board = json.load(f)
    ids = [p["id"] for p in board["panels"]]
    assert len(ids) == len(set(ids))
    for panel in board["panels"]:
        for target in panel.get("targets", []):
            query = target["expr"]
            for name, value in (("$program", ".*"), ("$pid", ".*"), ("$slope", "10s"), ("$__rate_interval", "10s"), ("$__range", "1m")):
                query = query.replace(name, value)
            assert "$" not in query, query
            yield panel["title"], query


def unanswered(prometheus, absent):
    return [(panel, query) for panel, query in queries_of_dashboard()
            if not any(name in query for name in absent) and not prometheus.ask(query)]


def limited_group(t):
    """A cgroup with a limit far away; without a group where none can be made."""
    try:
        group = MemoryGroup("silt-test-" + os.path.basename(t.dir), 1 << 30)
        with group:
            return group
    except OSError:
        return contextlib.nullcontext()


def test_dashboard_and_alerts_for_real(t):
    needs_prometheus()
    program = t.path("shop")
    with open(program + ".c", "w") as f:
        f.write(PROGRAM)
    r = run(["gcc", "-g", "-O1", "-fno-builtin", program + ".c", "-o", program])
    assert r.code == 0, r.errors
    ports = free_port(), free_port()
    with limited_group(t) as group, Webhook() as webhook:
        scattered = start(t, "scattered", ports[0], program, options=("--graph-every", "2s"))
        sound = start(t, "sound", ports[1], program, "healthy", options=("--sample", "64K", "--graph-every", "2s"), group=group)
        try:
            check_for_real(t, ports, webhook, scattered, ABSENT if group else (*ABSENT, LIMIT))
        finally:
            sound.terminate()
            sound.wait()


def check_for_real(t, ports, webhook, scattered, absent):
    alertmanager = Alertmanager(t, webhook)
    prometheus = Prometheus(t, {"silt": [ports[0]], "silt-sampled": [ports[1]]}, faster(RULES, t.path("fast.yml")), alertmanager)
    wait_for("data for every panel", lambda: not unanswered(prometheus, absent))
    for name in ("SiltResidentFarAboveLive", "SiltFragmented"):
        told = wait_for(name, lambda: webhook.firing(name, program="shop", job="silt"))[0]
        assert re.search(r"shop \(\d+\)", told["annotations"]["summary"]), told
    assert not [a for a in webhook.alerts if a["labels"]["job"] == "silt-sampled"], webhook.alerts
    scattered.terminate()
    wait_for("SiltGone", lambda: webhook.firing("SiltGone", job="silt"))
    assert {a["labels"]["alertname"] for a in webhook.alerts} == {"SiltResidentFarAboveLive", "SiltFragmented", "SiltGone"}, webhook.alerts


test_dashboard_and_alerts_for_real.waits = True
