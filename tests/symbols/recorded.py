# SPDX-License-Identifier: MIT
"""From a recording to the names in its report, through the whole of silt."""

import importlib.util
import os
import shutil

_spec = importlib.util.spec_from_file_location("_probe", os.path.join(os.path.dirname(__file__), "_probe.py"))
_probe = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(_probe)
Shapes, need, sh, LINES = _probe.Shapes, _probe.need, _probe.sh, _probe.LINES
HERE = os.path.dirname(os.path.abspath(__file__))


def record(t, argv, name="t.silt"):
    r = t.silt.record(t.path(name), argv, options=["-f"])
    assert r.code == 0, (r.code, r.errors)
    return t.path(name)


def stack_of(t, trace, size):
    report, problem = t.silt.report(trace, "--by", "allocated", "--top", "50")
    assert report, problem
    for site in report["top"][0]["sites"]:
        if site["bytes"] == size:
            return [(f["function"], os.path.basename(f["file"]), f["line"], f["inlined"]) for f in site["stack"]]
    raise AssertionError(f"no block of {size} bytes: {report['top'][0]['sites']}")


OUTER, HIDDEN = 1 * 100 * 2 + 3, 1 * 100 + 1  # bytes that shapes.c asks for, for each argument


def expect_names(t, trace, source="shapes.c", argc=1):
    outer = 200 * argc + 3
    assert stack_of(t, trace, outer)[:2] == [("shapes_inner", source, LINES["INNER"], True),
                                             ("shapes_outer", source, LINES["OUTER"], False)], stack_of(t, trace, outer)
    assert stack_of(t, trace, 100 * argc + 1)[0] == ("shapes_hidden", source, LINES["HIDDEN"], False)


def test_names_of_a_recording(t):
    """A debug file beside the program, a package beside the program, zstd: found when the recording ends."""
    p = Shapes(t, "-g", "-fno-builtin")
    sh("objcopy", "--compress-debug-sections=zstd", p.path)
    p.split_debug(p.file("shapes.debug"))
    expect_names(t, record(t, [p.path]))
    need("llvm-dwp")
    p = Shapes(t, "-g", "-gdwarf-5", "-gsplit-dwarf", "-fno-builtin", compiler="clang", folder=t.path("split"))
    sh("llvm-dwp", p.file("shapes.dwo"), "-o", p.path + ".dwp")
    os.unlink(p.file("shapes.dwo"))
    expect_names(t, record(t, [p.path]))


def test_names_come_later(t):
    """The debug file turns up when the program is long gone."""
    p = Shapes(t, "-g", "-fno-builtin")
    p.split_debug(p.build_id_path(t.path("debug")), link=False)
    trace = record(t, [p.path])
    assert all(f[2] == 0 for f in stack_of(t, trace, OUTER)[:2])
    os.unlink(p.path)
    r = t.silt.command("symbolize", "--no-cache", "--debug-path", t.path("debug"), trace)
    assert r.code == 0, r.errors
    expect_names(t, trace)


def test_a_program_replaced_while_it_ran(t):
    """Names of the new file would be wrong ones."""
    p, other = Shapes(t, "-g", "-fno-builtin"), Shapes(t, "-g", "-O0", "-fno-builtin", name="other")
    with open(t.path("replace.sh"), "w") as f:
        f.write(f"cp {p.path} {t.path('running')}; {t.path('running')}; cp -f --remove-destination {other.path} {t.path('running')}\n")
    trace = record(t, ["/bin/sh", t.path("replace.sh")])
    report, problem = t.silt.report(trace, "--process", "all", "--by", "allocated", "--top", "500")
    assert report, problem
    frames = [f for site in report["top"][0]["sites"] for f in site["stack"] if f["module"] == t.path("running")]
    assert frames and all(f["line"] == 0 and f["function"] == "" for f in frames), frames


def test_a_program_without_a_path(t):
    """Removed before it began: its build-id still tells which debug file is right."""
    p = Shapes(t, "-g", "-fno-builtin")
    p.split_debug(p.build_id_path(t.path("debug")), link=False)
    shutil.copy(p.path, t.path("gone"))
    trace = record(t, ["/bin/sh", "-c", f"exec 3<{t.path('gone')}; rm {t.path('gone')}; exec /proc/self/fd/3 stay"])
    r = t.silt.command("symbolize", "--no-cache", trace)
    assert r.code == 0 and b"gone (deleted)" in r.stdout, (r.stdout, r.errors)
    r = t.silt.command("symbolize", "--no-cache", "--debug-path", t.path("debug"), trace)
    assert r.code == 0, r.errors
    expect_names(t, trace, argc=2)


def test_signal_frames_in_the_vdso(t):
    sh("gcc", "-g", "-O2", "-fno-builtin", "-o", t.path("signalled"), os.path.join(HERE, "signalled.c"))
    frames = [f[0] for f in stack_of(t, record(t, [t.path("signalled")]), 4321)]
    assert frames[0] == "on_signal" and "main" in frames, frames
    if os.uname().machine == "aarch64":
        assert frames[1] == "__kernel_rt_sigreturn", frames


def damage(rng, content):
    """Another byte, another number, or an end, somewhere behind the build-id."""
    at = rng.randrange(1024, len(content))
    how = rng.randrange(4)
    if how == 0:
        content[at] ^= 1 << rng.randrange(8)
    elif how == 1:
        content[at:at + 8] = rng.choice((b"\xff" * 8, bytes(8), (1 << 63).to_bytes(8, "little")))
    elif how == 2:
        content[at:at + 64] = rng.randbytes(64)
    else:
        del content[at:]


def test_damaged_files_cost_nothing_else(t):
    """Programs, debug files and packages changed at random: the trace stays whole, the C library keeps its names."""
    need("llvm-dwp")
    p = Shapes(t, "-g", "-fno-builtin")
    q = Shapes(t, "-g", "-gdwarf-5", "-gsplit-dwarf", "-fno-builtin", compiler="clang", name="packed")
    sh("llvm-dwp", q.file("packed.dwo"), "-o", q.path + ".dwp")
    os.unlink(q.file("packed.dwo"))
    kept = {}
    for path in (p.path, q.path, q.path + ".dwp"):
        with open(path, "rb") as f:
            kept[path] = f.read()
    traces = {prog: record(t, [prog], os.path.basename(prog) + ".silt") for prog in (p.path, q.path)}
    rng = t.chance
    for n in range(t.count(15, 600)):
        path = rng.choice(list(kept))
        content = bytearray(kept[path])
        for _ in range(rng.choice((1, 2, 10))):
            if len(content) > 2048:
                damage(rng, content)
        with open(path, "wb") as f:
            f.write(content)
        trace = traces[path.removesuffix(".dwp")]
        r = t.silt.command("symbolize", "--no-cache", trace)
        what = f"number {n}, {path}"
        assert r.code == 0, f"{what}: {r.code}: {r.errors}"
        assert t.silt.command("verify", trace).code == 0, what
        frames = stack_of(t, trace, HIDDEN)
        assert any("libc_start" in f[0] for f in frames), f"{what}: {frames}"
        with open(path, "wb") as f:
            f.write(kept[path])
    for prog, trace in traces.items():
        assert t.silt.command("symbolize", "--no-cache", trace).code == 0
        expect_names(t, trace, os.path.basename(prog) + ".c")
