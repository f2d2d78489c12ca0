# SPDX-License-Identifier: MIT
"""CPU samples beside allocations (`silt run --cpu`), and what must not go wrong when they are taken: a refusal says what to do and leaves
nothing behind, bounds hold, programs that silt cannot enter are seen all the same."""

import os
import re

from cases import cpu
from harness.cases import skip
from harness.place import in_own_mounts
from harness.process import run


def figures(t, trace, statement):
    r = t.silt.command("sql", trace, statement, "--csv")
    assert r.code == 0, r.errors
    return [line.split(",") for line in r.text.splitlines()[1:]]


def record(t, argv, *options):
    trace = t.path("t.silt")
    r = run([t.silt.path, "run", "-q", "-f", *options, "-o", trace, "--", *argv])
    cpu.needs_samples(r)
    assert r.code == 0 and r.errors == "", f"{r.code}: {r.errors}"
    v = t.silt.command("verify", trace)
    assert v.code == 0, v.text + v.errors
    return trace, {words[0]: int(words[1]) for words in map(str.split, r.text.splitlines()) if len(words) == 2}


def test_beside_allocations(t):
    """The same shares and sums as alone, and as many allocations as without."""
    trace, told = record(t, [cpu.program(t), "split", "20"], "--cpu")
    rows = cpu.paths(t, trace)
    cpu.near_all(rows, told)
    rows = cpu.with_paths(rows)
    cpu.near(cpu.with_callees(rows), told, cpu.total(rows), "left", "right", "spend_much", "spend_some", "spend_little")
    with_samples, _ = t.silt.report(trace)
    trace, _ = record(t, [cpu.program(t), "split", "1"])
    without, _ = t.silt.report(trace)
    assert with_samples["totals"]["allocations"] == without["totals"]["allocations"], (with_samples["totals"], without["totals"])


def test_threads_are_one(t):
    """A thread that allocates and is sampled is one thread."""
    trace, _ = record(t, ["sh", "-c", f"{cpu.program(t)} forks 3; {cpu.program(t)} short 50"], "--cpu")
    twice = figures(t, trace, "SELECT process, tid FROM threads GROUP BY process, tid HAVING count(*) > 1 AND min(start_ns) + 1000000000 > max(start_ns)")
    assert len(twice) <= 2, twice  # numbers may be used again
    processes = figures(t, trace, "SELECT pid, image FROM processes GROUP BY pid, image HAVING count(*) > 1")
    assert not processes, processes


def test_static_child(t):
    """Nothing of silt is in it; its time is in the trace."""
    static = t.context.helpers.build("cpu_truth_static", ["cpu_truth.c"], flags=["-static"])
    trace, told = record(t, ["sh", "-c", f"{static} split 10; true"], "--cpu")
    cpu.near_all(cpu.paths(t, trace), told)


def test_refused(t):
    no_perf = t.context.helpers.build("no_perf", ["no_perf.c"])
    for words, code in ((["cpu", "run", "-o", "x.silt", "true"], 125), (["run", "--cpu", "-o", "x.silt", "true"], 125),
                        (["cpu", "attach", "-o", "x.silt", str(os.getpid())], 2)):
        r = run([no_perf, t.silt.path, *words], cwd=t.path("."))
        assert r.code == code, (words, r.code, r.errors)
        assert r.errors.count("\n") == 1 and "perf_event_open" in r.errors and "seccomp" in r.errors, r.errors
        assert not os.path.exists(t.path("x.silt")), words


def test_without_rights(t):
    """Where the kernel may not be sampled its time is told as the kernel counts it, when it passed, and as nobody's."""
    with open("/proc/sys/kernel/perf_event_paranoid") as f:
        if os.geteuid() != 0 or int(f.read()) != 2:
            skip("only root can give rights away, and kernel.perf_event_paranoid must be 2")
    folder = t.path("open")
    os.makedirs(folder)
    for path in (t.dir, folder):
        os.chmod(path, 0o777)
    trace = folder + "/t.silt"
    r = run(["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "--inh-caps=-all", t.silt.path, "cpu", "run", "-q", "-o", trace, "--",
             "dd", "if=/dev/zero", "of=/dev/null", "bs=1M", "count=60000"])
    cpu.needs_samples(r)
    assert r.code == 0, r.errors
    report, why = t.silt.report(trace)
    assert report, why
    time = report["time"]
    assert time["spent_on"]["kernel_unsampled_ns"] >= 0.5 * time["cpu_ns"], time
    assert time["spent_on"]["system_calls_ns"] == time["spent_on"]["kernel_ns"] == 0, time
    hidden = [x for x in cpu.ticks(t, trace, "--by", "cpu") if any("[not sampled]" in f for f in x["functions"])]
    assert len(hidden) >= 5 and max(x["ns"] for x in hidden) <= time["cpu_ns"] / 2, hidden
    assert any(f["kind"] == "kernel-time" and "may not sample it" in f["text"] for f in report["findings"]), report["findings"]


def test_bounded(t):
    trace = t.path("t.silt")
    r = run([t.silt.path, "cpu", "run", "-q", "-f", "--rate", "20000", "--max-size", "1M", "-o", trace, "--", cpu.program(t), "split", "20"])
    cpu.needs_samples(r)
    assert r.code == 0 and os.path.getsize(trace) <= 1 << 20, (r.code, r.errors, os.path.getsize(trace))
    v = t.silt.command("verify", trace)
    assert v.code == 0, v.text + v.errors


