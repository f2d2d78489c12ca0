# SPDX-License-Identifier: MIT
"""silt sql: what goes into a pipe, what is shown on a terminal, and the shell."""

import csv
import io
import os
import re
import signal
import stat

from harness.answer import parse
from harness.process import run
from harness.terminal import Terminal

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
ENDLESS = "WITH RECURSIVE t(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM t) SELECT count(*) FROM t"


def record(t):
    trace = t.path("t.silt")
    r = t.silt.record(trace, ["python3", "-S", "-c", "x = [str(i) * 9 for i in range(3000)]"])
    assert r.code == 0, r.errors
    return trace


def plain(text):
    return re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", text).replace("\r", "")


def test_pipes_get_everything_whole(t):
    trace = record(t)
    statement = "SELECT function, path, allocations, end_bytes, stack_text(stack) AS text FROM sites ORDER BY stack"
    as_json = t.silt.command("sql", trace, "--json", statement)
    as_csv = t.silt.command("sql", trace, "--csv", statement)
    as_table = t.silt.command("sql", trace, statement)
    assert as_json.code == as_csv.code == as_table.code == 0, (as_json.errors, as_csv.errors, as_table.errors)
    answer = parse(as_json.stdout)
    assert answer["schema"] == "silt.sql/1" and answer["incomplete"] == "", answer
    rows = list(csv.reader(io.StringIO(as_csv.stdout.decode(), newline="")))
    assert rows[0] == answer["columns"], rows[0]
    assert rows[1:] == [["" if v is None else str(v) for v in row] for row in answer["rows"]]
    report, trouble = t.silt.report(trace, "--process", "all")
    assert not trouble, trouble
    assert sum(row[2] for row in answer["rows"]) == report["totals"]["allocations"]
    assert "…" not in as_table.text.replace("…>", "") and "\x1b" not in as_table.text
    assert as_table.text.splitlines()[-1] == f"{len(answer['rows']):,} rows", as_table.text[-200:]
    assert len(answer["rows"]) > 50, "too few to tell"


def test_statements_from_everywhere(t):
    trace = record(t)
    two = "SELECT 1 AS a; -- of two\n SELECT 2 AS b;\n"
    expected = "a\n─\n1\n1 row\n\nb\n─\n2\n1 row\n"
    env = {**os.environ, "LC_ALL": "C.UTF-8"}
    for argv, stdin in (([two], b""), ([], two.encode()), (["-"], two.encode())):
        r = run([t.silt.path, "sql", trace, *argv], stdin=stdin, env=env)
        assert (r.code, r.text, r.errors) == (0, expected, ""), (argv, r.text, r.errors)
    r = t.silt.command("sql", trace, ".schema marks")
    assert r.code == 0 and r.text.startswith("marks: ") and "time_ns" in r.text, r.text
    r = t.silt.command("sql", trace, ".schema", "marks")
    assert r.code == 0 and r.text.startswith("marks: "), r.text
    r = run([t.silt.path, "sql", trace, "--csv", "SELECT 1e999 AS a, CAST(X'61FF62' AS TEXT) AS b, NULL AS c"])
    assert (r.code, r.text) == (0, "a,b,c\r\n,a\ufffdb,\r\n"), (r.text, r.errors)
    for options in (["--json", "--csv"], ["--sql", "--json"], ["--max-memory", "0"]):
        r = t.silt.command("ask", trace, "growing", *options)
        assert r.code == 2 and r.text == "" and r.errors.count("\n") == 1, (options, r.errors)
    r = t.silt.command("sql", trace, ".recipes")
    assert r.code == 0 and "growing" in r.text, r.text
    r = t.silt.command("sql", trace, ".explain SELECT * FROM sites WHERE stack = 5 ORDER BY end_bytes")
    assert r.code == 0 and r.text == "read sites where stack = …\nsort the rows\n", r.text


def test_plans_of_the_documentation(t):
    """docs/sql.md shows what .explain says of the shop."""
    trace = t.path("shop.silt")
    r = t.silt.record(trace, [os.path.join(os.path.dirname(t.silt.path), "examples", "shop")])
    assert r.code == 0, r.errors
    with open(os.path.join(ROOT, "docs", "sql.md")) as f:
        shown = re.findall(r"^( *)silt> (\.explain .*)\n((?:\1(?!silt>|```).+\n)+)", f.read(), re.M)
    assert len(shown) > 4, shown
    for indent, command, plan in shown:
        r = t.silt.command("sql", trace, command, env={**os.environ, "LC_ALL": "C.UTF-8"})
        assert (r.code, r.text) == (0, re.sub(f"^{indent}", "", plan, flags=re.M)), (command, r.text, r.errors)


