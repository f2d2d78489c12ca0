# SPDX-License-Identifier: MIT
"""silt holders, of programs that hold exactly what is known (holders.c)."""

import os
import re
import shutil
import subprocess

from harness.answer import parse
from harness.cases import skip
from harness.process import kill_family, run

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
NODE, PAYLOAD = 16, 100
CACHE = 16 + 8 * 500 + 64 * 500
OWN = 800 + 24 * 100


class Program:
    """holders.c under silt, command by command."""

    def __init__(self, t, options=(), trace="t.silt", argv=None):
        self.t, self.trace = t, t.path(trace)
        program = t.path("holders")
        if not argv and not os.path.exists(program):
            r = run(["gcc", "-O1", "-g", "-pthread", os.path.join(ROOT, "tests/cases/holders.c"), "-o", program])
            assert r.code == 0, r.errors
        self.process = subprocess.Popen(t.silt.run_argv(self.trace, argv or [program], ["-f", *options]), stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, start_new_session=True)
        self.hear()

    def hear(self):
        assert self.process.stdout.readline() == b"ready\n", "the program has ended"

    def tell(self, command):
        self.process.stdin.write(command.encode() + b"\n")
        self.process.stdin.flush()

    def grow(self, n):
        self.tell(f"grow {n}")
        self.hear()

    def take_graph(self):
        r = self.t.silt.command("snapshot", self.trace, "--graph")
        assert r.code == 0, r.errors

    def __enter__(self):
        return self

    def __exit__(self, kind, *_):
        try:
            if kind is None:
                self.tell("end")
                assert self.process.wait(60) == 0
        finally:
            kill_family(self.process.pid)


def holders(t, *args, name="t.silt"):
    r = t.silt.command("holders", t.path(name), "--json", "--full", *args)
    assert r.code == 0, r.errors
    answer = parse(r.text)
    assert answer["schema"] == "silt.holders/1"
    return answer


def text_of(t, *args):
    r = t.silt.command("holders", t.path("t.silt"), *args)
    assert r.code == 0, r.errors
    return " ".join(r.text.split())


def place(answer, name):
    found = [g for g in answer["holders"] if g.get("name") == name]
    assert len(found) == 1, (name, [g.get("name") for g in answer["holders"] if "name" in g])
    return found[0]


def function_of(group):
    names = [f["function"] for f in group.get("stack", [])]
    return next((n for n in names if n in ("make_node", "make_payload", "fill_cache", "make_entry", "make_buffer", "fill_own")), "")


def below(answer, name):
    """The groups below a place: (function that allocated, groups above it) → group."""
    groups, found = answer["holders"], {}
    top = groups.index(place(answer, name))
    for i, g in enumerate(groups):
        path, at = [], i
        while at is not None and at != top:
            path.append(function_of(groups[at]))
            at = groups[at]["parent"]
        if at == top and i != top:
            found[tuple(reversed(path))] = g
    return found


def test_counts_are_exact(t):
    with Program(t) as p:
        p.take_graph()
    a = holders(t)
    n_list = 1000 * (NODE + PAYLOAD)
    assert place(a, "static list")["retained_bytes"] == place(a, "static list")["tree_bytes"] == n_list
    groups = below(a, "static list")
    nodes, payloads = groups[("make_node",)], groups[("make_node", "make_payload")]
    assert (nodes["blocks"], nodes["bytes"], nodes["retained_bytes"]) == (1000, 1000 * NODE, n_list), nodes
    assert (payloads["blocks"], payloads["retained_bytes"]) == (1000, 1000 * PAYLOAD), payloads
    assert place(a, "static cache")["retained_bytes"] == CACHE
    groups = below(a, "static cache")
    assert groups[("fill_cache",)]["offset"] == 0
    assert sorted(g["bytes"] for g in groups.values()) == [16, 8 * 500, 64 * 500], groups
    assert place(a, "thread worker-1")["tree_bytes"] == 5000
    own = place(a, "thread-local data of thread worker-1")["tree_bytes"]
    assert own >= OWN, own  # and what the C library keeps for the thread
    assert a["held_from_several"] == {"bytes": 7000, "blocks": 1}, a["held_from_several"]
    assert a["held_by_nothing"] == {"bytes": 3000, "blocks": 1}, a["held_by_nothing"]
    assert a["live"]["bytes"] == a["held"]["bytes"] + 3000
    assert a["held"]["bytes"] == a["holders"][0]["tree_bytes"]


