# SPDX-License-Identifier: MIT
"""Samples of two profilers beside each other: read from the text that `perf script` prints, named by one and the same symbol table
for both, so that what is compared is where the samples fell and not how names are looked up."""
import bisect
import collections
import math
import os
import re
import struct
import subprocess

# Functions in which a process or a thread begins: a call path that ends in one of them is whole.
ROOTS = {"_start", "clone", "__clone", "clone3", "__clone3", "_dl_start_user", "ret_from_fork_asm", "ret_from_fork"}
KERNEL = "[kernel]"
ENTRY_BYTES = 0x40
PT_GNU_EH_FRAME = 0x6474e550
HEAD = re.compile(r"^(?P<comm>.+?)\s+(?P<pid>\d+)/(?P<tid>\d+)\s+(?P<time>\d+\.\d+):\s*(?P<period>\d+)?\s*(?P<event>[\w:.-]+?):\s*$")
FRAME = re.compile(r"^\t\s*(?P<ip>[0-9a-f]+) (?P<name>.*) \((?P<module>[^()]*(?:\([^()]*\))?[^()]*)\)$")


def said(*argv):
    return subprocess.run(argv, capture_output=True, text=True, errors="replace", check=False).stdout


class Elf:
    """Where the functions of a file lie. Those of stripped ones have no name, but a begin, in the table for unwinding."""

    def __init__(self, path):
        self.segments, entry, self.nameless = self.read_head(path)
        found = {}
        for file in [path, *self.debug_files(path)]:
            for line in said("readelf", "-sW", "--dyn-syms", file).splitlines():
                words = line.split()
                if len(words) >= 8 and words[3] in ("FUNC", "IFUNC", "GNU_IFUNC", "NOTYPE") and words[6] != "UND":
                    begin, size = int(words[1], 16), int(words[2], 0)
                    if size:
                        found.setdefault(begin, (begin + size, words[7].split("@")[0]))
        if entry and entry not in found:
            found[entry] = (entry + ENTRY_BYTES, "_start")
        elif entry:
            found[entry] = (found[entry][0], "_start")
        self.begins = sorted(found)
        self.rows = [found[b] for b in self.begins]

    @staticmethod
    def read_head(path):
        """File ranges with their addresses, where it begins, and where functions do."""
        try:
            with open(path, "rb") as f:
                head = f.read(64)
                if head[:5] != b"\x7fELF\x02":
                    return [], 0, []
                entry, at = struct.unpack_from("<QQ", head, 24)
                size, n = struct.unpack_from("<HH", head, 54)
                f.seek(at)
                table = f.read(size * n)
                rows = [struct.unpack_from("<IIQQQQ", table, i * size) for i in range(n)]
                begins = []
                for kind, _, offset, address, _, n_bytes in rows:
                    if kind == PT_GNU_EH_FRAME:
                        f.seek(offset)
                        begins = Elf.read_begins(f.read(n_bytes), address)
        except OSError:
            return [], 0, []
        return [(offset, offset + n_bytes, address) for kind, _, offset, address, _, n_bytes in rows if kind == 1], entry, begins

    @staticmethod
    def read_begins(header, address):
        """The sorted table of .eh_frame_hdr, in the one form that linkers write: 4 bytes each, from its own address."""
        if len(header) < 12 or header[0] != 1 or header[2:4] != b"\x03\x3b":
            return []
        n = min(struct.unpack_from("<I", header, 8)[0], (len(header) - 12) // 8)
        return sorted(address + struct.unpack_from("<i", header, 12 + 8 * i)[0] for i in range(n))

    @staticmethod
    def debug_files(path):
        build_id = re.search(r"Build ID: ([0-9a-f]+)", said("readelf", "-n", path))
        name = f"/usr/lib/debug/.build-id/{build_id[1][:2]}/{build_id[1][2:]}.debug" if build_id else ""
        return [name] if os.path.exists(name) else []

    def address(self, offset):
        """Of a place in the file."""
        for begin, end, address in self.segments:
            if begin <= offset < end:
                return offset - begin + address
        return offset

    def function(self, address):
        i = bisect.bisect_right(self.begins, address) - 1
        if i >= 0 and address < self.rows[i][0]:
            return self.rows[i][1]
        i = bisect.bisect_right(self.nameless, address) - 1
        return f"at {self.nameless[i]:x}" if i >= 0 else None


class Kallsyms:
    def __init__(self):
        rows = []
        with open("/proc/kallsyms") as f:
            for line in f:
                words = line.split()
                if words[1] in "tTwW" and len(words) == 3:
                    rows.append((int(words[0], 16), words[2]))
        rows.sort()
        self.begins, self.names = [r[0] for r in rows], [r[1] for r in rows]

    def function(self, address):
        i = bisect.bisect_right(self.begins, address) - 1
        return self.names[i] if i >= 0 else None


class Names:
    def __init__(self):
        self.files, self.kernel = {}, None

    def function(self, module, place, is_offset):
        """`place` is a file's offset (perf) or an address in it (silt)."""
        if module.startswith("[kernel"):
            self.kernel = self.kernel or Kallsyms()
            return KERNEL, self.kernel.function(place) or "?"
        if module.startswith("[") or not module.startswith("/"):
            return module, "?"
        elf = self.files.setdefault(module, None) or Elf(module)
        self.files[module] = elf
        return os.path.basename(module), elf.function(elf.address(place) if is_offset else place) or "?"


class Profile:
    """Sums over samples; several runs add up."""

    def __init__(self):
        self.n = self.n_complete = self.n_frames = 0
        self.weights, self.inclusive = collections.Counter(), collections.Counter()

    def add(self, frames, weight=1):
        """Frames are (module, function), innermost first. Without any it is no sample, but time that is told at no call path."""
        self.n += bool(frames)
        self.n_frames += len(frames)
        self.n_complete += bool(frames) and frames[-1][1] in ROOTS
        self.weights[frames[0] if frames else ("", "?")] += weight
        for frame in set(frames):
            self.inclusive[frame] += weight

    def add_all(self, other):
        self.n += other.n
        self.n_complete += other.n_complete
        self.n_frames += other.n_frames
        self.weights.update(other.weights)
        self.inclusive.update(other.inclusive)

    def share(self, function, is_self=True):
        total = self.weights.total()
        return (self.weights if is_self else self.inclusive)[function] / total if total else 0

    def complete_pct(self):
        return 100 * self.n_complete / self.n if self.n else 0


def merged(profiles):
    all_of_them = Profile()
    for profile in profiles:
        all_of_them.add_all(profile)
    return all_of_them


def read(profile, lines, names, is_offset, events, program=None):
    """Adds the samples of those events; of one program alone where it is named."""
    frames, weight = None, 1
    for line in lines:
        line = line.rstrip("\n")
        if frames is not None and line.startswith("\t"):
            m = FRAME.match(line)
            if m and m["module"] != "inlined":
                frames.append(names.function(m["module"], int(m["ip"], 16), is_offset))
            continue
        if frames is not None:
            profile.add(frames, weight)
            frames = None
        m = HEAD.match(line)
        if m and m["event"] in events and (not program or m["comm"].startswith(program)):
            frames, weight = [], int(m["period"] or 1)
    if frames is not None:
        profile.add(frames, weight)


def deviation(a, b, function, is_self=True):
    """By how many standard errors the shares of two samples differ, if both draw from one binomial."""
    p, q = a.share(function, is_self), b.share(function, is_self)
    middle = (p * a.n + q * b.n) / (a.n + b.n)
    error = math.sqrt(middle * (1 - middle) * (1 / a.n + 1 / b.n)) if 0 < middle < 1 else 0
    return abs(p - q) / error if error else 0


def largest(a, b, n, is_self=True):
    """The functions with the most of both."""
    every = set(a.weights if is_self else a.inclusive) | set(b.weights if is_self else b.inclusive)
    return sorted(every, key=lambda f: -(a.share(f, is_self) + b.share(f, is_self)))[:n]
