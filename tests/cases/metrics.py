# SPDX-License-Identifier: MIT
"""silt metrics: figures are the report's, both formats are what their readers take, and scrapers do no harm."""

import gzip
import os
import re
import signal
import socket
import subprocess
import time

from harness.answer import parse as parse_json
from harness.cases import skip
from harness.place import in_own_mounts
from harness.process import TimedOut, give_up, run
from harness.served import Reply, is_complete, status_of

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
LINE = re.compile(r'([a-z_]+)(?:\{(.*)\})? (-?[0-9.]+)')
LABEL = re.compile(r'([a-z_]+)="((?:[^"\\]|\\.)*)"(?:,|$)')


def parse(text):
    """{(name, labels as a sorted tuple): value}; each occurs once."""
    found = {}
    for line in text.splitlines():
        if line.startswith("#"):
            continue
        m = LINE.fullmatch(line)
        assert m, line
        labels = tuple(sorted(LABEL.findall(m[2] or "")))
        assert (m[1], labels) not in found, f"twice: {line}"
        found[m[1], labels] = float(m[3])
    return found


def values(metrics, name, **labels):
    return [v for (n, l), v in metrics.items() if n == name and set(labels.items()) <= set(l)]


def value(metrics, name, **labels):
    found = values(metrics, name, **labels)
    assert len(found) == 1, f"{name} {labels}: {found}"
    return found[0]


def check_syntax(t, text):
    if run(["sh", "-c", "command -v promtool"]).code == 0:
        r = run(["promtool", "check", "metrics"], stdin=text.encode())
        assert r.code == 0, r.stdout + r.stderr


def check_against_report(t, trace, metrics):
    got, wrong = t.silt.report(trace, "--process", "all")
    assert not wrong, wrong
    for p in got["processes"]:
        pid = str(p["pid"])
        own, wrong = t.silt.report(trace, "--process", pid)
        assert not wrong, wrong
        x = own["totals"]
        if "standard_errors" in x:
            error = x["standard_errors"]["end_live_bytes"]
            assert (error > 0) == (x["end_live_bytes"] > 0) and abs(value(metrics, "silt_estimate_error_bytes", pid=pid) - error) < 0.1, f"estimate error of {pid}"
        for name, key in (("silt_heap_live_bytes", "end_live_bytes"), ("silt_heap_live_blocks", "end_live_blocks"),
                          ("silt_heap_peak_bytes", "peak_live_bytes"), ("silt_heap_allocations_total", "allocations"),
                          ("silt_heap_frees_total", "frees"), ("silt_heap_allocated_bytes_total", "bytes_allocated"),
                          ("silt_lost_events_total", "lost_events"), ("silt_heap_failed_allocations_total", "failed_allocations")):
            assert value(metrics, name, pid=pid) == x[key], f"{name} of {pid}"
        assert sum(values(metrics, "silt_component_live_bytes", pid=pid)) == x["end_live_bytes"]
        sites = values(metrics, "silt_site_live_bytes", pid=pid)
        assert 0 < len(sites) <= 20 and sum(sites) <= x["end_live_bytes"], sites
        groups = parse_json(t.silt.command("report", "--json", trace, "--process", pid, "--by", "mapped", "--group-by", "site").text)["groups"]
        held = sorted((g["self"]["end_live_bytes"] for g in groups if g["self"]["end_live_bytes"]), reverse=True)
        assert sorted(values(metrics, "silt_site_mapped_bytes", pid=pid), reverse=True) == held[:10], (pid, held)
    return got


