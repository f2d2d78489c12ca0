# SPDX-License-Identifier: MIT
"""`silt symbolize`: names later or again, what it says, and that a trace survives it."""

import os
import shutil
import signal
import stat
import subprocess
import time

from harness.place import in_own_mounts
from harness.process import run

SOURCE = """#include <stdlib.h>
__attribute__((noinline)) static void *take(size_t n) { void *p = malloc(n); __asm__ volatile("" : : "r"(p) : "memory"); return p; }
__attribute__((noinline)) void *symbolize_me(size_t n) { void *p = take(n); __asm__ volatile("" : : "r"(p) : "memory"); return p; }
int main(void) { for (int i = 0; i < 100; i++) free(symbolize_me(100 + i)); return 0; }
"""


def build(t, *flags):
    """A program, stripped, with its debug information in a file of its own that is nowhere to be found."""
    program, debug = t.path("prog"), t.path("prog.debug")
    with open(t.path("prog.c"), "w") as f:
        f.write(SOURCE)
    subprocess.run(["cc", "-O1", "-g", "-Wl,--build-id", *flags, "-o", program, t.path("prog.c")], check=True)
    subprocess.run(["objcopy", "--only-keep-debug", program, debug], check=True)
    subprocess.run(["strip", program], check=True)
    return program, debug


def record(t, program, *options):
    trace = t.path("t.silt")
    r = t.silt.record(trace, [program], ["-f", *options])
    assert r.code == 0, r.errors
    return trace


def module(t, trace, path):
    report, why = t.silt.report(trace)
    assert report, why
    return next(m for m in report["quality"]["modules"] if m["module"] == path)


def functions(t, trace):
    report, why = t.silt.report(trace)
    assert report, why
    return {(f["function"], f["line"]) for top in report["top"] for site in top["sites"] for f in site["stack"]}


def test_later(t):
    """--no-symbols leaves them out; symbolize adds them, and says so first."""
    trace = record(t, t.program("basic"), "--no-symbols")
    report, why = t.silt.report(trace)
    assert report["quality"]["symbolized_frames_pct"] == 0, report["quality"]
    assert "silt symbolize" in t.silt.command("report", trace).text
    before = os.stat(trace)
    r = t.silt.command("symbolize", trace)
    assert r.code == 0 and r.stderr == b"", r.errors
    first = r.text.splitlines()[0]
    assert first.startswith(trace + ": ") and "frames have names" in first, r.text
    report, why = t.silt.report(trace)
    assert report["quality"]["symbolized_frames_pct"] > 95, report["quality"]
    assert t.silt.command("verify", trace).code == 0
    after = os.stat(trace)
    assert (after.st_mode, after.st_uid) == (before.st_mode, before.st_uid)
    r = t.silt.command("symbolize", "-q", trace)
    assert r.code == 0 and r.stdout == b"" and r.stderr == b"", r.errors


def test_names_are_not_lost_with_the_file(t):
    """Looking up again when the program is gone, replaced, or its debug file is, keeps what was known of it."""
    program, debug = build(t)
    unstripped = t.path("whole/prog")
    os.makedirs(t.path("whole"))
    subprocess.run(["eu-unstrip", program, debug, "-o", unstripped], check=True)
    trace = record(t, program)
    r = t.silt.command("symbolize", trace, "--debug-path", t.path("whole"))
    assert r.code == 0 and "kept" not in r.text, r.text + r.errors
    known = functions(t, trace)
    naming = module(t, trace, program)
    assert naming["naming"] == "full", naming
    os.rename(program, program + ".gone")
    for _ in range(2):
        r = t.silt.command("symbolize", trace, "--no-cache")
        assert r.code == 0 and "1 module kept the names found earlier" in r.text, r.text + r.errors
        assert functions(t, trace) == known
        assert module(t, trace, program) == naming
        assert t.silt.command("verify", trace).code == 0
    os.rename(program + ".gone", program)
    r = t.silt.command("symbolize", trace, "--debug-path", t.path("whole"), "--no-cache")
    assert r.code == 0 and "kept" not in r.text, r.text + r.errors
    assert functions(t, trace) == known


def test_as_at_the_end_of_a_recording(t):
    """The same names, whichever way they came, from the cache or not."""
    trace = record(t, t.program("containers"))
    at_end = functions(t, trace)
    for options in (["--no-cache"], [], []):
        assert t.silt.command("symbolize", *options, trace).code == 0
        assert functions(t, trace) == at_end
    trace = record(t, t.program("containers"), "--no-symbols")
    assert t.silt.command("symbolize", trace).code == 0
    assert functions(t, trace) == at_end