def test_a_frame_holds(t):
    with Program(t) as p:
        p.take_graph()
    groups = below(holders(t), "thread worker-1")
    assert [(g["blocks"], g["bytes"], g["frame"]) for g in groups.values()] == [(1, 5000, "serve")], groups


def of_exit(t, source, name):
    trace = t.path("t.silt")
    r = t.silt.record(trace, [t.context.helpers.build(name, [source])], ["-f", "--leaks"])
    assert r.code == 0, r.errors
    return holders(t)


def test_cache_without_bound(t):
    """Of C++: an unordered_map in a static."""
    a = of_exit(t, "holders.cc", "holders_cc")
    top = place(a, "static sessions")
    assert top["tree_blocks"] == 3 * 20000 + 1, top
    mine = [g for g in a["holders"] if any(f["function"].startswith("open_session") for f in g.get("stack", []))]
    assert sorted(g["blocks"] for g in mine)[-2:] == [20000, 20001], mine
    assert 201 * 20000 in [g["bytes"] for g in mine], mine  # the strings
    assert text_of(t).startswith("static sessions"), text_of(t)[:200]


def test_tasks_that_nobody_joins(t):
    """Of Rust: boxed futures in a list in a static."""
    if not shutil.which("rustc"):
        skip("there is no rustc")
    a = of_exit(t, "holders.rs", "holders_rs")
    top = place(a, "static holders_rs::RUNTIME") if "static holders_rs::RUNTIME" in str(a) else place(a, "static holders::RUNTIME")
    assert top["tree_blocks"] == 2 * 30000 + 1, top
    text = text_of(t)
    assert "RUNTIME" in text[:40] and re.search("1 (block|vector) allocated by", text), text[:300]  # a vector by the order of its words: newer ones
    assert re.search(r"30,000 (core::future::from_generator::GenFuture<)?holders\w*::handle\S* allocated by", text), text[:300]  # by the table beside each pointer; the wrapper until 1.64
    assert "via Vec::push" in text and "via Box::pin" in text, text[:300]


def test_first_sentence_names_the_largest(t):
    with Program(t) as p:
        p.take_graph()
    text = text_of(t)
    assert text.startswith("static list"), text[:200]
    assert "1,000 blocks allocated by make_node (holders.c:" in text, text[:200]
    assert "113.3 KiB retained, 116 B each" in text, text[:200]


TWO = """#include <stdlib.h>
struct box { void *blocks[200]; };
static struct { struct box *a, *b; } server;
static __attribute__((noinline)) void fill_a(void) { server.a = malloc(sizeof(struct box)); for (int i = 0; i < 200; i++) server.a->blocks[i] = malloc(30000); }
static __attribute__((noinline)) void fill_b(void) { server.b = malloc(sizeof(struct box)); for (int i = 0; i < 200; i++) server.b->blocks[i] = malloc(20000); }
int main(void) { fill_a(); fill_b(); return 0; }
"""


def test_the_first_sentence_speaks_of_one_holder(t):
    """The share is that of the bytes in front of it, not that of what all its holder's variable has."""
    with open(t.path("two.c"), "w") as f:
        f.write(TWO)
    r = run(["gcc", "-O1", "-g", "-fno-builtin", t.path("two.c"), "-o", t.path("two")])
    assert r.code == 0 and t.silt.record(t.path("t.silt"), [t.path("two")], ["--leaks"]).code == 0, r.errors
    said = holders(t)["sentence"]
    share = 100 * (200 * 30000 + 1600) / (200 * 50000 + 3200)
    assert re.search(rf"fill_a .*: 5\.7 MiB retained.* That is {share:.0f} % of the 9\.5 MiB", said), said


ONE_LINE = """#include <stdlib.h>
struct box { struct box *next; void *kept; };
static struct box *volatile boxes;
int main(void) {
        for (int i = 0; i < 500; i++) { struct box *b = malloc(sizeof(*b)); b->kept = malloc(300); b->next = boxes; boxes = b; }
        return 0;
}
"""


