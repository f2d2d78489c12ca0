# SPDX-License-Identifier: MIT
"""Loss records of `silt leaks` beside memcheck's, call path by call path, for programs as distributions ship them. docs/leaks.md has the differences."""

import os
import re
import shutil
import subprocess
from collections import Counter
from concurrent.futures import ThreadPoolExecutor

from harness.answer import parse

PROGRAMS = {
    "sqlite3": ["sqlite3", ":memory:", "create table t(a, b); insert into t values(1, 2), (3, 4); select sum(a) from t;"],
    "git": ["git", "--no-pager", "-C", "{repository}", "log", "--oneline", "-2"],
    "bash": ["bash", "-c", "x=1; for i in 1 2 3; do x=$x$i; done; echo $x"],
    "perl": ["perl", "-e", "my %h = map { $_ => [$_] } 1..50; print scalar(keys %h)"],
    "python3": ["/usr/bin/python3", "-c", "x = [str(i) for i in range(100)]; print(len(x))"],
}
# Programs that copy their environment, to which each tool adds variables of its own: so many call paths copy it, at most.
COPIES_OF_ENVIRONMENT = {"sqlite3": 0, "git": 1, "bash": 10, "perl": 8, "python3": 0}
MAX_VARIABLES = 8  # that one tool adds and the other does not
CLASSES = {"definitely": "definite", "indirectly": "indirect", "possibly": "possible", "still": "reachable"}


def environment():
    return {**os.environ, "PYTHONHASHSEED": "0", "PERL_HASH_SEED": "0", "PYTHONMALLOC": "malloc", "HOME": "/nonexistent", "GIT_CONFIG_NOSYSTEM": "1"}


def number(text):
    return int(text.replace(",", ""))


def by_memcheck(argv):
    """Records as (class, bytes, blocks): the same call paths give the same ones, whatever functions are called."""
    r = subprocess.run(["valgrind", "--leak-check=full", "--show-leak-kinds=all", "--num-callers=500", "--leak-resolution=high", "--run-libc-freeres=no",
                        "--run-cxx-freeres=no", *argv], capture_output=True, text=True, env=environment())
    assert r.returncode == 0, r.stderr
    record = r"== ([\d,]+) (?:\(([\d,]+) direct, [\d,]+ indirect\) )?bytes in ([\d,]+) blocks are (\w+)"
    return Counter((CLASSES[m[4]], number(m[2] or m[1]), number(m[3])) for m in re.finditer(record, r.stderr))


def by_silt(t, name, argv):
    trace = t.path(name + ".silt")
    r = t.silt.record(trace, argv, ["-f", "--leaks"], env=environment())
    assert r.code == 0, r.errors
    r = t.silt.command("leaks", trace, "--json")
    assert r.code == 0, r.errors
    return Counter((x["class"], x["bytes"], x["blocks"]) for x in parse(r.stdout)["records"])


def compare(t, name, argv):
    ours, theirs = by_silt(t, name, argv), by_memcheck(argv)
    # by class and blocks: bytes change with the length of variables, and so would their order
    only_ours, only_theirs = (sorted(x.elements(), key=lambda r: (r[0], r[2], r[1])) for x in (ours - theirs, theirs - ours))
    what = f"{name}: only silt {only_ours}, only memcheck {only_theirs}"
    if sum(ours.values()) != sum(theirs.values()) or not ours:
        return f"{sum(ours.values())} and {sum(theirs.values())} records; {what}"
    if len(only_ours) > COPIES_OF_ENVIRONMENT[name]:
        return what
    for a, b in zip(only_ours, only_theirs):
        if a[0] != b[0] or abs(a[2] - b[2]) > MAX_VARIABLES:
            return what
    return None


def test_records_are_memchecks(t):
    if not shutil.which("valgrind"):
        return
    repository = t.path("repository")
    subprocess.run(["git", "init", "-q", repository], check=True)
    for i in range(3):
        subprocess.run(["git", "-C", repository, "-c", "user.name=x", "-c", "user.email=x@x", "commit", "-q", "--allow-empty", "-m", str(i)], check=True)
    programs = {n: [a.format(repository=repository) if "{repository}" in a else a for a in argv] for n, argv in PROGRAMS.items() if shutil.which(argv[0])}
    assert programs
    with ThreadPoolExecutor(2) as pool:
        wrong = [w for w in pool.map(lambda one: compare(t, *one), programs.items()) if w]
    assert not wrong, "\n".join(wrong)
