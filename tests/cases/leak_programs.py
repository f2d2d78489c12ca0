# SPDX-License-Identifier: MIT
"""`silt leaks` beside memcheck, for programs as distributions ship them: loss records, call path by call path, and the sums of all four classes.
docs/leaks.md has the differences."""

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


# Sums of classes. What differs, and by which rule: "environment": it is copied, and each tool adds variables of its own; "unwritten": blocks
# contain bytes from earlier, which memcheck knows and does not follow.
SUMMED = {
    "ls": ["ls", "-la", "/usr/bin"], "cat": ["cat", "{text}"], "grep": ["grep", "-E", "(7|8)+9", "{text}"], "sed": ["sed", "-n", "s/1/2/p", "{text}"],
    "mawk": ["mawk", "{a[$3]++} END{print length(a)}", "{text}"], "find": ["find", "/etc", "-name", "*.conf"], "sort": ["sort", "-k3n", "{text}"],
    "tar": ["tar", "cf", "/dev/null", "/etc/apt"], "gzip": ["gzip", "-k", "-c", "{text}"], "xz": ["xz", "-k", "-c", "{text}"],
    "bzip2": ["bzip2", "-k", "-c", "{text}"], "zstd": ["zstd", "-q", "-c", "{text}"], "openssl": ["openssl", "version", "-a"],
    "openssl_digest": ["openssl", "dgst", "-sha256", "{text}"], "curl": ["curl", "--version"], "sqlite3": PROGRAMS["sqlite3"],
    "bash": PROGRAMS["bash"], "dash": ["dash", "-c", "echo $PATH"], "perl": PROGRAMS["perl"], "python3": PROGRAMS["python3"],
    "make": ["make", "-f", "/dev/null", "-n", "x"], "as": ["as", "/dev/null", "-o", "/dev/null"], "objdump": ["objdump", "-d", "{object}"],
    "nm": ["nm", "{object}"], "readelf": ["readelf", "-a", "{object}"], "ld": ["ld", "-r", "{object}", "-o", "/dev/null"],
    "diff": ["diff", "{text}", "/etc/passwd"], "ps": ["ps", "-ef"], "jq": ["jq", "length", "{json}"], "redis": ["redis-server", "--version"],
    "groff": ["groff", "--version"], "date": ["date"], "dpkg": ["dpkg-query", "-l"], "git": ["git", "--version"], "gdb": ["gdb", "-nx", "-batch", "-ex", "print 1"],
    "eu-readelf": ["eu-readelf", "-a", "{object}"], "od": ["od", "{text}"],
}
RULES = {"bash": "environment", "dash": "environment", "perl": "environment", "make": "environment", "ps": "environment", "nm": "environment",
         "git": "environment", "redis": "environment", "groff": "unwritten", "gdb": "unwritten"}
SUMS = {"definitely lost": "definitely_lost", "indirectly lost": "indirectly_lost", "possibly lost": "possibly_lost", "still reachable": "still_reachable"}
FIXED = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "LANG": "C.UTF-8", "HOME": "/nonexistent", "PYTHONHASHSEED": "0", "PERL_HASH_SEED": "0", "PYTHONMALLOC": "malloc",
         "GIT_CONFIG_NOSYSTEM": "1"}


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


def sums_of_memcheck(argv):
    """class → (bytes, blocks)"""
    r = subprocess.run(["valgrind", "--leak-check=full", "--show-leak-kinds=all", "--run-libc-freeres=no", "--run-cxx-freeres=no", *argv],
                       capture_output=True, text=True, errors="replace", env=FIXED)
    found = {m[1]: (number(m[2]), number(m[3])) for m in re.finditer(r"((?:definitely|indirectly|possibly) lost|still reachable): ([\d,]+) bytes in ([\d,]+) blocks",
                                                                  r.stderr)}
    return {name: found.get(name, (0, 0)) for name in SUMS}  # none are said to be left where all were freed


def sums_of_silt(t, name, argv):
    trace = t.path(name + ".silt")
    subprocess.run(t.silt.run_argv(trace, argv, ["-f", "-q", "--leaks"]), capture_output=True, env=FIXED)
    r = t.silt.command("leaks", trace, "--json")
    assert r.code == 0, (name, r.errors)
    got = parse(r.stdout)
    return {text: (got[key]["bytes"], got[key]["blocks"]) for text, key in SUMS.items()}


def is_as_ruled(rule, ours, theirs):
    n_ours, n_theirs = (sum(blocks for _, blocks in x.values()) for x in (ours, theirs))
    if rule == "environment":  # what is not a copy of it is in the same class: lists and strings, one each for a variable
        return all(abs(ours[c][1] - theirs[c][1]) <= 2 * MAX_VARIABLES for c in SUMS)
    if rule == "unwritten":
        return abs(n_ours - n_theirs) <= 2 * MAX_VARIABLES and ours["definitely lost"][1] <= theirs["definitely lost"][1]
    return False


def test_classes_are_memchecks(t):
    """Of 37 programs."""
    if not shutil.which("valgrind"):
        return
    paths = {name: t.path(name) for name in ("text", "json", "object")}
    with open(paths["text"], "w") as f:
        f.write("".join(f"line {i} {i * 7919 % 1000}\n" for i in range(2000)))
    with open(paths["json"], "w") as f:
        f.write("[" + ",".join(f'{{"b": {i}}}' for i in range(200)) + "]")
    with open(t.path("x.c"), "w") as f:
        f.write("int main(void) { return 0; }\n")
    subprocess.run(["gcc", "-g", "-c", t.path("x.c"), "-o", paths["object"]], check=True)
    programs = {n: [paths[a[1:-1]] if a[1:-1] in paths else a for a in argv] for n, argv in SUMMED.items() if shutil.which(argv[0], path=FIXED["PATH"])}

    def differs(name):
        ours, theirs = sums_of_silt(t, name, programs[name]), sums_of_memcheck(programs[name])
        return (name, ours, theirs) if ours != theirs else None

    with ThreadPoolExecutor(2) as pool:
        different = [d for d in pool.map(differs, programs) if d]
    wrong = [f"{name}: silt {ours}, memcheck {theirs}" for name, ours, theirs in different if not is_as_ruled(RULES.get(name), ours, theirs)]
    assert not wrong, "\n".join(wrong)
    t.notes.append(f"{len(programs)} programs, {len(programs) - len(different)} equal in all classes; by rule: "
                   + ", ".join(f"{name} ({RULES[name]})" for name, _, _ in different))