def test_two_requests_on_one_line(t):
    with open(t.path("one.c"), "w") as f:
        f.write(ONE_LINE)
    r = run(["gcc", "-O1", "-g", "-fno-builtin", t.path("one.c"), "-o", t.path("one")])
    assert r.code == 0 and t.silt.record(t.path("t.silt"), [t.path("one")], ["--leaks"]).code == 0, r.errors
    found = [(g["blocks"], g["bytes"], g["retained_bytes"]) for g in holders(t)["holders"] if g["kind"] == "blocks" and g["blocks"] >= 500]
    assert found == [(500, 500 * 16, 500 * 316), (500, 500 * 300, 500 * 300)], found
    assert text_of(t).startswith("static boxes → 500 blocks allocated by main (one.c:5)"), text_of(t)


def test_why(t):
    with Program(t) as p:
        p.take_graph()
    why = holders(t, "--why", "^make_entry")["why"]
    assert why["wanted"] == why["freed"] == {"bytes": 64 * 500, "blocks": 500}, why
    assert [g.get("name") for g in why["paths"]][1] == "static cache"
    why = holders(t, "--why", "make_node")["why"]
    assert why["freed"] == {"bytes": 1000 * (NODE + PAYLOAD), "blocks": 2000}, why
    r = t.silt.command("holders", t.path("t.silt"), "--why", "nobody_is_called_so")
    assert r.code == 2 and "no live block" in r.errors, r.errors


NAMELESS = """#include <stdlib.h>
static void *kept[100];
__attribute__((noinline)) static void *make(int i) { return malloc(1000 + i); }
int main(void) {
        for (int i = 0; i < 100; i++)
                kept[i] = make(i);
        return kept[7] == NULL;
}
"""


def test_why_of_code_without_a_name(t):
    """By its place, as the answer itself shows it, or by a regular expression."""
    program = t.path("nameless")
    with open(program + ".c", "w") as f:
        f.write(NAMELESS)
    r = run(["gcc", "-O1", "-s", program + ".c", "-o", program])
    assert r.code == 0, r.errors
    r = t.silt.command("run", "--leaks", "-q", "-o", t.path("t.silt"), program)
    assert r.code == 0, r.errors
    place = re.search(r"allocated by (nameless\+0x[0-9a-f]+)", text_of(t))[1]
    for wanted in (place, place.replace("+", r"\+")):
        why = holders(t, "--why", wanted)["why"]
        assert why["wanted"]["blocks"] == why["freed"]["blocks"] == 100, (wanted, why)


def test_two_graphs_say_what_grew(t):
    with Program(t) as p:
        p.take_graph()
        p.grow(700)
        p.take_graph()
    a = holders(t)
    assert a["growth"]["groups"][0]["tree_bytes"] == 700 * (NODE + PAYLOAD), a["growth"]["groups"][0]
    text = text_of(t)
    assert "grew by 79.3 KiB in 1,400 blocks" in text, text[:300]
    assert "It grew in static list: 700 more blocks of make_node" in text, text[:300]


def test_two_traces_say_what_grew(t):
    for name, n in (("old.silt", 0), ("t.silt", 300)):
        with Program(t, trace=name) as p:
            p.grow(n)
            p.take_graph()
    r = t.silt.command("holders", t.path("old.silt"), t.path("t.silt"))
    assert r.code == 0, r.errors
    assert "It grew in static list: 300 more blocks of make_node" in " ".join(r.text.split()), r.text[:300]


def test_of_a_process(t):
    """A pid that is recorded: the graph is taken then."""
    with Program(t) as p:
        text = t.silt.command("holders", str(p.process.pid))
        assert text.code == 0 and text.text.startswith("static list"), text.text[:200] + text.errors


