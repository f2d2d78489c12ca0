# SPDX-License-Identifier: MIT
"""silt ask: what docs/recipes.md shows is what it prints; figures are those of other commands; recipes of users, broken ones too."""

import contextlib
import csv
import io
import json
import os
import sqlite3
import sys

from harness.massif import massif_file
from harness.ninja import build_targets
from harness.process import run

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BUILT_IN = sorted(name[:-4] for name in os.listdir(os.path.join(ROOT, "recipes")))
WITH_OTHER = {"new", "compare"}
MUST = {"per-request": ["--requests", "1000"], "per-task": ["--poll", "^poll_"]}  # what must be given
OF_TIME = {"hot", "blocked", "both"}  # refused, in one line, where no samples of time were taken


def ask(t, trace, recipe, *options, env=None):
    r = t.silt.command("ask", trace, recipe, "--json", *options, env=env)
    assert r.code == 0, (recipe, r.errors)
    got = json.loads(r.stdout)
    assert got["schema"] == "silt.ask/1" and got["recipe"] == recipe, got
    return [dict(zip(got["columns"], row)) for row in got["rows"]], got


def refused(t, *argv, env=None):
    """Its one line."""
    r = t.silt.command("ask", *argv, env=env)
    assert r.code == 2 and r.stdout == b"", (argv, r.code, r.stdout[:200])
    lines = r.errors.splitlines()
    assert len(lines) == 1 and lines[0].startswith("silt: "), (argv, r.errors)
    return lines[0]


def shop(t, name="shop.silt", options=(), arguments=()):
    trace = t.path(name)
    program = os.path.join(os.path.dirname(t.silt.path), "examples", "shop")
    r = t.silt.record(trace, [program, *arguments], ["-f", *options])
    assert r.code == 0, r.errors
    return trace


def test_page_is_as_printed(t):
    build = os.path.dirname(t.silt.path)
    build_targets(build, "examples/shop", "examples/index_loader")  # then the tool finds them made
    r = run([sys.executable, os.path.join(ROOT, "tools", "recipes.py"), "--build", build, "--check"], timeout_s=900)
    assert r.code == 0, r.text + r.errors


def test_figures_are_the_reports(t):
    """Of a program nobody here wrote, with threads or children or neither."""
    trace = t.path("t.silt")
    r = t.silt.record(trace, ["/bin/sh", "-c", "perl -e 'my @a = map { $_ x 50 } 1..20000; system(\"sort /etc/services >/dev/null\")'; ls / >/dev/null"],
                      ["-f"])
    assert r.code == 0, r.errors
    report, why = t.silt.report(trace, "--process", "all")
    assert report, why
    totals = report["totals_all"]
    many = ["--top", "1000000"]
    per_call, _ = ask(t, trace, "per-call", "--calls", "1", *many)
    assert sum(row["allocations"] for row in per_call) == totals["allocations"]
    assert sum(row["allocated_bytes"] for row in per_call) == totals["bytes_allocated"]
    churn, _ = ask(t, trace, "churn", *many)
    assert sum(row["freed_bytes"] for row in churn) == freed_bytes(t, trace)
    temporary, _ = ask(t, trace, "temporary", *many)
    assert sum(row["temporary"] for row in temporary) == totals["temporary_allocations"]
    peak, _ = ask(t, trace, "peak", *many)
    assert sum(row["held_bytes"] for row in peak) == totals["peak_live_bytes"]
    groups = report_groups(t, trace)
    assert sorted((row["held_bytes"], row["blocks"]) for row in peak if row["held_bytes"]) == sorted(groups), (peak[:5], groups[:5])
    threads, _ = ask(t, trace, "threads", *many)
    assert sum(row["allocations"] for row in threads) == totals["allocations"]
    sizes, _ = ask(t, trace, "sizes")
    assert sum(row["allocations"] for row in sizes) == totals["allocations"]


def report_groups(t, trace):
    """[(bytes, blocks)] at the peak of the functions that have any."""
    r = t.silt.command("report", trace, "--json", "--process", "all", "--group-by", "function", "--by", "peak", "--top", "100000")
    assert r.code == 0, r.errors
    return [(g["self"]["peak_live_bytes"], g["self"]["peak_live_blocks"]) for g in json.loads(r.stdout)["groups"] if g["self"]["peak_live_bytes"]]


