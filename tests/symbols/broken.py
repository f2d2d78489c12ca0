# SPDX-License-Identifier: MIT
"""Files that are cut off, scribbled over, or made to harm (hostile.py). Whoever reads them may die of it, but that is a
process of its own with limits: silt goes on, in bounded time and memory, and says of the module what happened to it."""

import os
import random
import shutil
import struct
import subprocess

from symbols import hostile, specimens
from symbols.elf import Elf, SHT_NOBITS

SECONDS, MEBIBYTES = 6, 512
UNKNOWN, FULL, SYMTAB, DYNSYM, NOTHING, MISSING, REPLACED, DAMAGED, CRASHED, TIMED_OUT, OVER_MEMORY = range(11)
WORDS = {FULL: "full", SYMTAB: "symbol table", DYNSYM: "exported functions", NOTHING: "no names", MISSING: "missing",
         DAMAGED: "damaged", CRASHED: "crashed", TIMED_OUT: "too long", OVER_MEMORY: "too much memory"}


def make(t, name):
    return specimens.all_specimens(os.path.join(t.context.work_dir, "symbols"), t.context.build_dir)[name]()


class Reader:
    """Looks names up as after a recording, file by file, and keeps count of what came of it."""

    def __init__(self, t):
        tool = os.path.join(t.context.build_dir, "src/symbol/names_tool")
        self.t, self.counts, self.slowest_ms = t, {}, 0
        self.child = subprocess.Popen([tool, "lookup", str(SECONDS), str(MEBIBYTES), t.path("lookup.silt")], text=True,
                                      stdin=subprocess.PIPE, stdout=subprocess.PIPE, env={**os.environ, "DEBUGINFOD_URLS": ""})

    def look_up(self, path, addresses, what):
        """(naming, number of symbols, text)"""
        self.child.stdin.write(path + "".join(f" {a:x}" for a in addresses) + "\n")
        self.child.stdin.flush()
        line = self.child.stdout.readline()
        assert line, f"{what}: silt itself died of it: {self.child.wait()} (kept: {path})"
        naming, n_symbols, ms, text = line.rstrip("\n").split("\t")
        naming, n_symbols, ms = int(naming), int(n_symbols), int(ms)
        assert ms < SECONDS * 1000 + 1500, f"{what}: {ms} ms"
        assert naming != UNKNOWN and (text or naming == FULL), f"{what}: nothing is said: {line}"
        self.slowest_ms = max(self.slowest_ms, ms)
        self.counts[naming] = self.counts.get(naming, 0) + 1
        return naming, n_symbols, text

    def end(self):
        """Its own memory and that of the processes it started."""
        self.child.stdin.close()
        _, status, usage = os.wait4(self.child.pid, 0)
        self.child.returncode = status
        assert status == 0, status
        assert usage.ru_maxrss < (MEBIBYTES + 64) * 1024, f"{usage.ru_maxrss} KiB"
        parts = ", ".join(f"{n} {WORDS[naming]}" for naming, n in sorted(self.counts.items()))
        self.t.notes.append(f"{sum(self.counts.values())} files: {parts}; slowest {self.slowest_ms} ms, "
                            f"at most {usage.ru_maxrss // 1024} MiB")


def test_hostile_debug_information(t):
    """Circles, depths and repetitions: what still can be known is, and the rest is said to be missing."""
    reader = Reader(t)
    unknown_chains = {"nested_100000_deep", "sibling_of_itself", "sibling_before", "two_ways_everywhere", "ranges_again_and_again"}
    for name, source in hostile.programs().items():
        path = hostile.build(t.dir, name, source)
        begin = next(begin for begin, _, symbol in Elf(path).functions() if symbol == "f")
        naming, n_symbols, text = reader.look_up(path, range(begin, begin + 256, 8), name)
        if name == "lines_20_million":
            assert naming in (DAMAGED, TIMED_OUT, OVER_MEMORY) and " too " in text, (name, naming, text)
            continue
        assert naming == FULL and n_symbols >= 32, (name, naming, n_symbols, text)
        assert ("damaged" in text) == (name in unknown_chains), (name, text)
        if name == "plain":
            assert n_symbols == 64, f"the harmless one: {n_symbols}"
    reader.end()


# ---- damage ----------------------------------------------------------------------------------------------------------


def cut(data, elf, chance):
    """At the end of a section, or anywhere."""
    ends = [s.offset + chance.randrange(-8, 9) for s in elf.sections if s.type != SHT_NOBITS] + [elf.sections[1].header_offset]
    at = chance.choice(ends) if chance.random() < 0.5 else chance.randrange(len(data))
    return data[:max(0, at)], f"cut at {at}"


def interesting(elf, chance):
    """A place in what is read for names: tables of the file, symbols, debug information."""
    sections = [s for s in elf.sections if s.type != SHT_NOBITS and s.size and
                (s.name.startswith((".debug_", ".sym", ".str", ".dyn", ".gnu", ".note", ".shstr", ".rela.plt", ".plt")))]
    kind = chance.randrange(10)
    if kind == 0:
        return chance.randrange(64), "ELF header"
    if kind == 1:
        s = chance.choice(elf.sections)
        return s.header_offset + chance.randrange(64), f"header of {s.name}"
    s = chance.choice(sections)
    # unit and table headers are at the beginning
    limit = min(s.size, 64) if chance.random() < 0.3 else s.size
    return s.offset + chance.randrange(limit), s.name


