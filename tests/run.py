#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Runs every test that crosses folders: the hostile programs, silt beside other tools, and the command line.

  tests/run.py --build build                       once (racy ones twice, but for --once)
  tests/run.py --build build --soak                programs 100 times in a row, faults as often as they say
  tests/run.py --build build --only program/fork   by name
  tests/run.py --build build --runner "qemu-x86_64 -L /usr/x86_64-linux-gnu" --runtime build-x86_64/libsilt.so
  tests/run.py --oracle preload                    the expectations themselves, without silt

Prints one line per test and at the end `N passed, N failed`. Traces of failed tests stay in BUILD/tests/failed."""

import argparse
import concurrent.futures
import json
import os
import re
import signal
import secrets
import shutil
import subprocess
import sys
import threading
import time
import traceback

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)

from harness import cases, oracles, program  # noqa: E402
from harness.load import Load  # noqa: E402
from harness.process import TimedOut  # noqa: E402
from harness.silt import Silt  # noqa: E402
from harness.toolchain import BuildError, Toolchain  # noqa: E402


def build_options(build_dir):
    """Names of Meson's options that are true."""
    try:
        with open(os.path.join(build_dir, "meson-info", "intro-buildoptions.json")) as f:
            return {o["name"] for o in json.load(f) if o["value"] is True}
    except OSError:
        return set()


class Context:
    """What tests need to know of where they run."""

    def __init__(self, options):
        self.build_dir = os.path.abspath(options.build)
        self.tests_dir = HERE
        self.source_dir = os.path.join(HERE, "programs")
        self.work_dir = os.path.join(self.build_dir, "tests")
        os.environ["XDG_CACHE_HOME"] = os.path.join(self.work_dir, "cache")  # not the user's own
        self.runner = options.runner
        machine = re.search(r"qemu-(\w+)", options.runner or "")
        # qemu-aarch64 has no vDSO: the code that a signal handler returns to lies in no object, and a stack ends there
        self.walks_handlers = not machine or machine[1] != "aarch64"
        prefix, suffix = (f"{machine[1]}-linux-gnu-", "." + machine[1]) if machine else ("", "")
        self.tools = Toolchain(self.source_dir, os.path.join(self.work_dir, "programs" + suffix), prefix)
        self.helpers = Toolchain(os.path.join(HERE, "cases"), os.path.join(self.work_dir, "programs" + suffix), prefix)
        self.victims = Toolchain(os.path.join(HERE, "faults"), os.path.join(self.work_dir, "faults" + suffix), prefix)
        self.shapes = Toolchain(os.path.join(HERE, "findings"), os.path.join(self.work_dir, "findings" + suffix), prefix)
        self.attached = Toolchain(os.path.join(HERE, "attach"), os.path.join(self.work_dir, "attach" + suffix), prefix)
        self.samples = Toolchain(os.path.join(HERE, "sample"), os.path.join(self.work_dir, "sample" + suffix), prefix)
        self.traces = os.path.join(self.work_dir, "traces" + suffix)
        self.failed = os.path.join(self.work_dir, "failed")
        for path in (self.traces, self.failed):
            os.makedirs(path, exist_ok=True)
        self.is_soak = options.soak
        # what tests draw: always the same, but for `make soak`
        self.seed = int(os.environ.get("SILT_SEED") or (secrets.randbelow(1 << 31) if options.soak else 1))
        self.build_options = build_options(self.build_dir)
        # makes rare paths common and walks few frames: most stacks are cut there, by intent
        self.is_tiny = "tiny" in self.build_options
        runtime = os.path.abspath(options.runtime) if options.runtime else None
        self.silt = Silt(options.build, options.runner, runtime)

    def trace_path(self, name):
        return os.path.join(self.traces, name.replace("/", ".") + ".silt")

    def binary(self, name):
        """Builds and returns the program `name` of tests/programs, without a case."""
        for case in program.load_cases(self.source_dir):
            if case["binary"] == name:
                return program.ProgramTest(case, self).build()
        raise KeyError(name)


def program_tests(context, options):
    """The programs; those that cannot work under the runner are left out, with the reason."""
    for case in program.load_cases(context.source_dir):
        if options.runner:
            handlers = case.get("handlers")
            reason = case.get("qemu") or (f"handlers are {handlers}, which ends at them there"
                                          if isinstance(handlers, str) and not context.walks_handlers else None) or (None if context.tools.can_build(case["sources"][0])
                                          else "no Rust standard library for that machine")
            if reason:
                print(f"left out under {options.runner.split()[0]}: program/{case['name']}: {reason}")
                continue
        yield program.ProgramTest(case, context)


