# SPDX-License-Identifier: MIT
"""What people type: moments every recording has, ages, slips, other programs' files, narrow and dumb terminals."""

import os
import re
import shutil
import sys
import unicodedata

from harness.process import run

STORY = """#include <stdlib.h>
#include <string.h>
#include <unistd.h>
static void *kept[3];
__attribute__((noinline)) static void early(void) { kept[0] = malloc(100000); }
__attribute__((noinline)) static void late(void) { kept[1] = malloc(30000); }
__attribute__((noinline)) static void high(void) { void *p = malloc(500000); memset(p, 1, 10); usleep(30000); free(p); }
int main(void) {
        early();
        usleep(200000);
        high();
        usleep(200000);
        late();
        usleep(50000);
        return 0;
}
"""


def story(t):
    with open(t.path("story.c"), "w") as f:
        f.write(STORY)
    assert run(["gcc", "-g", "-O0", "-o", t.path("story"), t.path("story.c")]).code == 0
    r = t.silt.record(t.path("t.silt"), [t.path("story")], ["-f"])
    assert r.code == 0, r.errors


def top(t, *options):
    """Function → bytes of the first metric."""
    report, why = t.silt.report(t.path("t.silt"), *options)
    assert report, why
    return {s["stack"][0]["function"]: s["bytes"] for s in report["top"][0]["sites"] if s["bytes"]}


def test_moments(t):
    story(t)
    assert top(t, "--at", "@peak") == {"early": 100000, "high": 500000}
    assert top(t, "--at", "@end") == top(t, "--by", "end") == {"early": 100000, "late": 30000}
    assert top(t, "--from", "@start", "--to", "@end", "--by", "allocated") == top(t, "--by", "allocated")
    assert top(t, "--from", "@peak", "--by", "allocated") == {"late": 30000}
    assert top(t, "--allocated", "@start..@peak", "--by", "allocated") == {"early": 100000, "high": 500000}
    assert top(t, "--alive-at", "@peak", "--by", "allocated") == {"early": 100000, "high": 500000}
    assert top(t, "--freed-before", "@end", "--by", "allocated") == {"high": 500000}
    r = t.silt.command("diff", t.path("t.silt") + "@@peak", t.path("t.silt") + "@@end")
    assert r.code == 1 and "high" in r.stdout.decode(), r.stdout
    r = t.silt.command("check", t.path("t.silt"), "--from", "@peak", "--max-allocated", "40000")
    assert r.code == 0, r.stdout
    r = t.silt.command("flame", t.path("t.silt"), "--at", "@peak", "-o", "-")
    assert b"585.9 KiB" in r.stdout, r.errors
    r = t.silt.command("source", t.path("t.silt"), "main", "--to", "@peak")
    assert r.code == 0, r.errors
    r = t.silt.command("report", t.path("t.silt"), "--at", "@top")
    assert r.code == 2 and "@start, @peak or @end" in r.errors and len(r.errors.splitlines()) == 1, r.errors


def test_older_than(t):
    story(t)
    assert top(t, "--older-than", "300ms") == {"early": 100000}
    assert top(t, "--older-than", "1ms") == {"early": 100000, "late": 30000}
    assert top(t, "--older-than", "100ms", "--at", "@peak") == {"early": 100000}
    report, _ = t.silt.report(t.path("t.silt"), "--older-than", "300ms")
    assert report["top"][0]["metric"] == "end"
    r = t.silt.command("report", t.path("t.silt"), "--older-than", "1h")
    assert r.code == 2 and "choose a shorter time" in r.errors and len(r.errors.splitlines()) == 1, r.errors


def test_counts(t):
    story(t)
    for limit, code in (("100K", 0), ("1", 1), ("1,000", 0), ("0.001K", 1)):
        r = t.silt.command("check", t.path("t.silt"), "--max-allocations", limit)
        assert r.code == code, (limit, r.stdout, r.errors)
    r = t.silt.command("check", t.path("t.silt"), "--max-allocations", "many")
    assert r.code == 2 and "100K" in r.errors, r.errors


def test_slips(t):
    story(t)
    trace = t.path("t.silt")
    for argv, meant in ((["reprot", trace], "'silt report'"), (["record", "./x"], "'silt run'"), (["compare", trace, trace], "'silt diff'"),
                        (["flamegraph", trace], "'silt flame'"), (["report", trace, "--revers"], "see 'silt report --help'"),
                        (["flame", trace, "--revers"], "'--reverse'"), (["report", trace, "--group", "function"], "'--group-by'"),
                        (["report", trace, "--pid", "3"], "'--process'"), (["report", trace, "--hist", "size"], "'--histogram'"),
                        (["check", trace, "--max-peek", "3"], "'--max-peak'"), (["run", "--outptu", "x", "true"], "'--output'"),
                        (["report", trace, trace], f"'silt diff {trace} {trace}'"), (["check", trace, trace], f"'--against {trace}'"),
                        (["zzzz"], "see 'silt --help'"), (["report", trace, "--zzzzzz"], "see 'silt report --help'")):
        r = t.silt.command(*argv)
        assert r.code in (2, 125) and meant in r.errors and len(r.errors.splitlines()) == 1 and r.stdout == b"", (argv, r.errors)


