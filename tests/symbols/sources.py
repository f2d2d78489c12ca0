# SPDX-License-Identifier: MIT
"""Where names come from (docs/symbols.md): each place by itself, with a program whose names and lines are known."""

import importlib.util
import os
import re
import shutil

_spec = importlib.util.spec_from_file_location("_probe", os.path.join(os.path.dirname(__file__), "_probe.py"))
_probe = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(_probe)
Shapes, need, sh = _probe.Shapes, _probe.need, _probe.sh
FULL, SYMTAB, DYNSYM = _probe.FULL, _probe.SYMTAB, _probe.DYNSYM


def test_dwarf_4_and_5(t):
    for compiler in ("gcc", "clang"):
        for version in (4, 5):
            Shapes(t, f"-gdwarf-{version}", name=f"{compiler}{version}", compiler=compiler).expect_full()


def test_compressed_sections(t):
    for how in ("zlib", "zlib-gnu"):
        Shapes(t, "-g", f"-gz={how}", name=how.replace("-", "_")).expect_full()


def test_sections_compressed_with_zstd(t):
    """Not by libelf, which cannot before 0.189."""
    p = Shapes(t, "-g")
    sh("objcopy", "--compress-debug-sections=zstd", p.path)
    assert "COMPRESSED" in sh("readelf", "-tW", p.path)
    p.expect_full()
    p.split_debug(p.file("its.debug"))
    p.expect_full()
    # damaged: no names from it, and no harm
    with open(p.file("its.debug"), "r+b") as f:
        content = bytearray(f.read())
        at = content.index(b"\x28\xb5\x2f\xfd")
        content[at:at + 64] = bytes(64)
        f.seek(0)
        f.write(content)
    frames, origin = p.probe()
    assert origin[0] == _probe.DAMAGED and "damaged" in origin[2], origin


def test_split_dwarf_beside_the_objects(t):
    for compiler in ("gcc", "clang"):
        for version in (4, 5):
            p = Shapes(t, f"-gdwarf-{version}", "-gsplit-dwarf", name=f"{compiler}{version}", compiler=compiler)
            assert os.path.exists(p.file(p.name + ".dwo"))
            p.expect_full()


def split_builds(t):
    for compiler in ("gcc", "clang"):
        for version in (4, 5):
            p = Shapes(t, f"-gdwarf-{version}", "-gsplit-dwarf", name=f"{compiler}{version}", compiler=compiler)
            yield p, p.file(p.name + ".dwo"), compiler, version


def test_split_dwarf_moved(t):
    """The .dwo files of a build on another machine."""
    for p, dwo, _, _ in split_builds(t):
        os.makedirs(t.path("objects"), exist_ok=True)
        os.makedirs(t.path("root") + p.dir, exist_ok=True)
        shutil.copy(dwo, t.path("root") + p.dir)
        shutil.move(dwo, t.path("objects"))
        p.expect_full("--debug-path", t.path("objects"))
        os.unlink(t.path("objects/" + os.path.basename(dwo)))
        shutil.copy(p.path, t.path("root") + p.path)
        p.expect_full("--sysroot", t.path("root"))
        frames, origin = p.probe()
        assert frames[p.outer] == [("function", "shapes_outer", p.name + ".c", _probe.LINES["INNER"])], frames
        assert origin[0] == FULL and ".dwo" in origin[2], origin


def test_split_dwarf_of_another_build_is_not_taken(t):
    p = Shapes(t, "-g", "-gsplit-dwarf")
    Shapes(t, "-g", "-gsplit-dwarf", "-Dshapes_hidden=hidden_otherwise", folder=t.path("other"))
    os.unlink(p.file("shapes.dwo"))
    shutil.copy(t.path("other/shapes.dwo"), p.dir)
    frames, origin = p.probe()
    assert all(kind != "inlined" for chain in frames.values() for kind, *_ in chain), frames
    assert ".dwo" in origin[2], origin


def test_split_dwarf_packages(t):
    """All in one .dwp file, by the tools of binutils and of LLVM."""
    need("dwp", "llvm-dwp")
    for tool in ("dwp", "llvm-dwp"):
        for p, dwo, _, version in split_builds(t):
            if tool == "dwp" and version == 5:
                continue  # binutils 2.40 leaves its units out
            package = p.path + ".dwp"
            sh(tool, *(["-o", package, dwo] if tool == "dwp" else [dwo, "-o", package]))
            os.unlink(dwo)
            p.expect_full()
            os.makedirs(t.path("packages"), exist_ok=True)
            shutil.move(package, t.path("packages"))
            p.expect_full("--debug-path", t.path("packages"))
            os.unlink(t.path("packages/" + p.name + ".dwp"))