def test_the_figures_are_those_of_the_report(t):
    for n, argv in enumerate((["python3", "-c", "x = [str(i) for i in range(50000)]; import json, os; os._exit(0)"],
                              ["sqlite3", ":memory:", "CREATE TABLE a(b); INSERT INTO a SELECT value FROM generate_series(1, 20000); SELECT count(*) FROM a;"])):
        for options in ([], ["--sample", "16K"]):
            trace = t.path(f"{n}.silt")
            t.silt.record(trace, argv, ["-f", *options])
            r = t.silt.command("metrics", trace)
            assert r.code == 0, r.errors
            metrics = parse(r.text)
            check_syntax(t, r.text)
            check_against_report(t, trace, metrics)
            assert bool(values(metrics, "silt_sample_distance_bytes")) == bool(options)
            assert bool(values(metrics, "silt_estimate_error_bytes")) == bool(options)
            assert value(metrics, "silt_up") == 0
            assert value(metrics, "silt_build_info") == 1
            again = parse(t.silt.command("metrics", "--openmetrics", trace).text)
            assert again == metrics


class Endpoint:
    def __init__(self, t, *argv):
        self.process = subprocess.Popen([t.silt.path, *argv], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                                        start_new_session=True)
        t.running.append(self.process)
        said, deadline = "", time.monotonic() + 60
        while not (found := re.search(r"http://127\.0\.0\.1:(\d+)/metrics", said)):
            give_up(deadline, f"no address was said: {said}")
            more = os.read(self.process.stderr.fileno(), 4096)
            assert more, f"it ended: {said}"
            said += more.decode()
        self.port = int(found[1])

    def send(self, data, ends=False, patience_s=300):
        with socket.create_connection(("127.0.0.1", self.port), timeout=patience_s) as s:
            answer = b""
            try:
                s.sendall(data)
                if ends:
                    s.shutdown(socket.SHUT_WR)
                while not is_complete(answer):
                    more = s.recv(65536)
                    if not more:
                        break
                    answer += more
            except socket.timeout:
                raise TimedOut(f"no answer to {data[:80]!r}") from None
            except OSError:  # it was refused, and the connection ended, before all was sent
                pass
            return answer

    def get(self, path="/metrics", *headers, method="GET"):
        head = "\r\n".join([f"{method} {path} HTTP/1.1", f"Host: 127.0.0.1:{self.port}", *headers, "", ""])
        answer = self.send(head.encode())
        head, _, body = answer.partition(b"\r\n\r\n")
        return Reply(status_of(answer), head.decode(errors="replace"), body.decode(errors="replace"))

    def scrape(self):
        r = self.get()
        assert r.status == 200, r.body
        return parse(r.body)


def test_a_recording_is_scraped_while_it_runs(t):
    e = Endpoint(t, "run", "--metrics", "127.0.0.1:0", "--max-size", "1M", "-o", t.path("t.silt"), t.helper(), "allocate", "100000")
    deadline, last = time.monotonic() + 60, None
    for _ in range(3):
        now = e.scrape()
        while last and value(now, "silt_recording_time_seconds") == value(last, "silt_recording_time_seconds"):
            give_up(deadline, "nothing new came")
            time.sleep(0.2)
            now = e.scrape()
        assert value(now, "silt_up") == 1 and value(now, "silt_trace_room_bytes") > 0 and value(now, "silt_trace_damaged") == 0
        pid = dict(next(l for n, l in now if n == "silt_up"))["pid"]
        assert 0 < value(now, "silt_resident_bytes") <= most_resident(pid)
        for (name, labels), v in (last or {}).items():
            assert not name.endswith("_total") or now[name, labels] >= v, (name, labels)
        last = now
    open_metrics = e.get("/metrics", "Accept: application/openmetrics-text;version=1.0.0,text/plain;q=0.5")
    assert "application/openmetrics-text; version=1.0.0" in open_metrics.headers and open_metrics.body.endswith("# EOF\n")
    assert "# TYPE silt_heap_allocations counter" in open_metrics.body and "# UNIT silt_heap_live_bytes bytes" in open_metrics.body
    os.kill(int(dict(next(l for n, l in last if n == "silt_up"))["pid"]), signal.SIGTERM)
    assert e.process.wait(60) == 128 + signal.SIGTERM, "silt run does not wait for scrapers"
    while value(now := e.scrape(), "silt_up") == 1:
        give_up(deadline, "it was not seen to end")
    check_against_report(t, t.path("t.silt"), now)
    while True:  # the last scrape was answered: it ends
        give_up(deadline, "the endpoint did not end")
        try:
            socket.create_connection(("127.0.0.1", e.port), timeout=5).close()
        except ConnectionRefusedError:
            break
        time.sleep(0.1)


