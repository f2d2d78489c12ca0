# SPDX-License-Identifier: MIT
"""silt leaks and holders of Rust programs that nobody records, whose allocator is a crate, as the crate builds it: every block that the
program counts, whatever the version. A version that silt does not know is refused in one line."""

import os
import re
import shutil
import subprocess

from allocators.real import soak_alone
from cases.tasks import ROOT
from harness.answer import parse
from harness.cases import skip
from harness.locks import Lock
from harness.process import kill_family, run

# feature, crate, its version ("": the newest of the registry)
VERSIONS = (("jemalloc", "tikv-jemallocator", "0.5"), ("jemalloc", "tikv-jemallocator", "0.6"), ("jemalloc_stats", "tikv-jemallocator", "0.6"),
            ("jemalloc", "tikv-jemallocator", "0.7"), ("jemalloc_stats", "tikv-jemallocator", "0.7"), ("mimalloc2", "mimalloc", "0.1"),
            ("mimalloc3", "mimalloc", "0.1"))
N_OTHERS = 40  # what the allocator and the C library have beside it
LOCK = Lock(os.path.join(ROOT, "tests/services"))


def build(t, feature, crate, version):
    if not shutil.which("cargo"):
        skip("no cargo")
    project = t.path("project")
    shutil.copytree(os.path.join(ROOT, "tests/services/blocks"), project)
    path = os.path.join(project, "Cargo.toml")
    with open(path) as f:
        text = re.sub(crate + r' = \{ version = "[^"]*"', f'{crate} = {{ version = "{version}"', f.read())
    with open(path, "w") as f:
        f.write(text)
    with LOCK:
        r = run(["cargo", "build", "-q", "-j2", "--release", "--features", feature], cwd=project,
                env={"CARGO_TARGET_DIR": os.path.join(t.context.work_dir, "blocks.target")}, timeout_s=3600)
        assert r.code == 0, r.errors
        shutil.copy(os.path.join(t.context.work_dir, "blocks.target/release/blocks"), t.path("blocks"))
    with open(os.path.join(project, "Cargo.lock")) as f:
        t.notes.append(f"{crate} " + re.search(rf'name = "{crate}"\nversion = "(.*)"', f.read())[1])
    return t.path("blocks")


def hold(t, feature, crate, version):
    process = subprocess.Popen([build(t, feature, crate, version)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    t.running.append(process)
    words = process.stdout.readline().split()
    assert words[0] == "ready", words
    n_blocks, n_bytes = int(words[2]), int(words[3])
    r = t.silt.command("leaks", str(process.pid), "--json")
    assert r.code == 0, r.errors
    got = parse(r.text)
    sums = [got[c] for c in ("definitely_lost", "indirectly_lost", "possibly_lost", "still_reachable")]
    assert 0 <= sum(s["blocks"] for s in sums) - n_blocks <= N_OTHERS, (got, n_blocks)
    assert n_bytes <= sum(s["bytes"] for s in sums) <= 1.2 * n_bytes, (got, n_bytes)
    assert got["incomplete"] == "" and got["unexplained_bytes"] < got["resident_bytes"] / 2, got
    assert got["definitely_lost"]["blocks"] >= 4 and got["definitely_lost"]["bytes"] < 6 * 9000, got  # the last may be in a register
    r = t.silt.command("holders", str(process.pid), "--json")
    assert r.code == 0 and parse(r.text)["incomplete"] == "", r.errors
    kill_family(process.pid)


def make_tests():
    for feature, crate, version in VERSIONS:
        def test(t, feature=feature, crate=crate, version=version):
            hold(t, feature, crate, version)
        globals()[f"test_{feature}_{version.replace('.', '_')}"] = soak_alone(test)


make_tests()