def test_split_dwarf_package_of_many_units(t):
    """Each unit finds its own strings, ranges and abbreviations in the package."""
    need("dwp", "llvm-dwp")
    for compiler, version, tool in (("gcc", 4, "dwp"), ("clang", 5, "llvm-dwp"), ("gcc", 5, "llvm-dwp")):
        folder = t.path(compiler + str(version))
        os.makedirs(folder)
        names = [f"unit{n}" for n in range(6)]
        flags = [f"-gdwarf-{version}", "-gsplit-dwarf", "-O2"]
        for name in names:
            with open(os.path.join(folder, name + ".c"), "w") as f:
                f.write(f"#include <stdlib.h>\nstatic inline __attribute__((always_inline)) void *in_{name}(int n) {{\n"
                        f"        return malloc(n + {len(name)});\n}}\n"
                        f"__attribute__((noinline)) void *of_{name}(int n) {{\n        void *p;\n"
                        f"        __asm__ volatile(\"nop\" : \"+r\"(n));\n        p = in_{name}(n);\n"
                        f"        __asm__ volatile(\"\" : \"+r\"(p));\n        return p;\n}}\n")
        sh(compiler, *flags, "-c", *[n + ".c" for n in names], cwd=folder)
        p = Shapes(t, *flags, *[os.path.join(folder, n + ".o") for n in names], name="many", folder=folder,
                   compiler=compiler)
        dwos = sorted(f for f in os.listdir(folder) if f.endswith(".dwo"))
        assert len(dwos) == 7, dwos
        sh(tool, *(["-o", "many.dwp", *dwos] if tool == "dwp" else [*dwos, "-o", "many.dwp"]), cwd=folder)
        for dwo in dwos:
            os.unlink(os.path.join(folder, dwo))
        addresses = {name: p.calls["of_" + name] for name in names}
        frames, origin = p.probe(addresses=list(addresses.values()))
        for name, address in addresses.items():
            assert frames[address] == [("inlined", "in_" + name, name + ".c", 3),
                                       ("function", "of_" + name, name + ".c", 8)], (name, frames[address])
        assert origin[0] == FULL and origin[2] == "", origin


def test_debug_file_by_build_id(t):
    p = Shapes(t, "-g")
    root = t.path("debug")
    p.split_debug(p.build_id_path(root), link=False)
    origin = p.expect_full("--debug-path", root)
    assert origin[1] == p.build_id_path(root), origin
    # in a sysroot it is where distributions put it
    shutil.copytree(root, t.path("root/usr/lib/debug"))
    os.makedirs(t.path("root") + os.path.dirname(p.path))
    os.rename(p.path, t.path("root") + p.path)
    p.expect_full("--sysroot", t.path("root"))
    # the debug file alone has all but the code
    os.unlink(t.path("root") + p.path)
    p.expect_full("--debug-path", root)


def test_debug_file_of_another_build_is_not_taken(t):
    p, other = Shapes(t, "-g"), Shapes(t, "-g", "-DSHAPES_OTHER=1", "-O1", name="other")
    assert p.build_id != other.build_id
    root = t.path("debug")
    other.split_debug(p.build_id_path(root), link=False)
    sh("strip", p.path)
    frames, origin = p.probe("--debug-path", root)
    assert origin[0] != FULL and origin[1] == "" and not any(f[3] for fs in frames.values() for f in fs), (frames, origin)


def test_debug_file_by_debuglink(t):
    for n, folder in enumerate(("", ".debug")):
        p = Shapes(t, "-g", name=f"linked{n}")
        os.makedirs(p.file(folder), exist_ok=True)
        debug_file = os.path.join(p.dir, folder, "its.debug") if folder else p.file("its.debug")
        p.split_debug(debug_file)
        assert p.expect_full()[1] == debug_file
    # as a program that runs is read, by /proc/PID/exe
    os.mkdir(t.path("elsewhere"))
    os.symlink(p.path, t.path("elsewhere/exe"))
    assert p.expect_full(path=t.path("elsewhere/exe"))[1] == debug_file
    # under a debug path: the same folders as the program, or none
    for n, folder in enumerate((t.path("debug") + p.dir, t.path("flat"))):
        os.makedirs(folder)
        shutil.move(debug_file, os.path.join(folder, "its.debug"))
        debug_file = os.path.join(folder, "its.debug")
        p.expect_full("--debug-path", t.path(("debug", "flat")[n]))