def resident(pid):
    with open(f"/proc/{pid}/status") as f:
        return int(re.search(r"VmRSS:\s+(\d+)", f.read())[1]) * 1024


def most_resident(pid):
    with open(f"/proc/{pid}/status") as f:
        return int(re.search(r"VmHWM:\s+(\d+)", f.read())[1]) * 1024


def await_value(e, name, wanted, **labels):
    deadline = time.monotonic() + 60
    while not (found := values(now := e.scrape(), name, **labels)) or not wanted(found[0]):
        give_up(deadline, f"{name} is {found}")
        time.sleep(0.2)
    return now


def test_counters_of_samples_begin_with_what_was_counted(t):
    begun = time.monotonic()
    e = Endpoint(t, "run", "--sample", "4K", "--metrics", "127.0.0.1:0", "-o", t.path("t.silt"), "python3", "-c",
                 "import time; x = [str(i) * 50 for i in range(20000)]; time.sleep(1000)")
    now = await_value(e, "silt_heap_live_bytes", lambda v: v > 0)
    # counts come every second: on a busy machine they may be there by the first look
    late = time.monotonic() - begun > 0.9
    assert late or not values(now, "silt_heap_allocations_total"), "an estimate is no counter's begin"
    now = await_value(e, "silt_heap_allocations_total", lambda v: v > 0)
    os.kill(int(dict(next(l for n, l in now if n == "silt_up"))["pid"]), signal.SIGTERM)
    check_against_report(t, t.path("t.silt"), await_value(e, "silt_up", lambda v: v == 0))


def writer_of(trace):
    with open("/proc/locks") as f:
        return int(re.search(rf"FLOCK +ADVISORY +WRITE (\d+) \S+:{os.stat(trace).st_ino} ", f.read())[1])


def test_a_recording_that_is_not_written_any_more(t):
    """Its recorder stands still: figures are old, and that is told."""
    e = Endpoint(t, "run", "--metrics", "127.0.0.1:0", "-o", t.path("t.silt"), "sleep", "1000")
    await_value(e, "silt_trace_age_seconds", lambda v: v < 3)
    recorder = writer_of(t.path("t.silt"))
    os.kill(recorder, signal.SIGSTOP)
    now = await_value(e, "silt_trace_age_seconds", lambda v: v > 4)
    assert value(now, "silt_up") == 1
    os.kill(recorder, signal.SIGCONT)
    await_value(e, "silt_trace_age_seconds", lambda v: v < 3)
    e.process.terminate()
    assert e.process.wait(60) == 128 + signal.SIGTERM
    assert not values(await_value(e, "silt_up", lambda v: v == 0), "silt_trace_age_seconds")


