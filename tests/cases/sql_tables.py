# SPDX-License-Identifier: MIT
"""Tables of SQL against what `silt report --json`, `silt bill --json` and the exported database say of the same trace: every row, every figure. On programs that
nobody here wrote, on several processes, sampled, thinned, cut off and imported."""

import json
import sqlite3

from harness.answer import parse

SQL = "create table t(a integer primary key, b text); begin;" + \
      "".join(f"insert into t(b) values (hex(randomblob({i % 90 + 10})));" for i in range(900)) + \
      "commit; select count(*) from (select b, count(*) from t group by b);"
PYTHON = "import json, threading\n" \
         "def work():\n kept = [json.loads(json.dumps({'k': list(range(i))})) for i in range(120)]\n" \
         "x = [threading.Thread(target=work) for i in range(3)]\n[i.start() for i in x]; [i.join() for i in x]"
CROWD = f"/usr/bin/python3 -c '{PYTHON.replace(chr(39), chr(34))}'; perl -e 'my %h; $h{{$_}} = [1..9] for 1..2000'; /bin/ls / >/dev/null"


def record(t, name, argv, *options):
    trace = t.path(name)
    r = t.silt.record(trace, argv, ["-f", *options])
    assert r.code == 0, r.errors
    return trace


def command(t, *argv):
    r = t.silt.command(*argv)
    assert r.code == 0, r.errors
    return parse(r.stdout)


def ask(t, trace, statement, *options):
    got = command(t, "sql", "--json", trace, statement, *options)
    return [tuple(row) for row in got["rows"]]


def rows_of(t, trace, statement, *options):
    """With names of columns."""
    got = command(t, "sql", "--json", trace, statement, *options)
    return [dict(zip(got["columns"], row)) for row in got["rows"]]


def refused(t, trace, statement):
    r = t.silt.command("sql", trace, statement)
    assert r.code == 2 and not r.stdout and r.errors.count("\n") == 1, (statement, r.code, r.stdout, r.errors)
    return r.errors


# ---- the exported database ----------------------------------------------------------------------------------------------------------

EXPORTED = ("trace", "processes", "threads", "modules", "frames", "stacks", "sites", "functions", "call_paths", "notes")


def check_export(t, trace, *options):
    out = t.path("tables.sqlite")
    r = t.silt.command("export", trace, "--format", "sqlite", "-f", "-o", out, *options)
    assert r.code == 0, r.errors
    db = sqlite3.connect(out)
    for table in EXPORTED:
        columns = ", ".join(row[1] for row in db.execute(f"PRAGMA table_info({table})"))
        order = {"notes": "", "call_paths": " ORDER BY 1, 2, 3"}.get(table, " ORDER BY 1, 2")
        theirs = db.execute(f"SELECT {columns} FROM {table}{order}").fetchall()
        ours = ask(t, trace, f"SELECT {columns} FROM {table}{order}", *options)
        assert len(ours) == len(theirs), f"{table}: {len(ours)} rows, the export has {len(theirs)}"
        for mine, other in zip(ours, theirs):
            assert mine == other, f"{table} ({columns}): {mine}, the export has {other}"
    db.close()


# ---- the report -------------------------------------------------------------------------------------------------------------------

TOTALS = (("allocations", "allocations"), ("allocated_bytes", "bytes_allocated"), ("frees", "frees"), ("peak_bytes", "peak_live_bytes"),
          ("end_bytes", "end_live_bytes"), ("end_blocks", "end_live_blocks"))
BY_METRIC = {"peak": ("peak_bytes", "peak_blocks"), "end": ("end_bytes", "end_blocks"), "allocated": ("allocated_bytes", "allocations"),
             "growth": ("growth_bytes", "growth_blocks")}