def test_debug_path_and_what_is_missing(t):
    program, debug = build(t)
    trace = record(t, program)
    assert module(t, trace, program)["naming"] == "nothing", module(t, trace, program)
    r = t.silt.command("symbolize", trace)
    said = r.text.splitlines()
    assert r.code == 0 and any(program in line for line in said), r.text
    assert any("stripped" in line and "--debug-path" in line for line in said), r.text
    os.makedirs(t.path("elsewhere"))
    os.rename(debug, t.path("elsewhere/prog.debug"))
    os.rename(program, t.path("moved"))
    r = t.silt.command("symbolize", trace)
    assert r.code == 0 and "fewer can be found now" in r.text, r.text
    os.rename(t.path("moved"), program)
    unstripped = t.path("elsewhere/prog")
    subprocess.run(["eu-unstrip", program, t.path("elsewhere/prog.debug"), "-o", unstripped], check=True)
    r = t.silt.command("symbolize", "--debug-path", t.path("elsewhere"), trace)
    assert r.code == 0, r.errors
    assert ("symbolize_me", 3) in functions(t, trace), functions(t, trace)
    assert module(t, trace, program)["naming"] == "full", module(t, trace, program)


def test_sysroot(t):
    """A recording of another machine, whose files are below a directory."""
    program, debug = build(t)
    trace = record(t, program, "--no-symbols")
    root = t.path("root")
    os.makedirs(root + os.path.dirname(program))
    subprocess.run(["eu-unstrip", program, debug, "-o", root + program], check=True)
    os.unlink(program)
    assert t.silt.command("symbolize", "--sysroot", root, trace).code == 0
    assert ("symbolize_me", 3) in functions(t, trace), functions(t, trace)


def test_a_debug_file_that_appears_is_noticed(t):
    """What the cache has of a stripped file does not hide the debug file that was installed since, nor does what it has of
    that one outlive it."""
    program, debug = build(t, "-Wl,--export-dynamic")
    trace = record(t, program)
    before = shutil.copy(trace, t.path("before.silt"))
    for _ in range(2):
        assert t.silt.command("symbolize", trace).code == 0
        assert module(t, trace, program)["naming"] == "exported-only", module(t, trace, program)
    build_id = subprocess.run(["readelf", "-n", program], capture_output=True, text=True, check=True).stdout
    build_id = build_id.split("Build ID: ")[1].split()[0]
    store = t.path("debug")
    place = f"{store}/.build-id/{build_id[:2]}"
    os.makedirs(place)
    for _ in range(2):
        assert t.silt.command("symbolize", "--debug-path", store, trace).code == 0
        assert module(t, trace, program)["naming"] == "exported-only", module(t, trace, program)
    shutil.copy(debug, f"{place}/{build_id[2:]}.debug")
    for _ in range(2):
        assert t.silt.command("symbolize", "--debug-path", store, trace).code == 0
        assert module(t, trace, program)["naming"] == "full", module(t, trace, program)
        assert ("symbolize_me", 3) in functions(t, trace)
    os.unlink(f"{place}/{build_id[2:]}.debug")
    assert t.silt.command("symbolize", "--debug-path", store, before).code == 0
    assert module(t, before, program)["naming"] == "exported-only", module(t, before, program)


def refused(r, *words):
    assert r.code == 2 and r.stdout == b"", f"{r.code}: {r.text}"
    assert len(r.errors.splitlines()) == 1 and r.errors.startswith("silt: "), r.errors
    assert all(word in r.errors for word in words), r.errors


def test_refused(t):
    trace = record(t, t.program("basic"))
    for argv, word in (([], "FILE"), ([trace, trace], "one trace"), (["--debug-path", t.path("no"), trace], "directory"),
                       (["--sysroot", trace, trace], "directory"), ([t.path("no.silt")], "No such file"),
                       (["/dev/null"], "silt: "), ([t.dir], "silt: ")):
        refused(t.silt.command("symbolize", *argv), word)
    with open(t.path("text.silt"), "w") as f:
        f.write("not a trace\n" * 100)
    refused(t.silt.command("symbolize", t.path("text.silt")), "not a silt trace")
    with open(t.path("text.silt")) as f:
        assert f.read() == "not a trace\n" * 100
    os.symlink(trace, t.path("link.silt"))
    refused(t.silt.command("symbolize", t.path("link.silt")), "link")


def contents(path):
    with open(path, "rb") as f:
        return f.read()


