# SPDX-License-Identifier: MIT
"""Filters: random ones on recorded traces against brute force (src/query/filter_test.c), and what `silt report` makes of them."""

import json
import os
import shutil

from harness.cases import skip
from harness.process import run

PROGRAMS = ["threads", "cross_free", "short_threads", "realloc_chain", "reuse_storm", "temporary", "fork_tree", "fork_inherit",
            "fork_in_thread", "fork_storm", "exec_chain", "vfork_exec", "spawn", "daemonise"]
SQL = """create table t(a, b);
with recursive c(x) as (select 1 union all select x + 1 from c where x < 800) insert into t select x, hex(randomblob(20)) from c;
create index i on t(b); select count(*) from t group by a % 7;"""


def record(t, name, argv):
    trace = t.path(name + ".silt")
    t.silt.record(trace, argv, ["--wait"])
    assert os.path.exists(trace), name
    return trace


def tool_of(t):
    tool = os.path.join(t.context.build_dir, "src/query/filter_test")
    if not os.path.exists(tool):
        skip("this build has no unit tests")
    return tool


def ask(t, trace, n):
    r = run([tool_of(t), str(n), trace], timeout_s=1500)
    assert r.code == 0, f"{trace}: {r.errors[-2000:]}"
    return int(r.text.split()[0])


def test_recorded_traces_against_brute_force(t):
    """About 150 random questions in `make test`, about 10,000 in `make soak`."""
    n_questions, n_traces, each = 0, 0, t.count(8, 700)
    for name in PROGRAMS:
        n_questions += ask(t, record(t, name, [t.program(name)]), each)
        n_traces += 1
    for name, argv in (("python", ["/usr/bin/python3", "-I", "-c", "import json; x = [json.dumps({'a': i}) for i in range(300)]"]),
                       ("sqlite", ["sqlite3", ":memory:", SQL]),
                       ("shell", ["sh", "-c", "for i in 1 2 3; do (echo $i | cat | sort > /dev/null); done"])):
        if shutil.which(argv[0]):
            n_questions += ask(t, record(t, name, argv), t.count(4, 100))
            n_traces += 1
    t.notes.append(f"{n_questions} questions to {n_traces} traces")


def test_random_traces_against_brute_force(t):
    """The unit test with as many questions as `make soak` is asked for."""
    n = t.count(200, 10_000)
    r = run([tool_of(t)], env={**os.environ, "SILT_FILTER_QUESTIONS": str(n)}, cwd=t.dir, timeout_s=1500)
    assert r.code == 0 and f"{n} questions" in r.text + r.errors, r.errors[-2000:]


def totals(t, trace, *options):
    report, why = t.silt.report(trace, *options)
    assert report, why
    return report["totals"], report


def test_parts_add_up(t):
    """What a condition selects and what it leaves out are together the whole, at the peak too."""
    trace = record(t, "t", [t.program("threads")])
    whole, _ = totals(t, trace)
    for with_it, without in ((["--function", "main"], ["--not-function", "main"]),
                             (["--size", "..64"], ["--size", "65.."]),
                             (["--lifetime", "..1ms"], ["--lifetime", "1ms.."]),
                             (["--asked-by", "work"], ["--not-asked-by", "work"])):
        a, report = totals(t, trace, *with_it)
        b, _ = totals(t, trace, *without)
        for name in ("allocations", "frees", "bytes_allocated", "temporary_allocations", "peak_live_bytes",
                     "peak_live_blocks", "end_live_bytes", "end_live_blocks"):
            assert a[name] + b[name] == whole[name], f"{with_it} {name}: {a[name]} + {b[name]} is not {whole[name]}"
        assert report["unfiltered"]["allocations"] == whole["allocations"], report["unfiltered"]


def test_the_first_sentence_says_what_is_filtered(t):
    trace = record(t, "t", [t.program("basic")])
    for options in (["--size", "1.."], ["--blocks", "--size", "1.."], ["--group-by", "function", "--size", "1.."]):
        r = t.silt.command("report", trace, *options)
        assert r.code == 0 and "only blocks with size 1.." in " ".join(r.text.split()[:60]).lower(), r.text[:400]
    r = t.silt.command("report", trace, "--blocks", "--size", "1..", "--json")
    blocks = json.loads(r.text)
    assert blocks["filter"] == "size 1.." and all(b["bytes"] >= 1 for b in blocks["blocks"]), r.text[:400]


def test_the_next_command_has_the_filter(t):
    trace = record(t, "t", [t.program("basic")])
    r = t.silt.command("report", trace, "--json", "--size", "1..", "--not-function", "no such|'quoted'")
    found = [f for f in json.loads(r.text)["findings"] if f["next"]]
    assert found, r.text[:400]
    for f in found:
        assert f"{trace} --size 1.. --not-function " in f["next"], f["next"]
        again = run(["/bin/sh", "-c", f["next"].replace("silt ", t.silt.path + " ", 1)])
        assert again.code == 0 and "size 1.., no function" in " ".join(again.text.split()), (f["next"], again.errors, again.text[:300])


def test_a_moment_before_all_is_refused_by_its_own_option(t):
    trace = record(t, "t", [t.program("basic")])
    for command in ("report", "flame"):
        for option in ("--at", "--to"):
            r = t.silt.command(command, trace, option, "0s")
            assert r.code == 2 and f" {option}: " in r.errors and "later than 0" in r.errors and "--from" not in r.errors, r.errors
        r = t.silt.command(command, trace, "--from", "5s", "--at", "2s")
        assert r.code == 2 and "--from: the window is empty" in r.errors, r.errors


def test_a_filter_that_selects_nothing_is_named_as_the_reason(t):
    trace = record(t, "t", [t.program("basic")])
    for view in (["--tree"], ["--bottom-up"], ["--group-by", "function"], ["--histogram", "size"], ["--blocks"]):
        r = t.silt.command("report", trace, "--function", "nosuch", *view)
        text = " ".join(r.text.split())
        assert r.code == 0 and "ilter matches" in text and "try another filter" in text, (view, r.text)
    r = t.silt.command("report", trace, "--histogram", "size")
    assert "filter" not in r.text, r.text


def test_bad_conditions_are_refused_in_one_line(t):
    for options, says in ((["--function", "("], "--function: "), (["--size", "9K..1"], "swapped: write 1..9K"),
                          (["--function", "x" * 5000], "use a shorter one"), (["--function", "(*UTF)x"], "leave it out"),
                          (["--function", "(" * 200], "nest less"), (["--function", "a{70000}"], "repeat less"),
                          (["--lifetime", "3s"], "write 3s.. or ..3s"), (["--alive-at", "soon"], "--alive-at: ")):
        r = t.silt.command("report", "none.silt", *options)
        assert r.code == 2 and says in r.errors and r.errors.count("\n") == 1 and r.text == "", r.errors