def check_sites(t, trace, report, table, *options):
    """Top lists of the report, all of them."""
    by_stack = {row["stack"]: row for row in rows_of(t, trace, f"SELECT * FROM {table}", *options)}
    n = 0
    for top in report["top"]:
        if top["metric"] not in BY_METRIC or top["sites"] is None or (top["metric"] == "growth" and table == "sites"):
            continue
        of_bytes, of_blocks = BY_METRIC[top["metric"]]
        for site in top["sites"]:
            row = by_stack[site["site"]]
            n += 1
            assert (row[of_bytes], row[of_blocks]) == (site["bytes"], site["blocks"]), (table, top["metric"], row, site)
            assert row["allocations"] == site["allocations"], (table, row, site)
    return by_stack, n


def check_processes(t, trace, report):
    ours = rows_of(t, trace, "SELECT * FROM processes ORDER BY id")
    assert len(ours) == len(report["processes"])
    for row, p in zip(ours, report["processes"]):
        assert (row["pid"], row["image"], row["ended"]) == (p["pid"], p["image"], p["ended"]), (row, p)
        for column, figure in (*TOTALS, ("peak_rss_bytes", "peak_rss_bytes")):
            expected = p["totals"].get(figure)
            if figure == "peak_rss_bytes" and expected == 0:
                expected = None
            assert row[column] == expected, (column, row, p)


def check_threads(t, trace, report):
    ours = {(r["tid"], r["start_ns"]): r for r in rows_of(t, trace, "SELECT * FROM threads")}
    assert ours and report["threads"]
    for theirs in report["threads"]:
        row = next(r for (tid, start), r in ours.items() if tid == theirs["tid"] and abs(start / 1e9 - theirs["start_s"]) < 1e-6)
        assert row["name"] == theirs["name"], (row, theirs)
        for column, figure in (("allocations", "allocations"), ("allocated_bytes", "bytes_allocated"), ("frees", "frees"),
                               ("temporary", "temporary_allocations"), ("foreign_frees", "foreign_frees")):
            assert row[column] == theirs[figure], (column, row, theirs)


def check_timeline(t, trace, report):
    n = len(report["timeline"])
    ours = rows_of(t, trace, f"SELECT * FROM timeline({n})", "--process", "main")
    assert len(ours) == n > 10
    for row, column in zip(ours, report["timeline"]):
        assert row["live_bytes"] == column["live_bytes"], (row, column)
        assert abs(row["begin_ns"] / 1e9 - column["at_s"]) < 1e-6 and row["rss_bytes"] == column.get("rss_bytes"), (row, column)


def check_mappings(t, trace, report, *options):
    ours = rows_of(t, trace, "SELECT * FROM mappings ORDER BY peak_bytes DESC, stack", *options)
    theirs = report["mappings"]["sites"]
    key = lambda r, n: (r["peak_bytes"], r["end_bytes"], r["mapped_bytes"], r["reserved_bytes"], r[n])
    assert len(ours) >= len(theirs)
    assert sorted(key(r, "calls") for r in ours)[-3:] == sorted(key(r, "calls") for r in theirs)[-3:]


def check_findings(t, trace, report, *options):
    ours = rows_of(t, trace, "SELECT * FROM findings ORDER BY rank", *options)
    theirs = report["findings"]
    assert [(r["kind"], r["severity"], r["text"], r["bytes"], r["next"] or "", r["function"] or "") for r in ours] == \
           [(f["kind"], f["severity"], f["text"], f["bytes"], f["next"], f["function"]) for f in theirs], (ours, theirs)
    assert [r["stack"] for r in ours] == [f["site"] and f["site"]["site"] for f in theirs], (ours, theirs)


def check_window(t, trace, part):
    end_ns = ask(t, trace, "SELECT value FROM trace WHERE key = 'to_ns'")[0][0]
    low, high = f"{int(end_ns * part / 1000)}us", f"{int(end_ns * (part + 0.4) / 1000)}us"
    report = command(t, "report", "--json", trace, "--process", "all", "--from", low, "--to", high, "--top", "1000")
    ours, n = check_sites(t, trace, report, f"window('{low}', '{high}')")
    for column, figure in TOTALS[:2] + TOTALS[4:]:
        assert sum(r[column] for r in ours.values()) == report["totals"][figure], (column, report["totals"])
    for r in ours.values():
        assert r["growth_bytes"] == r["end_bytes"] - r["start_bytes"] and r["growth_blocks"] == r["end_blocks"] - r["start_blocks"], r
    return n