def test_of_a_process_that_nobody_records(t):
    """Blocks are malloc's, with its own sizes and without call paths; variables have their names."""
    with Program(t) as p:
        p.take_graph()
    own = subprocess.Popen([t.path("holders")], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    try:
        assert own.stdout.readline() == b"ready\n"
        r = t.silt.command("holders", str(own.pid), "--json", "--full")
        assert r.code == 0, r.errors
        a = parse(r.text)
        assert a["recorded"] is False and place(a, "static list")["tree_blocks"] == 2000, a["holders"][:3]
        assert place(a, "static cache")["tree_blocks"] == 502
        text = t.silt.command("holders", str(own.pid)).text
        assert text.startswith("static list → 1,000 blocks of 24 bytes"), text[:200]
        r = t.silt.command("holders", str(own.pid), "--why", "main")
        assert r.code == 2 and "not being recorded" in r.errors, r.errors
    finally:
        own.kill()
        own.wait()


def test_without_a_graph(t):
    with Program(t):
        pass
    r = t.silt.command("holders", t.path("t.silt"))
    assert r.code == 2 and "--graph" in r.errors and "--leaks" in r.errors, r.errors


def test_recount(t):
    """What holders retain in real programs, against walking everything anew without them."""
    tool = os.path.join(t.context.build_dir, "src/keep/held_graph_test")
    if not os.path.exists(tool):
        skip("this build has no unit tests")
    script = "import json, re; kept = {str(i): [i] * 3 for i in range(20000)}; print('ready', flush=True); input()"
    with Program(t, argv=["/usr/bin/env", "PYTHONMALLOC=malloc", "/usr/bin/python3", "-c", script]) as p:
        p.take_graph()
    r = run([tool, t.path("t.silt")], timeout_s=600)
    assert r.code == 0 and "equal" in r.text, r.text + r.errors


def test_report_names_the_holder(t):
    """A finding about a site that grows says who holds its blocks."""
    trace = t.path("t.silt")
    r = t.silt.record(trace, [t.context.helpers.build("growing_list", ["growing_list.c"])], ["-f", "--leaks"])
    assert r.code == 0, r.errors
    r = t.silt.command("report", trace)
    assert r.code == 0 and "held by static sessions\n" in r.text, r.text[:1000]
    found = t.silt.report(trace)[0]["findings"]
    assert [f["held_by"] for f in found if f["kind"] == "growing"] == ["static sessions"], found
    assert all(f["held_by"] is None for f in found if f["kind"] not in ("growing", "leak")), found
    text = text_of(t)
    assert text.startswith("static sessions → 3,000 blocks allocated by open_session") and " per second. " in text, text[:300]


def test_who_holds_one_of_many_is_no_holder(t):
    """Of 3,000 blocks the static has the last: the finding about them names it not."""
    trace = t.path("t.silt")
    r = t.silt.record(trace, [t.context.helpers.build("growing_list", ["growing_list.c"]), "lose"], ["-f", "--leaks"])
    assert r.code == 0, r.errors
    found = t.silt.report(trace)[0]["findings"]
    assert [f["held_by"] for f in found if f["kind"] == "growing"] == [None], found


def test_what_nobody_holds_is_most_or_not(t):
    """Variables without names hold one block each: more is lost than any of them holds, and yet not most of it."""
    with open(t.path("x.c"), "w") as f:
        f.write("#include <stdlib.h>\n#include <string.h>\nvoid *keep[50];\n"
                "__attribute__((noinline)) void lose(int n) { for (int i = 0; i < n; i++) { void *volatile p = malloc(100); p = 0; } }\n"
                "int main(int c, char **v) { char b[8192]; for (int i = 0; i < 50; i++) keep[i] = malloc(200); lose(atoi(v[1]));\n"
                "memset(b, 0, sizeof(b)); __asm__ volatile(\"\" :: \"r\"(b) : \"memory\"); return 0; }\n")
    assert run(["gcc", "-O1", "-fno-builtin", "-s", "-o", t.path("x"), t.path("x.c")]).code == 0
    for n_lost, is_most in (("20", False), ("500", True)):
        assert t.silt.record(t.path("x.silt"), [t.path("x"), n_lost], ["-f", "--leaks"]).code == 0
        text = " ".join(t.silt.command("holders", t.path("x.silt")).text.split())
        assert text.startswith("Nothing holds most of the memory: no pointer leads to " if is_most else "No pointer leads to "), text