def emulated_tests(context, options):
    """Allocators inside programs, pools of programs and samples, for the other machine."""
    tests = [test for name in ("allocators/bulk", "allocators/exact", "allocators/hook", "allocators/replace", "allocators/subsets", "allocators/thunks",
                                 "cases/patched", "cases/pools", "sample/exact_totals", "sample/estimates", "attach/arenas", "attach/heaps_own")
             for test in cases.discover_file(os.path.join(HERE, name + ".py"), name.removeprefix("cases/"), context)]
    for test in tests:
        reason = getattr(test.function, "native_alone", None)
        if reason and not (options.soak and hasattr(test.function, "from_source_elsewhere")):
            print(f"left out under {options.runner.split()[0]}: {test.name}: {reason}")
        else:
            yield test


def all_tests(context, options):
    tests = list(program_tests(context, options))
    if options.oracle:
        for t in tests:
            if "oracle" in t.case:
                print(f"left out: {t.name}: {t.case['oracle']}")
        tests = [t for t in tests if "oracle" not in t.case]
        witness = {"preload": lambda: oracles.PreloadOracle(os.path.join(HERE, "oracle"), context.work_dir),
                   "memcheck": oracles.Memcheck, "heaptrack": oracles.Heaptrack}[options.oracle]()
        return [oracles.OracleTest(t, witness) for t in tests]
    if options.runner:
        tests += emulated_tests(context, options)
    else:
        tests += cases.discover(os.path.join(HERE, "cases"), context)
        tests += cases.discover(os.path.join(HERE, "faults"), context)
        tests += cases.discover(os.path.join(HERE, "symbols"), context)
        tests += cases.discover(os.path.join(HERE, "findings"), context, "findings/")
        tests += cases.discover(os.path.join(HERE, "wild"), context, "wild/")
        tests += cases.discover(os.path.join(HERE, "allocators"), context, "allocators/")
        tests += cases.discover(os.path.join(HERE, "attach"), context, "attach/")
        tests += cases.discover(os.path.join(HERE, "sample"), context, "sample/")
        tests += cases.discover(os.path.join(HERE, "suites"), context, "suites/")
        tests += cases.discover(os.path.join(HERE, "services"), context, "services/")
        tests += cases.discover_file(os.path.join(HERE, "truth_real.py"), "real", context)
    return tests


# A test that ran out of time on a busy machine is run once more, alone, at the end; nothing else ever is. More of them than that
# are no accident.
MAX_LATE = 3


class Summary:
    def __init__(self, out=sys.stdout):
        self.out = out
        self.passed = 0
        self.failed, self.skipped, self.late, self.repeated = [], [], [], []
        self.lock = threading.Lock()

    def say(self, text):
        print(text, file=self.out, flush=True)

    def line(self):
        text = f"{self.passed} passed, {len(self.failed)} failed"
        return text + (f", {len(self.skipped)} skipped" if self.skipped else "")

    def late_line(self):
        """What was repeated; nothing where nothing was."""
        n = len(self.repeated)
        return f"{n} time-out{'s' if n > 1 else ''} on a busy machine, repeated: {', '.join(self.repeated)}" if n else ""


def run_once(test):
    """Failures, notes, and whether it was time that it lacked."""
    try:
        return *test.run(), False
    except cases.Skip as skip:
        raise skip
    except (TimedOut, subprocess.TimeoutExpired) as e:
        return [str(e), *getattr(e, "draws", [])], [], True
    except BuildError as e:
        return [str(e)], [], False
    except Exception as e:
        return [traceback.format_exc(), *getattr(e, "draws", [])], [], False


def run_test(test, repeats, summary, context, is_last_word=True, load=Load):
    """All repetitions of one test, and its line."""
    begin = time.monotonic()
    failures, notes, done = [], [], 0
    skip, is_late = None, False
    while done < repeats and not failures:
        machine = load()
        try:
            failures, notes, is_late = run_once(test)
        except cases.Skip as e:
            skip = str(e)
            break
        done += 1
    seconds = time.monotonic() - begin
    with summary.lock:
        if skip:
            summary.skipped.append(test.name)
            summary.say(f"SKIP {test.name}: {skip}")
        elif failures:
            is_late = is_late and not is_last_word and len(summary.late) < MAX_LATE and machine.is_busy()
            summary.failed += [] if is_late else [test.name]
            summary.late += [test] if is_late else []
            summary.say(f"{'LATE' if is_late else 'FAIL'} {test.name} ({seconds:.1f} s, repetition {done} of {repeats})")
            for failure in failures:
                summary.say("     " + failure.replace("\n", "\n     "))
            keep_traces(test, summary, context)
        else:
            summary.passed += 1
            times = f", {repeats} times" if repeats > 1 else ""
            summary.say(f"ok   {test.name} ({seconds:.1f} s{times})")
            for note in notes:
                summary.say("     note: " + note.replace("\n", "\n           "))