def check_joins(t, trace):
    """Look-ups by key give what a scan gives."""
    one = "SELECT count(*), sum(s.allocations * c.level), sum(length(c.function)) FROM sites s JOIN call_paths c ON {} WHERE s.stack < 60 AND c.stack < 60"
    assert ask(t, trace, one.format("c.stack = s.stack")) == ask(t, trace, one.format("+c.stack = +s.stack"))
    stacks = [r[0] for r in ask(t, trace, "SELECT stack FROM sites ORDER BY allocations DESC LIMIT 5")] + [0, -1, 1, 10 ** 12, 2.5, 3.0]
    among = ", ".join(str(s) for s in stacks)
    for statement in ("SELECT stack, path, function FROM sites WHERE stack IN ({})", "SELECT * FROM stacks WHERE id IN ({})",
                      "SELECT * FROM stacks WHERE parent IN ({})", "SELECT * FROM call_paths WHERE stack IN ({})",
                      "SELECT * FROM frames WHERE location IN ({})", "SELECT * FROM mappings WHERE stack IN ({})",
                      "SELECT stack, end_bytes FROM window(0) WHERE stack IN ({})", "SELECT * FROM threads WHERE id IN ({})",
                      "SELECT * FROM processes WHERE id IN ({})", "SELECT * FROM modules WHERE id IN ({})"):
        fast = ask(t, trace, statement.format(among))
        slow = ask(t, trace, statement.replace("WHERE ", "WHERE +").format(among))
        assert sorted(fast, key=repr) == sorted(slow, key=repr), (statement, among, fast, slow)
    # by text: each row finds itself
    n, n_rows = ask(t, trace, "SELECT (SELECT count(*) FROM sites), count(DISTINCT a.stack) FROM sites a JOIN sites b ON b.path = a.path")[0]
    assert n == n_rows
    by_index = ask(t, trace, "SELECT sum(n) FROM (SELECT (SELECT count(*) FROM sites b WHERE b.path = a.path) AS n FROM sites a)")
    by_group = ask(t, trace, "SELECT sum(n * n) FROM (SELECT count(*) AS n FROM sites GROUP BY path)")
    assert by_index == by_group, (by_index, by_group)
    by_index = ask(t, trace, "SELECT count(*) FROM sites a JOIN sites b ON b.function = a.function")
    by_group = ask(t, trace, "SELECT sum(n * n) FROM (SELECT count(*) AS n FROM sites GROUP BY function)")
    assert by_index == by_group, (by_index, by_group)


def plan(t, trace, statement):
    return [row[3] for row in ask(t, trace, "EXPLAIN QUERY PLAN " + statement)]


def whole(t, trace, several):
    """All checks of a trace that has everything."""
    check_export(t, trace)
    report = command(t, "report", "--json", trace, "--top", "1000", *(("--process", "all") if several else ()))
    ours, n = check_sites(t, trace, report, "sites")
    assert n > 100
    for column, figure in TOTALS:
        assert sum(r[column] for r in ours.values()) == report["totals"][figure], (column, report["totals"])
    check_processes(t, trace, report)
    check_findings(t, trace, report)
    check_mappings(t, trace, report)
    assert max(check_window(t, trace, part) for part in (0, 0.3, 0.6)) > 20
    check_joins(t, trace)
    main = command(t, "report", "--json", trace, "--process", "main") if several else report
    if not several:
        check_threads(t, trace, report)
    check_timeline(t, trace, main)


def test_one_process(t):
    trace = record(t, "sqlite.silt", ["sqlite3", ":memory:", SQL])
    whole(t, trace, False)
    total = ask(t, trace, "SELECT sum(allocations), sum(allocated_bytes) FROM timeline(777)")[0]
    assert total == ask(t, trace, "SELECT sum(allocations), sum(allocated_bytes) FROM sites")[0]


