#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Gates on libsilt.so, the part of silt that lives in other people's processes.

    check_runtime.py GATE LIBSILT

Gates: needed exports imports size tls hardening. See each function for what must hold.
"""

import os
import re
import subprocess
import sys

TOOLS = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(TOOLS)

# A library built on a new system must load on an old one.
NEWEST_GLIBC = {"AArch64": (2, 17), "Advanced Micro Devices X86-64": (2, 2, 5)}
MAX_LOADED_BYTES = 256 * 1024   # code and data read from the file
MAX_BSS_BYTES = 1024 * 1024     # zero pages, resident only when touched
MAX_TLS_BYTES = 24              # static TLS is scarce: two pointers and one word


def readelf(path, *options):
    return subprocess.run(["readelf", "-W", *options, path], check=True, capture_output=True,
                          text=True, env={**os.environ, "LC_ALL": "C"}).stdout


def machine(path):
    return re.search(r"Machine:\s+(.*)", readelf(path, "-h"))[1].strip()


def dynamic_symbols(path):
    """(name, version or None, bind, defined) of every dynamic symbol."""
    for line in readelf(path, "--dyn-syms").splitlines():
        fields = line.split()
        if len(fields) < 8 or not fields[0].endswith(":") or not fields[0][:-1].isdigit():
            continue
        name, _, version = fields[7].partition("@")
        version = version.lstrip("@") or None
        yield name, version, fields[4], fields[6] != "UND"


def listed_exports():
    with open(os.path.join(ROOT, "src/hook/exports.map"), encoding="utf-8") as f:
        text = re.sub(r"/\*.*?\*/|#[^\n]*", "", f.read(), flags=re.S)
    body = re.search(r"global:(.*?)local:\s*\*;", text, flags=re.S)
    if not body:
        sys.exit("exports.map: expected 'global: ...; local: *;'")
    return {name.strip() for name in body[1].split(";") if name.strip()}


def check_needed(path):
    """libc alone, or the loader, which is a part of it."""
    needed = re.findall(r"\(NEEDED\)\s+Shared library: \[(.*)\]", readelf(path, "-d"))
    if "libc.so.6" not in needed:
        yield "libc.so.6 is not NEEDED: the hooks would not be found before it"
    for name in needed:
        if name != "libc.so.6" and not name.startswith("ld-linux"):
            yield f"needs {name}"


def check_exports(path):
    """Exactly the names of src/hook/exports.map."""
    exported = {name for name, _, bind, defined in dynamic_symbols(path)
                if defined and bind in ("GLOBAL", "WEAK") and name}
    listed = listed_exports()
    for name in sorted(exported - listed):
        yield f"exports {name}, which exports.map does not list"
    for name in sorted(listed - exported):
        yield f"does not export {name}, which exports.map lists"


def allowed_imports():
    allowed = {}
    with open(os.path.join(TOOLS, "runtime_imports.txt"), encoding="utf-8") as f:
        for line in f:
            words = line.partition("#")[0].split()
            if words:
                allowed[words[0]] = words[1:] == ["weak"]
    return allowed


def check_imports(path):
    """Names from runtime_imports.txt, no unwinder, no glibc newer than the oldest supported."""
    newest = NEWEST_GLIBC[machine(path)]
    allowed = allowed_imports()
    for name, version, bind, defined in dynamic_symbols(path):
        if defined or not name:
            continue
        if name.startswith("_Unwind_"):
            yield f"imports the unwinder: {name}"
        elif name not in allowed:
            yield f"imports {name}: not in tools/runtime_imports.txt"
        elif allowed[name] and bind != "WEAK":
            yield f"imports {name} strongly: it may be absent"
        match = re.match(r"GLIBC_([0-9.]+)", version or "")
        if match and bind != "WEAK" and tuple(map(int, match[1].split("."))) > newest:
            yield f"imports {name}@{version}: newer than GLIBC_{'.'.join(map(str, newest))}"
    # A versioned import makes the whole library depend on that version, weak or not, unless
    # the dependency itself is marked weak.
    for line in readelf(path, "-V").splitlines():
        match = re.search(r"Name: GLIBC_([0-9.]+)\s+Flags: (\S+)", line)
        if match and match[2] != "WEAK" and tuple(map(int, match[1].split("."))) > newest:
            yield f"depends on GLIBC_{match[1]}"


def segments(path):
    for line in readelf(path, "-l").splitlines():
        match = re.match(r"\s+([A-Z_]+)\s+0x\S+ 0x\S+ 0x\S+ (0x\S+) (0x\S+) (.{3})", line)
        if match:
            yield match[1], int(match[2], 16), int(match[3], 16), match[4]


def check_size(path):
    """A guest takes little room."""
    loaded = sum(file_bytes for kind, file_bytes, _, _ in segments(path) if kind == "LOAD")
    zero = sum(mem - file_bytes for kind, file_bytes, mem, _ in segments(path) if kind == "LOAD")
    if loaded > MAX_LOADED_BYTES:
        yield f"{loaded} bytes are loaded; the ceiling is {MAX_LOADED_BYTES}"
    if zero > MAX_BSS_BYTES:
        yield f"{zero} bytes of zeroed data; the ceiling is {MAX_BSS_BYTES}"


def check_tls(path):
    """Initial-exec TLS of a few bytes, so that the library can also be loaded late."""
    for kind, _, mem, _ in segments(path):
        if kind == "TLS" and mem > MAX_TLS_BYTES:
            yield f"{mem} bytes of TLS; the ceiling is {MAX_TLS_BYTES}"
    relocations = readelf(path, "-r")
    for kind in ("TLSDESC", "DTPMOD", "DTPREL"):
        if kind in relocations:
            yield f"TLS is not initial-exec: {kind} relocation"


def check_hardening(path):
    """Constructors before all others, no lazy binding, no writable code, no text relocations."""
    dynamic = readelf(path, "-d")
    for flag in ("INITFIRST", "NOW"):
        if not re.search(rf"\bFLAGS_1\).*\b{flag}\b", dynamic):
            yield f"is not linked with -z {flag.lower()}"
    if "TEXTREL" in dynamic:
        yield "has text relocations"
    for kind, _, _, flags in segments(path):
        if kind in ("LOAD", "GNU_STACK") and "W" in flags and "E" in flags:
            yield f"has a {kind} segment that is writable and executable"


def main(argv):
    gates = {name[6:]: gate for name, gate in globals().items() if name.startswith("check_")}
    if len(argv) != 3 or argv[1] not in gates:
        sys.exit(__doc__)
    problems = list(gates[argv[1]](argv[2]))
    for problem in problems:
        print(f"libsilt.so {problem}")
    sys.exit(1 if problems else 0)


if __name__ == "__main__":
    main(sys.argv)
