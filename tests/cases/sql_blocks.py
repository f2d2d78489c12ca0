# SPDX-License-Identifier: MIT
"""allocations, live(at) and events of `silt sql`: the figures of `silt report` for the same question, and the rows of an exported database."""

import json
import re
import sqlite3

from harness.answer import parse

THREADS = """
import os, threading
kept = []
def work(n):
    for i in range(n):
        kept.append(bytearray(i * 3))
    del kept[::3]
threads = [threading.Thread(target=work, args=(n,)) for n in (500, 1500, 2500)]
[x.start() for x in threads]
[x.join() for x in threads]
if os.fork() == 0:
    own = [bytearray(1000) for _ in range(300)]
    del kept[:700]
    os._exit(0)
os.wait()
del kept[::2]
"""

# What no sum of columns tells apart is told apart here, each row.
SAME_EVENTS = ("SELECT time_ns, op, process, thread, block, bytes, stack, stands_for, old_block, old_bytes, old_stack, address FROM events"
               " ORDER BY time_ns, block, op")
# An exported database knows releases by their events alone.
PAIRED = """SELECT a.block, a.time_ns, a.bytes, a.stack, a.thread, a.process, coalesce(f.time_ns, r.time_ns), coalesce(f.thread, r.thread)
 FROM events a LEFT JOIN events f ON f.block = a.block AND f.op = 'free' AND f.process = a.process
 LEFT JOIN events r ON r.old_block = a.block AND r.process = a.process WHERE a.op <> 'free' ORDER BY 1"""


def ask(t, trace, statement, *options):
    r = t.silt.command("sql", "--json", trace, statement, *options)
    assert r.code == 0, (statement, r.errors)
    return [list(row.values()) if isinstance(row, dict) else row for row in parse(r.stdout)["rows"]]


def report(t, trace, *options):
    r = t.silt.command("report", "--json", trace, *options)
    assert r.code == 0, r.errors
    return parse(r.stdout)


def traces(t):
    for name, options in (("exact", []), ("stacks", ["--free-stacks", "--addresses"]), ("sampled", ["--sample", "4K"])):
        trace = t.path(name + ".silt")
        r = t.silt.record(trace, ["/usr/bin/python3", "-I", "-S", "-c", THREADS], ["-f", *options])
        assert r.code == 0, r.errors
        yield name, trace


def check_totals(t, trace, is_sampled, *options):
    """Sums of all rows are the totals of the report."""
    totals = report(t, trace, *options)["totals"]
    (row,) = ask(t, trace, "SELECT sum(stands_for), sum(bytes * stands_for), sum(is_temporary * stands_for), sum(by_realloc * stands_for)"
                 " FROM allocations", *options)
    told = [totals[k] for k in ("allocations", "bytes_allocated", "temporary_allocations", "reallocations")]
    if is_sampled:  # the report's are counted, call paths are estimated by the samples
        ((*told,),) = ask(t, trace, "SELECT sum(allocations), sum(allocated_bytes), sum(temporary), sum(reallocations) FROM sites", *options)
    assert row == told, (options, row, told)
    (row,) = ask(t, trace, "SELECT sum(stands_for), sum(bytes * stands_for) FROM allocations", *options)  # without pairing
    assert row == told[:2], (options, row, told)


def check_live(t, trace, at_ns, *options):
    """What is alive at a moment is what the report counts there."""
    r = t.silt.command("report", "--json", trace, "--at", f"{at_ns / 1e9:.9f}s", "--by", "end", *options)
    if "choose an earlier time" in r.errors:  # the process has ended
        return 0
    assert r.code == 0, r.errors
    totals = parse(r.stdout)["totals"]
    (row,) = ask(t, trace, f"SELECT coalesce(sum(stands_for), 0), coalesce(sum(bytes * stands_for), 0) FROM live({at_ns})", *options)
    assert row == [totals["end_live_blocks"], totals["end_live_bytes"]], (at_ns, options, row, totals)
    return 1


def processes(t, trace):
    return [str(pid) for (pid,) in ask(t, trace, "SELECT DISTINCT pid FROM processes")]


def test_figures(t):
    for name, trace in traces(t):
        asked = [["--process", "all"], *(["--process", p] for p in processes(t, trace))]
        end_ns = int(report(t, trace)["duration_s"] * 1e9)
        for options in asked:
            check_totals(t, trace, name == "sampled", *options)
        peak_ns = ask(t, trace, "SELECT at('@peak')")[0][0]
        assert ask(t, trace, "SELECT count(*) FROM live(0)") == [[0]]
        moments = (peak_ns, end_ns, *(t.chance.randrange(1, end_ns) for _ in range(3)))
        n = sum(check_live(t, trace, at_ns, *options) for at_ns in moments for options in asked)
        assert n > len(moments), (name, n)  # the recording may go on after the process: its moments are fewer
        assert ask(t, trace, "SELECT count(*) FROM live") == ask(t, trace, "SELECT count(*) FROM live('@end')"), name


def test_report_blocks(t):
    """Each block as `silt report --blocks` lists it, with its age and call path."""
    for _, trace in traces(t):
        listed = report(t, trace, "--blocks", "--process", "all", "--from", "0s")["blocks"]
        rows = ask(t, trace, "SELECT id, time_ns / 1000, bytes, round(lifetime_ns / 1000.0), stack FROM allocations ORDER BY id",
                   "--process", "all")
        assert len(rows) > 100
        told = [[b["seq"], round(b["at_s"] * 1e6), b["bytes"], round(b["age_s"] * 1e6), b["site"]] for b in listed]
        assert told == rows, [x for x in zip(told, rows) if x[0] != x[1]][:3]