def test_threads(t):
    trace = record(t, "python.silt", ["/usr/bin/python3", "-c", PYTHON])
    whole(t, trace, False)
    assert ask(t, trace, "SELECT count(*) FROM threads WHERE allocations > 0")[0][0] >= 4
    a, b = ask(t, trace, "SELECT sum(allocations), sum(allocated_bytes) FROM threads")[0]
    assert (a, b) == ask(t, trace, "SELECT sum(allocations), sum(allocated_bytes) FROM sites")[0]


def test_several_processes(t):
    trace = record(t, "crowd.silt", ["/bin/sh", "-c", CROWD])
    assert ask(t, trace, "SELECT count(*) FROM processes")[0][0] >= 4
    whole(t, trace, True)
    perl = ask(t, trace, "SELECT pid FROM processes WHERE name = 'perl' AND allocations > 0 ORDER BY allocations DESC LIMIT 1")[0][0]
    check_export(t, trace, "--process", str(perl))
    report = command(t, "report", "--json", trace, "--process", str(perl), "--top", "1000")
    assert check_sites(t, trace, report, "sites", "--process", str(perl))[1] > 20
    check_findings(t, trace, report, "--process", str(perl))


def check_bill(t, trace):
    """Of each moment the parts add up to what was resident, and those of the bill that is told are its own."""
    sums = ask(t, trace, "SELECT time_ns, sum(bytes) FROM memory WHERE source = 'bill' GROUP BY time_ns ORDER BY 2 DESC")
    assert sums, "no bill"
    bill = command(t, "bill", "--json", trace)
    parts = {p["part"]: p["bytes"] for p in bill["parts"] if p["bytes"]}
    at_ns = min((time for time, _ in sums), key=lambda time: abs(time / 1e9 - bill["at_s"]))
    ours = dict(ask(t, trace, f"SELECT part, bytes FROM memory WHERE source = 'bill' AND time_ns = {at_ns}"))
    assert ours == parts, (ours, parts)
    n_samples = ask(t, trace, "SELECT count(DISTINCT time_ns), count(*) FROM memory WHERE source = 'sample' AND process = 0")[0]
    assert 0 < n_samples[0] and n_samples[1] == 3 * n_samples[0], n_samples
    assert ask(t, trace, "SELECT count(*) FROM memory WHERE source = 'none'") == [(0,)]
    peak = ask(t, trace, "SELECT max(n) FROM (SELECT sum(bytes) AS n FROM memory WHERE source = 'sample' GROUP BY time_ns)")[0][0]
    assert peak == max(row[0] or 0 for row in ask(t, trace, "SELECT rss_bytes FROM timeline(2000)"))


def test_bills(t):
    """Of one process as it is told; of several, each by itself."""
    hold = "import time; kept = [bytearray(5000) for i in range(4000)]; time.sleep(1.5)"
    check_bill(t, record(t, "one.silt", ["/usr/bin/python3", "-c", hold]))
    fork = "import os, time; kept = [bytearray(5000) for i in range(4000)]; child = os.fork(); more = [bytearray(5000) for i in range(3000)]; time.sleep(1.5)\n" \
           "if child: os.wait()"
    trace = record(t, "two.silt", ["/usr/bin/python3", "-c", fork])
    bills = ask(t, trace, "SELECT DISTINCT m.time_ns, m.process, p.pid FROM memory m JOIN processes p ON p.id = m.process WHERE m.source = 'bill'")
    assert bills, "no bill"
    assert ask(t, trace, "SELECT count(*) FROM processes") == [(2,)]
    for time_ns, process, pid in bills:
        ours = dict(ask(t, trace, f"SELECT part, bytes FROM memory WHERE source = 'bill' AND time_ns = {time_ns} AND process = {process}"))
        bill = command(t, "bill", "--json", trace, "--process", str(pid), "--at", f"{time_ns / 1e9:.9f}s")
        assert ours == {p["part"]: p["bytes"] for p in bill["parts"] if p["bytes"]}, (time_ns, pid, ours, bill)
        assert sum(ours.values()) == bill["resident_bytes"], (ours, bill)


