#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Tests of the instrument itself: what it computes from runs with known times, and what it refuses to compute."""
import os
import sys
import tempfile
import unittest
import xml.etree.ElementTree

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)

import run  # noqa: E402
from harness import cage, figures, plot, table  # noqa: E402
from harness.programs import Workload  # noqa: E402
from harness.ways import timed, why_differs  # noqa: E402


def one(wall, cpu, **more):
    return {"wall": wall, "cpu": cpu, "status": 0, "output": "42\n", "product": "", "recorder_rss": 0, **more}


def runs_of(silt_walls, peer_walls, **silt_more):
    silt = {"recorder": 0.5, "blocked": 0.1, "events": 1_000_000, "lost": 0, "bytes_per_event": 1.0,
            "recorder_rss": 50_000_000, **silt_more}
    return {"bare": [one(w, 1.0) for w in (0.9, 1.0, 5.0)], "noop": [one(1.1, 1.1)],
            "silt": [one(w, 1.5, whole=w + 1, **silt) for w in silt_walls], "heaptrack": [one(w, 9.0, allocations=7) for w in peer_walls]}


def row_of(runs, peer_why="", **aims):
    whys = {way: [""] * len(found) for way, found in runs.items()}
    whys["heaptrack"][0] = peer_why
    report = {"overhead": {"runtime_bytes": 3 << 20}, "totals": {"peak_live_blocks": 100, "sites": 5, "allocations": 7}}
    return figures.row_of(Workload("w", ["w"], **aims), runs, whys, report)


def result_of(*rows):
    about = {"machine": "m", "cpu": "c", "cores": 2, "kernel": "6", "system": "s", "libc": "l", "heaptrack": "1.4",
             "silt": "silt 1", "date": "d", "load_before": 0.1}
    return {"runs": 3, "machine": about, "rows": list(rows), "heaptrack_limit_bytes": 1 << 30,
            "heaptrack_limit_by": "cgroup v2"}


class Figures(unittest.TestCase):
    def test_ratios_are_of_medians_and_the_share_is_of_what_is_added(self):
        row = row_of(runs_of([1.3, 1.5, 9.0], [6.0]))
        self.assertEqual((row["silt"]["wall"], row["silt"]["whole"]), (1.5, 2.5))
        self.assertEqual((row["silt"]["wall_min"], row["silt"]["wall_max"]), (1.3, 9.0))
        self.assertEqual(row["share"], 0.1)
        self.assertEqual(row["share_cpu"], round((1.5 + 0.5 - 1) / 8, 3))
        self.assertEqual(figures.missed(row), [])

    def test_no_share_where_heaptrack_failed(self):
        row = row_of(runs_of([1.5], [6.0]), peer_why="out of memory")
        self.assertNotIn("share", row)
        self.assertIn("failed: out of memory", table.markdown(result_of(row)))

    def test_aims_that_are_missed_are_named(self):
        runs = runs_of([3.0], [6.0], lost=1, bytes_per_event=1.6, recorder_rss=10**9)
        row = row_of(runs, wall_max=1.3, cpu_max=1.9, events_per_s_min=8e6)
        self.assertEqual([a["what"] for a in figures.missed(row)],
                         ["share", "wall", "CPU", "lost", "bytes per event", "events per recorder second", "recorder bytes"])

    def test_a_run_that_does_something_else_is_told(self):
        bare = one(1, 1)
        self.assertEqual(why_differs("silt", one(1, 1), bare), "")
        self.assertEqual(why_differs("heaptrack", one(1, 1, output="heaptrack says\n42\n"), bare), "")
        self.assertEqual(why_differs("silt", one(1, 1, output="silt says\n42\n"), bare), "other output")
        self.assertEqual(why_differs("noop", one(1, 1, status=1), bare), "exit status 1")
        self.assertEqual(why_differs("heaptrack", one(1, 1, out_of_memory=True), bare), "out of memory")
        self.assertEqual(why_differs("silt", one(1, 1, product="x"), bare), "other product")

    def test_rows_measured_again_replace_the_old_ones(self):
        old = result_of({"workload": "a", "n": 1}, {"workload": "b", "n": 1})
        new = result_of({"workload": "b", "n": 2}, {"workload": "c", "n": 2})
        self.assertEqual([(r["workload"], r["n"]) for r in run.merge(old, new)["rows"]], [("a", 1), ("b", 2), ("c", 2)])


class Pages(unittest.TestCase):
    def test_the_plot_is_well_formed_and_has_a_mark_for_every_way(self):
        row = row_of(runs_of([1.5], [6.0]))
        root = xml.etree.ElementTree.fromstring(plot.svg(result_of(row)))
        legend = 3
        self.assertEqual(len(root.findall("{*}circle")), legend + 3)
        self.assertIn("1.50", [t.text for t in root.findall("{*}text")])

    def test_filling_a_page_twice_changes_nothing(self):
        with tempfile.NamedTemporaryFile("w+", suffix=".md") as f:
            f.write("before\n<!-- bench: begin (by x) -->\nold\n<!-- bench: end -->\nafter\n")
            f.flush()
            for _ in range(2):
                run.fill(f.name, "bench", "new\n")
                with open(f.name, encoding="utf-8") as page:
                    self.assertEqual(page.read(), "before\n<!-- bench: begin (by x) -->\nnew\n<!-- bench: end -->\nafter\n")
            with self.assertRaises(SystemExit):
                run.fill(f.name, "budget", "new\n")


class Caged(unittest.TestCase):
    def test_a_blow_up_is_ended_and_seen(self):
        held = cage.Cage(64 << 20)
        try:
            eater = Workload("eater", [sys.executable, "-c", "b = bytearray(200 << 20); print(len(b))"])
            found = timed(eater, eater.argv, {}, held)
            self.assertNotEqual(found["status"], 0)
            self.assertEqual(found["output"], "")
            if held.path:
                self.assertEqual(held.n_killed(), 1)
        finally:
            held.close()
        self.assertFalse(held.path and os.path.exists(held.path))

    def test_version_2_against_a_tree_of_plain_files(self):
        mounts = cage.mounts
        with tempfile.TemporaryDirectory() as tree:
            cage.mounts = lambda: [(2, tree)]
            try:
                held = cage.Cage(1 << 30)
            finally:
                cage.mounts = mounts
            self.assertEqual(held.kind, "cgroup v2")
            self.assertEqual(cage.read(os.path.join(held.path, "memory.max")), str(1 << 30))
            cage.write(os.path.join(held.path, "memory.events"), "low 0\noom 3\noom_kill 2\noom_group_kill 0\n")
            self.assertEqual(held.n_killed(), 2)


if __name__ == "__main__":
    unittest.main()