def run_late(summary, context):
    """Those that ran out of time, alone."""
    for test in summary.late:
        summary.repeated.append(test.name)
        run_test(test, 1, summary, context)


def keep_traces(test, summary, context):
    for name in (test.name, test.name + ".baseline"):
        trace = context.trace_path(name)
        if os.path.exists(trace):
            kept = os.path.join(context.failed, os.path.basename(trace))
            shutil.copy(trace, kept)
            summary.say(f"     trace kept: {os.path.relpath(kept)}")


def parse_arguments():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--build", default="build", help="build directory with silt and libsilt.so")
    p.add_argument("--variant", help="name of a second build directory beside the first: BUILD-VARIANT")
    p.add_argument("--only", metavar="REGEX", help="only tests whose name matches")
    p.add_argument("--list", action="store_true", help="print the names and stop")
    p.add_argument("--soak", action="store_true", help="the long repetition counts")
    p.add_argument("--repeat", type=int, metavar="N", help="repeat every test N times")
    p.add_argument("--once", action="store_true", help="racy ones once too")
    p.add_argument("--jobs", type=int, default=min(4, (os.cpu_count() or 1) + 1), metavar="N", help="tests at once (default: one more than processors, at most 4: half of their time they wait)")
    p.add_argument("--runner", metavar="COMMAND", help="emulator for programs built by the cross compiler")
    p.add_argument("--runtime", metavar="LIBSILT", help="the runtime for that machine")
    p.add_argument("--oracle", choices=["preload", "memcheck", "heaptrack"], help="check the expectations without silt")
    p.add_argument("--summary-file", metavar="FILE", help="write the counts as JSON")
    options = p.parse_args()
    if options.variant:
        options.build = f"{options.build.rstrip('/')}-{options.variant}"
    if options.runner and not options.runtime and not options.oracle:
        p.error("--runner needs --runtime")
    return options


def repeats_of(test, options):
    if options.repeat:
        return options.repeat
    if options.once:
        return min(1, test.repeats)
    return test.soak_repeats if options.soak else test.repeats


def plain_signals():
    """A runner started in the background has these ignored, and whatever it starts would too."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    for number in (signal.SIGHUP, signal.SIGQUIT, signal.SIGTERM):
        signal.signal(number, signal.SIG_DFL)


def main():
    plain_signals()
    options = parse_arguments()
    if not os.path.exists("/proc/self/maps"):
        print("silt: tests: cannot run here: nothing is mounted at /proc: mount -t proc proc /proc", file=sys.stderr)
        return 1
    context = Context(options)
    tests = [t for t in all_tests(context, options) if not options.only or re.search(options.only, t.name)]
    tests = [t for t in tests if repeats_of(t, options)]
    if options.list:
        for test in tests:
            print(test.name)
        return 0
    summary = Summary()
    if options.soak:
        print(f"drawn anew: SILT_SEED={context.seed}")
    # Tests that wait have a lane of their own: they take time, and no processor that others would need.
    with concurrent.futures.ThreadPoolExecutor(max(1, options.jobs)) as pool, concurrent.futures.ThreadPoolExecutor(1) as waiting:
        is_last_word = options.soak or bool(options.repeat)
        for future in [(waiting if getattr(t, "waits", False) else pool).submit(run_test, t, repeats_of(t, options), summary, context, is_last_word)
                       for t in tests]:
            future.result()
    run_late(summary, context)
    if options.summary_file:
        with open(options.summary_file, "w") as f:
            json.dump({"passed": summary.passed, "failed": len(summary.failed), "skipped": len(summary.skipped),
                       "repeated": len(summary.repeated), "names_failed": summary.failed}, f)
            f.write("\n")
    if summary.late_line():
        print(summary.late_line())
    print(summary.line())
    return 1 if summary.failed or not tests else 0


if __name__ == "__main__":
    sys.exit(main())