def test_samples(t):
    trace = record(t, "sampled.silt", ["/usr/bin/python3", "-c", PYTHON], "--sample", "4K")
    check_export(t, trace)
    report = command(t, "report", "--json", trace, "--top", "1000")
    assert check_sites(t, trace, report, "sites")[1] > 20
    check_processes(t, trace, report)
    check_findings(t, trace, report)
    check_threads(t, trace, report)
    assert ask(t, trace, "SELECT count(reallocations), (SELECT count(by_realloc) FROM allocations) FROM sites") == [(0, 0)]
    assert "'timeline'" in command(t, "sql", "--json", trace, "SELECT max(live_bytes) FROM timeline")["incomplete"]
    assert "estimate" in command(t, "sql", "--json", trace, "SELECT 1 FROM sites LIMIT 1")["incomplete"]


def test_a_bounded_trace(t):
    """Detail of old times is dropped: figures of the whole are exact, and a window that begins there says that it was moved."""
    busy = "kept = [0] * 3000\nfor i in range(900000): kept[i * 7919 % 3000] = bytearray(600 + i * 31 % 997)"
    trace = record(t, "thin.silt", ["/usr/bin/python3", "-c", busy], "--max-size", "1M")
    from_ns = ask(t, trace, "SELECT min(time_ns) FROM events")[0][0]
    end_ns = ask(t, trace, "SELECT value FROM trace WHERE key = 'to_ns'")[0][0]
    got = command(t, "sql", "--json", trace, f"SELECT sum(allocations) FROM window({from_ns // 3}, {end_ns})")
    assert "nearest moment" in got["incomplete"], (from_ns, got)
    check_export(t, trace)
    report = command(t, "report", "--json", trace, "--top", "1000")
    assert check_sites(t, trace, report, "sites")[1] > 20
    check_findings(t, trace, report)
    assert "known only by call path" in refused(t, trace, "SELECT count(*) FROM live")