def test_debuglink_without_build_id_goes_by_checksum(t):
    p = Shapes(t, "-g", "-Wl,--build-id=none")
    assert p.build_id == ""
    p.split_debug(p.file("its.debug"))
    frames, origin = p.probe()
    assert origin[0] == FULL and origin[1] == p.file("its.debug"), origin
    assert "build-id" in origin[2], "nothing proves that the file is the one that ran"
    with open(p.file("its.debug"), "r+b") as f:
        f.seek(-1, os.SEEK_END)
        last = f.read(1)[0]
        f.seek(-1, os.SEEK_END)
        f.write(bytes([last ^ 1]))
    frames, origin = p.probe()
    assert origin[0] != FULL and origin[1] == "", origin


def test_dwz_alternate_file(t):
    need("dwz")
    for where in ("absolute", "relative"):
        pair = [Shapes(t, "-g", name=f"{where}{n}", folder=t.path(where)) for n in range(2)]
        debugs = []
        for p in pair:
            p.split_debug(p.file(p.name + ".debug"))
            debugs.append(p.file(p.name + ".debug"))
        name = [] if where == "absolute" else ["-r"]
        sh("dwz", *name, "-m", p.file("common.dwz"), *debugs)
        assert ".gnu_debugaltlink" in sh("readelf", "-SW", debugs[0])
        # the debuglink's checksum is the old one: the build-id is what counts
        pair[0].expect_full()
        alt = os.path.join(t.path(where), "common.dwz")
        os.makedirs(t.path(where + "-root/.dwz"), exist_ok=True)
        shutil.move(alt, t.path(where + "-root/.dwz/common.dwz"))
        pair[1].expect_full("--debug-path", t.path(where + "-root"))
        shutil.move(t.path(where + "-root/.dwz/common.dwz"),
                    pair[0].build_id_path(t.path(where + "-ids"), pair[0].read_build_id(
                        t.path(where + "-root/.dwz/common.dwz"))))
        pair[1].expect_full("--debug-path", t.path(where + "-ids"))
        _, origin = pair[1].probe()
        assert "common.dwz" in origin[2] and "not found" in origin[2], origin


def test_mini_debug_information(t):
    """.gnu_debugdata: a compressed symbol table, as Fedora ships it."""
    need("xz")
    p = Shapes(t)
    sh("objcopy", "-S", "--remove-section", ".gnu_debuglink", "--keep-symbol=shapes_hidden",
       "--keep-symbol=shapes_outer", p.path, p.file("mini"))
    sh("objcopy", "--only-keep-debug", p.path, p.file("all"))
    sh("objcopy", "-S", "--remove-section", ".comment", "--keep-symbol=shapes_hidden",
       "--keep-symbol=shapes_outer", p.file("all"), p.file("mini"))
    sh("xz", "-f", p.file("mini"))
    sh("strip", p.path)
    frames = p.probe()[0]
    assert frames == p.only_nameless(), (frames, p.begins)
    sh("objcopy", "--add-section", ".gnu_debugdata=" + p.file("mini.xz"), p.path)
    p.expect_table(word="-g")


def test_symbol_table_alone(t):
    Shapes(t).expect_table(word="build it with -g")


def test_stripped(t):
    """Exported functions have names; of what lies between them it is known where each begins, if it has unwind tables. Else the nearest name is a guess,
    marked so."""
    for name, flags, has_begin in (("tables", (), True), ("none", ("-fno-asynchronous-unwind-tables", "-fno-unwind-tables"), False)):
        p = Shapes(t, "-g", "-rdynamic", *flags, name=name)
        sh("strip", p.path)
        frames, origin = p.probe()
        assert frames[p.outer] == [("function", "shapes_outer", "", 0)], frames
        kind, function, file, line = frames[p.hidden][0]
        if has_begin:
            assert frames[p.hidden] == [p.nameless("shapes_hidden")], (frames, p.begins)
        else:
            assert kind == "guess" and function[0] not in "+" and function != "shapes_hidden" and (file, line) == ("", 0), frames
        assert origin[0] == DYNSYM and "only exported functions" in origin[2] and "--debug-path" in origin[2], origin


def stubs_by_objdump(tool, path):
    """Name and address of every PLT stub."""
    stubs = {}
    for line in sh(tool, "-d", "--section=.plt", "--section=.plt.sec", "--section=.plt.got", path).splitlines():
        if m := re.match(r"0*([0-9a-f]+) <(\w+)@plt>:", line):
            stubs[m[1]] = m[2]
    return stubs