def freed_bytes(t, trace):
    """By hand, of the same trace as other tables have it."""
    database = t.path("t.db")
    r = t.silt.command("export", trace, "--format", "sqlite", "-o", database)
    assert r.code == 0, r.errors
    with contextlib.closing(sqlite3.connect(database)) as db:
        return db.execute("SELECT sum(freed_bytes) FROM sites").fetchone()[0]


def test_shop_does_what_it_says(t):
    trace, before = shop(t), shop(t, "before.silt", arguments=["--before"])
    rows, got = ask(t, trace, "growing", "--since", "@warm")
    assert rows[0]["function"] == "open_session" and rows[0]["grown_bytes"] == 120000 and rows[0]["blocks"] == 100, rows
    assert got["says"] == "open_session grew most since @warm: by 117.2 KiB, 100 blocks.", got["says"]
    rows, _ = ask(t, trace, "foreign")
    assert (rows[0]["allocated_by"].split(" (")[0], rows[0]["freed_by"], rows[0]["blocks"], rows[0]["freed_bytes"]) == ("shop", "mailer", 1000, 700000), rows
    rows, _ = ask(t, trace, "per-request", "--from", "@warm", "--to", "@served", "--requests=1000")
    own = {row["function"]: row["times_per_request"] for row in rows}
    assert (own["render_page"], own["parse_request"], own["write_mail"], own["open_session"]) == (8, 3, 1, 0.1), rows
    rows, _ = ask(t, trace, "large-old", "--over", "1M", "--age", "100ms")
    assert [(row["thread"], row["function"], row["blocks"], row["held_bytes"]) for row in rows] == [("shop", "load_images", 2, 4 << 20)], rows
    rows, _ = ask(t, trace, "large-old", "--over=1023K", "--age", "0s")
    assert {row["function"]: row["blocks"] for row in rows} == {"make_report": 24 - 1, "load_images": 2} or \
           {row["function"]: row["blocks"] for row in rows} == {"make_report": 24, "load_images": 2}, rows
    rows, _ = ask(t, trace, "suspects", "--since", "@midway")
    assert [(row["function"], row["early_bytes"], row["held_bytes"]) for row in rows] == \
           [("open_session", 60000, 120000), ("print_coupon", 960, 1920)], rows
    rows, _ = ask(t, trace, "new", "--other", before)
    assert [row["function"] for row in rows] == ["open_session"], rows
    rows, _ = ask(t, before, "new", "--other", trace)
    assert not rows, rows
    rows, _ = ask(t, trace, "per-task", "--poll", "^poll_")
    assert {row["task"]: row["held_bytes"] for row in rows} == {"poll_payment": 30000, "poll_delivery": 31200}, rows