def test_errors_are_one_line_that_says_what_to_do(t):
    trace = record(t)
    for options, says in (
            (["SELECT * FORM sites"], 'near "FORM": syntax error: did you mean \'FROM\'?'),
            (["SELECT * FROM site"], "no such table: site: did you mean 'sites'?"),
            (["SELECT end_byte FROM sites"], "no such column: end_byte: did you mean 'end_bytes'?"),
            (["--json", "SELECT 1; SELECT 2"], "one statement"),
            (["SELECT :since"], ":since"),
            ([".tabels"], "did you mean '.tables'?"),
            ([".mode csv"], "--csv"),
            (["--max-time", "50ms", ENDLESS], "--max-time"),
            (["SELECT name FROM findings"], "no such column: name: .schema findings lists them"),
            (["SELECT * FROM other.sites"], "add --other FILE"),
            (["--json", "--csv", "SELECT 1"], "--json and --csv"),
            ([""], "no statement given"),
            ([" ;\n"], "no statement given"),
            (["--max-memory", "1", "SELECT 1"], "--max-memory: '1' is too little"),
            (["--max-memory", "0", "SELECT 1"], "at least 1M"),
            (["SELECT 1", "SELECT 2"], "quote it all")):
        r = t.silt.command("sql", trace, *options)
        assert r.code == 2 and r.text == "" and r.errors.startswith("silt: ") and r.errors.count("\n") == 1, (options, r.text, r.errors)
        assert says in r.errors, (options, r.errors)
    r = run([t.silt.path, "sql", trace], stdin=b"SELECT 1;\0SELECT 2")
    assert r.code == 2 and "NUL" in r.errors and r.text == "", r.errors
    r = run(["sh", "-c", f"'{t.silt.path}' sql '{trace}' 'SELECT 1' > /dev/full"])
    assert r.code == 2 and "cannot write to standard output" in r.errors, r.errors


def test_terminals_of_60_and_200_columns(t):
    trace = record(t)
    statement = "SELECT path, allocations, bytes(allocated_bytes) AS bytes FROM sites ORDER BY length(path) DESC LIMIT 5"
    for width in (60, 80, 200):
        with Terminal([t.silt.path, "sql", trace, statement], width, t.path("state")) as shown:
            assert shown.end() == 0, shown.seen
            shown.more()
            lines = plain(shown.seen).splitlines()
            assert max(map(len, lines)) == width and "…" in shown.seen, lines
            assert lines[-1] == "5 rows", lines
    with Terminal([t.silt.path, "sql", trace, "SELECT * FROM sites LIMIT 2"], 60, t.path("state")) as shown:
        assert shown.end() == 0
        shown.more()
        lines = plain(shown.seen).splitlines()
        assert lines[0] == "row 1" and "row 2" in lines and max(map(len, lines)) <= 60, lines


def test_shell(t):
    trace, folder = record(t), t.path("state")
    with Terminal([t.silt.path, "sql", trace], 80, folder) as shell:
        first = plain(shell.wait_for("silt> "))
        assert "python3" in first and "peak" in first and ".help" in first, first
        shell.type("SELECT 6 *\r", "…> ")
        shown = shell.type("7 AS answer;\r", "silt> $")
        assert "\n    42\n1 row\n" in plain(shown), shown
        shell.type("SELECT func\t", "tion")  # only what is new is drawn
        shell.type(" FROM sit\t", "es")
        shell.type(" s WHERE s.re\t", "allocations")
        shown = shell.type(" < 0;\r", "silt> $")
        assert "0 rows" in shown and "silt:" not in shown, shown
        shown = plain(shell.type(".schema mar\t\t", "ks"))
        shown = plain(shell.type("\r", "silt> $"))
        assert "marks: " in shown and "time_ns" in shown, shown
        shown = plain(shell.type("SELECT pea\t\t", "peak_bytes +peak_ns"))
        shell.type("\x03", "silt> $")
        shell.type(".mode csv\r", "silt> $")
        shown = plain(shell.type("SELECT 1 AS a, 'x,y' AS b;\r", "silt> $"))
        assert 'a,b\n1,"x,y"\n' in shown, shown
        shown = plain(shell.type("SELECT nothing_like_that FROM marks;\r", "silt> $"))
        assert "silt: no such column" in shown, shown
        shown = plain(shell.type(".nonsense\r", "silt> $"))
        assert ".help lists them" in shown, shown
        shell.type("\x1b[A\x1b[A\x1b[A", "x,y")  # the history
        shell.type("\x03", "silt> $")
        shell.type("\x04", "\n")
        assert shell.end() == 0
    kept = os.path.join(folder, "silt", "sql_history")
    assert stat.S_IMODE(os.stat(kept).st_mode) == 0o600, oct(os.stat(kept).st_mode)
    with open(kept) as f:
        assert "SELECT\\0406\\040*\\0407" in f.read()
    with Terminal([t.silt.path, "sql", trace], 80, folder) as shell:
        shell.wait_for("silt> ")
        shell.type("\x1b[A", "nonsense")  # of the last time
        shell.type("\x03", "silt> $")
        shell.type("quit\r", "\n")
        assert shell.end() == 0