def test_plt_stubs(t):
    native, other = ("aarch64", "x86_64") if os.uname().machine == "aarch64" else ("x86_64", "aarch64")
    flags = {"aarch64": [[], ["-Wl,-z,now"], ["-mbranch-protection=standard", "-Wl,-z,force-bti"],
                         ["-mbranch-protection=standard", "-no-pie", "-Wl,-z,force-bti"],
                         ["-mbranch-protection=standard", "-no-pie", "-Wl,-z,force-bti,-z,pac-plt"]],
             "x86_64": [[], ["-Wl,-z,now"], ["-fcf-protection=full", "-Wl,-z,ibtplt"]]}
    prefix = {native: "", other: other + "-linux-gnu-"}
    for machine, ways in flags.items():
        for n, way in enumerate(ways):
            p = Shapes(t, *way, name=f"{machine}_{n}", compiler=prefix[machine] + "gcc", binutils=prefix[machine])
            stubs = stubs_by_objdump(prefix[machine] + "objdump", p.path)
            assert {"malloc", "free"} <= set(stubs.values()), stubs
            stubs = {f"{int(a, 16) + more:x}": name for a, name in stubs.items() for more in (0, 4)}
            frames, _ = p.probe(addresses=list(stubs))
            for address, name in stubs.items():
                assert frames[address] == [("function", name + "@plt", "", 0)], (way, name, frames)


def test_replaced_and_deleted_files(t):
    p, other = Shapes(t, "-g"), Shapes(t, "-g", "-DSHAPES_OTHER", "-O1", name="other")
    # the kernel's word for a file that is gone
    p.expect_full(path=p.path + " (deleted)")
    shutil.copy(p.path, t.path("kept"))
    shutil.copy(other.path, p.path)
    for path in (p.path, p.path + " (deleted)"):
        frames, origin = p.probe(path=path)
        assert not frames and origin[0] == _probe.REPLACED and "build-id differs" in origin[2], (frames, origin)
    os.unlink(p.path)
    frames, origin = p.probe()
    assert not frames and origin[0] == _probe.MISSING and "gone" in origin[2], (frames, origin)
    # a copy is as good, wherever it is and whatever stands at the old place
    os.makedirs(t.path("copies"))
    shutil.move(t.path("kept"), t.path("copies/" + p.name))
    shutil.copy(other.path, p.path)
    p.expect_full("--debug-path", t.path("copies"))
    # without a build-id in the trace the path is all there is, and never that of a deleted file
    frames, origin = p.probe(path=p.path + " (deleted)", build_id="")
    assert not frames and origin[0] == _probe.MISSING, (frames, origin)


def test_what_is_no_elf_file(t):
    p = Shapes(t, "-g")
    with open(p.path, "rb") as f:
        whole = f.read()
    for n, content in enumerate((b"", b"#!/bin/sh\n", whole[:10], whole[:63], b"\x7fELF" + b"\xff" * 4096)):
        path = t.path(f"broken{n}")
        with open(path, "wb") as f:
            f.write(content)
        frames, origin = p.probe(path=path)
        assert not frames and origin[0] in (_probe.DAMAGED, _probe.REPLACED) and origin[2], (n, frames, origin)
    os.mkfifo(t.path("fifo"))
    for path in (t.path("fifo"), "/dev/null", t.dir):
        frames, origin = p.probe(path=path)
        assert not frames and origin[0] == _probe.DAMAGED, (path, frames, origin)


def test_rust_names_its_remedy(t):
    need("rustc")
    source = t.path("site.rs")
    with open(source, "w") as f:
        f.write("#[inline(never)] pub fn site(n: usize) -> Vec<u8> { Vec::with_capacity(n) }\n"
                "fn main() { println!(\"{}\", site(std::env::args().count() * 100).capacity()); }\n")
    for level, naming in (("0", SYMTAB), ("1", FULL)):
        out = t.path("site" + level)
        sh("rustc", "-O", "-C", "debuginfo=" + level, "-o", out, source)
        address = next(line.split()[0].lstrip("0") for line in sh("nm", out).splitlines() if "4site4site17h" in line)
        p = Shapes.__new__(Shapes)
        p.t, p.path = t, out
        p.build_id = p.read_build_id()
        frames, origin = p.probe(addresses=[address])
        assert frames[address][-1][1] == "site::site", frames
        assert origin[0] == naming, origin
        assert ("debug = 1 under [profile.release]" in origin[2] and "-C debuginfo=1" in origin[2]) == (level == "0"), origin
        assert (frames[address][-1][2:] == ("site.rs", 1)) == (level == "1"), frames
