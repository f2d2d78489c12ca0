# SPDX-License-Identifier: MIT
"""Tests written as Python functions: `test_*(context)` in tests/cases/*.py. A function fails by an exception (assert,
or `expect`), and leaves itself out by `skip(reason)`. `test_x.repeats = 3` runs it so often in `make test`,
`test_x.soak_repeats = 300` in `make soak`; 0 is not at all. `test_x.waits = True` says that it does little but wait: such
tests run beside the others. What a function draws it draws from `t.chance`: the same in
every `make test`, anew in `make soak`, and a failure says how to have it again."""

import importlib.util
import os
import random
import shutil
import tempfile
import traceback

from .process import kill_family


class Skip(Exception):
    pass


def skip(reason):
    raise Skip(reason)


class Scratch:
    """What a case is given: the context, a folder of its own, and notes to print."""

    def __init__(self, context, folder, name="", n_run=0):
        self.context, self.silt, self.dir = context, context.silt, folder
        self.notes, self.running = [], []
        self.name, self.n_run, self._chance = name, n_run, None

    @property
    def chance(self):
        """The test's random numbers."""
        if not self._chance:
            self._chance = random.Random(f"{self.context.seed} {self.name} {self.n_run}")
        return self._chance

    def draws(self):
        """How to have the same again, where something was drawn."""
        if not self._chance:
            return []
        how = f" --repeat {self.n_run + 1}" if self.n_run else ""
        return [f"the same draws again: SILT_SEED={self.context.seed} tests/run.py --build "
                f"{os.path.relpath(self.context.build_dir)}{how} --only '^{self.name}$'"]

    def end(self):
        """What a test that failed left running goes with it."""
        for process in self.running:
            if process.poll() is None:
                kill_family(process.pid)

    def path(self, name):
        return os.path.join(self.dir, name)

    def count(self, few, many):
        """How often to do something inside a test: few times in `make test`, many in `make soak`."""
        return many if self.context.is_soak else few

    def program(self, name):
        return self.context.binary(name)

    def helper(self, name="helper", **how):
        """A program of tests/cases: not measured, only watched."""
        return self.context.helpers.build(name, ["helper.c"], **how)

    def victim(self, name, **how):
        """A program of tests/faults."""
        return self.context.victims.build(name, [name + ".c"], **how)


class CaseTest:
    def __init__(self, name, function, context):
        self.name, self.function, self.context = name, function, context
        self.repeats = getattr(function, "repeats", 1)
        self.soak_repeats = getattr(function, "soak_repeats", self.repeats)
        self.waits = getattr(function, "waits", False)
        self.n_run = 0  # how often it was run before

    def run(self):
        folder = tempfile.mkdtemp(prefix="case.", dir=self.context.work_dir)
        scratch = Scratch(self.context, folder, self.name, self.n_run)
        try:
            self.function(scratch)
        except AssertionError as e:
            where = traceback.extract_tb(e.__traceback__)[-1]
            return [f"{os.path.basename(where.filename)}:{where.lineno}: {e or where.line} (files kept in {folder})", *scratch.draws()], []
        except Exception as e:
            e.draws = scratch.draws()
            raise
        finally:
            scratch.end()
        shutil.rmtree(folder, ignore_errors=True)
        return [], scratch.notes


def discover_file(path, group, context):
    if not os.path.exists(path):
        return []
    spec = importlib.util.spec_from_file_location(os.path.basename(path)[:-3], path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    option = getattr(module, "needs_option", None)
    if option and option not in context.build_options:
        print(f"left out: {group}/*: they need a build with -D{option}=true")
        return []
    return [CaseTest(f"{group}/{name[5:]}", function, context) for name, function in vars(module).items()
            if name.startswith("test_") and callable(function)]


def discover(folder, context, group=""):
    tests = []
    for file_name in sorted(os.listdir(folder)):
        if file_name.endswith(".py") and not file_name.startswith("_"):
            tests += discover_file(os.path.join(folder, file_name), group + file_name[:-3], context)
    return tests