def test_dots_of_the_shell(t):
    """.timer, .headers, .once, .read and .exit; a file that is read writes none."""
    trace, answer, questions = record(t), t.path("answer.csv"), t.path("more questions.sql")
    with open(questions, "w") as f:
        f.write("SELECT 40 + 2 AS x;\n.once evil\nSELECT 43;\n")
    with Terminal([t.silt.path, "sql", trace], 80, t.path("state")) as shell:
        shell.wait_for("silt> ")
        shell.type(".timer on\r", "silt> $")
        shown = plain(shell.type("SELECT 41 AS x;\r", "silt> $"))
        assert re.search(r"\n41\n1 row\n[0-9.]+ s, [0-9.]+ s of the processor\n", shown), shown
        shell.type(".timer off\r", "silt> $")
        shell.type(".headers off\r", "silt> $")
        shown = plain(shell.type("SELECT 41 AS x;\r", "silt> $"))
        assert "x;\n41\n1 row\nsilt> " in shown, shown
        shell.type(".mode csv\r", "silt> $")
        shell.type(f".once {answer}\r", "silt> $")
        assert "no such column" in plain(shell.type("SELECT nothing_like_that FROM marks;\r", "silt> $")) and not os.path.exists(answer)
        assert "5" not in plain(shell.type("SELECT 2 + 3 AS x;\r", "silt> $")).split("x;")[1]
        shell.type(f".once {answer}\r", "silt> $")
        assert "there already" in plain(shell.type("SELECT 6 AS x;\r", "silt> $"))
        shown = plain(shell.type(f".read '{questions}'\r", "silt> $"))
        assert "\n42\n" in shown and ".once is for the shell, typed by hand" in shown and "43" not in shown, shown
        assert "write on or off" in plain(shell.type(".timer maybe\r", "silt> $"))
        shell.type(".exit\r", "\n")
        assert shell.end() == 0
    with open(answer) as f:
        assert f.read() == "5\n"
    for command in (f".once {answer}", f".read {questions}"):
        r = t.silt.command("sql", trace, command)
        assert r.code == 2 and "for the shell" in r.errors and r.errors.count("\n") == 1, r.errors


def test_ctrl_c_stops_the_statement_and_not_the_shell(t):
    trace = record(t)
    with Terminal([t.silt.path, "sql", trace], 80, t.path("state")) as shell:
        shell.wait_for("silt> ")
        shell.type(ENDLESS + ";\r", r"rows read, [0-9]+ s; Ctrl-C stops")
        shown = shell.type("\x03", "silt> $")
        assert "the statement was stopped" in shown and "\r\x1b[K" in shown, shown
        shell.type("SELECT 40 + 2 AS x;\r", "42")
        shell.wait_for("silt> $")
        shell.type("SELECT one\r", "…> ")
        shell.type("\x03", "silt> $")
        shown = plain(shell.type("SELECT 5 AS x;\r", "silt> $"))
        assert "1 row" in shown, shown
        shell.type("\x04", "\n")
        assert shell.end() == 0
    with Terminal([t.silt.path, "sql", trace, ENDLESS], 80, t.path("state")) as one:
        one.wait_for("Ctrl-C stops")
        os.write(one.master, b"\x03")
        assert one.end() == -signal.SIGINT, one.child.returncode
        one.more()
        assert "the statement was stopped" in one.seen


def test_ctrl_d_of_a_fast_hand(t):
    trace = record(t)
    long = ENDLESS.replace("x + 1 FROM t)", "x + 1 FROM t LIMIT 12000000)")
    with Terminal([t.silt.path, "sql", trace], 80, t.path("state")) as shell:
        shell.wait_for("silt> ")
        shell.type(long + ";\r", "Ctrl-C stops")
        os.write(shell.master, b"\x04")  # the terminal still gathers lines: it comes as an end of file
        assert shell.end() == 0
        shell.more()
        assert "12000000" in plain(shell.seen).replace(",", ""), shell.seen


def test_nobody_reads_on(t):
    trace = record(t)
    endless = "WITH RECURSIVE t(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM t) SELECT x FROM t"
    for options in ([], ["--json"], ["--csv"]):
        r = run(["bash", "-c", '"$0" sql "$@" | head -c 100; exit ${PIPESTATUS[0]}', t.silt.path, trace, *options, endless])
        assert len(r.stdout) == 100 and r.code == 128 + signal.SIGPIPE, (options, r.code, r.errors)
