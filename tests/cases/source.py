# SPDX-License-Identifier: MIT
"""`silt source`: exact figures on lines that say them themselves (lines.c, lines.cc, lines.rs), how functions and files are found,
files that changed, moved or are no files, and how it looks."""

import os
import re
import shutil
import subprocess
import time

from harness.answer import parse
from harness.cases import skip
from harness.toolchain import C_FLAGS, CXX_FLAGS, RUST_FLAGS

HERE = os.path.dirname(os.path.abspath(__file__))
FIGURES = {"self": ("self", "peak_live_bytes"), "total": ("total", "peak_live_bytes"), "allocs": ("total", "allocations"),
           "end": ("total", "end_live_bytes")}


def build(t, name, flags=()):
    """Compiles a copy of tests/cases/NAME, records a run of it; returns the copy's path."""
    source, program = t.path(name), t.path("program")
    shutil.copyfile(os.path.join(HERE, name), source)
    os.utime(source, (time.time() - 3600,) * 2)
    if name.endswith(".rs"):
        if not shutil.which("rustc"):
            skip("no rustc here")
        argv = ["rustc", *RUST_FLAGS, *flags, source, "-o", program]
    else:
        argv = [*(("g++", *CXX_FLAGS) if name.endswith(".cc") else ("gcc", *C_FLAGS)), *flags, source, "-o", program]
    subprocess.run(argv, check=True, capture_output=True)
    r = t.silt.record(t.path("t.silt"), [program], ["-f"])
    assert r.code == 0, r.errors
    return source


def ask(t, *argv):
    r = t.silt.command("source", t.path("t.silt"), *argv, "--json")
    assert r.code == 0 and r.stderr == b"", r.errors
    got = parse(r.stdout)
    assert got["schema"] == "silt.source/1", got["schema"]
    return got


def text(t, *argv, columns=80, locale="C.UTF-8", code=0):
    r = t.silt.command("source", t.path("t.silt"), *argv, env={**os.environ, "COLUMNS": str(columns), "LC_ALL": locale})
    assert r.code == code, (r.code, r.errors)
    return r.text if code == 0 else r.errors


def told(source):
    """{line: {figure: value}}: what the lines of a source say of themselves."""
    with open(source) as f:
        lines = f.read().splitlines()
    found = {}
    for number, line in enumerate(lines, 1):
        says = re.findall(r"\b(self|total|allocs|end)=(\d+)", line)
        if says and "allocs=" in line:
            found[number] = {**dict.fromkeys(FIGURES, 0), **{key: int(value) for key, value in says}}
    return found


def figures(got):
    return {line["line"]: {key: line[part][field] for key, (part, field) in FIGURES.items()}
            for file in got["files"] for line in file["lines"]}


def check(t, name, flags=()):
    source = build(t, name, flags)
    got, want = figures(ask(t, name, "--full")), told(source)
    assert len(want) > 7, want
    for line in sorted({*got, *want}):
        assert got.get(line) == want.get(line), f"{name}:{line}: {got.get(line)}, not {want.get(line)}"
    for file in ask(t, name)["files"]:
        with open(source) as f:
            lines = f.read().splitlines()
        assert file["state"] == "read" and file["changed"] is False and file["path"] == source, file
        assert all(line["text"] == lines[line["line"] - 1] for line in file["lines"])


def test_c(t):
    check(t, "lines.c")


def test_c_without_optimisation(t):
    check(t, "lines.c", ["-O0"])


def test_cxx(t):
    check(t, "lines.cc")


def test_rust(t):
    check(t, "lines.rs")


def test_functions(t):
    source = build(t, "lines.cc")
    with open(source) as f:
        lines = f.read().splitlines()
    for name, shown, total, self in (("Cache::insert", "Cache::insert", 30000, 30000), ("insert", "Cache::insert", 30000, 30000),
                                     ("Cache<Large>::insert", "Cache<Large>::insert", 20000, 20000),
                                     ("shop::run", "shop::run", 5000, 0), ("^main$", "main", 36600, 0)):
        got = ask(t, name)
        assert (got["kind"], got["function"]) == ("function", shown), got["function"]
        assert got["total"]["peak_live_bytes"] == total and got["self"]["peak_live_bytes"] == self, (name, got["total"], got["self"])
        file, = got["files"]
        place, = file["functions"]
        last = shown.split("::")[-1]
        assert f"{last}(" in lines[place["first_line"] - 1], place
        assert lines[place["last_line"] - 1].strip() == "}" and place["last_line"] > place["first_line"], place
        assert file["lines"] and all(place["first_line"] <= x["line"] <= place["last_line"] for x in file["lines"])
    run = {x["line"]: x for x in ask(t, "shop::run")["files"][0]["lines"]}
    called = {c["function"]: c["total"]["peak_live_bytes"] for x in run.values() for c in x["calls"]}
    assert any(name.endswith("make") or name.startswith("make") for name in called), called