def flip(data, elf, chance):
    places = []
    for _ in range(chance.choice([1, 1, 2, 8, 64])):
        at, where = interesting(elf, chance)
        if at < len(data):
            data[at] ^= 1 << chance.randrange(8)
            places.append(f"{where} at {at}")
    return data, "bits flipped: " + ", ".join(places[:4])


def lie(data, elf, chance):
    """A number becomes a very large one, a very small one, or one off."""
    at, where = interesting(elf, chance)
    form = chance.choice("BHIQ")
    size = struct.calcsize("<" + form)
    at = max(0, min(at, len(data) - size))
    old, = struct.unpack_from("<" + form, data, at)
    top = (1 << 8 * size) - 1
    value = chance.choice([0, 1, top, top >> 1, (top >> 1) + 1, (old + 1) & top, (old - 1) & top, len(data) & top])
    struct.pack_into("<" + form, data, at, value)
    return data, f"{where}: {old:#x} became {value:#x} at {at}"


def scribble(data, elf, chance):
    at, where = interesting(elf, chance)
    n = min(chance.choice([4, 16, 256, 4096]), len(data) - at)
    data[at:at + n] = chance.randbytes(n) if chance.random() < 0.7 else bytes([chance.choice([0, 255])]) * n
    return data, f"{n} bytes scribbled over {where} at {at}"


DAMAGES = [cut, flip, flip, lie, lie, scribble]


def damage_many(t, name, broken_file=None, n=100):
    """Looks names up in `n` copies of a specimen, each damaged otherwise; broken_file is damaged instead of the program."""
    s = make(t, name)
    addresses = Elf(s.path).draw(40, 40, name)
    folder = t.path(name)
    shutil.copytree(os.path.dirname(s.path), folder)
    program = os.path.join(folder, os.path.basename(s.path))
    victim = os.path.join(folder, broken_file) if broken_file else program
    elf = Elf(victim)
    reader = Reader(t)
    whole = reader.look_up(program, addresses, name)
    assert whole[0] == FULL, whole
    n_harmed = 0
    for i in range(n):
        chance = random.Random(f"{t.context.seed} {name} {broken_file} {i}")
        data, what = chance.choice(DAMAGES)(bytearray(elf.data), elf, chance)
        with open(victim, "wb") as f:
            f.write(data)
        n_harmed += reader.look_up(program, addresses, f"{name}, {i}: {what}") != whole
    reader.end()
    assert n_harmed > n // 20, f"only {n_harmed} of {n} did any harm"


def test_damaged_programs(t):
    for name in ("gcc_dwarf5", "clang_dwarf4", "gcc_compressed"):
        damage_many(t, name, n=t.count(120, 6000))


def test_damaged_debug_files(t):
    """The program is whole, what belongs to it is not."""
    damage_many(t, "debuglink", "debuglink.debug", n=t.count(120, 6000))
    damage_many(t, "dwz_shared", "shared.debug", n=t.count(40, 2000))


def test_damaged_split_dwarf(t):
    for name in ("gcc_dwp4", "clang_dwp5"):
        damage_many(t, name, name + ".dwp", n=t.count(80, 6000))


# ---- through the whole of silt ---------------------------------------------------------------------------------------


def figures(t, trace):
    report, why = t.silt.report(trace)
    assert report, why
    return {key: report[key] for key in ("totals", "processes", "mode", "ended")}, report["quality"]["modules"]


def test_file_damaged_after_its_recording(t):
    """`silt symbolize` with a program that is no longer what it was, its build-id apart: the trace keeps its figures, and
    the report says which module has no names, and why."""
    s = make(t, "gcc_dwarf5")
    program, trace = t.path("program"), t.path("t.silt")
    shutil.copy(s.path, program)
    r = t.silt.record(trace, [program], ["--no-symbols"])
    assert r.code == 0, r.errors
    with open(trace, "rb") as f:
        unnamed = f.read()  # names that were found once would be kept
    assert t.silt.command("symbolize", "--no-cache", trace).code == 0
    before, modules = figures(t, trace)
    assert not next(m for m in modules if m["module"] == program)["text"], modules
    elf = Elf(program)
    identity = elf.by_name[".note.gnu.build-id"]
    n_told = 0
    for i in range(t.count(12, 400)):
        chance = random.Random(f"{t.context.seed} recording {i}")
        data, what = chance.choice(DAMAGES)(bytearray(elf.data), elf, chance)
        if len(data) > identity.offset + identity.size:
            data[identity.offset:identity.offset + identity.size] = elf.bytes_of(identity)
        os.unlink(program)
        with open(program, "wb") as f:
            f.write(data)
        with open(trace, "wb") as f:
            f.write(unnamed)
        r = t.silt.command("symbolize", "--no-cache", trace)
        assert r.code == 0 and not r.stderr, (what, r.code, r.errors)
        after, modules = figures(t, trace)
        assert after == before, what
        told = next(m for m in modules if m["module"] == program)["text"]
        n_told += bool(told)
        assert not told or (program in r.text and told in " ".join(r.text.split())), (what, told, r.text)
    assert n_told, "no damage did any harm"
    assert t.silt.command("verify", trace).code == 0
