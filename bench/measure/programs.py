# SPDX-License-Identifier: MIT
"""The workloads: how each is built and run, and what recording it may cost."""
import os
import shlex
import shutil
import subprocess
import time
from dataclasses import dataclass, field

WORK = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "workloads")
N_PAIRS = 8_000_000  # of a loop, over all its threads


@dataclass
class Workload:
    name: str
    argv: list
    env: dict = field(default_factory=dict)
    threads: int = 1          # that allocate
    is_real: bool = True      # a program as people run it, not a loop made for measuring
    wall_max: float = 0       # aims beside the common ones; 0: none
    cpu_max: float = 0
    events_per_s_min: float = 0
    recorder_ns_max: float = 0
    product: str = ""         # a file it writes, compared between the ways of running
    client: object = None     # for a server: what is timed while it runs
    tool_cpu: int = -1        # where all runs but the server and its client, which have a core of their own; -1: no matter
    has_output: bool = True   # its standard output is the same each time


class Missing(Exception):
    """A workload that cannot be built here, and why."""


def stale(target, *sources):
    return not os.path.exists(target) or any(os.path.getmtime(target) < os.path.getmtime(s) for s in sources)


def run_compiler(argv, **more):
    if not shutil.which(argv[0]):
        raise Missing(f"{argv[0]} is not installed")
    done = subprocess.run(argv, capture_output=True, text=True, **more)
    if done.returncode:
        raise Missing(f"{shlex.join(argv)}: {done.stderr[-400:]}")


def compiled(out, compiler, source, *flags, suffix=""):
    target = os.path.join(out, os.path.splitext(source)[0] + suffix)
    path = os.path.join(WORK, source)
    if stale(target, path):
        run_compiler([*compiler, path, "-o", target, *flags])
    return target


LOOP_CC = ["gcc", "-O2", "-g", "-fno-builtin", "-fomit-frame-pointer", "-fno-optimize-sibling-calls", "-pthread"]


def rustc():
    """Debian's own where there is one: its libraries are built for it."""
    return "/usr/bin/rustc" if os.path.exists("/usr/bin/rustc") else "rustc"


def tokio_program(out):
    """Built without a network, from the crates that librust-tokio-dev installs."""
    target = os.path.join(out, "tokio", "release", "tasks")
    sources = [os.path.join(WORK, "tokio", name) for name in ("Cargo.toml", "tasks.rs")]
    if not stale(target, *sources):
        return target
    if not os.path.isdir("/usr/share/cargo/registry"):
        raise Missing("librust-tokio-dev is not installed")
    project = os.path.join(out, "tokio", "project")
    os.makedirs(project, exist_ok=True)
    for source in sources:
        shutil.copy(source, project)
    cargo = "/usr/bin/cargo" if os.path.exists("/usr/bin/cargo") else "cargo"
    where = {"CARGO_TARGET_DIR": os.path.dirname(os.path.dirname(target)), "CARGO_HOME": os.path.join(out, "tokio", "home"),
             "RUSTC": rustc()}
    run_compiler([cargo, "build", "--release", "--offline", "--config", 'source.crates-io.replace-with="debian"',
                  "--config", 'source.debian.directory="/usr/share/cargo/registry"'], cwd=project, env={**os.environ, **where})
    return target


def compiler_proper(driver, source, product):
    """The compiler that the driver would run, without the driver."""
    if not shutil.which(driver):
        raise Missing(f"{driver} is not installed")
    said = subprocess.run([driver, "-###", "-O2", "-w", "-S", os.path.join(WORK, source), "-o", product],
                          check=True, capture_output=True, text=True).stderr
    for line in said.splitlines():
        words = shlex.split(line)
        if any(word.endswith("/cc1plus") or word == "-cc1" for word in words):
            return words
    raise Missing(f"'{driver} -###' names no compiler")


def pin(pid, cpu):
    """All threads of a process to one core."""
    for thread in os.listdir(f"/proc/{pid}/task"):
        os.sched_setaffinity(int(thread), {cpu})


class RedisClient:
    """Waits for the server, and times redis-benchmark. cpu: the core of both, if not -1."""

    def __init__(self, socket, n_requests, cpu=-1):
        self.socket, self.n_requests, self.cpu = socket, n_requests, cpu

    def server_pid(self):
        told = self.cli("info", "server").stdout.splitlines()
        return next(int(line.split(":")[1]) for line in told if line.startswith("process_id:"))

    def cli(self, *words):
        return subprocess.run(["redis-cli", "-s", self.socket, *words], capture_output=True, text=True)

    def wait(self, process):
        for _ in range(600):
            if self.cli("ping").stdout.strip() == "PONG":
                return True
            if process.poll() is not None:
                return False
            time.sleep(0.02)
        return False

    def run(self):
        """Wall seconds, and what it did, as text that is the same each time."""
        place = []
        if self.cpu >= 0:
            pin(self.server_pid(), self.cpu)
            place = ["taskset", "-c", str(self.cpu)]
        before = time.monotonic()
        done = subprocess.run([*place, "redis-benchmark", "-s", self.socket, "-t", "set,lpush", "-n", str(self.n_requests), "-c", "20",
                               "-P", "16", "-d", "64", "-r", "100000", "--csv"], capture_output=True, text=True)
        wall = time.monotonic() - before
        tests = [line.split(",")[0] for line in done.stdout.splitlines()[1:]]
        pushed = self.cli("llen", "mylist").stdout.strip()
        return wall, f"{done.returncode} {tests} {pushed}"

    def stop(self):
        self.cli("shutdown", "nosave")