def exported(t, trace):
    path = t.path("out.sqlite")
    r = t.silt.command("export", trace, "--format", "sqlite", "-f", "-o", path)
    assert r.code == 0, r.errors
    return sqlite3.connect(path)


def test_exported(t):
    """The events of an exported database, and blocks paired by it."""
    for _, trace in traces(t):
        database = exported(t, trace)
        database.execute("CREATE INDEX old ON events (old_block)")
        assert ask(t, trace, SAME_EVENTS) == [list(x) for x in database.execute(SAME_EVENTS)]
        rows = ask(t, trace, "SELECT id, time_ns, bytes, stack, thread, process, freed_ns, freed_by FROM allocations ORDER BY id")
        assert rows == [list(x) for x in database.execute(PAIRED)]
        database.close()


def test_conditions(t):
    """A condition that spares work leaves the rows it would leave without: + takes a column out of what a table is told."""
    _, trace = next(traces(t))
    ((n, end_ns),) = ask(t, trace, "SELECT count(*), max(time_ns) FROM allocations")
    columns = {"id": n, "time_ns": end_ns, "bytes": 3000, "stack": 500, "thread": 4, "process": 2, "lifetime_ns": end_ns // 20, "freed_ns": end_ns}
    for i in range(25):
        terms = []
        for column in t.chance.sample(sorted(columns), t.chance.randint(1, 3)):
            x, y = sorted(t.chance.randrange(columns[column]) for _ in range(2))
            terms.append(t.chance.choice(((column, f"= {x}"), (column, f"> {x}"), (column, f"<= {y}.5"), (column, f"BETWEEN {x} AND {y}"),
                                          (column, f"IN ({x}, {y})"), (column, "IS NULL"), (column, f">= -{x}"),
                                          (column, "= NULL"), (column, "> 9e18"), (column, f"<> {x}"))))
        sums = "SELECT count(*), sum(bytes), sum(id), " + ("sum(lifetime_ns)" if i % 2 else "sum(time_ns)") + " FROM allocations WHERE "
        told = sums + " AND ".join(f"{c} {x}" for c, x in terms)
        plain = sums + " AND ".join(f"+{c} {x}" for c, x in terms)
        assert ask(t, trace, told) == ask(t, trace, plain), told
    some = ask(t, trace, "SELECT id, bytes, freed_ns FROM allocations WHERE id % 97 = 0 ORDER BY id")
    joined = ask(t, trace, "SELECT b.id, b.bytes, b.freed_ns FROM allocations a CROSS JOIN allocations b ON b.id = a.id WHERE a.id % 97 = 0"
                 " ORDER BY a.id")
    assert some == joined
    assert len(ask(t, trace, "SELECT id FROM allocations LIMIT 3")) == 3  # the thread that reads on is stopped


def test_no_detail(t):
    """What the trace does not have is said, and no table of it is empty."""
    folded = t.path("x.folded")
    with open(folded, "w") as f:
        f.write("main;work 100\nmain;rest 20\n")
    r = t.silt.command("import", folded, "-o", t.path("x.silt"))
    assert r.code == 0, r.errors
    for table in ("allocations", "events", "live"):
        r = t.silt.command("sql", t.path("x.silt"), f"SELECT count(*) FROM {table}")
        assert r.code != 0 and "no single allocations" in r.errors and "sites" in r.errors, (r.code, r.errors)
    trace = t.path("cut.silt")
    churn = "for i in range(120000): x = [bytearray(600 + i * k * 7919 % 9000) for k in range(5)]"
    r = t.silt.record(trace, ["/usr/bin/python3", "-I", "-S", "-c", churn], ["-f", "--max-size", "1M"])
    assert r.code == 0, r.errors
    known = set()
    for statement in ("SELECT count(*) FROM allocations WHERE time_ns < 1000", "SELECT count(*) FROM live(1000)",
                      "SELECT count(*) FROM events WHERE time_ns < 1000"):
        r = t.silt.command("sql", trace, statement)
        assert r.code != 0, statement
        known.add(re.search(r"single allocations from (\S+) s on", r.errors)[1])
    (known_s,) = known
    r = t.silt.command("sql", trace, "SELECT min(time_ns), count(*) FROM allocations", "--json")
    assert r.code == 0, r.errors
    ((first_ns, n),) = [list(x.values()) if isinstance(x, dict) else x for x in parse(r.stdout)["rows"]]
    assert first_ns >= float(known_s) * 0.999e9 and n > 1000
    said = r.errors + json.dumps(parse(r.stdout))
    assert f"known from {known_s} s on" in said, said


def test_cut_off(t):
    """A file that ends in the middle answers what it has, and says so."""
    _, trace = next(traces(t))
    with open(trace, "rb") as f:
        data = f.read()
    cut = t.path("half.silt")
    between = next(at for at in range(len(data) * 2 // 3 & ~7, 0, -8) if data.startswith(b"\xf5slt", at))
    for length, said in ((between, "the end of the recording is missing"), (between + 16, "the file ends inside a chunk")):
        with open(cut, "wb") as f:
            f.write(data[:length])
        r = t.silt.command("sql", "--json", cut, "SELECT sum(stands_for), sum(bytes) FROM allocations", "--process", "all")
        assert r.code == 0 and said in r.text + r.errors, (said, r.errors)
        totals = report(t, cut, "--process", "all")["totals"]
        assert parse(r.stdout)["rows"] == [[totals["allocations"], totals["bytes_allocated"]]], (r.stdout, totals)
