# SPDX-License-Identifier: MIT
"""Builds tests/symbols/shapes.c in many ways and asks symbol_probe about it."""

import os
import re
import shutil
import subprocess

from harness.cases import skip

SOURCE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "shapes.c")
UNKNOWN, FULL, SYMTAB, DYNSYM, NOTHING, MISSING, REPLACED, DAMAGED = range(8)


def lines_of_marks():
    with open(SOURCE) as f:
        return {m[1]: i for i, line in enumerate(f, 1) for m in [re.search(r"/\* ([A-Z]+) \*/", line)] if m}


LINES = lines_of_marks()


def need(*tools):
    for tool in tools:
        if not shutil.which(tool):
            skip(f"{tool} is not installed")


def sh(*argv, cwd=None, env=None):
    r = subprocess.run(argv, cwd=cwd, env=env, capture_output=True, text=True, timeout=600)
    assert r.returncode == 0, f"{' '.join(argv)}: {r.returncode}: {r.stderr}"
    return r.stdout


class Shapes:
    """The program built in a folder, and the addresses in it that are asked about."""

    def __init__(self, t, *flags, name="shapes", compiler="gcc", folder=None, binutils=""):
        self.t, self.name = t, name
        self.dir = folder or t.path(f"{name}.dir")
        os.makedirs(self.dir, exist_ok=True)
        self.path = os.path.join(self.dir, name)
        shutil.copy(SOURCE, os.path.join(self.dir, name + ".c"))
        need(compiler)
        # compiled and linked apart, so that .dwo files have the names a build gives them
        objects = [f for f in flags if f.endswith(".o")]
        sh(compiler, "-O2", *[f for f in flags if f not in objects], "-c", name + ".c", "-o", name + ".o", cwd=self.dir)
        sh(compiler, "-O2", *flags, name + ".o", "-o", name, "-Wl,--build-id", *self.linker(flags), cwd=self.dir)
        self.build_id = self.read_build_id()
        self.calls = self.calls_of_malloc(binutils + "objdump")
        self.outer, self.hidden = self.calls["shapes_outer"], self.calls.get("shapes_hidden")

    @staticmethod
    def linker(flags):
        return [f for f in flags if f.startswith("-Wl,")]

    def file(self, name):
        return os.path.join(self.dir, name)

    def read_build_id(self, path=None):
        m = re.search(r"Build ID: ([0-9a-f]+)", sh("readelf", "-n", path or self.path))
        return m[1] if m else ""

    def calls_of_malloc(self, objdump):
        """Where each function calls malloc: the call's own address. Also where each begins."""
        calls, function = {}, None
        self.begins = {}
        for line in sh(objdump, "-d", self.path).splitlines():
            if m := re.match(r"0*([0-9a-f]+) <(.*)>:", line):
                function = m[2]
                self.begins[function] = m[1]
            elif m := re.match(r"\s*([0-9a-f]+):.*(?:bl|call|b|jmp)\s.*<malloc@plt>", line):
                calls[function] = m[1]
        return calls

    def nameless(self, function):
        """What is known of it by its unwind tables alone."""
        return ("guess", "+" + self.begins[function], "", 0)

    def only_nameless(self):
        """All that unwind tables alone tell of the addresses that are asked for."""
        return {self.outer: [self.nameless("shapes_outer")], self.hidden: [self.nameless("shapes_hidden")]}

    def probe(self, *options, path=None, addresses=None, env=None, build_id=None):
        """(frames by address, origin): frames are (kind, function, file, line)."""
        tool = os.path.join(self.t.context.build_dir, "src", "symbol", "symbol_probe")
        build_id = self.build_id if build_id is None else build_id
        ask = [*(["--build-id", build_id] if build_id else []), *options, path or self.path,
               *(addresses or [self.outer, self.hidden])]
        plain = {k: v for k, v in os.environ.items() if not k.startswith("DEBUGINFOD")}
        out = sh(tool, *ask, env={**plain, **(env or {})})
        frames, origin = {}, None
        for line in out.splitlines():
            where, rest = line.split(" ", 1)
            if where == "origin":
                naming, debug_file, text = rest.split("|", 2)
                origin = (int(naming), debug_file, text)
            else:
                kind, function, place = rest.split("|")
                file, number = place.rsplit(":", 1)
                frames.setdefault(where, []).append((kind, function, os.path.basename(file), int(number)))
        return frames, origin

    def expect_full(self, *options, **how):
        """Everything is known: the inlined function, both lines."""
        frames, origin = self.probe(*options, **how)
        source = self.name + ".c"
        assert frames.get(self.outer) == [("inlined", "shapes_inner", source, LINES["INNER"]),
                                          ("function", "shapes_outer", source, LINES["OUTER"])], (frames, origin)
        assert frames.get(self.hidden) == [("function", "shapes_hidden", source, LINES["HIDDEN"])], (frames, origin)
        assert origin[0] == FULL and origin[2] == "", origin
        return origin

    def expect_table(self, *options, naming=SYMTAB, word="", **how):
        """Functions are known, lines are not."""
        frames, origin = self.probe(*options, **how)
        assert frames.get(self.outer) == [("function", "shapes_outer", "", 0)], (frames, origin)
        assert frames.get(self.hidden) == [("function", "shapes_hidden", "", 0)], (frames, origin)
        assert origin[0] == naming and word in origin[2], origin
        return origin

    def split_debug(self, debug_file, link=True):
        """As distributions do: the debug information in a file of its own."""
        sh("objcopy", "--only-keep-debug", self.path, debug_file)
        sh("strip", self.path)
        if link:
            sh("objcopy", "--add-gnu-debuglink=" + debug_file, self.path)

    def build_id_path(self, root, build_id=None):
        build_id = build_id or self.build_id
        path = os.path.join(root, ".build-id", build_id[:2], build_id[2:] + ".debug")
        os.makedirs(os.path.dirname(path), exist_ok=True)
        return path