def test_the_first_sentence(t):
    source = build(t, "lines.cc")
    line = next(number for number, says in told(source).items() if says["self"] == 30000)
    first = text(t, "Cache::insert", columns=200).splitlines()[0]
    assert re.fullmatch(rf"Cache::insert in lines\.cc requested 29\.3 KiB of the [\d.]+ KiB live at the peak \(\d+ %\); line {line} alone "
                        r"29\.3 KiB\.", first), first
    first = text(t, "shop::run", "--by", "count", columns=200).splitlines()[0]
    assert re.fullmatch(r"shop::run in lines\.cc, with its callees, made 5 of the [\d,]+ allocations \(\d+ %\); line \d+ alone 5\.",
                        first), first
    first = text(t, f"lines.cc:{line}", "--by", "end", columns=200).splitlines()[0]
    assert first.startswith(f"lines.cc:{line} requested 29.3 KiB of the "), first


def test_widths(t):
    build(t, "lines.rs")
    for columns in (80, 120, 200):
        for locale in ("C.UTF-8", "C"):
            for what in ("lines.rs", "lines::run", "main"):
                got = text(t, what, columns=columns, locale=locale)
                wide = [line for line in got.splitlines() if len(line) > columns]
                assert not wide, wide
                assert locale != "C" or got.isascii(), got
                assert "\033" not in got


def test_not_one_function(t):
    build(t, "lines.c")
    for what, why in (("a", " functions: choose one of"), ("nobody", "no call path contains such a function or file"),
                      ("other.c:3", "no call path contains such a file"), ("\033[2Jx", "no call path contains such"),
                      ("(", "no call path contains such")):
        said = text(t, what, code=2)
        assert why in said and said.count("\n") == 1 and "\033" not in said, (what, said)


def test_window_and_filter(t):
    build(t, "lines.c")
    got = ask(t, "lines.c", "--size", "2000..2000")
    assert got["total"]["peak_live_bytes"] == 20000 and got["filter"] == "size 2000..2000", got["total"]
    got = ask(t, "fill", "--not-function", "^fill$")
    assert got["total"]["allocations"] == 0, got["total"]
    assert "has nothing live at the peak" in text(t, "fill", "--not-function", "^fill$", columns=200)
    said = text(t, "main", "--from", "1h", code=2)
    assert "--from: the recording is only" in said, said


def test_changed(t):
    source = build(t, "lines.c")
    assert "has changed" not in text(t, "main")
    os.utime(source)
    assert "lines.c has changed since the program was built or recorded" in text(t, "main", columns=200)
    assert ask(t, "main")["files"][0]["changed"] is True


def test_moved(t):
    source = build(t, "lines.c")
    os.makedirs(t.path("new/src"))
    os.rename(source, t.path("new/src/lines.c"))
    assert "was not found" in text(t, "main", columns=200)
    file = ask(t, "main")["files"][0]
    assert file["state"] == "missing" and file["changed"] is None, file
    # the figures are there all the same
    assert sum(x["total"]["value"] for x in file["lines"]) > 0 and all(x["text"] is None for x in file["lines"])
    for how in (["--source-dir", t.path("new/src")], ["--map", f"{t.dir}={t.path('new/src')}"],
                ["--map", f"/nowhere={t.dir}", "--source-dir", "/nowhere", "--source-dir", t.path("new/src")]):
        file = ask(t, "main", *how)["files"][0]
        assert file["state"] == "read" and file["path"] == t.path("new/src/lines.c"), file


def test_no_source_at_all(t):
    """What is there instead of the file: each is said in a sentence, and nothing is waited for."""
    source = build(t, "lines.c")
    whole = open(source, "rb").read()

    def instead(make, says):
        os.unlink(source) if os.path.lexists(source) else None
        make()
        r = t.silt.command("source", t.path("t.silt"), "main", env={**os.environ, "COLUMNS": "240"}, timeout_s=200)
        assert r.code == 0 and r.stderr == b"" and says in r.text, (says, r.code, r.text, r.errors)
        assert "\033" not in r.text
        if os.path.isdir(source):
            os.rmdir(source)

    instead(lambda: os.mkfifo(source), "is a pipe")
    instead(lambda: os.mkdir(source), "is a directory")
    instead(lambda: os.symlink("lines.c", source), "Too many levels of symbolic links")
    instead(lambda: os.symlink("/dev/zero", source), "is a device")
    instead(lambda: open(source, "wb").write(b"\x7fELF\0\0"), "is not text")
    instead(lambda: os.truncate(os.open(source, os.O_CREAT | os.O_WRONLY), 1 << 40), "is larger than 32 MiB")
    instead(lambda: open(source, "wb").write(b""), "line")
    instead(lambda: open(source, "wb").write(b"x" * 20000000), "has changed")
    instead(lambda: open(source, "wb").write(b"\033[2J\xff\x9b0m\r\n" * 40), "\\x1b[2J\\xff\\x9b0m")
    instead(lambda: open(source, "wb").write(whole.replace(b"\n", b"\r\n")), "int main(void) {\n")


def test_no_lines(t):
    """Without debug information there is nothing to show, and silt says what to do."""
    source = build(t, "lines.c", ["-g0"])
    assert os.path.exists(source)
    said = text(t, "main", code=2)
    assert "the trace has no line numbers for it: build with -g" in said, said
