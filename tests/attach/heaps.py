# SPDX-License-Identifier: MIT
"""What a jemalloc or a mimalloc had before silt came, read from outside: to the byte what jemalloc says itself, and what is alive."""

import os
import shutil
import time

from allocators._workshop import Workshop
from attach._target import Attached, Target, record
from harness.cases import skip
from harness.process import give_up, run


def build(t, kind):
    """so: Debian's library; rust: inside the program, under other names and without symbols; mi: mimalloc's library; mi_inside: a part of the program."""
    if kind.startswith("mi"):
        link = ["-lmimalloc"] if kind == "mi" else ["-s", Workshop(t.context).mimalloc()]
        return t.context.attached.build("heaps_" + kind, ["heaps.c"], flags=["-DPREFIX=mi_", "-DMIMALLOC"], link=[*link, "-lpthread"])
    if kind == "so":
        return t.context.attached.build("heaps_so", ["heaps.c"], flags=["-DPREFIX=", "-fno-builtin"], link=["-ljemalloc", "-lpthread"])
    archive = Workshop(t.context).prefixed_jemalloc("_rjem_")
    return t.context.attached.build("heaps_rust", ["heaps.c"], flags=["-DPREFIX=_rjem_", "-s"], link=[archive, "-lm", "-ldl", "-lpthread"])


class Known(Target):
    """heaps.c, which says what it has."""

    def __init__(self, t, kind, *args, **popen):
        super().__init__(t, [build(t, kind), *(str(a) for a in args)], says_ready=False, **popen)
        words = self.process.stdout.readline().split()
        assert words[:1] == [b"ready"], words
        self.used_bytes, self.held_bytes = (int(w) for w in words[2:4])


def prior_of(t, name, trace=None):
    report, why = t.silt.report(trace or t.path("t.silt"))
    assert report, why
    return next((x for x in report["prior"]["allocators"] if x["name"] == name), None)


def told(t, target, name="jemalloc", tries=20):
    """A machine that is busy may not have the time: another recording tells."""
    for _ in range(tries):
        record(t, target.pid)
        found = prior_of(t, name)
        if found:
            break
    return found


def test_quiet(t):
    """Small and large blocks of several arenas, most of them released again."""
    for kind, n_threads in (("so", 0), ("so", 5), ("rust", 3)):
        with Known(t, kind, n_threads) as target:
            found = told(t, target)
            assert found, "it was not recognised"
            assert found["used_bytes"] == target.used_bytes and found["held_bytes"] == target.held_bytes, (found, target.used_bytes, target.held_bytes)
            assert found["free_bytes"] == found["held_bytes"] - found["used_bytes"] and found["free_is_whole"], found
            assert found["arenas"] >= 2 and "mapped_blocks" not in found, found
            said = " ".join(t.silt.command("report", t.path("t.silt")).text.split())
            assert f"jemalloc's {found['arenas']} arenas held" in said and "in use" in said, said


def mimalloc_quiet(t, kind, n_threads, room_bytes):
    with Known(t, kind, n_threads) as target:
        found = told(t, target, "mimalloc")
        assert found, "it was not recognised"
        assert target.used_bytes <= found["used_bytes"] <= target.used_bytes + room_bytes, (found, target.used_bytes)
        assert found["used_bytes"] + found["free_bytes"] == found["held_bytes"] < 2 * target.used_bytes and "arenas" not in found, found
        said = " ".join(t.silt.command("report", t.path("t.silt")).text.split())
        assert "mimalloc held" in said and "then, about" in said and "in use" in said, said


def test_mimalloc(t):
    """Debian's library has the C library's few blocks too: one or two for each thread."""
    mimalloc_quiet(t, "mi", 0, 4096)
    mimalloc_quiet(t, "mi", 3, 4096)


def test_mimalloc_inside(t):
    """A part of the program, without symbols."""
    mimalloc_quiet(t, "mi_inside", 3, 0)


test_mimalloc_inside.repeats, test_mimalloc_inside.soak_repeats = 0, 10  # from its source


def busy(t, kind, name):
    with Known(t, kind, 4, "busy") as target:
        n_told = 0
        for _ in range(t.count(1, 200)):
            silt = Attached(t, target.pid, options=["--duration", "20ms"])
            assert silt.end(None) == 0, silt.said
            found = prior_of(t, name, silt.trace)
            if found:
                assert 40e6 < found["used_bytes"] < found["held_bytes"] < 1 << 32, found
                n_told += 1
        t.notes.append(f"{name}: told {n_told} times of {t.count(1, 200)}")


def test_busy(t):
    """All of it changes all the while: what is told is what there may be."""
    busy(t, "so", "jemalloc")
    busy(t, "mi", "mimalloc")


def test_preloaded(t):
    """A program that knows nothing of it. The C library's own arenas have nothing, and are not told of."""
    library = run(["gcc", "-print-file-name=libjemalloc.so.2"]).text.strip()
    script = "import sys; x = [b'x' * n for n in range(10000)]; print('ready', flush=True); sys.stdin.read()"
    with Target(t, ["python3", "-c", script], env={**os.environ, "LD_PRELOAD": library}) as target:
        found = told(t, target)
        assert found and 40e6 < found["used_bytes"] < 120e6, found


def test_redis(t):
    """Debian's redis-server has the library, the one with its own source's jemalloc an older one (5.2.1)."""
    for server in (shutil.which("redis-server"), Workshop(t.context).redis()):
        if not server or not shutil.which("redis-cli"):
            skip("redis is not installed")
        socket = t.path("redis")
        with Target(t, [server, "--port", "0", "--unixsocket", socket, "--save", "", "--dir", t.dir, "--enable-debug-command", "yes"],
                    says_ready=False) as target:
            end = time.monotonic() + 60
            while run(["redis-cli", "-s", socket, "ping"]).text.strip() != "PONG":
                give_up(end, "redis-server does not answer")
                time.sleep(0.1)
            assert run(["redis-cli", "-s", socket, "debug", "populate", "200000", "key", "100"]).code == 0
            found = told(t, target)
            info = run(["redis-cli", "-s", socket, "info", "memory"]).text
            figures = dict(line.split(":", 1) for line in info.split() if ":" in line)
            for name, wanted in (("used_bytes", "allocator_allocated"), ("held_bytes", "allocator_active")):
                assert found and abs(found[name] - int(figures[wanted])) < 0.03 * int(figures[wanted]), (found, figures)


test_redis.repeats, test_redis.soak_repeats = 0, 1
