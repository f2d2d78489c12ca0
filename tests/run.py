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
import json
import os
import random
import re
import signal
import secrets
import shlex
import shutil
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
GATE = os.path.join(HERE, "gate.txt")
sys.path.insert(0, HERE)

from harness import cases, crew, environment, gate, meson_tests, oracles, program  # noqa: E402
from harness.silt import Silt  # noqa: E402
from harness.toolchain import Toolchain  # noqa: E402


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
    if options.gate:
        tests = meson_tests.load(context.build_dir) + tests
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


class Summary:
    """What was found so far; a strict one takes a test that cannot run for one that failed."""

    def __init__(self, out=sys.stdout, is_strict=False):
        self.out, self.is_strict = out, is_strict
        self.passed = 0
        self.failed, self.skipped, self.unsteady = {}, [], {}
        self.left = []  # in folders for temporary files

    def say(self, text):
        print(text, file=self.out, flush=True)

    def line(self):
        text = f"{self.passed} passed, {len(self.failed)} failed"
        return text + (f", {len(self.skipped)} skipped" if self.skipped else "")


    def add(self, job, outcome, context):
        """One test, and its line."""
        name, times = job.test.name, f", {job.repeats} times" if job.repeats > 1 else ""
        self.left += [f"{name}: {left}" for left in outcome.left]
        if outcome.skip and self.is_strict:
            self.failed[name] = [f"it could not run: {outcome.skip}"]
            self.say(f"FAIL {name}: it could not run: {outcome.skip}")
        elif outcome.skip:
            self.skipped.append(name)
            self.say(f"SKIP {name}: {outcome.skip}")
        elif outcome.failures:
            self.failed[name] = outcome.failures
            self.say(f"FAIL {name} ({job.seconds:.1f} s, repetition {job.n_done} of {job.repeats})")
            for failure in outcome.failures:
                self.say("     " + failure.replace("\n", "\n     "))
            keep_traces(job.test, self, context)
        else:
            self.passed += 1
            self.say(f"ok   {name} ({job.seconds:.1f} s{times})")
            for note in outcome.notes:
                self.say("     note: " + note.replace("\n", "\n           "))


def run_tests(tests, repeats_of, summary, context, scratch, n_at_once):
    crew.run_all([crew.Job(test, repeats_of(test)) for test in tests], scratch, n_at_once, lambda job, outcome: summary.add(job, outcome, context))


def again(job, outcome, failures, summary):
    if outcome.failures or outcome.skip:
        summary.say(f"     again: {job.test.name}: {(outcome.failures or [outcome.skip])[0]}")
    else:
        summary.unsteady[job.test.name] = failures


def forgive(tests, summary, scratch):
    """What failed in the gate is run twice more, alone: what passes then is unsteady, unless it did harm or is one of many."""
    for test in tests:
        failures = summary.failed.get(test.name)
        if not failures or gate.is_grave(failures):
            continue
        crew.run_all([crew.Job(test, 2)], scratch, 1, lambda job, outcome, failures=failures: again(job, outcome, failures, summary))
    if len(summary.unsteady) > gate.MAX_UNSTEADY:
        summary.say(f"{len(summary.unsteady)} tests failed and then passed: at most {gate.MAX_UNSTEADY} are forgiven")
        return
    for name in summary.unsteady:
        del summary.failed[name]
        summary.passed += 1


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
    p.add_argument("--gate", nargs="?", const=GATE, metavar="LIST",
                   help="only the tests that LIST (tests/gate.txt) has, once, in the gate's environment; what fails is tried again at the end")
    p.add_argument("--list", action="store_true", help="print the names and stop")
    p.add_argument("--soak", action="store_true", help="the long repetition counts")
    p.add_argument("--repeat", type=int, metavar="N", help="repeat every test N times")
    p.add_argument("--shuffle", type=int, metavar="N", help="in the Nth random order")
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


def command_of(options):
    """What runs tests as this did; `--only` follows."""
    words = ["tests/run.py", "--build", options.build]
    for name in ("runner", "runtime"):
        words += [f"--{name}", getattr(options, name)] if getattr(options, name) else []
    words += [f"--{name}" for name in ("once", "soak") if getattr(options, name)]
    if options.gate:
        words += ["--gate"] if options.gate == GATE else ["--gate", options.gate]
    return shlex.join(words)


def repeats_of(test, options):
    if options.repeat:
        return options.repeat
    if options.once or options.gate:
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
    scratch = environment.settle() if options.gate else tempfile.mkdtemp(prefix="silt-tests.", dir="/tmp")
    os.chmod(scratch, 0o755)  # some tests are other users
    try:
        return run_all(options, scratch)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


def run_all(options, scratch):
    if not os.path.exists("/proc/self/maps"):
        print("silt: tests: cannot run here: nothing is mounted at /proc: mount -t proc proc /proc", file=sys.stderr)
        return 1
    context = Context(options)
    tests = [t for t in all_tests(context, options) if not options.only or re.search(options.only, t.name)]
    if options.gate:
        listing = gate.Listing(options.gate)
        tests = [t for t in tests if listing.has(t.name)]
        if not options.only and listing.unused():
            print(f"silt: tests: {os.path.relpath(options.gate)} names what no test is called: {', '.join(listing.unused())}", file=sys.stderr)
            return 1
    tests = [t for t in tests if repeats_of(t, options)]
    if options.shuffle is not None:
        random.Random(options.shuffle).shuffle(tests)
    if options.list:
        for test in tests:
            print(test.name)
        return 0
    summary = Summary(is_strict=bool(options.gate))
    if options.soak:
        print(f"drawn anew: SILT_SEED={context.seed}")
    run_tests(tests, lambda test: repeats_of(test, options), summary, context, scratch, max(1, options.jobs))
    if options.gate:
        forgive(tests, summary, scratch)
    if options.summary_file:
        with open(options.summary_file, "w") as f:
            json.dump({"passed": summary.passed, "failed": len(summary.failed), "skipped": len(summary.skipped),
                       "failures": summary.failed, "unsteady": summary.unsteady, "command": command_of(options)}, f)
            f.write("\n")
    for name in summary.unsteady:
        print(f"unsteady: {name}")
    for left in summary.left:
        print(f"left in the folder for temporary files: {left}")
    print(summary.line())
    return 1 if summary.failed or not tests else 0


if __name__ == "__main__":
    sys.exit(main())
