# SPDX-License-Identifier: MIT
"""Functions, files, lines and chains of inlined functions must be those of llvm-symbolizer and addr2line, for addresses
anywhere in the code and for the calls. Where those two disagree, silt's answer must be one of theirs."""

import os

from symbols import references, specimens
from symbols.elf import Elf
from symbols.verdicts import Aliases, Verdicts


def judge(t, name, n_random, n_calls):
    tool = os.path.join(t.context.build_dir, "src/symbol/names_tool")
    s = specimens.all_specimens(os.path.join(t.context.work_dir, "symbols"), t.context.build_dir)[name]()
    s.check_twins()
    readable = references.Readable(tool)
    addresses = Elf(s.path).draw(n_random, n_calls, name)
    ours, guesses = references.silt_names(tool, s.path, addresses)
    llvm = references.llvm_names(s.llvm, addresses, readable)
    gnu = references.gnu_names(s.gnu, addresses, readable)
    verdicts = Verdicts(Aliases([Elf(path) for path in s.tables], readable))
    for a in addresses:
        verdicts.add(a, ours[a], a in guesses, llvm[a], gnu[a])
    return verdicts
