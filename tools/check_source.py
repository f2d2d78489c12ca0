#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Rules about the sources that a compiler does not check.

    check_source.py layers     includes follow tools/layers.txt, as docs/architecture.md has it
    check_source.py private    a header that says "Inside FOLDER/ only" is included by that folder alone
    check_source.py headers CC every header of src/ compiles alone: the build shows it of those that a source includes first
    check_source.py names      the name of a file of src/ is used once
    check_source.py sleeps     nothing in src/ waits by sleeping
    check_source.py form       licence line, length of files, marks of unfinished work
    check_source.py root       nothing at the root of the repository but what tools/root.txt lists
"""

import concurrent.futures
import os
import re
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
SRC = os.path.join(ROOT, "src")
RUNTIME_FOLDERS = ("hook", "unwind", "wire")
MAX_LINES = 700

# Waiting is done on what is waited for (futex, poll, waitpid); there is no list of exceptions.
SLEEPS = re.compile(r"\b(sleep|usleep|nanosleep|clock_nanosleep|thrd_sleep|sched_yield|pthread_yield)\s*\("
                    r"|\bSYS_(clock_)?nanosleep\b|\b__NR_(clock_)?nanosleep\b")
UNFINISHED = re.compile(r"\b(TODO|FIXME|XXX|HACK)\b")


def files(top, endings):
    for where, folders, names in os.walk(top):
        folders[:] = [name for name in folders if name != "node_modules"]
        for name in sorted(names):
            if name.endswith(endings):
                yield os.path.join(where, name)


def rel(path):
    return os.path.relpath(path, ROOT)


def read(path):
    with open(path, encoding="utf-8") as f:
        return f.read()


def without_comments(text):
    def blank(match):
        return re.sub(r"[^\n]", " ", match[0])
    return re.sub(r"/\*.*?\*/|//[^\n]*", blank, text, flags=re.S)


def read_layers():
    """What each folder may include, and what its tests may beside that."""
    layers, tests = {}, {}
    for line in read(os.path.join(ROOT, "tools/layers.txt")).splitlines():
        line = line.partition("#")[0].strip()
        if line:
            folder, _, allowed = line.partition(":")
            allowed, _, for_tests = allowed.partition("|")
            layers[folder.strip()] = set(allowed.split())
            tests[folder.strip()] = set(for_tests.split()) | {"base", "verify"}
    return layers, tests


def documented_layers():
    """The may-use table of docs/architecture.md, as far as it names folders."""
    layers = {}
    for line in read(os.path.join(ROOT, "docs/architecture.md")).splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        folder = re.fullmatch(r"`(\w+)/`", cells[0])
        if folder and len(cells) == 3:
            layers[folder[1]] = cells[1]
    return layers


def project_includes(path):
    for number, line in enumerate(read(path).splitlines(), 1):
        match = re.match(r'\s*#\s*include\s+"([^"]+)"', line)
        if match:
            yield number, match[1]


def check_shared_headers(folder, allowed):
    """A header that is allowed by name must not bring along others of its folder."""
    for header in sorted(a for a in allowed if a.endswith(".h")):
        for number, include in project_includes(os.path.join(SRC, header)):
            if include not in allowed and include.split("/")[0] not in allowed:
                yield f"src/{header}:{number}: {folder}/ may use this header, but not {include}"


def check_layers():
    layers, tests = read_layers()
    documented = documented_layers()
    for folder in sorted(set(layers) | set(documented)):
        if folder not in layers or folder not in documented:
            yield f"{folder}/ must be both in tools/layers.txt and in docs/architecture.md"
            continue
        named = set(re.findall(r"`(\w+)/`|`(\w+/\w+\.h)`", documented[folder]))
        named = {one or other for one, other in named}
        if "all of" not in documented[folder] and named != layers[folder]:
            yield f"{folder}/: docs/architecture.md says {sorted(named)}, tools/layers.txt {sorted(layers[folder])}"
    for path in files(SRC, (".c", ".h")):
        folder = os.path.relpath(path, SRC).split(os.sep)[0]
        if folder not in layers:
            yield f"{rel(path)}: folder '{folder}' is not in tools/layers.txt"
            continue
        allowed = layers[folder] | {folder}
        if path.endswith(("_test.c", "_fuzz.c", "_seeds.c")) or "/testing/" in path:
            allowed = allowed | tests[folder]
        for number, include in project_includes(path):
            used = include.split("/")[0]
            if "/" not in include:
                yield f"{rel(path)}:{number}: write the include from src/: \"{folder}/{include}\""
            elif used not in allowed and include not in allowed:
                yield f"{rel(path)}:{number}: {folder}/ may not use {include if any(a.startswith(used + '/') for a in allowed) else used + '/'}"
    for folder, allowed in sorted(layers.items()):
        yield from check_shared_headers(folder, allowed)


PRIVATE = re.compile(r"Inside (\w+)/ only\.")
ALMOST_PRIVATE = re.compile(r"\b(?:inside|private to|within)\s+\w+/(?:(?:,| and)\s+\w+/)*\s+(?:only|alone)\b", re.IGNORECASE)


def head_comment(text):
    """What a file says of itself, in one line: the comment behind the licence."""
    match = re.match(r"(?:/\*[^*]*SPDX[^*]*\*/\s*)?/\*(.*?)\*/", text, flags=re.S)
    return re.sub(r"\s*\n\s*\*?\s*", " ", match[1]) if match else ""


def check_private():
    owners = {}
    for path in files(SRC, ".h"):
        name = os.path.relpath(path, SRC).replace(os.sep, "/")
        said = head_comment(read(path))
        marks = PRIVATE.findall(said)
        if len(marks) > 1 or len(marks) != len(ALMOST_PRIVATE.findall(said)):
            yield f'{rel(path)}: spell it "Inside {name.split("/")[0]}/ only."'
        elif marks and marks[0] != name.split("/")[0]:
            yield f"{rel(path)}: says it is for {marks[0]}/ only, and is not there"
        elif marks:
            owners[name] = marks[0]
    for path in files(SRC, (".c", ".h")):
        folder = os.path.relpath(path, SRC).split(os.sep)[0]
        for number, line in enumerate(read(path).splitlines(), 1):
            match = re.match(r'\s*#\s*include\s+"([^"]+)"', line)
            if match and owners.get(match[1], folder) != folder:
                yield f"{rel(path)}:{number}: {match[1]} is for {owners[match[1]]}/ only"


FIRST_INCLUDE = re.compile(r'\s*#\s*include\s+"([^"]+)"')
NOT_ALWAYS_BUILT = re.compile(r"(_fuzz|_seeds|_aarch64|_x86_64)\.c$")


def headers_compiled_first():
    """Those that a source of every build includes before all else: the build compiles them alone, and this need not."""
    found = set()
    for path in files(SRC, ".c"):
        match = None if NOT_ALWAYS_BUILT.search(path) else FIRST_INCLUDE.match(without_comments(read(path)))
        if match:
            found.add(os.path.normpath(os.path.join(SRC, match[1])))
    return found


def check_headers(compiler):
    compiled = headers_compiled_first()
    left = [path for path in files(SRC, ".h") if os.path.normpath(path) not in compiled]

    def compile_one(path):
        std = "gnu11" if os.path.relpath(path, SRC).split(os.sep)[0] in RUNTIME_FOLDERS else "gnu17"
        done = subprocess.run(
            [*compiler, f"-std={std}", "-D_GNU_SOURCE", "-Wall", "-Werror", "-Wno-unused-function",
             "-Wno-unused-const-variable", "-fsyntax-only", f"-I{SRC}", "-x", "c", "-"],
            input=f'#include "{os.path.relpath(path, SRC)}"\n', capture_output=True, text=True)
        return path, done

    with concurrent.futures.ThreadPoolExecutor(os.cpu_count() or 1) as pool:
        for path, done in pool.map(compile_one, left):
            if done.returncode != 0:
                yield f"{rel(path)} does not compile alone:\n{done.stderr}"


def check_names():
    """Folders of seeds are named by numbers, and each folder has its meson.build; there is no other exception."""
    found = {}
    for where, _, names in os.walk(SRC):
        if where.endswith("_corpus"):
            continue
        for name in sorted(names):
            if name != "meson.build":
                found.setdefault(name, []).append(rel(os.path.join(where, name)))
    for name, paths in sorted(found.items()):
        if len(paths) > 1:
            yield f"{' and '.join(sorted(paths))}: one name for two files: let each say what it holds"


def check_sleeps():
    for path in files(SRC, (".c", ".h")):
        for number, line in enumerate(without_comments(read(path)).splitlines(), 1):
            if SLEEPS.search(line):
                yield f"{rel(path)}:{number}: waits by sleeping: {line.strip()}"


def check_form():
    folders = [os.path.join(ROOT, f) for f in ("src", "tests", "tools", "examples", "bench", "web")]
    for folder in folders:
        for path in files(folder, (".c", ".h", ".cc", ".cpp", ".py", ".sh", ".rs", ".ts", ".tsx", ".mjs")):
            text = read(path)
            lines = text.splitlines()
            if not any("SPDX-License-Identifier: MIT" in line for line in lines[:3]):
                yield f"{rel(path)}: no SPDX line at the top"
            if len(lines) > MAX_LINES:
                yield f"{rel(path)}: {len(lines)} lines; a file is one noun, split it"
            if path != os.path.abspath(__file__):
                for number, line in enumerate(lines, 1):
                    if UNFINISHED.search(line):
                        yield f"{rel(path)}:{number}: unfinished: {line.strip()}"


def check_root():
    """Nothing lies there that is not listed: output of a script, a log of a run. Ignored files are nobody's business; where the sources are no
    repository there is nothing to ask."""
    with open(os.path.join(ROOT, "tools", "root.txt"), encoding="utf-8") as f:
        listed = {line.strip() for line in f if line.strip() and not line.startswith("#")}
    try:
        done = subprocess.run(["git", "-C", ROOT, "ls-files", "--cached", "--others", "--exclude-standard"], capture_output=True, text=True)
    except OSError:
        return
    if done.returncode == 0:
        found = {name.partition("/")[0] + ("/" if "/" in name else "") for name in done.stdout.splitlines()}
        yield from (f"{name}: lies at the root of the repository and is not in tools/root.txt" for name in sorted(found - listed))
        yield from (f"{name}: is in tools/root.txt and not there" for name in sorted(listed - found))


def main(argv):
    checks = {
        "layers": check_layers,
        "private": check_private,
        "headers": lambda: check_headers(argv[2:] or ["cc"]),
        "names": check_names,
        "sleeps": check_sleeps,
        "form": check_form,
        "root": check_root,
    }
    if len(argv) < 2 or argv[1] not in checks:
        sys.exit(__doc__)
    problems = list(checks[argv[1]]())
    for problem in problems:
        print(problem)
    sys.exit(1 if problems else 0)


if __name__ == "__main__":
    main(sys.argv)
