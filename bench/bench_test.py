#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Tests of the instrument itself: what it computes from runs with known times, and what it refuses to compute."""
import glob
import os
import subprocess
import sys
import tempfile
import unittest
import xml.etree.ElementTree

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)

import run  # noqa: E402
from measure import cage, compare, figures, plot, profiles, programs, table  # noqa: E402
from measure.programs import Workload  # noqa: E402
from measure.ways import timed, why_differs  # noqa: E402


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

    def test_recorder_time_per_event(self):
        runs = runs_of([1.5], [6.0], recorder=0.04)
        self.assertEqual(row_of(runs)["silt"]["recorder_ns"], 40)
        self.assertEqual([a["what"] for a in figures.missed(row_of(runs, recorder_ns_max=35))], ["recorder ns"])
        self.assertEqual(figures.missed(row_of(runs, recorder_ns_max=40)), [])

    def test_what_grew_is_told(self):
        old = result_of(row_of(runs_of([1.5], [6.0])))
        new = result_of(row_of(runs_of([1.2], [6.0], bytes_per_event=1.03, recorder_rss=90_000_000)))
        (a, b), = compare.pairs(old, new)
        self.assertEqual(compare.grown(a, b), ["bytes per event", "recorder memory"])
        self.assertEqual(compare.grown(a, a), [])
        self.assertIn("| w | 1.50 → 1.20 | 0.100 → 0.040 |", compare.markdown(old, new))

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


class Pinned(unittest.TestCase):
    def test_what_records_has_a_core_of_its_own(self):
        cpu = min(os.sched_getaffinity(0))
        asks = Workload("asks", [sys.executable, "-c", "import os; print(os.sched_getaffinity(0))"], tool_cpu=cpu)
        self.assertEqual(timed(asks, asks.argv, {})["output"], f"{{{cpu}}}\n")
        self.assertNotEqual(os.sched_getaffinity(0), set())

    def test_all_threads_of_a_server_are_pinned(self):
        cpu = max(os.sched_getaffinity(0))
        program = "import threading, sys; threading.Thread(target=sys.stdin.read).start(); print(1, flush=True)"
        child = subprocess.Popen([sys.executable, "-c", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        child.stdout.readline()
        programs.pin(child.pid, cpu)
        threads = os.listdir(f"/proc/{child.pid}/task")
        self.assertEqual([os.sched_getaffinity(int(t)) for t in threads], [{cpu}] * len(threads))
        child.communicate()


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


SCRIPT = """two words  7/8   1.000001:    1000000 cpu-clock:
\t    ffffffff81000010 entry+0x10 ([kernel.kallsyms])
\t                1020 main (/nowhere/prog)
\t                1010 [unknown] ([vdso])

prog 7/7 2.000000: PERF_RECORD_FORK(8:8):(7:7)
prog 7/7 2.5: cpu-clock:
\t                1030 f(int) (/nowhere/prog)
\t                1031 g (inlined)
"""


class FakeNames:
    def function(self, module, place, is_offset):
        return module, {0x1020: "main", 0x1030: "_start"}.get(place, "?")


class Scripts(unittest.TestCase):
    def test_every_script_finds_its_parts(self):
        scripts = [p for p in glob.glob(os.path.join(HERE, "*.py")) if p != os.path.abspath(__file__)]
        self.assertGreater(len(scripts), 10)
        for script in scripts:
            with self.subTest(os.path.basename(script)):
                r = subprocess.run([sys.executable, script, "--help"], capture_output=True, text=True)
                self.assertEqual((r.returncode, r.stderr), (0, ""))


class Profiles(unittest.TestCase):
    def test_samples_are_read(self):
        p = profiles.Profile()
        profiles.read(p, SCRIPT.splitlines(), FakeNames(), True, {"cpu-clock"})
        self.assertEqual((p.n, p.n_complete, p.n_frames), (2, 1, 4))
        self.assertEqual(p.weights, {("[kernel.kallsyms]", "?"): 1000000, ("/nowhere/prog", "_start"): 1})
        p.add([], 5)  # time at no call path
        self.assertEqual((p.n, p.complete_pct(), p.weights.total()), (2, 50, 1000006))
        only = profiles.Profile()
        profiles.read(only, SCRIPT.splitlines(), FakeNames(), True, {"cpu-clock"}, "prog")
        self.assertEqual(only.n, 1)

    def test_deviation_is_in_standard_errors(self):
        a, b = profiles.Profile(), profiles.Profile()
        for profile, n in ((a, 50), (b, 60)):
            for i in range(100):
                profile.add([("m", "f" if i < n else "g")])
        # 0.1 apart, the error of both is sqrt(0.55 * 0.45 / 50)
        self.assertAlmostEqual(profiles.deviation(a, b, ("m", "f")), 0.1 / (0.55 * 0.45 / 50) ** 0.5)
        self.assertEqual(profiles.deviation(a, a, ("m", "f")), 0)
        self.assertEqual(profiles.largest(a, b, 1), [("m", "f")])

    def test_functions_of_a_file(self):
        elf = profiles.Elf(sys.executable)
        self.assertEqual(elf.function(profiles.Elf.read_head(sys.executable)[1]), "_start")
        self.assertIsNone(profiles.Elf(os.devnull).function(5))


if __name__ == "__main__":
    unittest.main()
