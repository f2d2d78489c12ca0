# SPDX-License-Identifier: MIT
"""Tables graphs, nodes, edges and holders: figures are those of `silt leaks` and `silt holders`."""

import shutil

from harness.answer import parse
from harness.cases import skip
from harness.process import run

CLASSES = {"definitely_lost": "definite", "indirectly_lost": "indirect", "possibly_lost": "possible", "still_reachable": "reachable"}
# Keeps a cache, a list of lists and some circles.
PYTHON = "import json, os\nx = [json.dumps({'a': i, 'b': [i] * 9}) for i in range(3000)]\ny = {i: [str(i)] for i in range(2000)}\nos._exit(0)"


def ask(t, trace, statement, *options):
    r = t.silt.command("sql", trace, statement, "--json", *options)
    assert r.code == 0, r.errors
    return parse(r.text)["rows"]


def json_of(t, command, trace, *options):
    r = t.silt.command(command, trace, "--json", *options)
    assert r.code in (0, 1), r.errors
    return parse(r.text)


def record(t, argv, name="t.silt", options=("--leaks",)):
    trace = t.path(name)
    r = t.silt.record(trace, argv, ["-f", *options])
    assert r.code == 0, r.errors
    return trace


def check_classes(t, trace):
    leaks = json_of(t, "leaks", trace)
    found = {c: (n, b) for c, n, b in ask(t, trace, "SELECT class, count(*), sum(bytes) FROM nodes GROUP BY 1")}
    for key, name in CLASSES.items():
        assert found.get(name, (0, 0)) == (leaks[key]["blocks"], leaks[key]["bytes"]), (name, found, leaks[key])
    # by call path, as the records have it
    records = sorted((r["class"], r["blocks"], r["bytes"]) for r in leaks["records"])
    rows = ask(t, trace, "SELECT class, count(*), sum(bytes) FROM nodes GROUP BY class, stack")
    assert sorted(map(tuple, rows)) == records
    return leaks


def check_holders(t, trace):
    told = json_of(t, "holders", trace, "--full")
    rows = ask(t, trace, "SELECT id, parent, kind, own_blocks, own_bytes, tree_blocks, tree_bytes, retained_bytes, type FROM holders")
    assert len(rows) == told["groups_in_all"] - 1
    numbers = [g["group"] for g in told["holders"]]
    expected = sorted(([g["group"], numbers[g["parent"]] or None, g["kind"], g["blocks"], g["bytes"],
                        g["tree_blocks"], g["tree_bytes"], g["retained_bytes"], g.get("type")] for g in told["holders"] if g["parent"] is not None),
                      key=lambda g: g[0])
    assert rows == expected
    live, held = told["live"], told["held"]
    assert ask(t, trace, "SELECT blocks, bytes, id, time_ns FROM graphs ORDER BY id DESC LIMIT 1")[0][:3] == [
        live["blocks"], live["bytes"], told["graph"]]
    assert ask(t, trace, "SELECT count(*), sum(bytes) FROM nodes") == [[live["blocks"], live["bytes"]]]
    assert ask(t, trace, "SELECT sum(tree_blocks), sum(tree_bytes) FROM holders WHERE parent IS NULL") == [[held["blocks"], held["bytes"]]]
    nothing = told["held_by_nothing"]
    unheld = ask(t, trace, "SELECT count(*), total(bytes) FROM nodes WHERE retained_bytes = 0 AND bytes > 0")[0]
    assert unheld[1] == nothing["bytes"], (unheld, nothing)
    # retained is a sum over the tree of dominators
    assert ask(t, trace, "SELECT count(*) FROM nodes n WHERE retained_bytes > 0 AND bytes > 0 AND dominator IS NOT NULL AND "
                         "retained_bytes > (SELECT retained_bytes FROM nodes d WHERE d.id = n.dominator)") == [[0]]
    return told


def check_edges(t, trace):
    edges, blocks = ask(t, trace, "SELECT edges, blocks FROM graphs ORDER BY id DESC LIMIT 1")[0]
    assert ask(t, trace, "SELECT count(*), min(to_node) >= 0, max(to_node) < ? FROM edges".replace("?", str(blocks)))[0] == [edges, 1, 1]
    # who points to a block, and whom it points to, by the index and by reading all
    for column in ("from_node", "to_node"):
        other = "to_node" if column == "from_node" else "from_node"
        sought = ask(t, trace, f"SELECT n.id, (SELECT count(*) FROM edges e WHERE e.{column} = n.id), "
                               f"(SELECT total(e.{other}) FROM edges e WHERE e.{column} = n.id) FROM nodes n WHERE n.id % 37 = 0")
        read = {r[0]: r[1:] for r in ask(t, trace, f"SELECT {column}, count(*), total({other}) FROM edges WHERE {column} % 37 = 0 GROUP BY 1")}
        for node, n, total in sought:
            assert [n, total] == read.get(node, [0, 0.0]), (column, node)
    # a block to which nothing points is lost
    lost = ask(t, trace, "SELECT count(*) FROM nodes n WHERE class = 'reachable' AND NOT EXISTS (SELECT 1 FROM edges WHERE to_node = n.id)")
    assert lost == [[0]]
    # NULL: a root, which has a name
    assert ask(t, trace, "SELECT count(*) FROM edges WHERE (from_node IS NULL) <> (root IS NOT NULL)") == [[0]]