def test_foreign_files(t):
    """As other programs write them."""
    story(t)
    folder = t.path("foreign")
    os.mkdir(folder)
    made = {sys.executable: "a program or a library", os.path.abspath(__file__): None}
    read = {}
    if shutil.which("valgrind"):
        for tool, name, what in (("massif", "massif.out", "a massif profile"), ("dhat", "dhat.out", "a DHAT profile"),
                                 ("callgrind", "callgrind.out", "a callgrind profile")):
            path = os.path.join(folder, name)
            run(["valgrind", "-q", f"--tool={tool}", f"--{tool}-out-file={path}", t.path("story")])
            (made if tool == "callgrind" else read)[path] = what
        run(["valgrind", f"--log-file={folder}/log", t.path("story")])
        read[f"{folder}/log"] = "a memcheck log"
    if shutil.which("heaptrack"):
        run(["heaptrack", "-o", f"{folder}/heaptrack", t.path("story")], cwd=folder)
        for name in os.listdir(folder):
            if name.startswith("heaptrack"):
                read[os.path.join(folder, name)] = "a heaptrack recording"
    with open(f"{folder}/report.json", "wb") as f:
        f.write(t.silt.command("report", "--json", t.path("t.silt")).stdout)
    made[f"{folder}/report.json"] = "silt's JSON output"
    for name, what in (("x.svg", "a picture made by silt"), ("x.html", "a page made by silt")):
        assert t.silt.command("flame", t.path("t.silt"), "-o", f"{folder}/{name}").code == 0
        made[f"{folder}/{name}"] = what
    for path, what in made.items():
        if not os.path.exists(path):
            continue
        for command in (["report"], ["flame", "-o", "-"], ["check", "--max-peak", "1"], ["diff", t.path("t.silt")]):
            r = t.silt.command(*command, path)
            assert r.code == 2 and len(r.errors.splitlines()) == 1 and "not a silt trace" in r.errors, (path, r.errors)
            assert what is None or f"is {what}, not a silt trace: " in r.errors, (path, what, r.errors)
    for path, what in read.items():
        if not os.path.exists(path):
            continue
        assert t.silt.command("report", path).code == 0, path
        r = t.silt.command("symbolize", path)
        assert r.code == 2 and f"is {what}, not a silt trace: make a trace of it with 'silt import'" in r.errors, (path, r.errors)
    t.notes.append(f"{len(made)} files of other kinds, {len(read)} that silt reads")


# ---- terminals --------------------------------------------------------------------------------------------------------

VIEWS = [[], ["--by", "end"], ["--by", "count"], ["--blocks"], *[["--group-by", x] for x in ("site", "function", "module", "line", "crate", "component", "thread", "size", "process")],
         ["--tree"], ["--bottom-up"], ["--callers", "main"], ["--callees", "main"], ["--histogram", "size"], ["--histogram", "lifetime"],
         ["--at", "@peak"], ["--process", "all"]]
ONE = re.compile(r"(?<![\d,.:@/x-])1 (?:more |other |call |temporary )?(?:frees|allocs|blocks|allocations|releases|events|bytes|sites|threads|processes|calls|paths|"
                 r"frames|samples|functions|times|reallocations|mappings|lines|modules|names|chunks|slices|limits|checks)\b")

# Said in memcheck's words, which have no singular.
MEMCHECKS = re.compile(r" *(in use at |total heap usage: |definitely lost: |indirectly lost: |possibly lost: |still reachable: |suppressed: )")


def cells(line):
    return sum(0 if unicodedata.combining(c) else 2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in line)


def check_screen(text, where, width):
    assert "\033" not in text and "\r" not in text, f"{where}: an escape on a dumb terminal"
    for line in text.splitlines():
        assert cells(line) <= width, f"{where}: {cells(line)} columns: {line}"
        assert MEMCHECKS.match(line) or not ONE.search(line), f"{where}: {line}"


def commands(t):
    trace, other = t.path("t.silt"), t.path("other.silt")
    for view in VIEWS:
        yield ["report", trace, *view]
    yield from (["diff", other, trace], ["diff", trace, other], ["diff", trace, trace], ["diff", trace + "@@peak", trace + "@@end"],
                ["check", trace, "--max-peak", "1M", "--max-end", "1", "--max-allocations", "1", "--max-temporary-share", "10%"],
                ["check", trace, "--against", other], ["source", trace, "main"], ["verify", trace], ["doctor", os.path.join(".", "story")])


def test_sixty_columns(t):
    """Every view at 60 columns, plain, of a program of three blocks and of one of one."""
    story(t)
    with open(t.path("one.c"), "w") as f:
        f.write("#include <stdlib.h>\nint main(void) { free(malloc(7)); return !malloc(1); }\n")
    assert run(["gcc", "-g", "-O0", "-o", t.path("one"), t.path("one.c")]).code == 0
    env = {**os.environ, "COLUMNS": "60", "TERM": "dumb", "LC_ALL": "C.UTF-8"}
    for first, second in (("story", "one"), ("one", "story")):
        assert t.silt.record(t.path("t.silt"), [t.path(first)], ["-f"]).code == 0
        assert t.silt.record(t.path("other.silt"), [t.path(second)], ["-f"]).code == 0
        for argv in commands(t):
            r = run([t.silt.path, *[a.replace(t.dir + "/", "") for a in argv]], env=env, cwd=t.dir)
            assert r.code in (0, 1), (argv, r.errors)
            check_screen(r.stdout.decode(), f"{first}: {' '.join(argv)}", 60)


def test_dumb_terminal(t):
    """A terminal that knows nothing: the report is the one a pipe gets."""
    story(t)
    script = shutil.which("script")
    if not script:
        return
    env = {**os.environ, "TERM": "dumb", "COLUMNS": "80"}
    for view in ([], ["--tree"]):
        argv = " ".join([t.silt.path, "report", t.path("t.silt"), *view])
        on_terminal = run([script, "-qec", argv, "/dev/null"], env=env).stdout.decode().replace("\r\n", "\n")
        assert "\033" not in on_terminal and on_terminal == run(["sh", "-c", argv], env=env).stdout.decode(), view