def test_a_cut_trace(t):
    # several slices: those before the cut are whole, however slow the machine is
    script = 'my %x; for my $k (1 .. 6) { $x{"$k $_"} = [1 .. 9] for 1 .. 300; select undef, undef, undef, 0.3 }'
    trace = record(t, "cut.silt", ["perl", "-e", script])
    with open(trace, "rb") as f:
        bytes_of = f.read()
    with open(trace, "wb") as f:
        f.write(bytes_of[:len(bytes_of) * 2 // 3])
    check_export(t, trace)
    report = command(t, "report", "--json", trace, "--top", "1000")
    assert check_sites(t, trace, report, "sites")[1] > 20
    check_findings(t, trace, report)
    assert command(t, "sql", "--json", trace, "SELECT 1 FROM sites LIMIT 1")["incomplete"] != ""


def test_imported(t):
    """Profiles of other tools: what they do not know is NULL, and what was never there is refused."""
    trace = record(t, "perl.silt", ["perl", "-e", "my %h; $h{$_} = [1 .. 9] for 1 .. 3000"])
    for kind in ("heaptrack", "massif", "dhat", "pprof", "jeprof", "folded"):
        path = t.path("x." + kind)
        r = t.silt.command("export", trace, "--format", kind, "-f", "-o", path)
        assert r.code == 0, r.errors
        r = t.silt.command("import", "-f", path, "-o", t.path("imported.silt"))
        assert r.code == 0, r.errors
        path = t.path("imported.silt")
        report = command(t, "report", "--json", path, "--top", "1000")
        check_export(t, path)
        check_findings(t, path, report)
        check_processes(t, path, report)
        totals = report["totals"]
        ours = rows_of(t, path, "SELECT sum(allocations) AS allocations, sum(end_bytes) AS end_live_bytes, count(*) AS n FROM sites")[0]
        assert ours["n"] > 0 and ours["allocations"] == totals["allocations"] and ours["end_live_bytes"] == totals["end_live_bytes"], (kind, ours, totals)
        ask(t, path, "SELECT count(*), max(live_bytes) FROM timeline")
        ask(t, path, "SELECT count(*) FROM memory")
        got = command(t, "sql", "--json", path, "SELECT count(allocations), count(foreign_frees) FROM threads")
        assert got["rows"] == [[0, 0]], got
        (told,) = [limit["text"] for limit in report["limits"] if limit["kind"] == "imported"]
        assert told in got["incomplete"] and told in command(t, "ask", path, "growing", "--json")["incomplete"], (told, got["incomplete"])
        if kind == "heaptrack":
            assert ask(t, path, "SELECT count(by_realloc) FROM allocations") == [(0,)]
        assert "does not tell" in refused(t, path, "SELECT * FROM mappings")
        for table in ("sites", "window(0)"):
            n_peaks, n_peak_blocks, n_reallocs = ask(t, path, f"SELECT count(peak_bytes), count(peak_blocks), count(reallocations) FROM {table}")[0]
            assert n_reallocs == 0 and (n_peaks > 0) == (totals["peak_live_bytes"] is not None) and n_peak_blocks <= n_peaks, (kind, table, n_peaks, n_reallocs)


def test_two_traces(t):
    """The same program twice: every call path has its pair, by its text, and figures are those of each."""
    one = record(t, "a.silt", ["sqlite3", ":memory:", SQL])
    two = record(t, "b.silt", ["sqlite3", ":memory:", SQL + "select group_concat(b) from t;"])
    both = ask(t, two, "SELECT count(*), sum(n), sum(o) FROM (SELECT s.path, s.n, o.o FROM "
                       "(SELECT path, sum(allocations) AS n FROM sites GROUP BY path) s JOIN "
                       "(SELECT path, sum(allocations) AS o FROM other.sites GROUP BY path) o ON o.path = s.path)", "--other", one)[0]
    n_one = ask(t, one, "SELECT count(DISTINCT path), sum(allocations) FROM sites")[0]
    assert both[0] == n_one[0] and both[2] == n_one[1], (both, n_one)
    added = ask(t, two, "SELECT count(*) FROM sites WHERE path NOT IN (SELECT path FROM other.sites)", "--other", one)[0][0]
    looked_up = ask(t, two, "SELECT count(*) FROM sites s LEFT JOIN other.sites o ON o.path = s.path WHERE o.stack IS NULL", "--other", one)[0][0]
    assert added == looked_up > 0, (added, looked_up)
    r = t.silt.command("diff", "--json", one, two, "--by", "allocated", "--top", "1000")
    assert r.code in (0, 1), r.errors
    totals = parse(r.stdout)["totals"]
    assert json.dumps(totals).count(str(n_one[1])) > 0, totals


def test_plans(t):
    """The blocks once; call paths and threads, of which there are more than a few, by their keys."""
    trace = record(t, "python.silt", ["/usr/bin/python3", "-c", PYTHON.replace("range(3)", "range(24)")])
    steps = plan(t, trace, "SELECT s.function, t.name, sum(a.bytes) FROM allocations a JOIN sites s ON s.stack = a.stack "
                           "JOIN threads t ON t.id = a.thread GROUP BY 1, 2")
    tables = {s.split()[1]: s.split(":")[1].split(" ", 1)[1:] for s in steps if s.startswith("SCAN")}
    assert list(tables)[0] == "a" and tables == {"a": [], "s": ["0 2"], "t": ["0 2"]}, steps  # by column 0, with "equal"


def test_refusals(t):
    trace = record(t, "sqlite.silt", ["sqlite3", ":memory:", SQL])
    assert "before it begins" in refused(t, trace, "SELECT * FROM window('2ms', '1ms')")
    assert "behind the end" in refused(t, trace, "SELECT * FROM window('9999s')")
    assert "behind the end" in refused(t, trace, "SELECT max(age_ns) FROM live('9999s')")
    assert "not a time" in refused(t, trace, "SELECT * FROM window(-1)")
    assert "nowhere" in refused(t, trace, "SELECT * FROM window('@nowhere')")
    assert "columns" in refused(t, trace, "SELECT * FROM timeline(0)")
    refused(t, trace, "SELECT * FROM timeline(100000000)")