def test_a_full_disk_and_damage(t):
    disk, trace = t.path("disk"), t.path("t.silt")
    os.makedirs(disk)
    script = f'mount -t tmpfs -o size=64k none {disk} || exit 90; "$@"; cp {disk}/t.silt {trace}'
    r = run(in_own_mounts(script, "sh", *t.silt.run_argv(disk + "/t.silt", [t.helper(), "allocate", "3000"])))
    got, wrong = t.silt.report(trace)
    assert not wrong, wrong
    metrics = parse(t.silt.command("metrics", trace).text)
    assert value(metrics, "silt_unwritten_events_total") == got["quality"]["unwritten_events"] > 0, r.errors
    assert value(metrics, "silt_trace_damaged") == 0
    t.silt.record(trace, [t.helper(), "allocate", "3000"], ["-f"])
    assert value(parse(t.silt.command("metrics", trace).text), "silt_trace_damaged") == 0
    with open(trace, "rb") as f:
        whole = f.read()
    between = next(at for at in range(len(whole) * 2 // 3 & ~7, 0, -8) if whole.startswith(b"\xf5slt", at))
    for cut in (between, between - 8, between + 8):  # where a chunk begins, and inside of those to both sides
        with open(trace, "wb") as f:
            f.write(whole[:cut])
        metrics = parse(t.silt.command("metrics", trace).text)
        got = value(metrics, "silt_trace_damaged"), value(metrics, "silt_unwritten_events_total")
        assert got == (1, 0), (cut, got)


def test_a_damaged_bill(t):
    """All else is told, and the bill before it."""
    trace = t.path("t.silt")
    t.silt.record(trace, [t.helper(), "allocate", "1000"])
    with open(trace, "rb") as f:
        data = bytearray(f.read())
    whole = parse(t.silt.command("metrics", trace).text)
    chunks = [at for at in range(0, len(data), 8) if data.startswith(b"\xf5slt", at)]
    bills = [i for i, at in enumerate(chunks) if b"BILL" in data[at:at + 12]]
    assert len(bills) > 1, bills
    for n, i in enumerate(reversed(bills)):
        data[(chunks[i] + chunks[i + 1]) // 2] ^= 1
        with open(trace, "wb") as f:
            f.write(data)
        r = t.silt.command("metrics", trace)
        assert r.code == 0 and not r.errors, r.errors
        got = parse(r.text)
        assert value(got, "silt_trace_damaged") == 1 and value(got, "silt_heap_allocations_total") == value(whole, "silt_heap_allocations_total")
        if n < len(bills) - 1:
            assert value(got, "silt_bill_age_seconds") > value(whole, "silt_bill_age_seconds")
        else:
            assert not values(got, "silt_bill_age_seconds")


def test_hostile_scrapers(t):
    trace = t.path("t.silt")
    t.silt.record(trace, [t.helper(), "allocate", "10"])
    e = Endpoint(t, "metrics", "--listen", "127.0.0.1:0", trace)
    good = e.scrape()
    before = resident(e.process.pid)
    for path, status in (("/", 200), ("/metrics?x=1", 200), ("/metrics/", 404), ("/nothing", 404), ("/../etc/passwd", 404), ("/" + "a" * 8000, 404)):
        assert e.get(path).status == status, path
    assert e.get(method="POST").status == 405 and e.get("/metrics", "Connection: close", method="HEAD").status == 200
    assert status_of(e.send(b"GET /metrics HTTP/1.1\r\nHost: evil.example\r\n\r\n")) == 403
    assert status_of(e.send(b"GET /metrics HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\n\r\nhello")) == 413
    for data in (b"GET /metrics HTTP/1.1\r\nX: " + b"a" * 100000 + b"\r\n\r\n", b"\x16\x03\x01\x02\x00\x01\x00\r\n\r\n",
                 b"GET /\xff\xfe HTTP/9.9\r\n\r\n", b"GET\r\n\r\n"):
        assert status_of(e.send(data, ends=True)) in (None, 400, 403, 404, 413, 431, 505), data[:40]
    for _ in range(t.count(100, 3000)):
        data = bytearray(b"GET /metrics HTTP/1.1\r\nHost: localhost\r\nAccept: application/openmetrics-text;q=0.3, text/plain\r\n\r\n")
        for _ in range(t.chance.randrange(1, 6)):
            data[t.chance.randrange(len(data))] = t.chance.randrange(256)
        with socket.create_connection(("127.0.0.1", e.port), timeout=300) as s:  # which may not be a whole request
            s.sendall(data)
    crowd = []
    for i in range(300):  # half ask and never read, half never finish asking
        s = socket.create_connection(("127.0.0.1", e.port), timeout=300)
        s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1024)
        try:
            s.sendall(b"GET /metrics HTTP/1.1\r\n" + (b"Host: localhost\r\n\r\n" * (i % 2)))
        except ConnectionError:
            pass
        crowd.append(s)
    assert {k: v for k, v in e.scrape().items()} == good, "whoever comes behind a crowd is answered"
    assert len(os.listdir(f"/proc/{e.process.pid}/task")) <= 3
    assert len(os.listdir(f"/proc/{e.process.pid}/fd")) <= 200
    assert resident(e.process.pid) - before < 32 << 20
    for s in crowd:
        s.close()
    e.process.terminate()
    assert e.process.wait(20) == 0


def test_the_document_tells_every_metric(t):
    with open(os.path.join(ROOT, "docs", "metrics.md")) as f:
        told = set(re.findall(r"`(silt_[a-z_]+)", f.read()))
    with open(os.path.join(ROOT, "src", "metrics", "metric_names.c")) as f:
        found = re.findall(r'\{"(silt_[a-z_]+)", METRIC_([A-Z]+)', f.read())
    names = {n + {"COUNTER": "_total", "INFO": "_info"}.get(kind, "") for n, kind in found}
    assert len(names) == len(found) > 30 and names <= told, f"not told: {names - told}"
    assert {n for n in told if not n.endswith("_")} <= names, f"there is none: {told - names}"


def test_short_processes_are_no_series(t):
    trace = t.path("t.silt")
    t.silt.record(trace, ["sh", "-c", "for i in 1 2 3 4 5 6 7 8 9; do cat /dev/null; done; :"])
    e = Endpoint(t, "metrics", "--listen", "127.0.0.1:0", trace)
    metrics = e.scrape()
    assert len(values(metrics, "silt_up")) == 1 and value(metrics, "silt_up", program="sh") == 0
    assert value(metrics, "silt_processes_not_told", program="sh") == 9
    assert len(values(parse(t.silt.command("metrics", trace).text), "silt_up")) == 10
    e.process.terminate()
    assert e.process.wait(20) == 0


def test_an_attached_process(t):
    p = subprocess.Popen([t.helper(), "allocate", "100000"], stdout=subprocess.DEVNULL)
    t.running.append(p)
    e = Endpoint(t, "attach", str(p.pid), "--sample", "512K", "--max-size", "1M", "--metrics", "127.0.0.1:0", "-o", t.path("t.silt"))
    metrics = e.scrape()
    assert value(metrics, "silt_up", pid=str(p.pid)) == 1 and value(metrics, "silt_sample_distance_bytes") == 512 << 10
    e.process.send_signal(signal.SIGINT)
    assert e.process.wait(60) == 0
    deadline = time.monotonic() + 60
    while value(metrics := e.scrape(), "silt_up", pid=str(p.pid)) == 1:
        give_up(deadline, "it was not seen to end")
        time.sleep(0.1)
    assert p.poll() is None, "it was left running"
    p.kill()


def test_a_port_that_is_taken(t):
    """The program is recorded all the same; when the port is free, the endpoint is there."""
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = other.getsockname()[1]
        p = subprocess.Popen([t.silt.path, "run", "--metrics", f"127.0.0.1:{port}", "-o", t.path("t.silt"), t.helper(), "allocate", "100000"],
                             stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, start_new_session=True)
        t.running.append(p)
        said = p.stderr.readline().decode()
        assert f"cannot listen on port {port}: another program does" in said, said
    said = p.stderr.readline().decode()
    assert f"http://127.0.0.1:{port}/metrics" in said, said
    p.terminate()
    assert p.wait(60) == 128 + signal.SIGTERM


def test_addresses(t):
    trace = t.path("t.silt")
    t.silt.record(trace, [t.helper(), "allocate", "10"])
    for address in ("x", "127.0.0.1", "127.0.0.1:", ":99999", "::1:9", "host:1:2", "", "127.0.0.1:1x"):
        r = t.silt.command("metrics", "--listen", address, trace)
        assert r.code == 2 and "is not an address and a port" in r.errors, (address, r.errors)
        r = t.silt.command("run", "--metrics", address, "-o", t.path("none.silt"), "true")
        assert r.code == 125 and "is not an address and a port" in r.errors, (address, r.errors)
    r = t.silt.command("metrics", "--listen", "nowhere.example:9", trace)
    assert r.code == 2 and "is not an address" in r.errors, r.errors
    r = t.silt.command("metrics", t.path("missing.silt"))
    assert r.code == 2 and len(r.errors.splitlines()) == 1, r.errors


BOOKS = r"""
#include <dlfcn.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
typedef int (*ctl_fn)(const char *, void *, size_t *, void *, size_t);
static size_t ctl(ctl_fn f, const char *name) {
        size_t value = 0, n = sizeof(value);
        return f(name, &value, &n, NULL, 0) ? 0 : value;
}
int main(void) {
        static void *kept[30000];
        size_t usable = 0;
        ctl_fn mallctl = (ctl_fn)dlsym(RTLD_DEFAULT, "mallctl");
        size_t (*usable_size)(void *) = (size_t (*)(void *))dlsym(RTLD_DEFAULT, "mi_usable_size");
        setvbuf(stdout, NULL, _IONBF, 0);
        for (unsigned i = 0; i < 30000; i++) {
                kept[i] = malloc(i % 977 * (i % 31 ? 1 : 90) + 1);
                memset(kept[i], 1, 1);
                if (i % 3 == 0) { free(kept[i / 2]); kept[i / 2] = NULL; }
        }
        void *large = malloc(40 << 20); /* pages that are given up, and some of them taken again */
        memset(large, 1, 40 << 20);
        free(large);
        large = malloc(10 << 20);
        memset(large, 1, 10 << 20);
        usable += usable_size ? usable_size(large) : 0;
        for (unsigned i = 0; usable_size && i < 30000; i++) usable += usable_size(kept[i]);
        char c;
        do if (mallctl) {
                unsigned long epoch = 1;
                mallctl("epoch", NULL, NULL, &epoch, sizeof(epoch));
                printf("jemalloc %zu %zu %zu %zu %zu\n", ctl(mallctl, "stats.allocated"), ctl(mallctl, "stats.active"),
                       ctl(mallctl, "stats.metadata"), ctl(mallctl, "stats.resident"), ctl(mallctl, "stats.retained"));
        } else if (usable_size) {
                printf("mimalloc %zu 0\n", usable);
        } else {
                struct mallinfo2 m = mallinfo2();
                printf("glibc %zu %zu\n", m.uordblks + m.hblkhd, m.arena + m.hblkhd);
        }
        while (read(0, &c, 1) > 0);
        return 0;
}
"""


def test_allocators_own_books(t):
    """What is read from outside is what the program's allocator tells of itself."""
    program = t.path("books")
    with open(program + ".c", "w") as f:
        f.write(BOOKS)
    r = run(["gcc", "-O1", "-fno-builtin", program + ".c", "-o", program, "-ldl"])
    assert r.code == 0, r.errors
    for library in (None, "libjemalloc.so.2", "libmimalloc.so.2"):
        env = dict(os.environ, **({"LD_PRELOAD": library} if library else {}))
        p = subprocess.Popen([program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=env)
        t.running.append(p)
        name = p.stdout.readline().decode().split()[0]
        if library and name == "glibc":
            t.notes.append(f"no {library} here")
            p.stdin.close()
            continue
        e = Endpoint(t, "metrics", "--listen", "127.0.0.1:0", str(p.pid))  # entering it takes some memory
        p.stdin.write(b"x")
        p.stdin.flush()
        _, allocated, active, *more = p.stdout.readline().decode().split()
        metrics = e.scrape()
        told = {s: value(metrics, "silt_allocator_bytes", allocator=name, state=s) for s in ("allocated", "active")}
        assert {dict(labels)["allocator"] for n, labels in metrics if n == "silt_allocator_bytes"} == {name}, "the C library has nothing beside another"
        others = {s: v for s in ("metadata", "resident", "retained") for v in values(metrics, "silt_allocator_bytes", allocator=name, state=s)}
        assert others == dict(zip(("metadata", "resident", "retained"), map(int, more))), (name, others, more)
        if name == "mimalloc":  # the C library has some blocks of its own in it
            assert 0 <= told["allocated"] - int(allocated) < 65536 and told["active"] >= told["allocated"], (told, allocated)
        else:
            assert told == {"allocated": int(allocated), "active": int(active)}, (name, told, allocated, active)
        assert value(metrics, "silt_up") == 1 and value(metrics, "silt_prior_bytes") > 0 and value(metrics, "silt_sample_distance_bytes") == 524288
        e.process.terminate()
        assert e.process.wait(60) == 0
        p.stdin.close()
        assert p.wait(60) == 0, "it was left as it was"


def test_an_allocator_that_cannot_be_read(t):
    """Nothing is told in the place of tcmalloc's books, which silt does not read."""
    library = "libtcmalloc_minimal.so.4"
    p = subprocess.Popen(["cat"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=dict(os.environ, LD_PRELOAD=library))
    t.running.append(p)
    p.stdin.write(b"is there\n")
    p.stdin.flush()
    assert p.stdout.readline() == b"is there\n"
    with open(f"/proc/{p.pid}/maps") as f:
        if library not in f.read():
            skip(f"no {library} here")
    e = Endpoint(t, "metrics", "--listen", "127.0.0.1:0", str(p.pid))
    metrics = e.scrape()
    assert value(metrics, "silt_up") == 1 and not values(metrics, "silt_allocator_bytes"), metrics
    e.process.terminate()
    assert e.process.wait(60) == 0
    p.stdin.close()
    assert p.wait(60) == 0


SITES = """
#include <stdlib.h>
#include <unistd.h>
static void *volatile kept[2];
__attribute__((noinline)) static void one(void) { kept[0] = malloc(100000); }
__attribute__((noinline)) static void other(void) { kept[1] = malloc(200000); }
int main(void) { one(); other(); return 0; }
"""


def test_code_without_names(t):
    """Two call paths are two series, also where the nearest name that is left is that of another function: the same in each run."""
    program = t.path("sites")
    with open(program + ".c", "w") as f:
        f.write(SITES)
    for options in ([], ["-rdynamic"]):  # then main has a name
        r = run(["gcc", "-O1", "-fno-builtin", "-s", *options, program + ".c", "-o", program])
        assert r.code == 0, r.errors
        told = []
        for trace in (t.path("1.silt"), t.path("2.silt")):
            t.silt.record(trace, [program], ["-f"])
            metrics = parse(t.silt.command("metrics", trace).text)
            told.append({dict(labels)["site"]: v for (name, labels), v in metrics.items() if name == "silt_site_live_bytes"})
        assert sorted(told[0].values()) == [100000, 200000] and told[0] == told[1], told


def test_packed(t):
    """gzip for whoever takes it, of the same bytes; Prometheus does."""
    trace = t.path("t.silt")
    t.silt.record(trace, [t.helper(), "allocate", "10"])
    e = Endpoint(t, "metrics", "--listen", "127.0.0.1:0", trace)

    def ask(*headers):
        head, _, body = e.send("\r\n".join(["GET /metrics HTTP/1.1", "Host: localhost", "Connection: close", *headers, "", ""]).encode()).partition(b"\r\n\r\n")
        assert head.startswith(b"HTTP/1.1 200 "), head
        is_packed = b"content-encoding: gzip" in head.lower()
        return is_packed, gzip.decompress(body) if is_packed else body, len(body)

    for accept in ("text/plain", "application/openmetrics-text"):
        deadline = time.monotonic() + 60
        while not (packed := ask(f"Accept: {accept}", "Accept-Encoding: gzip"))[0]:  # made when somebody takes it for the first time
            give_up(deadline, "never packed")
            time.sleep(0.2)
        plain = ask(f"Accept: {accept}")
        assert not plain[0] and not ask(f"Accept: {accept}", "Accept-Encoding: gzip;q=0, identity")[0]
        assert packed[2] < plain[2] / 3, (packed[2], plain[2])
        assert (b"# EOF\n" in packed[1]) == (accept != "text/plain")
        same = [{k: v for k, v in parse(body.decode()).items() if not k[0].endswith("_age_seconds")} for body in (packed[1], plain[1])]
        assert same[0] == same[1], same
    e.process.terminate()
    assert e.process.wait(20) == 0


def test_a_folder(t):
    """Every recording that is being written, as they come and go; finished ones are not told."""
    folder = t.path("watched")
    os.mkdir(folder)
    t.silt.record(os.path.join(folder, "old.silt"), ["true"])
    with open(os.path.join(folder, "none.silt"), "w") as f:
        f.write("no trace")
    e = Endpoint(t, "metrics", "--listen", "127.0.0.1:0", folder)
    deadline = time.monotonic() + 60
    assert not values(e.scrape(), "silt_up")
    recordings = [subprocess.Popen(t.silt.run_argv(os.path.join(folder, f"{n}.silt"), [t.helper(), "allocate", "100000"]), stdout=subprocess.DEVNULL)
                  for n in range(3)]
    t.running.extend(recordings)
    while len(ups := values(now := e.scrape(), "silt_up")) < 3:
        give_up(deadline, f"not all were told: {ups}")
        time.sleep(0.3)
    assert ups == [1, 1, 1]
    gone = min(int(dict(l)["pid"]) for n, l in now if n == "silt_up")
    os.kill(gone, signal.SIGTERM)
    while value(now := e.scrape(), "silt_up", pid=str(gone)) == 1:
        give_up(deadline, "one was not seen to end")
        time.sleep(0.3)
    assert sorted(values(now, "silt_up")) == [0, 1, 1]
    for r in recordings:
        r.terminate()
    e.process.terminate()
    assert e.process.wait(20) == 0


def test_leaks_findings_and_the_bill(t):
    trace = t.path("t.silt")
    program = t.path("leaky")
    with open(program + ".c", "w") as f:
        f.write("#include <stdlib.h>\n#include <unistd.h>\nint main(void) { for (int i = 0; i < 1000; i++) if (!malloc(1000) || usleep(1000)) return 1; return 0; }\n")
    assert run(["gcc", "-O0", program + ".c", "-o", program]).code == 0
    t.silt.record(trace, [program], ["--leaks"])
    metrics = parse(t.silt.command("metrics", trace).text)
    leaks = t.silt.command("leaks", "--json", trace).stdout
    found, wrong = t.silt.report(trace)
    assert not wrong, wrong
    assert value(metrics, "silt_leaked_bytes") >= 999000 and value(metrics, "silt_leaked_blocks") >= 999, leaks
    kinds = {}
    for f in found["findings"]:
        kinds[f["kind"]] = kinds.get(f["kind"], 0) + 1
    assert {dict(l)["kind"]: v for (n, l), v in metrics.items() if n == "silt_findings"} == kinds
    bill = parse_json(t.silt.command("bill", "--json", trace).stdout)
    told = {dict(l)["part"]: v for (n, l), v in metrics.items() if n == "silt_bill_bytes"}
    assert told and told == {p["part"]: p["bytes"] for p in bill["parts"]} | {k: 0 for k, v in told.items() if v == 0}, (told, bill["parts"])
