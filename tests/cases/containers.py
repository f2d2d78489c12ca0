# SPDX-License-Identifier: MIT
"""Containers in silt holders, of programs that know how full theirs are (containers.cc, containers.rs), with names and without."""

import collections
import re
import shutil

from harness.answer import parse
from harness.cases import skip
from harness.process import run


def groups_of(t, name, source, flags):
    trace = t.path(name + ".silt")
    r = t.silt.record(trace, [t.context.helpers.build(name, [source], flags=flags)], ["-f", "--leaks"])
    assert r.code == 0, r.errors
    r = t.silt.command("holders", trace, "--json", "--full")
    assert r.code == 0, r.errors
    return parse(r.text)["holders"]


def sums(groups):
    """kind → blocks, used, capacity; of arrays by the capacity of one, too."""
    found = collections.Counter()
    for g in groups:
        c = g.get("container")
        if not c:
            continue
        used, room = (c["entries"], c["slots"]) if "slots" in c else (c["used_bytes"], c["capacity_bytes"])
        key = (c["kind"], used / c["blocks"], room / c["blocks"])
        found[key] += c["blocks"]
    return found


def check_cxx(t, name, flags):
    found = sums(groups_of(t, name, "containers.cc", flags))
    assert found[("vector", 320, 4000)] == 300, found
    assert found[("vector", 0, 400)] == 200, found
    assert found[("string", 40, 100)] == 500, found
    assert found[("chained hash table", 700, 1031)] == 1, found
    assert found[("chained hash table", 25, 29)] == 40, found
    # and the five vectors of these: neither FILEs nor deques
    rest = {k: n for k, n in found.items() if k[0] == "vector" and k[1:] not in ((320, 4000), (0, 400))}
    assert sum(rest.values()) == 4, rest


def test_cxx(t):
    check_cxx(t, "containers_cc", ["-O2", "-g"])


def test_cxx_without_names(t):
    check_cxx(t, "containers_cc_stripped", ["-O2", "-s"])


def check_rust(t, name, flags):
    if not shutil.which("rustc"):
        skip("there is no rustc")
    found = sums(groups_of(t, name, "containers.rs", flags))
    assert found[("hash table", 600, 1024)] == 1, found
    assert found[("hash table", 0, 2048)] == 1, found
    sets = {k: n for k, n in found.items() if k[0] == "hash table" and k[2] < 1024}
    assert sum(sets.values()) == 50 and round(sum(k[1] * n for k, n in sets.items())) == 150, sets
    assert not [k for k in found if k[0] == "chained hash table"], found
    return found


def test_rust(t):
    found = check_rust(t, "containers_rs", ["-C", "opt-level=2", "-g"])


    others = {k: n for k, n in found.items() if k[0] in ("vector", "string")}
    version = re.search(r"rustc 1\.(\d+)", run(["rustc", "--version"]).text)
    if int(version.group(1)) >= 80:  # these have the room first
        assert found[("vector", 320, 4000)] == 300 and found[("string", 40, 100)] == 500, others
    assert not [k for k in others if k[2] == 1600], others  # queues: their words are others


def test_rust_without_names(t):
    check_rust(t, "containers_rs_stripped", ["-C", "opt-level=2", "-C", "strip=symbols"])


def test_words(t):
    groups_of(t, "containers_cc", "containers.cc", ["-O2", "-g"])
    r = t.silt.command("holders", t.path("containers_cc.silt"))
    text = " ".join(r.text.split())
    assert re.search(r"\d+ vectors allocated by fill_vectors", text), text[:500]
    assert re.search(r"\d+ vectors, 8 % of their capacity used: \S+ [KM]iB unused", text), text[:500]
    assert "a hash table of 700 entries in 1,031 buckets" in text, text[:2000]


def test_none_in_c(t):
    """Hashes, arrays and strings of an interpreter in C are no containers of C++ or Rust."""
    if not shutil.which("perl"):
        skip("there is no perl")
    script = 'my %h; $h{$_} = "x" x ($_ % 100) for 1..20000; my @a = map { [$_] } 1..3000; require POSIX; POSIX::_exit(0)'
    trace = t.path("t.silt")
    r = t.silt.record(trace, [shutil.which("perl"), "-e", script], ["-f", "--leaks"])
    assert r.code == 0, r.errors
    r = t.silt.command("holders", trace, "--json", "--full")
    assert r.code == 0, r.errors
    assert parse(r.text)["live"]["blocks"] > 40000
    assert not sums(parse(r.text)["holders"]), sums(parse(r.text)["holders"])
