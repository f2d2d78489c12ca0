# SPDX-License-Identifier: MIT
"""How functions are called, and which frames are shown: on real libraries and in reports."""

import glob
import os
import re
import subprocess

from harness.cases import skip
from harness.forest import call_paths

LIBRARIES = ["/usr/lib/*/libLLVM-*.so.1", "/usr/lib/llvm-*/lib/libclang-cpp.so.*", "/usr/lib/*/librustc_driver-*.so",
             "/usr/lib/*/libstdc++.so.6", "/usr/lib/*/libglib-2.0.so.0", "/usr/lib/*/libQt*Core.so.?"]


def functions_of(library):
    """The demangled names of a library's exported functions."""
    out = subprocess.run(["nm", "-D", "--defined-only", "-C", library], stdout=subprocess.PIPE, check=True).stdout
    names = set()
    for line in out.decode("utf-8", "replace").splitlines():
        found = re.match(r"[0-9a-f]+ [tTwWi] (.+?)(@@?[A-Za-z_0-9.]+)?$", line)
        if found:
            names.add(found[1])
    return names


def test_all_functions_of_large_libraries(t):
    """Short forms are no longer than full ones, their brackets match, and shortening them again changes nothing."""
    libraries = {os.path.realpath(path) for pattern in LIBRARIES for path in glob.glob(pattern)}
    if len(libraries) < 3:
        skip("too few large libraries here")
    names = set()
    for library in libraries:
        names |= functions_of(library)
    checker = os.path.join(os.path.dirname(t.silt.path), "src/name/names_bulk")
    r = subprocess.run([checker], input="\n".join(sorted(names)) + "\n", stdout=subprocess.PIPE, text=True)
    assert r.returncode == 0, r.stdout[:5000]
    n, n_kept, cpu_s = re.search(r"(\d+) names, (\d+) of .* left as they are, 0 wrong, ([\d.]+) s", r.stdout).groups()
    assert int(n) == len(names) > 50000, r.stdout
    assert int(n_kept) < len(names) / 1000, f"{n_kept} of {n} names were not understood"
    assert float(cpu_s) < len(names) * 200e-6, f"{cpu_s} s of CPU time for {n} names"
    t.notes.append(f"{n} names of {len(libraries)} libraries, {cpu_s} s of CPU time")


def report(t, program, *options, width=100):
    return report_of(t, t.program(program), *options, width=width)


def report_of(t, path, *options, width=100):
    r = t.silt.record(t.path("t.silt"), [path], ["-f"])
    assert r.code == 0, r.errors
    r = t.silt.command("report", "--by", "allocated", "--top", "20", *options, t.path("t.silt"),
                       env={"COLUMNS": str(width), "XDG_CONFIG_HOME": t.dir})
    assert r.code == 0 and r.stderr == b"", r.errors
    return r.text


def test_sites_begin_at_the_code_that_asked(t):
    found = call_paths(report(t, "containers"))
    assert ["fill_sequences", "main"] in found and ["fill_maps", "main"] in found, found
    for stack in found:
        assert not stack[0].startswith(("std::", "operator", "__gnu_cxx")), stack
        assert stack[-1] == "main" or len(stack) == 1, stack


def test_rust_sites_begin_at_the_code_that_asked(t):
    found = call_paths(report(t, "rust_threads"))
    assert ["rust_threads::work", "rust_threads::main::{closure}"] in found, found
    for stack in found:
        # of what the library does before main there is nobody else to name: rustc 1.63's makes the name of the thread
        if not stack[-1].startswith("std::rt::lang_start"):
            assert not stack[0].startswith(("alloc::", "core::", "<", "Vec", "Box", "__rust")), stack
    assert not any("lang_start" in name for stack in found[:3] for name in stack), found


def test_programs_own_functions_are_shown(t):
    """However much their names are like those of libraries, with debug information and without."""
    own = ["list_resize", "talloc_report", "g_data_load_file", "mi_open", "fmt::video::parse", "fmt::parse_video",
           "futures::later", "alloc::pool", "core::Engine::load"]
    plain = t.path("lookalikes")
    subprocess.run(["strip", "-g", "-o", plain, t.program("lookalikes")], check=True)
    for program in (t.program("lookalikes"), plain):
        text = report_of(t, program)
        found = call_paths(text)[:len(own)]
        assert found == [[name, "core::boot", "main"] for name in own], found


def test_full_shows_everything(t):
    text = report(t, "rust_threads", "--full")
    for word in ("std::rt::lang_start", "__rust_begin_short_backtrace", "alloc::vec::Vec", "_start"):
        assert word in text, f"no {word} in spite of --full"


def test_json_has_whole_call_paths(t):
    report(t, "rust_threads")
    answer, problem = t.silt.report(t.path("t.silt"))
    assert answer, problem
    names = {f["function"] for top in answer["top"] for site in top["sites"] for f in site["stack"]}
    for word in ("std::rt::lang_start", "alloc::", "_start"):
        assert any(word in name for name in names), f"no {word} in the stacks of JSON"


def test_rules_of_ones_own(t):
    rules = t.path("my.rules")
    with open(rules, "w") as f:
        f.write("# ours\nallocator fill_*\n")
    found = call_paths(report(t, "containers", "--rules", rules))
    assert ["main"] in found and not any("fill_maps" in stack for stack in found), found
    more = t.path("more.rules")
    with open(more, "w") as f:
        f.write("keep fill_maps\n")
    found = call_paths(report(t, "containers", "--rules", rules, "--rules", more))
    assert ["fill_maps", "main"] in found, found
    os.mkdir(t.path("silt"))
    os.rename(rules, t.path("silt/rules"))  # XDG_CONFIG_HOME is t.dir
    found = call_paths(report(t, "containers"))
    assert ["main"] in found and not any("fill_maps" in stack for stack in found), found


def test_wrong_rules_are_told_in_one_line(t):
    report(t, "containers")
    rules = t.path("my.rules")
    for text, expected in (("keep a\nallocater b\n", f"silt: rules: {rules}:2: a rule must begin with allocator"),
                           ("keep a<b>\n", f"silt: rules: {rules}:1: patterns cannot contain template arguments"),
                           ("fold a\n", f"silt: rules: {rules}:1: 'fold' needs '=>'"),
                           ("\0\0\n", f"silt: rules: {rules}:1: the line is not text"),
                           (None, f"silt: rules: cannot open '{rules}': No such file")):
        if text is None:
            os.unlink(rules)
        else:
            with open(rules, "w") as f:
                f.write(text)
        r = t.silt.command("report", "--rules", rules, t.path("t.silt"))
        assert r.code == 2 and r.stdout == b"", r.code
        assert r.errors.startswith(expected) and r.errors.count("\n") == 1, r.errors