def test_duration(t):
    """silt leaves, the program does not notice."""
    trace = t.path("t.silt")
    r = run([t.silt.path, "cpu", "run", "-f", "--duration", "100ms", "-o", trace, "--", cpu.program(t), "split", "20"])
    cpu.needs_samples(r)
    assert r.code == 0 and "recorded" in r.errors, r.errors
    rows = cpu.paths(t, trace)
    told = {words[0]: int(words[1]) for words in map(str.split, r.text.splitlines()) if len(words) == 2}
    assert 0 < cpu.total(rows) < told["all"], (cpu.total(rows), told)


def test_no_children(t):
    """Only the process itself: what it starts is in no figure."""
    trace = t.path("t.silt")
    r = run([t.silt.path, "cpu", "run", "-q", "-f", "--no-children", "-o", trace, "--", "sh", "-c", f"{cpu.program(t)} split 10; true"])
    cpu.needs_samples(r)
    assert r.code == 0, r.errors
    assert figures(t, trace, "SELECT count(*) FROM processes WHERE command NOT LIKE 'sh %'") == [["0"]]
    assert "spend_much" not in cpu.with_callees(cpu.paths(t, trace))


def test_names_of_programs(t):
    """One that is another program already when its name is asked for keeps its own."""
    trace, _ = cpu.record(t, "sh", "-c", f'exec sh -c "exec {cpu.program(t)} split 5"')
    got = [row[0] for row in figures(t, trace, "SELECT command FROM processes ORDER BY image")]
    assert len(got) == 3 and got[0].lstrip('"').startswith("sh ") and got[1].startswith("sh") and got[2].endswith("split 5"), got


def test_kernel_thread(t):
    trace = t.path("t.silt")
    if not os.path.exists("/proc/2/comm") or open("/proc/2/comm").read() != "kthreadd\n":
        skip("the kernel's threads are not seen here")
    r = t.silt.command("cpu", "attach", "-o", trace, "2")
    assert r.code == 2 and r.errors.count("\n") == 1 and "thread of the kernel" in r.errors, (r.code, r.errors)


def test_kernel_has_names(t):
    """Beside allocations as alone."""
    trace, _ = record(t, [cpu.program(t), "split", "10"], "--cpu")
    names = {f for functions, _ in cpu.paths(t, trace) for f in functions}
    addresses = [f for f in names if f.startswith("[kernel]+")]
    alone, _ = cpu.record(t, cpu.program(t), "split", "10")
    alone = [f for functions, _ in cpu.paths(t, alone) for f in functions if f.startswith("[kernel]+")]
    assert not addresses or alone, addresses[:5]


def test_short_processes(t):
    """Too short for samples of their own: then CPUs are sampled, and it is said."""
    trace = t.path("t.silt")
    r = run([t.silt.path, "cpu", "run", "-f", "-o", trace, "--", "sh", "-c", "i=0; while [ $i -lt 600 ]; do (:); i=$((i+1)); done; times"])
    cpu.needs_samples(r)
    own = sum(int(m) * 60 + float(s) for m, s in re.findall(r"(\d+)m([0-9.]+)s", r.text))
    got = cpu.total(cpu.paths(t, trace)) / 1e9
    assert 0.75 * own - 0.05 <= got <= 1.1 * own + 0.05, (got, own)


def test_a_thread_that_runs_another_program_is_one(t):
    for options in (["cpu", "run"], ["run", "--cpu"]):
        r = run([t.silt.path, *options, "-f", "-o", t.path("t.silt"), "--", "sh", "-c", "sleep 0.3 & exec sleep 0.8"])
        cpu.needs_samples(r)
        assert "blocked (2 threads together)" in r.errors, r.errors


def test_another_thread_runs_another_program(t):
    """The first thread ends then, and the other has its number: nothing is hidden from silt, and no thread is one more."""
    for options in (["cpu", "run"], ["run", "--cpu"]):
        r = run([t.silt.path, *options, "-f", "-o", t.path("t.silt"), "--", cpu.program(t), "beside", "split", "5"])
        cpu.needs_samples(r)
        assert r.code == 0 and "other rights" not in r.errors, r.errors
        assert figures(t, t.path("t.silt"), "SELECT max(image) FROM processes") == [["2"]]


def test_full_disk(t):
    """What is not in the file is said first, and by whoever recorded it."""
    disk, trace = t.path("disk"), t.path("t.silt")
    os.makedirs(disk)
    script = f'mount -t tmpfs -o size=64k none {disk} || exit 90; dd if=/dev/zero of={disk}/full bs=4k count=9 2>/dev/null; "$@"; cp {disk}/t.silt {trace}'
    r = run(in_own_mounts(script, "sh", t.silt.path, "cpu", "run", "-o", disk + "/t.silt", "--rate", "10000", "--", cpu.program(t), "split", "30"))
    cpu.needs_samples(r)
    assert "could not be written" in r.errors and "; 0 lost" not in r.errors, r.errors
    text = t.silt.command("report", trace).text
    assert re.match(r"! Incomplete: [0-9,]+ samples of time are missing", text), text[:300]