def check_links(t, trace):
    """Numbers lead to rows of other tables."""
    assert ask(t, trace, "SELECT count(*) FROM nodes n WHERE stack IS NOT NULL AND NOT EXISTS (SELECT 1 FROM stacks WHERE id = n.stack)") == [[0]]
    wrong = ask(t, trace, "SELECT count(*), count(a.id), total(a.bytes <> n.bytes), total(a.stack <> n.stack) FROM "
                          "(SELECT * FROM nodes WHERE block IS NOT NULL ORDER BY block LIMIT 500) n LEFT JOIN allocations a ON a.id = n.block")[0]
    assert wrong[0] > 0 and wrong[0] == wrong[1] and wrong[2:] == [0.0, 0.0], wrong
    # as old as the allocation is
    assert ask(t, trace, "SELECT count(*) FROM (SELECT *, graph FROM nodes WHERE block IS NOT NULL AND age_ns IS NOT NULL ORDER BY block LIMIT 300) n "
                         "JOIN allocations a ON a.id = n.block JOIN graphs g ON g.id = n.graph WHERE a.time_ns + n.age_ns <> g.time_ns") == [[0]]


def check(t, trace):
    check_classes(t, trace)
    check_holders(t, trace)
    check_edges(t, trace)
    check_links(t, trace)


def test_own_program(t):
    program = t.context.helpers.build("holders_cc", ["holders.cc"])
    trace = record(t, [program])
    check(t, trace)
    rows = ask(t, trace, "SELECT name, retained_blocks FROM holders WHERE kind = 'variable' AND name = 'static sessions'")
    assert rows == [["static sessions", 3 * 20000 + 1]], rows


LOST = """#include <stdlib.h>
struct node { struct node *next; char room[40]; };
static void *volatile kept;
static char *volatile middle;
__attribute__((noinline)) static struct node *make(struct node *next) {
        struct node *n = calloc(1, sizeof(*n));
        n->next = next;
        return n;
}
__attribute__((noinline)) static void lose(int n) {
        for (int i = 0; i < n; i++)
                *(struct node *volatile *)&(struct node *){0} = make(make(make(NULL)));
}
__attribute__((noinline)) static void wipe(void) { volatile char room[8192]; for (unsigned i = 0; i < sizeof(room); i++) room[i] = 0; }
int main(void) { lose(100); kept = make(make(NULL)); middle = (char *)calloc(1, 500) + 100; wipe(); return 0; }
"""


def test_leaks(t):
    with open(t.path("lost.c"), "w", encoding="utf-8") as f:
        f.write(LOST)
    r = run(["gcc", "-O1", "-g", "-o", t.path("lost"), t.path("lost.c")])
    assert r.code == 0, r.errors
    trace = record(t, [t.path("lost")])
    leaks = check_classes(t, trace)
    assert leaks["definitely_lost"]["blocks"] >= 95 and leaks["indirectly_lost"]["blocks"] >= 190 and leaks["possibly_lost"]["blocks"] >= 1, leaks
    check_edges(t, trace)
    # those that were lost alone hold the others
    assert ask(t, trace, "SELECT count(DISTINCT e.to_node) = (SELECT count(*) FROM nodes WHERE class = 'indirect') FROM nodes n "
                         "JOIN edges e ON e.from_node = n.id WHERE n.class IN ('definite', 'indirect')") == [[1]]
    assert ask(t, trace, "SELECT count(*) FROM nodes WHERE class IN ('definite', 'indirect') AND retained_bytes > 0") == [[0]]


def test_real_programs(t):
    n = 0
    for name, argv in (("python", ["/usr/bin/python3", "-I", "-c", PYTHON]),
                       ("perl", ["perl", "-e", "my %h = map { $_ => [$_, \"x\" x $_] } 1..500; exit 0"]),
                       ("sqlite3", ["sqlite3", ":memory:", "create table t(a); insert into t values (1); select * from t;"])):
        if shutil.which(argv[0]):
            check(t, record(t, argv, name + ".silt"))
            n += 1
    if not n:
        skip("none of the programs is here")


def test_sampled(t):
    trace = record(t, [t.context.helpers.build("holders_cc", ["holders.cc"])], options=("--leaks", "--sample", "4K"))
    check_classes(t, trace)
    check_holders(t, trace)
    check_edges(t, trace)


def test_none(t):
    """Refused with a reason: an empty table would say that nothing is held."""
    trace = record(t, ["/bin/true"], options=())
    assert ask(t, trace, "SELECT * FROM graphs") == []
    for table in ("nodes", "edges", "holders"):
        r = t.silt.command("sql", trace, f"SELECT count(*) FROM {table}")
        assert r.code == 2 and "has no reference graph" in r.errors and "--leaks" in r.errors, r.errors
        r = t.silt.command("sql", trace, f"SELECT count(*) FROM {table}(3)")
        assert r.code == 2 and "there is no graph '3'" in r.errors, r.errors
