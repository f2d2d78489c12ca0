# SPDX-License-Identifier: MIT
"""Just enough of ELF (64 bit, little endian) to draw addresses from a file and to know where to damage it."""

import collections
import random
import re
import shutil
import struct
import subprocess

Section = collections.namedtuple("Section", "name type flags address offset size link entry_size header_offset")

SHT_SYMTAB, SHT_NOBITS, SHT_DYNSYM = 2, 8, 11
SHF_ALLOC, SHF_EXECINSTR = 2, 4
EM_X86_64, EM_AARCH64 = 62, 183


class Elf:
    def __init__(self, path):
        self.path = path
        with open(path, "rb") as f:
            self.data = f.read()
        self.machine, = struct.unpack_from("<H", self.data, 18)
        self.sections = self._sections()
        self.by_name = {s.name: s for s in self.sections}

    def _sections(self):
        table, = struct.unpack_from("<Q", self.data, 40)
        entry_size, n, names = struct.unpack_from("<HHH", self.data, 58)
        raw = [struct.unpack_from("<IIQQQQIIQQ", self.data, table + i * entry_size) for i in range(n)]
        return [Section(self._text(raw[names][4] + r[0]), r[1], r[2], r[3], r[4], r[5], r[6], r[9],
                        table + i * entry_size) for i, r in enumerate(raw)]

    def _text(self, offset):
        return self.data[offset:self.data.index(b"\0", offset)].decode(errors="replace")

    def bytes_of(self, section):
        return self.data[section.offset:section.offset + section.size]

    def code(self):
        return [s for s in self.sections
                if s.flags & SHF_EXECINSTR and s.flags & SHF_ALLOC and s.type != SHT_NOBITS and s.size]

    def functions(self):
        """Symbols that name code: (begin, end, linker name); end == begin where the table gives no size."""
        for table in self.sections:
            if table.type not in (SHT_SYMTAB, SHT_DYNSYM) or not table.size:
                continue
            strings = self.sections[table.link].offset
            for name, info, _, section, value, size in struct.iter_unpack("<IBBHQQ", self.bytes_of(table)):
                if info & 15 in (0, 2, 10) and section and section < 0xff00 and name:
                    yield value, value + size, self._text(strings + name)

    def return_addresses(self):
        """Where the calls of the code return to."""
        if self.machine == EM_X86_64:
            return self._calls_by_objdump()
        found = []
        for s in self.code():
            words = struct.unpack_from(f"<{s.size // 4}I", self.data, s.offset)
            found += [s.address + 4 * i + 4 for i, w in enumerate(words)
                      if w & 0xfc000000 == 0x94000000 or w & 0xfffffc1f == 0xd63f0000]
        return found

    def _disassembled(self, *options):
        tool = "x86_64-linux-gnu-objdump" if self.machine == EM_X86_64 else "aarch64-linux-gnu-objdump"
        argv = [shutil.which(tool) or "objdump", "-d", "--no-show-raw-insn", *options, self.path]
        return subprocess.run(argv, capture_output=True, text=True, check=True).stdout

    def stubs(self):
        """PLT stubs as objdump names them: sorted (begin, linker name); "" where it has no name."""
        sections = [s for s in self.code() if s.name.startswith(".plt")]
        if not sections:
            return []
        text = self._disassembled(*[f"--section={s.name}" for s in sections])
        labels = [(int(m[1], 16), m[2]) for m in re.finditer(r"^([0-9a-f]+) <(.*)>:$", text, re.M)]
        ends = [(s.address + s.size, "") for s in sections]
        return sorted([(a, name[:-4] if name.endswith("@plt") else "") for a, name in labels] + ends)

    def _calls_by_objdump(self):
        text = self._disassembled()
        found, after_call = [], False
        for line in text.splitlines():
            m = re.match(r"\s+([0-9a-f]+):\s+(.*)", line)
            if not m:
                continue
            if after_call:
                found.append(int(m[1], 16))
            after_call = re.match(r"(bnd |notrack )*call", m[2]) is not None
        return found

    def draw(self, n_random, n_calls, seed):
        """Addresses as silt looks them up: anywhere in the code, and the last byte of calls. Sorted, each once."""
        chance = random.Random(seed)
        code = self.code()
        sizes = [s.size for s in code]
        calls = [a - 1 for a in self.return_addresses()]
        drawn = set(calls if len(calls) <= n_calls else chance.sample(calls, n_calls))
        for s in chance.choices(code, sizes, k=n_random):
            drawn.add(s.address + chance.randrange(s.size))
        return sorted(drawn)
