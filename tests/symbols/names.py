# SPDX-License-Identifier: MIT
"""Functions, files, lines and chains of inlined functions must be those of llvm-symbolizer and addr2line, for addresses
anywhere in the code and for the calls. Where those two disagree, silt's answer must be one of theirs; what they disagree
about is counted. docs/symbols.md explains the kinds of disagreement."""

import collections
import os
import re
import subprocess

from symbols import references, specimens
from symbols.elf import Elf
from symbols.verdicts import Aliases, Stubs, Verdicts


def tool_of(t):
    return os.path.join(t.context.build_dir, "src/symbol/names_tool")


def make(t, name):
    folder = os.path.join(t.context.work_dir, "symbols")
    return specimens.all_specimens(folder, t.context.build_dir)[name]()


def judge(t, name, n_random, n_calls):
    tool, s = tool_of(t), make(t, name)
    s.check_twins()
    readable = references.Readable(tool)
    elf = Elf(s.path)
    addresses = elf.draw(n_random, n_calls, name)
    ours, guesses = references.silt_names(tool, s.path, addresses)
    llvm = references.llvm_names(s.llvm, addresses, readable)
    gnu = references.gnu_names(s.gnu, addresses, readable)
    verdicts = Verdicts(Aliases([Elf(path) for path in s.tables], readable), Stubs(elf, readable))
    for a in addresses:
        verdicts.add(a, ours[a], a in guesses, llvm[a], gnu[a])
    return verdicts


def judge_all(t, quick, more=()):
    """A few hundred addresses of each file; in `make soak` thousands, and of more files."""
    counts = collections.Counter()
    names = [*quick, *more] if t.context.is_soak else quick
    for name in names:
        verdicts = judge(t, name, t.count(200, 2000), t.count(200, 4000))
        assert not verdicts.n_wrong, f"{name}: {verdicts.n_wrong} of {sum(verdicts.counts.values())} addresses\n" + \
            "\n".join(verdicts.example_lines(5))
        counts += verdicts.counts
    t.notes.append(f"{sum(counts.values())} addresses of {len(names)} files")
    t.notes += [f"{n:7d}  {verdict}" for verdict, n in counts.most_common()]


def test_c(t):
    judge_all(t, ["gcc_dwarf5", "gcc_dwarf4", "clang_dwarf5", "clang_dwarf4", "gcc_compressed"],
              ["gcc_o0", "gcc_lines_only", "gcc_no_plt", "gcc_no_pie", "clang_lines_only"])


def test_cxx(t):
    judge_all(t, ["gcc_heavy_o3", "clang_heavy_dwarf4"], ["gcc_heavy_dwarf4", "clang_heavy_o3", "gcc_types"])


def test_rust(t):
    judge_all(t, ["rust_debug1", "rust_debug0"], ["rust_debug2", "rust_v0", "rust_lto", "rust_unoptimised", "rust_debian"])


def test_linkers(t):
    """Link-time optimisation, dropped sections, folded functions."""
    judge_all(t, ["gcc_gc_sections", "clang_gc_sections", "clang_folded", "gcc_lto", "clang_lto"],
              ["gcc_heavy_gc", "clang_heavy_folded", "gcc_heavy_lto", "clang_heavy_lto"])


def test_separate_files(t):
    """Debug information in a file of its own, shared between files, without symbols, and absent."""
    judge_all(t, ["debuglink", "dwz_shared", "no_symbols", "stripped"],
              ["debuglink_heavy", "dwz", "dwz_dwarf4", "dwz_split", "no_symbols_heavy"])


def test_split_dwarf(t):
    judge_all(t, ["gcc_dwo5", "clang_dwo4", "gcc_dwp4", "clang_dwp5"],
              ["gcc_dwo4", "gcc_dwp5", "gcc_dwp_heavy4", "clang_dwo5", "clang_dwp4", "clang_dwp_heavy4",
               "clang_dwp_heavy5"])


def test_another_machine(t):
    judge_all(t, ["x86_64_gcc"], ["x86_64_heavy"])


def test_system(t):
    judge_all(t, ["libc", "silt"], ["loader", "libm", "libstdcxx", "runtime"])


def test_debian_packages(t):
    """Built from Debian's sources: needs the network."""
    judge_all(t, ["debian_zlib", "debian_re2"])


test_debian_packages.repeats, test_debian_packages.soak_repeats = 0, 1


# ---- readable names --------------------------------------------------------------------------------------------------


def filtered(argv, names):
    out = subprocess.run(argv, input="".join(n + "\n" for n in names).encode(), capture_output=True, check=True).stdout
    return out.decode(errors="replace").splitlines()


def spelling(text):
    """What LLVM and GNU write differently without meaning anything else."""
    text = re.sub(r" \[clone [^]]*\]| \(\.[^)]*\)", "", text)
    text = text.replace("> >", ">>").replace("> >", ">>")
    return re.sub(r"\s+", "", text)


def linker_names(t):
    names = set()
    for name in ["gcc_heavy_o3", "clang_heavy_dwarf4", "rust_debug1", *(["libstdcxx"] if t.context.is_soak else [])]:
        names |= {n for _, _, n in Elf(make(t, name).path).functions() if n.startswith(("_Z", "_R")) and "@" not in n}
    return sorted(names)


def test_readable_names(t):
    """The readable form is c++filt's, but for copies of functions, which are not told apart."""
    names = linker_names(t)
    ours = filtered([tool_of(t), "readable"], names)
    gnu = filtered(["c++filt", "-r", "-i"], names)
    different = [(n, o, g) for n, o, g in zip(names, ours, gnu) if o != re.sub(r" \[clone [^]]*\]", "", g)]
    assert not different, f"{len(different)} of {len(names)}, as {different[0]}"
    llvm = filtered(["llvm-cxxfilt"], names)
    same = sum(spelling(o) == spelling(m) for o, m in zip(ours, llvm))
    t.notes.append(f"{len(names)} names: all as c++filt has them, {same} as llvm-cxxfilt has them but for blanks")
    assert all(o != n for n, o, g in zip(names, ours, gnu) if g != n)
