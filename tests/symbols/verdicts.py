# SPDX-License-Identifier: MIT
"""Silt's answers held against those of two other tools, address by address."""

import bisect
import collections

WRONG = "equal to neither"


class Stubs:
    """Names of PLT stubs, which neither of the two tools has: objdump's."""

    def __init__(self, elf, readable):
        stubs = elf.stubs()
        readable.learn(name for _, name in stubs)
        self.begins = [begin for begin, _ in stubs]
        self.names = [readable[name] + "@plt" if name else "" for _, name in stubs]

    def at(self, address):
        i = bisect.bisect_right(self.begins, address) - 1
        return self.names[i] if i >= 0 else ""


class Aliases:
    """Which names the symbol tables have for an address."""

    def __init__(self, elves, readable):
        symbols = sorted({s for e in elves for s in e.functions()})
        readable.learn(name for _, _, name in symbols)
        self.symbols = [(begin, end, readable[name]) for begin, end, name in symbols]
        self.begins = [s[0] for s in self.symbols]
        self.longest = max((end - begin for begin, end, _ in self.symbols), default=0)

    def at(self, address):
        first = bisect.bisect_left(self.begins, address - self.longest)
        last = bisect.bisect_right(self.begins, address)
        return {name for begin, end, name in self.symbols[first:last] if begin <= address < end}


def difference(a, b):
    """In one word what two chains differ in."""
    if len(a) != len(b):
        return "depth" if a and b else "presence"
    for x, y in zip(a, b):
        if x.function != y.function:
            return "function"
        if x.file != y.file:
            return "file"
        if x.line != y.line:
            return "line"
    return "nothing"


def is_doubled(mine, other):
    """Whether `other` is `mine` with a relative compilation directory in front a second time: what both other tools do with
    files that DWARF 5 has in directory 0, which is the compilation directory already (glibc is built in `./libio`)."""
    return not mine.startswith("/") and other.endswith("/" + mine) and mine.startswith(other[:-len(mine)])


def named(chain):
    return any(f.function for f in chain)


class Verdicts:
    """Counts, and examples of what agrees with neither."""

    def __init__(self, aliases, stubs):
        self.aliases, self.stubs = aliases, stubs
        self.counts = collections.Counter()
        self.examples = {}

    def same(self, address, ours, theirs):
        """None, or how they are the same. Of several symbols for one address either may be named."""
        if ours == theirs:
            return "equal"
        if len(ours) != len(theirs) or not ours:
            return None
        how = "equal"
        for i, (mine, other) in enumerate(zip(ours, theirs)):
            if mine.line != other.line:
                return None
            if mine.file != other.file:
                if not is_doubled(mine.file, other.file):
                    return None
                how = "equal but for a directory named twice"
            if mine.function != other.function:
                if i + 1 < len(ours) or mine.function not in self.aliases.at(address):
                    return None
                how = "equal but for another name of the symbol" if how == "equal" else how
        return how

    def add(self, address, ours, is_guess, llvm, gnu):
        if self.stubs.at(address):
            verdict = "a PLT stub, as objdump names it"
            if [f.function for f in ours] != [self.stubs.at(address)]:
                verdict = WRONG
            self.note(verdict, address, ours, llvm, gnu)
            return
        as_llvm, as_gnu = self.same(address, ours, llvm), self.same(address, ours, gnu)
        if is_guess and (as_llvm or as_gnu or not named(llvm)):
            verdict = "a guess, marked as one"
        elif as_llvm and as_gnu:
            verdict = "equal to both" if "equal" in (as_llvm, as_gnu) else as_llvm
        elif as_llvm:
            verdict = f"{as_llvm} to llvm-symbolizer, addr2line differs in {difference(ours, gnu)}"
        elif as_gnu:
            verdict = f"{as_gnu} to addr2line, llvm-symbolizer differs in {difference(ours, llvm)}"
        else:
            verdict = WRONG
        self.note(verdict, address, ours, llvm, gnu)

    def note(self, verdict, *example):
        self.counts[verdict] += 1
        self.examples.setdefault(verdict, []).append(example)

    @property
    def n_wrong(self):
        return self.counts[WRONG]

    def lines(self):
        return [f"{n:7d}  {verdict}" for verdict, n in self.counts.most_common()]

    def example_lines(self, n, verdict=WRONG):
        for address, *chains in self.examples.get(verdict, [])[:n]:
            yield f"{address:#x}"
            for who, chain in zip(("silt", "llvm", "gnu"), chains):
                for f in chain:
                    yield f"    {who:5} {f.function} {f.file}:{f.line}"
                if not chain:
                    yield f"    {who:5} nothing"
