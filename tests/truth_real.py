#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Real programs under silt, the preloaded oracle, valgrind's memcheck and heaptrack: the same totals where their rules
are the same, and every difference explained. Part of tests/run.py (`real/...`); alone it prints the whole table:

  tests/truth_real.py --build build [NAME...]

What is compared is a run with work minus one without: start-up depends on the environment, which each tool changes.

Their rules, as far as they differ from silt's:
  memcheck   runs the program on another allocator and another address layout; a program whose hash tables over
             pointers grow by collisions may allocate differently (cc1plus at -O2: one block of 104 bytes)
             counts a realloc that fails as a release and an allocation
             has no figures for peak and temporary
  heaptrack  brings libstdc++ into every program: one allocation of 72,704 bytes, released at the end by its own hand
             (taken out of the figures above)
             does not see memalign, valloc, pvalloc and reallocarray
             temporary is only what is released by the very next event, and is told by size and stack, not by address
  both       follow one process"""

import argparse
import ctypes
import itertools
import os
import resource
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)

from harness import oracles  # noqa: E402
from harness.silt import Silt  # noqa: E402

FIGURES = ["allocations", "frees", "bytes_allocated", "temporary_allocations", "peak_live_bytes", "end_live_bytes",
           "end_live_blocks"]
STEADY = {"LC_ALL": "C", "PYTHONMALLOC": "malloc", "PYTHONHASHSEED": "0", "PYTHONDONTWRITEBYTECODE": "1",
          "PERL_HASH_SEED": "0", "PERL_PERTURB_KEYS": "0", "GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_GLOBAL": "/dev/null",
          "GIT_PAGER": "cat", "HOME": "/nonexistent", "GIT_AUTHOR_DATE": "1700000000 +0000",
          "GIT_COMMITTER_DATE": "1700000000 +0000", "GIT_AUTHOR_NAME": "a", "GIT_AUTHOR_EMAIL": "a@b",
          "GIT_COMMITTER_NAME": "a", "GIT_COMMITTER_EMAIL": "a@b", "GIT_OPTIONAL_LOCKS": "0"}

SQL = """create table t(id integer primary key, name text, n real);
with recursive c(x) as (select 1 union all select x + 1 from c where x < 20000)
  insert into t select x, 'name ' || (x * 7919 % 20000), x / 3.0 from c;
create index by_name on t(name);
select count(*), sum(n), group_concat(distinct substr(name, 6, 1)) from t where name > 'name 5';
select max(name) from (select name from t order by n desc limit 500);
delete from t where id % 3 = 0; vacuum;"""
PERL = """my %h; for my $i (1..20000) { push @{$h{$i % 997}}, "value $i" x 3 } my $s = '';
for my $k (sort keys %h) { $s .= join(',', map { s/value/v/r } grep { /7/ } @{$h{$k}}) } print length($s), "\\n";"""
PYTHON = """import json, re, os
data = [{'id': i, 'name': 'n%d' % (i * 7919 % 5000), 'tags': ['t%d' % (i % k + 1) for k in range(1, 5)]} for i in range(5000)]
text = json.dumps(data)
print(len(text), len(json.loads(text)), len(re.findall(r'"n\\d+7"', text)))"""
CXX = """template <int N> struct Count { static int value() { return Count<N - 1>::value() + N; } };
template <> struct Count<0> { static int value() { return 0; } };
template <class K, class V> struct Map { K k[64]; V v[64]; int n = 0;
  V &at(K key) { for (int i = 0; i < n; i++) if (k[i] == key) return v[i]; k[n] = key; return v[n++]; } };
