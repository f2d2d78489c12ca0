# SPDX-License-Identifier: MIT
"""The programs of examples/ (docs/stories): the first finding names the culprit and is right about the figures, which are
drawn anew every time; what is mended, and the program that is fine, raise no alarm. The pages' commands still answer so."""

import os
import re
import sys

from harness.ninja import build_example, build_targets
from harness.process import run

ALARMS = {"growing", "leak", "large-site", "short-peak", "regrowth", "slack"}
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


def findings(t, name, *arguments):
    r = t.silt.record(t.path("t.silt"), [build_example(t.silt.path, name), *map(str, arguments)], ["-f"])
    assert r.code == 0, r.errors
    got, why = t.silt.report(t.path("t.silt"))
    assert got, why
    return got["findings"], got, r.text


def first(t, kind, function, name, *arguments):
    found, got, said = findings(t, name, *arguments)
    texts = [f"{f['kind']}: {f['text']}" for f in found]
    assert found and found[0]["kind"] == kind, texts
    assert function in found[0]["text"], texts
    assert any(function in frame["function"] for frame in found[0]["site"]["stack"]), found[0]["site"]
    return found[0], got, said


def check_calm(t, name, *arguments):
    found, _, _ = findings(t, name, *arguments)
    alarms = [f"{f['kind']}: {f['text']}" for f in found if f["kind"] in ALARMS]
    assert not alarms, alarms


def near(value, wanted, pct):
    assert abs(value - wanted) <= wanted * pct / 100, f"{value}, not {wanted} within {pct} %"


def test_tasks_nobody_collects(t):
    n_ticks = t.chance.randint(250, 500)
    f, got, said = first(t, "growing", "run_ticks", "simulator", n_ticks)
    n_tasks = int(re.search(r"holds (\d+) tasks", said)[1])
    assert n_tasks == n_ticks * 20
    sites = [s for s in got["top"][0]["sites"] if any("run_ticks" in x["function"] for x in s["stack"])]
    held = sum(s["bytes"] for s in sites)
    near(f["bytes"], held, 1)
    near(f["evidence"]["bytes_per_task"], held / n_tasks, 2)
    check_calm(t, "simulator", n_ticks, "--drain")


def test_state_per_client(t):
    n_clients, n_inflight = t.chance.randint(150, 500), t.chance.randint(5000, 12000)
    f, _, _ = first(t, "large-site", "MqttState::MqttState", "mqtt_server", n_clients, "--inflight", n_inflight)
    unit = n_inflight * 24 + n_inflight // 2 * 8 + 16384
    assert f["evidence"]["unit_bytes"] == unit and f["bytes"] == unit * n_clients, f


def test_cache_without_bound(t):
    f, got, said = first(t, "growing", "cache_insert", "resolver", t.chance.randint(80, 150))
    n_answers = int(re.search(r"(\d+) answers", said)[1])
    held = sum(s["bytes"] for s in got["top"][0]["sites"] if any(x["function"] == "cache_insert" for x in s["stack"]))
    assert f["bytes"] == held and held > n_answers * 232, (f["bytes"], held)
    check_calm(t, "resolver", 120, "--bound")


def test_buffer_in_small_steps(t):
    n_batches = t.chance.randint(30, 80)
    f, _, _ = first(t, "regrowth", "batch_append", "log_shipper", n_batches)
    assert f["evidence"]["growths"] == n_batches * 799, f["evidence"]  # the first line of a batch replaces nothing
    check_calm(t, "log_shipper", n_batches, "--reserve")


def test_one_block_in_a_thousand(t):
    n_thousands = t.chance.randint(120, 250)
    f, _, _ = first(t, "growing", "copy_header", "proxy", n_thousands)
    assert f["bytes"] == n_thousands * 96, f
    check_calm(t, "proxy", n_thousands, "--mend")


def test_spike_at_start(t):
    f, got, _ = first(t, "short-peak", "parse_record", "index_loader", t.chance.randint(30, 80))
    near(f["bytes"], got["totals"]["peak_live_bytes"], 10)
    check_calm(t, "index_loader", 60, "--stream")


def test_a_program_that_is_fine(t):
    check_calm(t, "thumbnails", t.chance.randint(6000, 12000))


def test_pages_are_as_printed(t):
    build = os.path.dirname(t.silt.path)
    build_targets(build, "all", "examples/index_loader", "examples/simulator")  # then the tool finds them made
    r = run([sys.executable, os.path.join(ROOT, "tools", "stories.py"), "--build", build, "--check"], timeout_s=900)
    assert r.code == 0, r.text + r.errors


for one in (test_tasks_nobody_collects, test_state_per_client, test_cache_without_bound, test_buffer_in_small_steps,
            test_one_block_in_a_thousand, test_spike_at_start, test_a_program_that_is_fine):
    one.soak_repeats = 20
