# SPDX-License-Identifier: MIT
"""Files whose debug information is well-formed byte by byte and means harm: circles, depths, repetitions. Each is a small
library with the functions `f` and `g`, and DWARF 4 written by hand."""

import os
import subprocess

# What entries look like: number, tag, children, attributes as (name, form).
ADDR, DATA1, DATA8, STRING, REF4, SEC_OFFSET = 0x01, 0x0b, 0x07, 0x08, 0x13, 0x17
SIBLING, NAME, LOW, HIGH, ORIGIN, STMT_LIST, RANGES, CALL_LINE = 0x01, 0x03, 0x11, 0x12, 0x31, 0x10, 0x55, 0x59
UNIT, FUNCTION, INLINED, ABSTRACT, LINKED, RANGED, NAMED = range(1, 8)
ABBREVIATIONS = [
    (UNIT, 0x11, 1, [(LOW, ADDR), (HIGH, DATA8), (STMT_LIST, SEC_OFFSET)]),
    (FUNCTION, 0x2e, 1, [(NAME, STRING), (LOW, ADDR), (HIGH, DATA8)]),
    (INLINED, 0x1d, 1, [(ORIGIN, REF4), (LOW, ADDR), (HIGH, DATA8), (CALL_LINE, DATA1)]),
    (ABSTRACT, 0x2e, 0, [(ORIGIN, REF4)]),
    (LINKED, 0x0b, 1, [(SIBLING, REF4), (LOW, ADDR), (HIGH, DATA8)]),
    (RANGED, 0x0b, 0, [(RANGES, SEC_OFFSET)]),
    (NAMED, 0x2e, 0, [(NAME, STRING)]),
]

TEXT = """
        .text
        .globl f, g
        .type f, @function
        .type g, @function
f:      .fill 64, 4, 0xd503201f
        .size f, .-f
g:      .fill 64, 4, 0xd503201f
        .size g, .-g
code_end:
"""


def abbreviations():
    out = ['        .section .debug_abbrev, "", @progbits']
    for number, tag, children, attributes in ABBREVIATIONS:
        out.append(f"        .uleb128 {number}, {tag}\n        .byte {children}")
        out += [f"        .uleb128 {name}, {form}" for name, form in attributes]
        out.append("        .byte 0, 0")
    return "\n".join(out + ["        .byte 0\n"])


def line_table(rows="        .byte 0x20\n"):
    return f"""
        .section .debug_line, "", @progbits
        .4byte line_end - line_begin
line_begin:
        .2byte 4
        .4byte header_end - header_begin
header_begin:
        .byte 1, 1, 1, -5, 14, 13
        .byte 0, 1, 1, 1, 1, 0, 0, 0, 1, 0, 0, 1
        .byte 0
        .asciz "f.c"
        .byte 0, 0, 0, 0
header_end:
        .byte 0, 9, 2
        .8byte f
{rows}
        .byte 2
        .uleb128 512
        .byte 0, 1, 1
line_end:
"""


def function(name):
    return f'        .uleb128 {FUNCTION}\n        .asciz "{name}"\n        .8byte f, code_end - f\n'


def inlined(origin):
    return f"        .uleb128 {INLINED}\n        .4byte {origin} - info\n        .8byte f, code_end - f\n        .byte 7\n"


def abstract(label, origin):
    return f"{label}:\n        .uleb128 {ABSTRACT}\n        .4byte {origin} - info\n"


def linked(label, sibling):
    return f"{label}:\n        .uleb128 {LINKED}\n        .4byte {sibling} - info\n        .8byte f, code_end - f\n"


def unit(entries):
    return f"""
        .section .debug_info, "", @progbits
info:   .4byte info_end - info_begin
info_begin:
        .2byte 4
        .4byte 0
        .byte 8
        .uleb128 {UNIT}
        .8byte f, code_end - f
        .4byte 0
{entries}
        .byte 0
info_end:
"""


END = "        .byte 0\n"


def programs():
    """Name → (assembler source, what of it must still be known: the function alone, or the line too)."""
    target = f'target:\n        .uleb128 {NAMED}\n        .asciz "inner"\n'
    plain = function("f") + inlined("target") + END + END + target
    deep = function("f") + inlined("target") * 100000 + END * 100001 + target
    maze = "".join(linked(f"way{i}", f"way{i + 1}") for i in range(120)) + "way120:\n" + function("last") + END + END * 120
    many = function("f") + f"        .rept 20000\n        .uleb128 {RANGED}\n        .4byte 0\n        .endr\n" + END
    ranges = '\n        .section .debug_ranges, "", @progbits\n        .rept 200000\n        .8byte 0x1000000, 0x1000001\n        .endr\n' \
             "        .8byte 0, 0\n"
    endless = "_Z1f1aIiiE" + "".join(f"S_IS{c}_S{c}_E" for c in "0123456789ABCDEFGHIJKLMNOPQRST")
    rust = "_RNvB" * 300 + "_1f"
    return {
        "plain": unit(plain) + line_table(),
        "origin_of_itself": unit(function("f") + inlined("me") + END + END + abstract("me", "me")) + line_table(),
        "origins_in_a_circle": unit(function("f") + inlined("one") + END + END + abstract("one", "two") +
                                    abstract("two", "one")) + line_table(),
        "origin_outside": unit(function("f") + inlined("0x7fffffff + info") + END + END) + line_table(),
        "nested_100000_deep": unit(deep) + line_table(),
        "sibling_of_itself": unit(function("f") + linked("me", "me") + END + END) + line_table(),
        "sibling_before": unit(function("f") + linked("one", "info_begin") + END + linked("two", "one") + END + END) +
        line_table(),
        "two_ways_everywhere": unit(function("f") + maze + END) + line_table(),
        "children_without_end": unit(function("f") + linked("one", "info_end - 1") + linked("two", "info_end - 1")) + line_table(),
        "ranges_again_and_again": unit(many) + line_table() + ranges,
        "lines_20_million": unit(plain) + line_table("        .fill 20000000, 1, 0x20\n"),
        "name_unfolds": unit(plain) + line_table() +
        f"\n        .text\n        .globl {endless}\n        .type {endless}, @function\n        .set {endless}, f\n"
        f"        .size {endless}, 512\n",
        "name_refers_to_itself": unit(plain) + line_table() +
        f"\n        .text\n        .globl {rust}\n        .type {rust}, @function\n        .set {rust}, f\n        .size {rust}, 512\n",
        "symbols_200000_in_one": unit(plain) + line_table() +
        "\n        .text\n        .altmacro\n        .macro name n\n        .type s\\n, @function\n        .set s\\n, f + 4\n"
        "        .size s\\n, 1\n        .endm\n        .set i, 0\n        .rept 50000\n        .set i, i + 1\n        name %i\n        .endr\n",
    }


def build(folder, name, source):
    path = os.path.join(folder, name)
    r = subprocess.run(["gcc", "-nostdlib", "-shared", "-x", "assembler", "-", "-o", path], input=TEXT + abbreviations() + source,
                       capture_output=True, text=True, timeout=600)
    assert r.returncode == 0, f"{name}: {r.stderr[:1500]}"
    return path