int main(int argc, char **) { Map<int, long> m; for (int i = 0; i < 50; i++) m.at(i * argc) += Count<60>::value(); return (int)m.at(3); }
"""


def make_repository(folder):
    env = {**os.environ, **STEADY}
    subprocess.run(["git", "init", "-q", "-b", "main", folder], env=env, check=True)
    for i in range(15):
        for name in ("a", "b", "c"):
            with open(os.path.join(folder, name), "w") as f:
                f.writelines(f"line {k * (i + 3) % 101} of {name}\n" for k in range(300))
        subprocess.run(["git", "-C", folder, "add", "."], env=env, check=True)
        subprocess.run(["git", "-C", folder, "commit", "-q", "-m", f"change {i}"], env=env, check=True)
    return folder


def write(folder, name, text):
    path = os.path.join(folder, name)
    with open(path, "w") as f:
        f.write(text)
    return path


def commands_of(name, folder):
    """Two command lines of a real program, with and without work; its files are made in folder. Start-up depends on the
    environment, which every tool changes in its own way; the difference of the two does not."""
    if name == "sqlite3":
        return ["/usr/bin/sqlite3", ":memory:", SQL], ["/usr/bin/sqlite3", ":memory:", "select 1;"]
    if name == "perl":
        return ["/usr/bin/perl", write(folder, "work.pl", PERL)], ["/usr/bin/perl", write(folder, "none.pl", "1;")]
    if name == "python3":
        python = ["/usr/bin/python3", "-S"]
        return [*python, write(folder, "work.py", PYTHON)], [*python, write(folder, "none.py", "import json, re, os")]
    if name == "git":
        git = ["/usr/bin/git", "-C", make_repository(os.path.join(folder, "repository")), "log"]
        return [*git, "-p", "--stat", "-n99"], [*git, "-p", "--stat", "-n00"]
    if name == "cc1plus":
        cc1plus = subprocess.run(["g++", "-print-prog-name=cc1plus"], capture_output=True, text=True).stdout.strip()
        flags = [cc1plus, "-quiet", "-O1", "-frandom-seed=0", "-o", os.path.join(folder, "out.s")]
        return [*flags, write(folder, "work.cc", CXX)], [*flags, write(folder, "none.cc", "")]
    raise KeyError(name)


NAMES = ["sqlite3", "perl", "python3", "git", "cc1plus"]


ADDR_NO_RANDOMIZE = 0x0040000


def prepare():
    """Without address randomisation: a hash table over pointers then grows alike every time."""
    ctypes.CDLL(None).personality(ADDR_NO_RANDOMIZE)


def prepare_heaptrack():
    """Its interpreter has taken all memory before."""
    prepare()
    resource.setrlimit(resource.RLIMIT_AS, (8 << 30, 8 << 30))


def gather(name, folder, silt, oracle_dir, trace):
    """{witness: figures of the program's work}; silt may be None."""
    oracle = oracles.PreloadOracle(os.path.join(HERE, "oracle"), oracle_dir)
    witnesses = {"oracle": oracle, "memcheck": oracles.Memcheck(), "heaptrack": oracles.Heaptrack()}
    work, none = commands_of(name, folder)
    seen = {}
    if silt:
        seen["silt"] = difference(*(record_silt(silt, trace, argv) for argv in (work, none)))
    for witness, recorder in witnesses.items():
        seen[witness] = difference(*(record_by(recorder, argv) for argv in (work, none)))
    return seen


def record_silt(silt, trace, argv):
    r = silt.record(trace, argv, ["-f"], env=STEADY, preexec_fn=prepare)
    assert r.code == 0, f"{argv[0]} under silt: {r.code}: {r.errors}"
    report, why = silt.report(trace)
    assert report, why
    return report["totals"]


def record_by(recorder, argv):
    limited = prepare_heaptrack if isinstance(recorder, oracles.Heaptrack) else prepare
    r, processes = recorder.record(argv, STEADY, preexec_fn=limited)
    assert processes, f"{argv[0]} under {type(recorder).__name__}: nothing recorded: {r.code}: {r.errors[-300:]}"
    return min(processes, key=lambda p: p["pid"])


def difference(work, none):
    return {k: work[k] - none[k] for k in FIGURES if k in work}


def table(name, seen):
    rows = [f"{name:10}" + "".join(f"{f:>23}" for f in FIGURES)]
    for witness, figures in seen.items():
        rows.append(f"  {witness:8}" + "".join(f"{figures[f]:>23,}" if f in figures else f"{'-':>23}" for f in FIGURES))
    return rows


PEAK_DEPENDS_ON_START = {
    "python3": "the peak of the run without work falls into start-up, where the environment's strings live",
}


# Blocks that a program allocates or not as its environment or its addresses have it, which every tool changes; bare runs differ so, too.
# perl keeps small values in arenas that it never gives back: its table of the environment fills one before or in the work.
# cc1plus has hash tables over pointers, which grow by collisions: of 24 bare compilations 7 had one block more or less than most,
# so two may differ by two.
MOVING_BYTES = {"perl": [4080], "cc1plus": [32768, 2064]}


def without_moving(name, figures, reference):
    """figures as they would be had none of these blocks moved into or out of the work."""
    left = figures["allocations"] - reference["allocations"], figures["bytes_allocated"] - reference["bytes_allocated"]
    sizes = MOVING_BYTES.get(name, [])
    for signs in itertools.product((-2, -1, 0, 1, 2), repeat=len(sizes)):
        n, n_bytes = sum(signs), sum(sign * size for sign, size in zip(signs, sizes))
        if any(signs) and left == (n, n_bytes):
            one = {"allocations": n, "end_live_blocks": n, "bytes_allocated": n_bytes, "end_live_bytes": n_bytes, "peak_live_bytes": n_bytes}
            return {k: v - one.get(k, 0) for k, v in figures.items()}
    return figures


def compare(name, seen):
    """What differs and should not."""
    failures = []
    reference = seen.get("silt", seen["oracle"])
    for witness, figures in seen.items():
        for figure, value in without_moving(name, figures, reference).items():
            if figure == "temporary_allocations" and witness == "heaptrack":
                continue  # its rule is another
            if figure == "peak_live_bytes" and name in PEAK_DEPENDS_ON_START:
                continue
            if value != reference[figure]:
                failures.append(f"{figure}: {witness} has {value:,}, not {reference[figure]:,}")
    return failures


def check(t, name):
    seen = gather(name, t.dir, t.silt, t.context.work_dir, t.context.trace_path("real/" + name))
    t.notes += table(name, seen)
    if name in PEAK_DEPENDS_ON_START:
        t.notes.append("peaks are not compared: " + PEAK_DEPENDS_ON_START[name])
    if name in MOVING_BYTES:
        t.notes.append(f"blocks of {' and '.join(f'{n:,}' for n in MOVING_BYTES[name])} bytes may be in the work or not, as the tool's environment has it")
    t.notes.append("heaptrack calls temporary only what is released by the very next event of any thread")
    failures = compare(name, seen)
    assert not failures, "\n".join(failures + table(name, seen))


def test_sqlite3(t):
    check(t, "sqlite3")


def test_perl(t):
    check(t, "perl")


def test_python3(t):
    check(t, "python3")


def test_git(t):
    check(t, "git")


def test_cc1plus(t):
    check(t, "cc1plus")


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--build", help="build directory with silt; without it only the others are compared")
    p.add_argument("names", nargs="*", default=NAMES, metavar="NAME", help=" ".join(NAMES))
    options = p.parse_args()
    silt = Silt(options.build) if options.build else None
    n_failed = 0
    with tempfile.TemporaryDirectory() as work:
        for name in options.names:
            folder = tempfile.mkdtemp(dir=work)
            seen = gather(name, folder, silt, work, os.path.join(work, name + ".silt"))
            failures = compare(name, seen)
            print("\n".join(table(name, seen) + ["  DIFFERS: " + f for f in failures]))
            n_failed += bool(failures)
    print(__doc__[__doc__.index("Their rules"):])
    return 1 if n_failed else 0


if __name__ == "__main__":
    sys.exit(main())
