# SPDX-License-Identifier: MIT
"""The same question put to silt, llvm-symbolizer and addr2line: which functions, files and lines are at these addresses?
Each answers {address: [Frame, ...]}, innermost first, names in silt's readable form."""

import collections
import json
import os
import re
import subprocess

Frame = collections.namedtuple("Frame", "function file line")


def ask(argv, addresses, cwd=None):
    lines = "".join(f"{a:#x}\n" for a in addresses)
    r = subprocess.run(argv, input=lines.encode(), capture_output=True, timeout=550, cwd=cwd)
    if r.returncode:
        raise AssertionError(f"{' '.join(argv)}: status {r.returncode}: {r.stderr.decode(errors='replace')[:500]}")
    return r.stdout.decode(errors="replace")


def tidy_path(path):
    return "" if path in ("", "??") else os.path.normpath(path)


def without_file_symbol(chain):
    """Where there is no line, both others name the file that the symbol table has for a local symbol; silt does not."""
    if len(chain) == 1 and chain[0].line == 0 and "/" not in chain[0].file:
        chain = [chain[0]._replace(file="")]
    return [] if chain == [Frame("", "", 0)] else chain


class Readable:
    """Linker names to silt's readable form: a name compared after it was compared before, since equal linker names
    have equal readable forms."""

    def __init__(self, tool):
        self.tool, self.known = tool, {}

    def learn(self, names):
        new = sorted({n for n in names if n not in self.known})
        out = subprocess.run([self.tool, "readable"], input="".join(n + "\n" for n in new).encode(),
                             capture_output=True, check=True).stdout.decode(errors="replace")
        self.known.update(zip(new, out.splitlines()))

    def __getitem__(self, name):
        return self.known[name]


def silt_names(tool, path, addresses):
    """Also which addresses have only a guessed name."""
    chains, guesses = {}, set()
    address = None
    for line in ask([tool, "names", path], addresses).splitlines():
        if "\t" not in line:
            address = int(line, 16)
            chains[address] = []
            continue
        function, file, number, flags = line.split("\t")
        if flags == "g" and function.startswith("+"):  # where it begins, and no name
            if file:
                chains[address].append(Frame("", tidy_path(file), int(number)))
            continue
        chains[address].append(Frame(function, tidy_path(file), int(number)))
        if flags == "g":
            guesses.add(address)
    return chains, guesses


def readable_chains(raw, readable):
    readable.learn(f.function for chain in raw.values() for f in chain)
    return {a: [f._replace(function=readable[f.function]) for f in chain] for a, chain in raw.items()}


def llvm_names(path, addresses, readable, cwd=None):
    argv = ["llvm-symbolizer", "--output-style=JSON", "--no-demangle", "--functions=linkage", "--obj=" + path]
    raw = {}
    for address, line in zip(addresses, ask(argv, addresses, cwd).splitlines()):
        chain = [Frame(s["FunctionName"], tidy_path(s["FileName"]), s["Line"]) for s in json.loads(line)["Symbol"]]
        raw[address] = without_file_symbol(chain)
    return readable_chains(raw, readable)


def gnu_names(path, addresses, readable, cwd=None):
    lines = ask(["addr2line", "-a", "-i", "-f", "-e", path], addresses, cwd).splitlines()
    raw = {}
    i = 0
    while i < len(lines):
        address, chain = int(lines[i], 16), []
        i += 1
        while i < len(lines) and not re.fullmatch(r"0x[0-9a-f]{16}", lines[i]):
            function, (file, number) = lines[i], lines[i + 1].rsplit(":", 1)
            number = number.split(" ")[0]  # (discriminator 3)
            chain.append(Frame("" if function == "??" else function, tidy_path(file), 0 if number == "?" else int(number)))
            i += 2
        raw[address] = without_file_symbol(chain)
    return readable_chains(raw, readable)