def test_every_recipe_answers(t):
    """Of all kinds of traces: rows, or one clear line why there are none."""
    whole = shop(t, options=["--leaks"])
    traces = [whole, shop(t, "sampled.silt", ["--sample", "4K"]), shop(t, "small.silt", ["--max-size", "1M"])]
    with open(whole, "rb") as f:
        data = f.read()
    cut = t.path("cut.silt")
    with open(cut, "wb") as f:
        f.write(data[:len(data) * 2 // 3])
    for trace in [*traces, cut]:
        for recipe in BUILT_IN:
            options = ["--other", whole] if recipe in WITH_OTHER else []
            options += ["--until", "50ms"] if recipe == "startup" else MUST.get(recipe, [])
            r = t.silt.command("ask", trace, recipe, "--json", *options)
            where = (os.path.basename(trace), recipe, r.errors)
            assert r.code == 0 or (r.code == 2 and (trace != whole or recipe in OF_TIME)), where
            if r.code == 0:
                got = json.loads(r.stdout)
                assert got["says"], where
                assert got["rows"] or trace != whole or recipe in ("old", "large-old", "compare", "new", "large-short", "suspects"), where
            else:
                assert r.stdout == b"" and r.errors.startswith("silt: ") and r.errors.count("\n") == 1, where


def test_list_and_help(t):
    r = t.silt.command("ask", "--list")
    assert r.code == 0 and [line.split()[0] for line in r.text.splitlines() if line[:1] != " "] == BUILT_IN, r.text
    got = json.loads(t.silt.command("ask", "--list", "--json").stdout)
    assert got["schema"] == "silt.recipes/1" and [one["name"] for one in got["recipes"]] == BUILT_IN
    assert len(BUILT_IN) >= 25
    for one in got["recipes"]:
        assert one["help"].endswith(("?", ".")), one
        r = t.silt.command("ask", "no.silt", one["name"], "--help")
        assert r.code == 0 and one["help"] in r.text, r.text
        for parameter in one["parameters"]:
            assert f"--{parameter['name'].replace('_', '-')} VALUE" in r.text and parameter["help"] in r.text, r.text
    assert t.silt.command("ask", "growing", "--help").text == t.silt.command("ask", "x.silt", "growing", "--help").text


def test_wrong_words(t):
    trace = shop(t)
    assert "did you mean 'growing'?" in refused(t, trace, "growin")
    assert "'silt ask --list' lists them" in refused(t, trace, "xyzzyxyzzy")
    assert "did you mean '--since'?" in refused(t, trace, "growing", "--sinc", "@warm")
    assert "needs a value" in refused(t, trace, "growing", "--since")
    assert "needs --requests: how many there were" in refused(t, trace, "per-request")
    assert "needs --poll" in refused(t, trace, "per-task")
    assert "is not a whole number" in refused(t, trace, "growing", "--top", "many")
    assert "--over" in refused(t, trace, "large-old", "--over", "much")
    assert "add --other FILE" in refused(t, trace, "new")
    assert "no trace given" in refused(t, "growing")
    assert "no trace given" in refused(t)
    assert "No such file" in refused(t, t.path("nothing.silt"))
    assert "only one recipe" in refused(t, trace, "growing", "old")
    assert "cannot open" in refused(t, t.path("none.silt"), "growing")
    refused(t, trace, "growing", "--since", "@nothing")
    for words in (("growing", "--top", "0"), ("growing", "--top", "-1"), ("busiest", "--stretch", "0s"), ("per-request", "--requests", "0"),
                  ("per-request", "--requests", "-3")):
        assert "or more" in refused(t, trace, *words), words
    assert "none of recorded|glibc|jemalloc|mimalloc|tcmalloc" in refused(t, trace, "waste", "--allocator", "dlmalloc")
    assert "recorded, glibc, jemalloc, mimalloc or tcmalloc" in t.silt.command("ask", trace, "waste", "--help").text
    wasted = {name: {row["size"]: row["takes"] for row in ask(t, trace, "waste", "--top", "1000", *(["--allocator", name] if name else []))[0]}
              for name in ("", "glibc", "jemalloc", "mimalloc", "tcmalloc")}
    assert wasted[""] == wasted["glibc"] and wasted["glibc"][1040] == 1056 and wasted["jemalloc"][1040] == 1280, wasted
    assert wasted["mimalloc"][1040] == 1280 and wasted["tcmalloc"][1040] == 1152, wasted


def test_waste_of_the_allocator_used(t):
    """By its size classes, whichever it was."""
    found = 0
    for name, library, takes in (("glibc", "", 0), ("jemalloc", "libjemalloc.so.2", 1280), ("mimalloc", "libmimalloc.so.2", 1280),
                                 ("tcmalloc", "libtcmalloc_minimal.so.4", 1152)):
        env = {**os.environ, "LD_PRELOAD": library}
        if library and "cannot be preloaded" in run(["/bin/true"], env=env).errors:
            continue
        trace = t.path(name + ".silt")
        r = t.silt.record(trace, ["perl", "-e", "my @a = map { 'x' x 1098 } 1..3000"], ["-f"], env=env)
        assert r.code == 0, r.errors
        rows, got = ask(t, trace, "waste", "--top", "1000")
        assert {row["allocator"] for row in rows} == {name}, (name, rows[:3])
        assert got["says"].startswith(f"Under {name}, blocks of "), got["says"]
        (row,) = [row for row in rows if row["blocks"] >= 3000 and row["size"] > 1098]
        assert row["takes"] == (takes or (row["size"] + 8 + 15) // 16 * 16) and row["wasted_bytes"] == (row["takes"] - row["size"]) * row["blocks"], row
        found += 1
    assert found


ROOMS = """
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
static void tell(size_t n) {
        void *p = malloc(n);
        printf("%zu %zu %zu\\n", n, malloc_usable_size(p), (size_t)p % 4096);
}
int main(void) {
        setvbuf(stdout, NULL, _IONBF, 0);
        for (size_t n = 1; n < 3000; n++) tell(n);
        for (size_t n = 3000; n < 40 << 20; n += n / 64) for (int i = -1; i < 2; i++) tell(n + i);
        for (size_t n = 4096; n <= 32 << 20; n *= 2) for (int i = -1; i < 2; i++) tell(n + i);
}
"""


def test_block_room_is_what_allocators_say(t):
    """Sizes from 1 byte to 40 MiB, each as the allocator itself tells its room. Nothing is freed, so that glibc maps what is large."""
    trace, program = t.path("t.silt"), t.path("rooms")
    assert t.silt.record(trace, ["/bin/true"], ["-f"]).code == 0
    with open(program + ".c", "w") as f:
        f.write(ROOMS)
    built = run(["gcc", "-O1", "-fno-builtin", program + ".c", "-o", program])
    assert built.code == 0, built.errors
    for name, library in (("glibc", ""), ("jemalloc", "libjemalloc.so.2"), ("mimalloc", "libmimalloc.so.2"), ("tcmalloc", "libtcmalloc_minimal.so.4")):
        r = run([program], env={**os.environ, "LD_PRELOAD": library})
        if "cannot be preloaded" in r.errors:
            continue
        real = {}
        for line in r.text.splitlines():
            size, usable, offset = map(int, line.split())
            # a chunk's usable bytes leave out its header; a mapping's is of two words. Whether a chunk near 128 KiB still fits into the heap is chance.
            if name != "glibc" or size < 131049 or offset == 16:
                real[size] = usable + (name == "glibc") * (16 if size >= 131049 else 8)
        assert len(real) > 3500, (name, len(real))
        statement = f"SELECT value, block_room(value, '{name}') FROM json_each('{json.dumps(list(real))}')"
        r = t.silt.command("sql", "--json", trace, statement)
        assert r.code == 0, r.errors
        apart = [(size, room, real[size]) for size, room in json.loads(r.stdout)["rows"] if room != real[size]]
        assert not apart, (name, len(apart), apart[:5])


def test_unknown_is_not_nothing(t):
    trace = t.path("massif.out")
    with open(trace, "w", encoding="utf-8") as f:
        f.write(massif_file([(0, 0, "empty"), (10, 1000, "peak", "0x109190: keep (a.c:7)")], "./a"))
    for recipe in ("churn", "temporary", "per-call", "per-request", "threads", "regrowth", "foreign", "frees", "mappings", "spike", "suspects"):
        said = refused(t, trace, recipe, *MUST.get(recipe, []))
        assert "does not tell" in said or "no single allocations" in said, said
    got = ask(t, trace, "growing")[1]
    assert got["says"] == "keep grew most since 0s: by 1000 B.", got["says"]
    assert "after" not in ask(t, trace, "marks")[1]["says"]
    rows, got = ask(t, trace, "peak")
    assert got["says"] == "keep held most: 1000 B." and rows == [
        {"function": "keep", "held_bytes": 1000, "blocks": None, "never_freed_bytes": None, "oldest_ns": None}], (got["says"], rows)
    assert "does not tell what was live at that moment" in refused(t, trace, "peak", "--at", "5ms")
    assert "the tables 'sites' and 'window' of silt sql" in refused(t, trace, "old")
    sampled = shop(t, "sampled.silt", ["--sample", "4K"])
    assert "one of samples" in refused(t, sampled, "regrowth")


def test_sentences_are_true(t):
    trace = shop(t)
    said = ask(t, trace, "lifetimes")[1]["says"]
    assert said.startswith("Of the blocks that were freed, most are of "), said
    said = ask(t, trace, "startup")[1]["says"]
    assert "after startup (a tenth of the recording) it held" in said, said
    threads = ask(t, trace, "threads", "--top", "1000")[0]
    names = [row["thread"] for row in threads]
    assert len(names) == len(set(names)) > 1, names
    folder = t.path("own")
    write(folder, "part.sql", b"-- x\n-- needs sites.allocations: how often\n-- says: {a}[, {b|block}] and[ {c}].\nSELECT 1 AS a, NULL AS b, 2 AS c")
    assert ask(t, trace, "part", "--recipes", folder)[1]["says"] == "1 and 2."
    write(folder, "unmet.sql", b"-- x\n-- needs 1 = 2: whether\nSELECT 1 AS a")
    assert "does not tell whether" in refused(t, trace, "unmet", "--recipes", folder)
    write(folder, "unsaid.sql", b"-- x\n-- needs sites.frees\nSELECT 1 AS a")
    assert "needs something" in refused(t, trace, "unsaid", "--recipes", folder)


def test_findings_are_not_the_statement_s_memory(t):
    """Making them takes what silt report takes, whatever the statement is; what it keeps itself has the limit."""
    trace = shop(t)
    r = t.silt.command("sql", "--csv", "--max-memory", "1M", trace, "SELECT count(*) > 0 FROM findings")
    assert r.code == 0 and r.text.split()[-1] == "1", r.errors
    r = t.silt.command("sql", "--max-memory", "1M", trace, "SELECT group_concat(text) FROM findings, allocations")
    assert r.code == 2 and "--max-memory allows more" in r.errors, r.errors


def test_other_forms(t):
    trace = shop(t)
    r = t.silt.command("ask", trace, "growing", "--since", "@warm", "--top", "2", "--csv")
    rows = list(csv.reader(io.StringIO(r.text)))
    assert r.code == 0 and rows[0][:2] == ["function", "grown_bytes"] and rows[1][:2] == ["open_session", "120000"] and len(rows) == 3, r.text
    r = t.silt.command("ask", trace, "growing", "--since", "@warm", "--top", "2", "--sql")
    assert r.code == 0 and "window('@warm')" in r.text and "LIMIT 2" in r.text, r.text
    again = t.silt.command("sql", trace, r.text, "--csv")
    assert again.code == 0 and list(csv.reader(io.StringIO(again.text))) == rows, again.text + again.errors


def write(folder, name, text):
    os.makedirs(folder, exist_ok=True)
    with open(os.path.join(folder, name), "wb") as f:
        f.write(text)


def test_recipes_of_users(t):
    trace, config, folder = shop(t), t.path("config"), t.path("more")
    env = {**os.environ, "XDG_CONFIG_HOME": config}
    write(config + "/silt/recipes", "mine.sql", b"-- Mine?\n-- least_bytes = 1K: at least\n-- says: {n|site} from {:least_bytes} on.\n"
          b"SELECT count(*) AS n FROM sites WHERE allocated_bytes >= :least_bytes")
    rows, got = ask(t, trace, "mine", "--least-bytes", "1M", env=env)
    assert got["says"] == f"{rows[0]['n']} sites from 1M on.", got
    assert "is not a recipe: 'silt ask --list' lists them" in refused(t, trace, "mine")
    assert refused(t, trace, "bigest").endswith("'bigest' is not a recipe: did you mean 'biggest'?")
    said = refused(t, trace, "leaks")  # none is called nearly so: by what they ask
    assert "did you mean '" in said and "'suspects'" in said and "'lost'" in said, said
    assert "write 'silt ask FILE biggest'" in refused(t, "bigest")
    write(folder, "needs.sql", b"-- Needs one?\n-- name = : whose\nSELECT :name AS name")
    assert "needs --name: whose" in refused(t, trace, "needs", "--recipes", folder)
    assert ask(t, trace, "needs", "--recipes", folder, "--name", "it's")[0] == [{"name": "it's"}]
    write(folder, "mine.sql", b"-- Another?\nSELECT 1 AS one")
    rows, got = ask(t, trace, "mine", "--recipes", folder, env=env)
    assert rows == [{"one": 1}] and got["says"] == "", got
    for name, text, words in ((b"no-help", b"SELECT 1", "first line"), (b"empty", b"", "first line"), (b"binary", b"-- x\nSELECT '\0\xff'", "UTF-8"),
                              (b"large", b"-- x\nSELECT 1" + b" " * 70000, "64 KiB"), (b"taken", b"-- x\n-- json = 1: y\nSELECT :json", "rename it"),
                              (b"undeclared", b"-- x\nSELECT :what", "does not declare :what"), (b"wrong", b"-- x\nSELEC 1", "syntax error"),
                              (b"two", b"-- x\nSELECT 1; SELECT 2", "more than one"), (b"brace", b"-- x\n-- says: {nothing}\nSELECT 1", "{nothing}"), (b"writes", b"-- x\nDELETE FROM sites", "wr")):
        write(folder, name.decode() + ".sql", text)
        said = refused(t, trace, name.decode(), "--recipes", folder)
        assert words in said, (name, said)
    os.mkfifo(os.path.join(folder, "pipe.sql"))
    os.symlink("loop.sql", os.path.join(folder, "loop.sql"))
    os.mkdir(os.path.join(folder, "folder.sql"))
    write(folder, "odd\n\x1bname.sql", b"-- x\nSELECT 1")
    for name in ("pipe", "loop", "folder"):
        refused(t, trace, name, "--recipes", folder)
    r = t.silt.command("ask", "--list", "--recipes", folder)
    assert r.code == 0 and "mine" in r.text and "growing" in r.text, r.text
    assert "no-help.sql" in r.errors and "\x1b" not in r.errors and all(line.startswith("silt: cannot use ") for line in r.errors.splitlines()), r.errors
    assert "cannot read" in refused(t, trace, "mine", "--recipes", t.path("nowhere"))
