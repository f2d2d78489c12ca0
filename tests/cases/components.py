# SPDX-License-Identifier: MIT
"""Parts of a program by rules: every block belongs to one, and what passes memory on is left to its callers."""

import json
import os
import re

from harness.process import run

# Who holds what, to the byte. glue::copy and std::vector ask for others.
PROGRAM = """
#include <cstdlib>
#include <vector>
#define KEEP __attribute__((noinline))
namespace glue { KEEP void *copy(size_t n) { void *p = malloc(n); asm volatile("" : : "r"(p) : "memory"); return p; } }
namespace shop {
struct Cache { KEEP static void *put() { void *p = glue::copy(1000); asm volatile(""); return p; } };
KEEP void *sell() { void *p = glue::copy(200); asm volatile(""); return p; }
KEEP std::vector<char> *list() { auto *v = new std::vector<char>(); v->reserve(5000); return v; }
}
namespace rocksdb { KEEP void *open() { void *p = malloc(70000); asm volatile("" : : "r"(p) : "memory"); return p; } }
extern "C" KEEP void *plain(void) { void *p = malloc(3); asm volatile("" : : "r"(p) : "memory"); return p; }
void *kept[64];
int main() {
        int n = 0;
        for (int i = 0; i < 4; i++) kept[n++] = shop::Cache::put();
        for (int i = 0; i < 3; i++) kept[n++] = shop::sell();
        kept[n++] = shop::list();
        kept[n++] = rocksdb::open();
        kept[n++] = plain();
}
"""
VECTOR = 24  # sizeof(std::vector<char>)


def recorded(t):
    program, trace = t.path("store"), t.path("t.silt")
    with open(program + ".cc", "w") as f:
        f.write(PROGRAM)
    r = run(["g++", "-g", "-O1", "-fno-builtin", "-fno-optimize-sibling-calls", program + ".cc", "-o", program])
    assert r.code == 0, r.errors
    r = t.silt.record(trace, [program], ["-f"])
    assert r.code == 0, r.errors
    return trace


def components(t, trace, *options):
    """{component: bytes that are live at the end}, which add up."""
    r = t.silt.command("report", "--json", trace, "--group-by", "component", "--by", "end", *options, env={"XDG_CONFIG_HOME": t.dir})
    assert r.code == 0, r.errors
    answer = json.loads(r.text)
    found = {g["component"]: g["self"]["end_live_bytes"] for g in answer["groups"]}
    assert len(found) == len(answer["groups"]), answer["groups"]
    assert sum(found.values()) == answer["totals"]["end_live_bytes"], (found, answer["totals"])
    return found


def write_rules(t, text, name="our.rules"):
    with open(t.path(name), "w") as f:
        f.write(text)
    return t.path(name)


def without_pool(found):
    """What libstdc++ sets aside before main has no caller, and stays with the library, if there is such a pool."""
    return {name: size for name, size in found.items() if name != "std"}


def test_rules_decide(t):
    trace = recorded(t)
    assert without_pool(components(t, trace)) == {"glue": 4600, "shop": 5000 + VECTOR, "rocksdb": 70000, "store": 3}
    ours = write_rules(t, "pass glue glue::**\ncomponent cache shop::Cache::**\ncomponent storage rocksdb::**\ncomponent rest shop::**\n")
    expected = {"cache": 4000, "rest": 5600 + VECTOR, "storage": 70000, "store": 3}
    for options in ([], ["--full"]):
        assert without_pool(components(t, trace, "--components", ours, *options)) == expected, options

    # the first rule decides, of two files the first; that of the user comes before those that are built in
    first = write_rules(t, "component all **\n", "first.rules")
    assert set(components(t, trace, "--components", first, "--components", ours)) == {"all"}
    found = components(t, trace, "--components", ours, "--components", first)
    assert {"cache", "rest", "storage", "all"} == set(found) and found["cache"] == 4000, found
    os.mkdir(t.path("silt"))
    os.rename(ours, t.path("silt/components.rules"))
    assert without_pool(components(t, trace)) == expected
    assert set(components(t, trace, "--components", first)) == {"all"}


def metrics(t, trace):
    """What Prometheus is told, of the trace's one process."""
    r = t.silt.command("metrics", trace)
    assert r.code == 0, r.errors
    return {name: int(size) for name, size in re.findall(r'^silt_component_live_bytes\{.*component="([^"]*)".*\} (\d+)$', r.text, re.M)}


def test_all_views_agree(t):
    """The report, SQL and metrics of one trace: one of our own, and of programs nobody here wrote."""
    traces = {t.path("t.silt"): None, t.path("sqlite.silt"): ["sqlite3", ":memory:", "CREATE TABLE t AS SELECT value AS v FROM generate_series(1, 20000); SELECT count(*) FROM t;"],
              t.path("perl.silt"): ["perl", "-e", "my %h = map { $_ => 'x' x $_ } 1..2000; print scalar(%h)"]}
    recorded(t)
    for trace, argv in traces.items():
        if argv:
            t.silt.record(trace, argv, ["-f"])
        expected = {name: size for name, size in components(t, trace).items() if size}
        assert expected, trace
        r = t.silt.command("sql", "--json", trace, "SELECT component, sum(end_bytes) AS bytes FROM sites GROUP BY component HAVING bytes")
        assert r.code == 0, r.errors
        assert dict(json.loads(r.text)["rows"]) == expected, trace
        assert {name: size for name, size in metrics(t, trace).items() if size} == expected, trace


def test_refusals(t):
    trace = recorded(t)
    for text, why in (("component a", "a rule needs the component's name and a pattern"), ("keep a", "a rule must begin with component, pass or rust")):
        rules = write_rules(t, "\n" + text + "\n")
        r = t.silt.command("report", "--components", rules, trace)
        assert r.code != 0 and r.errors == f"silt: components: {rules}:2: {why}: correct the rule, or leave out the file\n", r.errors
    for command in (["metrics", trace], ["top", "--batch", "--frames", "1", trace]):
        r = t.silt.command(*command, "--components", t.path("none.rules"))
        assert r.code != 0 and "components: cannot open" in r.errors and r.errors.count("\n") == 1, r.errors
    os.mkfifo(t.path("pipe"))
    r = t.silt.command("report", "--components", t.path("pipe"), trace)
    assert r.code != 0 and r.errors == f"silt: components: '{t.path('pipe')}' is a pipe: name a file of rules\n", r.errors
