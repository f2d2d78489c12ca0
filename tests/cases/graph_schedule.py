# SPDX-License-Identifier: MIT
"""Graphs that nobody asks for: every so often, and before memory runs out. And what blocks are, by their classes."""

from harness.answer import parse
from harness.cgroup import MemoryGroup, limited
from harness.process import run

MIB = 1 << 20
NODE_BYTES = 4096
LIST = f"""#include <stdlib.h>
#include <string.h>
#include <unistd.h>
struct node {{ struct node *next; char bytes[{NODE_BYTES - 8}]; }} *list;
int main(int n_args, char **args) {{
        for (long i = 0, n = atol(args[n_args - 1]); i < n; i++) {{
                struct node *x = malloc(sizeof(*x));
                memset(x, 1, sizeof(*x));
                x->next = list;
                list = x;
                usleep(50);
        }}
        return 0;
}}
"""
CLASSES = """#include <memory>
#include <vector>
namespace app {
struct Base { virtual ~Base() {} int x[4]; };
struct Session : Base { char text[200]; };
template <class T> struct Cache : Base { T items[10]; };
}
namespace { struct Hidden : app::Base { long y; }; }
static auto &all = *new std::vector<std::unique_ptr<app::Base>>;
int main() {
        for (int i = 0; i < 300; i++) {
                all.emplace_back(new app::Session);
                if (i % 3 == 0)
                        all.emplace_back(new app::Cache<long>);
                if (i % 10 == 0)
                        all.emplace_back(new Hidden);
        }
}
"""


def build(t, text, suffix="c"):
    with open(t.path(f"made.{suffix}"), "w") as f:
        f.write(text)
    r = run(["gcc" if suffix == "c" else "g++", "-O1", "-g", t.path(f"made.{suffix}"), "-o", t.path("made")])
    assert r.code == 0, r.errors
    return t.path("made")


def snapshots(t):
    r = t.silt.command("report", t.path("t.silt"), "--json")
    assert r.code == 0, r.errors
    return [s["name"] for s in parse(r.text)["snapshots"]]


def test_every(t):
    r = t.silt.record(t.path("t.silt"), [build(t, LIST), "8000"], options=["-f", "--graph-every", "100ms"])
    assert r.code == 0, r.errors
    names = snapshots(t)
    assert len(names) >= 2 and names == [f"graph-{i + 1}" for i in range(len(names))], names
    r = t.silt.command("holders", t.path("t.silt"), "--json")
    assert r.code == 0 and '"static list"' in r.text, r.text[:2000]
    assert t.silt.command("verify", t.path("t.silt")).code == 0
    r = t.silt.command("run", "--graph-every", "99ms", "true")
    assert r.code == 125 and "at least 100ms" in r.errors, r.errors


def test_before_memory_runs_out(t):
    program = build(t, LIST)
    with limited(t, MemoryGroup, 128 * MIB) as group:
        r = t.silt.record(t.path("t.silt"), ["sh", "-c", f"echo $$ >{group.door}; exec {program} 1000000"], options=["-f", "--leaks"])
        assert r.code == 137 and group.n_kills() == 1, (r.code, r.errors)
    assert "scarce" in snapshots(t), snapshots(t)
    r = t.silt.command("leaks", t.path("t.silt"), "--json")
    assert r.code == 0, r.errors
    held = parse(r.text)["still_reachable"]["bytes"]
    # a copy must fit beside it, and what is left is at most a quarter more than that
    assert 128 * MIB // 4 < held < 128 * MIB // 2, held
    t.notes.append(f"a graph of {held / MIB:.1f} MiB of 128")


def test_classes(t):
    r = t.silt.record(t.path("t.silt"), [build(t, CLASSES, "cc")], options=["-f", "--leaks"])
    assert r.code == 0, r.errors
    r = t.silt.command("holders", t.path("t.silt"), "--json", "--full")
    assert r.code == 0, r.errors
    seen = {g["type"]: g["blocks"] for g in parse(r.text)["holders"] if "type" in g}
    assert seen == {"app::Session": 300, "app::Cache<long>": 100, "(anonymous namespace)::Hidden": 30}, seen
    r = t.silt.command("holders", t.path("t.silt"))
    assert "300 app::Session" in " ".join(r.text.split()), r.text