def test_a_file_that_cannot_be_written_as_root(t):
    """For the owner of a read-only file, on a read-only disk, on a full one: one line, and the trace is as it was."""
    trace = record(t, t.program("sites"))
    before = contents(trace)
    os.chmod(t.dir, 0o755)
    os.chmod(trace, 0o444)
    r = run(["setpriv", "--reuid=65534", "--clear-groups", t.silt.path, "symbolize", trace])
    refused(r, "Permission denied", "writable")
    os.chmod(trace, 0o644)
    read_only = 'mount --bind "$1" "$1" && mount -o remount,bind,ro "$1" || exit 90; "$2" symbolize "$3"'
    refused(run(in_own_mounts(read_only, "sh", t.dir, t.silt.path, trace)), "Read-only file system")
    assert contents(trace) == before
    full = ('mount -t tmpfs -o size="$1" none "$2" || exit 90; cp "$4" "$2/t.silt" || exit 91; '
            'dd if=/dev/zero of="$2/ballast" bs=512 2>/dev/null; "$3" symbolize "$2/t.silt"; s=$?; cp "$2/t.silt" "$5"; exit $s')
    os.makedirs(t.path("disk"))
    named = before
    for source in (named, contents(record(t, t.program("sites"), "--no-symbols"))):
        with open(t.path("source.silt"), "wb") as f:
            f.write(source)
        size = f"{(len(source) // 4096 + 2) * 4}k"
        r = run(in_own_mounts(full, "sh", size, t.path("disk"), t.silt.path, t.path("source.silt"), t.path("out.silt")))
        if r.code == 0:
            continue  # the file's last page had room enough
        refused(r, "No space left", "the trace is unchanged")
        assert contents(t.path("out.silt")) == source


def test_killed_at_any_moment(t):
    """The trace can be read, with the old names or the new, and no file is left behind."""
    program, debug = build(t)
    trace = record(t, program, "--no-symbols")
    bare = contents(trace)
    subprocess.run(["eu-unstrip", program, debug, "-o", t.path("whole")], check=True)
    os.rename(t.path("whole"), program)
    begin = time.monotonic()
    assert t.silt.command("symbolize", "--no-cache", trace).code == 0
    seconds = time.monotonic() - begin
    named = contents(trace)
    chance = t.chance
    n_killed = 0
    for i in range(t.count(40, 2000)):
        with open(trace, "wb") as f:
            f.write(named if i % 2 else bare)
        child = subprocess.Popen([t.silt.path, "symbolize", "-q", "--no-cache", trace])
        time.sleep(chance.random() * seconds * 1.2)
        child.send_signal(signal.SIGKILL)
        n_killed += child.wait() == -signal.SIGKILL
        report, why = t.silt.report(trace)
        assert report, f"run {i}: {why}"
        assert report["totals"]["allocations"] >= 100, f"run {i}: {report['totals']}"
        if i % 2:
            assert report["quality"]["symbolized_frames_pct"] > 90, f"run {i}: {report['quality']}"
    left = [name for name in os.listdir(t.dir) if name.startswith(".silt")]
    # between getting a name of its own and the trace's, the new file is left behind: whole, and hardly ever
    assert len(left) <= 1 + n_killed // 500, left
    for name in left:
        assert t.silt.command("verify", t.path(name)).code == 0, name
    assert n_killed > 10, n_killed
    assert t.silt.command("symbolize", trace).code == 0 and t.silt.command("verify", trace).code == 0
    t.notes.append(f"{n_killed} killed")


def test_the_cache_is_private_and_can_be_turned_off(t):
    trace = record(t, t.program("basic"))
    for name, env in (("on", {}), ("off", {"SILT_SYMBOL_CACHE": "off"}), ("small", {"SILT_SYMBOL_CACHE": "1K"})):
        cache = t.path("cache-" + name)
        r = t.silt.command("symbolize", trace, env={**os.environ, "XDG_CACHE_HOME": cache, **env})
        assert r.code == 0, r.errors
        kept = os.listdir(os.path.join(cache, "silt/symbols")) if os.path.isdir(os.path.join(cache, "silt/symbols")) else []
        assert bool(kept) == (name == "on"), f"{name}: {kept}"
    for folder, _, names in os.walk(t.path("cache-on")):
        assert stat.S_IMODE(os.stat(folder).st_mode) == 0o700, folder
        assert all(stat.S_IMODE(os.stat(os.path.join(folder, n)).st_mode) == 0o600 for n in names), names
    r = t.silt.command("symbolize", trace, env={k: v for k, v in os.environ.items() if k not in ("HOME", "XDG_CACHE_HOME")})
    assert r.code == 0 and r.stderr == b"", r.errors


def build_id(path):
    text = subprocess.run(["readelf", "-n", path], check=True, capture_output=True, text=True).stdout
    return next(line.split()[-1] for line in text.splitlines() if "Build ID" in line)


def nested(t, debug):
    """A tree with the debug file deep in it under a name of no meaning, among others, a link that leads round, a pipe."""
    root = t.path("tree")
    deep = os.path.join(root, *[t.chance.choice("abc") * t.chance.randint(1, 9) for _ in range(t.chance.randint(1, 8))])
    os.makedirs(deep)
    os.symlink(root, os.path.join(root, "round"))
    os.mkfifo(os.path.join(root, "pipe"))
    for i in range(t.chance.randint(0, 20)):
        with open(os.path.join(root, f"file{i}"), "wb") as f:
            f.write(t.chance.choice([b"", b"\177ELF", b"text", b"\177ELF" + t.chance.randbytes(300)]))
    return root, shutil.copy(debug, os.path.join(deep, f"{t.chance.randint(0, 1 << 30)}.sym"))