def redis(name, out, cpu=-1, **aims):
    for program in ("redis-server", "redis-benchmark", "redis-cli", "taskset"):
        if not shutil.which(program):
            raise Missing(f"{program} is not installed")
    socket = os.path.join(out, "redis.sock")
    argv = ["redis-server", "--port", "0", "--unixsocket", socket, "--save", "", "--appendonly", "no", "--dir", out]
    return Workload(name, argv, threads=5, has_output=False, client=RedisClient(socket, 400_000, cpu), **aims)


def redis_shared(name, out):
    """Server, client and recorder are three busy processes, on two cores."""
    return redis(name, out, wall_max=1.5)


def redis_alone(name, out):
    """Server and client on one core in all ways of running it, what records on another."""
    cpus = sorted(os.sched_getaffinity(0))
    if len(cpus) < 2:
        raise Missing("there is one core only")
    return redis(name, out, cpus[-1], tool_cpu=cpus[0], wall_max=1.25)


def server(name, out):
    return Workload(name, [compiled(out, ["g++", "-O2", "-g"], "server.cc"), "300000"])


def pools(name, out):
    return Workload(name, [compiled(out, ["g++", "-O2", "-g"], "pools.cc"), "16000"])


def exchange(way):
    def make(name, out):
        program = compiled(out, ["gcc", "-O2", "-g", "-pthread"], "exchange.c")
        return Workload(name, [program, way, "8", str(N_PAIRS // (8 if way == "hand" else 16))], threads=8, is_real=False)
    return make


def sqlite(name, _):
    if not shutil.which("sqlite3"):
        raise Missing("sqlite3 is not installed")
    return Workload(name, ["sqlite3", ":memory:", f".read {WORK}/work.sql"], wall_max=1.25)


def python(name, _):
    return Workload(name, ["/usr/bin/python3", f"{WORK}/work.py"], wall_max=1.25,
                    env={"PYTHONMALLOC": "malloc", "PYTHONHASHSEED": "0"})


def rust(name, out):
    program = compiled(out, [rustc(), "-O", "-g", "--edition", "2021"], "threads.rs")
    return Workload(name, [program, "1250", "8"], threads=8)


def tokio(name, out):
    return Workload(name, [tokio_program(out), "64", "2500"], threads=3)


def compiler(driver, source, **aims):
    def make(name, out):
        product = os.path.join(out, f"{driver}.{source}.s")
        return Workload(name, compiler_proper(driver, source, product), wall_max=1.3, product=product, **aims)
    return make


PROGRAMS = {
    "C++ with its own new and pools": pools,
    "blocks freed by others, handed on": exchange("hand"),
    "blocks freed by others, swapped": exchange("swap"),
    "server with a leak": server,
    "sqlite3 in memory": sqlite,
    "python3, PYTHONMALLOC=malloc": python,
    "redis-server, recorder apart": redis_alone,
    "redis-server, two shared cores": redis_shared,
    "Rust, 8 threads": rust,
    "tokio": tokio,
    "cc1plus -O2": compiler("g++", "compile.cc", recorder_ns_max=35),
    "clang -O2": compiler("clang", "compile.cc"),
    "cc1plus -O2, large file": compiler("g++", "compile_large.cc", recorder_ns_max=35),
    "clang -O2, large file": compiler("clang", "compile_large.cc"),
}


def loops():
    """Their argv begins with the name of the program to build."""
    for depth, all_threads in ((4, (1, 8)), (16, (1, 2, 4, 8)), (64, (1, 8))):
        for threads in all_threads:
            name = f"loop, depth {depth}, " + ("1 thread" if threads == 1 else f"{threads} threads")
            yield Workload(name, ["loop", str(depth), str(threads), str(N_PAIRS // threads)], threads=threads, is_real=False,
                           wall_max=3.5 if (depth, threads) == (16, 1) else 0, cpu_max=6 if threads > 1 else 0, recorder_ns_max=30)
    yield Workload("loop, depth 16, 250,000 live", ["loop", "16", "1", str(N_PAIRS // 2), "250000"], is_real=False,
                   events_per_s_min=8e6)
    yield Workload("loop, 4 threads, 100,000 live each", ["loop", "16", "4", str(N_PAIRS // 8), "100000"], threads=4, is_real=False)
    yield Workload("hostile loop, depth 16", ["hostile", "16", "1", str(N_PAIRS // 2)], is_real=False)


def names():
    """Of all workloads, in the order of the tables."""
    return [w.name for w in loops()] + list(PROGRAMS)


def all_workloads(out, wanted):
    """Those whose name `wanted` accepts, and {name: why} of those that cannot be had here."""
    os.makedirs(out, exist_ok=True)
    found, missing = [w for w in loops() if wanted(w.name)], {}
    for w in found:
        w.argv[0] = compiled(out, LOOP_CC, w.argv[0] + ".c")
    for name, make in PROGRAMS.items():
        if not wanted(name):
            continue
        try:
            found.append(make(name, out))
        except Missing as why:
            missing[name] = str(why)
    return found, missing


def noop(out):
    return compiled(out, ["gcc", "-O2", "-shared", "-fPIC"], "noop.c", "-ldl", suffix=".so")