def test_debug_path_finds_by_build_id(t):
    """Anywhere below a directory and under any name, or a file itself; in every command that names functions, the trace untouched."""
    program, debug = build(t)
    trace = record(t, program)
    assert not any("symbolize_me" in f for f, _ in functions(t, trace))
    root, file = nested(t, debug)
    with open(trace, "rb") as f:
        before = f.read()
    for path in (root, file):
        for argv in (["report", trace, "--group-by", "function", "--by", "count", "--full"], ["source", trace, "symbolize_me"], ["flame", trace, "-o", "-", "--by", "count"],
                     ["diff", trace, trace], ["check", trace, "--max-peak", "1G"]):
            r = t.silt.command(*argv, "--debug-path", path)
            assert r.code == 0, (argv, r.errors)
            assert argv[0] in ("diff", "check") or "symbolize_me" in r.text, (argv, r.text)
    with open(trace, "rb") as f:
        assert f.read() == before
    r = t.silt.command("symbolize", trace, "--debug-path", root)
    assert r.code == 0, r.errors
    assert ("symbolize_me", 3) in functions(t, trace), functions(t, trace)


def test_debug_path_says_which_build_differs(t):
    """The file of another build: how many were looked at, its build-id and the one that was wanted."""
    program, debug = build(t)
    trace = record(t, program)
    wanted = build_id(debug)
    other = t.path("other")
    os.makedirs(os.path.join(other, "sub"))
    subprocess.run(["cc", "-O2", "-g", "-DOTHER", "-Wl,--build-id", "-o", t.path("other.prog"), t.path("prog.c")], check=True)
    wrong = os.path.join(other, "sub", "prog.debug")
    subprocess.run(["objcopy", "--only-keep-debug", t.path("other.prog"), wrong], check=True)
    r = t.silt.command("symbolize", trace, "--debug-path", other)
    assert r.code == 0, r.errors
    assert wanted[:16] in r.text and build_id(wrong)[:16] in r.text and wrong in r.text and "1 looked at" in r.text, r.text
    shutil.copy(debug, os.path.join(other, "late"))  # what was not there is not remembered
    r = t.silt.command("symbolize", trace, "--debug-path", other)
    assert "all " in r.text or "looked at" not in r.text, r.text
    assert any("symbolize_me" in f for f, _ in functions(t, trace))


GROWING = """#include <stdlib.h>
#include <stdio.h>
#include <unistd.h>
__attribute__((noinline)) void *early_work(size_t n) { void *p = malloc(n); __asm__ volatile("" : : "r"(p) : "memory"); return p; }
__attribute__((noinline)) void *later_work(size_t n) { void *p = malloc(n); __asm__ volatile("" : : "r"(p) : "memory"); return p; }
int main(void) {
        for (int i = 0; i < 50; i++) early_work(1000);
        puts("early"); fflush(stdout); getchar();
        for (int i = 0; i < 50; i++) later_work(2000);
        puts("later"); fflush(stdout); getchar();
        return 0;
}
"""


def names_now(t, trace):
    r = t.silt.command("report", trace, "--group-by", "function", "--by", "allocated")
    return r.text if r.code == 0 else ""


def wait_for(t, trace, name, n_s=30):
    until = time.monotonic() + n_s
    while name not in names_now(t, trace) and time.monotonic() < until:
        time.sleep(0.2)
    return names_now(t, trace)


def test_names_while_it_is_written(t):
    """A report of a trace that grows has names, of what is new too, and leaves the file to the recorder."""
    with open(t.path("grow.c"), "w") as f:
        f.write(GROWING)
    subprocess.run(["cc", "-O1", "-g", "-Wl,--build-id", "-o", t.path("grow"), t.path("grow.c")], check=True)
    trace = t.path("t.silt")
    child = subprocess.Popen(t.silt.run_argv(trace, [t.path("grow")], ["-f"]), stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    try:
        assert child.stdout.readline() == b"early\n"
        text = wait_for(t, trace, "early_work")
        assert "early_work" in text and "later_work" not in text, text
        child.stdin.write(b"x")
        child.stdin.flush()
        assert child.stdout.readline() == b"later\n"
        text = wait_for(t, trace, "later_work")
        assert "early_work" in text and "later_work" in text, text
        assert "symbolize" not in t.silt.command("report", trace).text
    finally:
        child.communicate(b"x", timeout=600)
    assert child.returncode == 0
    assert "later_work" in names_now(t, trace)
