#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""No phrase that docs/words.md refuses stands where a user can read it: in a string literal of src/, in web/, man/, docs/, README.md or NEWS.md.

    check_words.py           the whole tree
    check_words.py --self    the check itself: each phrase is found in each kind of file, wherever the line breaks, and not in comments
"""

import os
import re
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
TOKEN = re.compile(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])+\'|\s+|PRI[a-zA-Z0-9]+|.', re.S)
NOT_SHOWN = re.compile(r"(_test|_fuzz|_seeds)\.(c|tsx?)$|/(testing|node_modules)/")
# Of the page all but comments: a phrase of several words is no code.
PAGE_COMMENT = re.compile(r"/\*.*?\*/|(?<![:\"'`])//[^\n]*", re.S)
# Words that earlier recordings hold; the reader must know them. What the list itself is written in.
KEPT = {"src/trace/limit.c", "src/trace/recorder_end.h", "docs/words.md"}


def read(path):
    with open(path, encoding="utf-8") as f:
        return f.read()


def phrases(root):
    listed = re.search(r"```phrases\n(.*?)```", read(os.path.join(root, "docs/words.md")), re.S)
    if not listed or not listed[1].strip():
        sys.exit("check_words.py: docs/words.md lists no phrases")
    return listed[1].split("\n")[:-1]


def literals(text):
    """Each string of a C source with the line it begins in; neighbours are one."""
    line, begin, parts = 1, 0, []
    for match in TOKEN.finditer(text):
        token = match[0]
        if token.startswith('"'):
            begin = begin or line
            parts.append(token[1:-1])
        elif begin and not token.isspace() and not token.startswith(("/*", "//", "PRI")):
            yield begin, "".join(parts).replace("\\n", "\n")
            begin, parts = 0, []
        line += token.count("\n")
    if begin:
        yield begin, "".join(parts).replace("\\n", "\n")


def files(root, top, endings):
    """What is shown below a folder, relative to the root."""
    for folder, folders, names in os.walk(os.path.join(root, top)):
        folders[:] = sorted(x for x in folders if x != "node_modules")
        for name in sorted(names):
            where = os.path.relpath(os.path.join(folder, name), root)
            if name.endswith(endings) and not NOT_SHOWN.search(where):
                yield where


def shown(root):
    """What users read: file, line, text."""
    for folder, _, names in os.walk(os.path.join(root, "src")):
        for name in sorted(names):
            path = os.path.join(folder, name)
            where = os.path.relpath(path, root)
            if name.endswith((".c", ".h")) and not NOT_SHOWN.search(where) and where not in KEPT:
                for line, text in literals(read(path)):
                    yield where, line, text
    for path in files(root, "web", (".ts", ".tsx", ".html")):
        yield path, 1, PAGE_COMMENT.sub(lambda m: re.sub(r"[^\n]", " ", m[0]), read(os.path.join(root, path)))
    for path in [*files(root, "man", (".md",)), *files(root, "docs", (".md",)), "README.md", "NEWS.md"]:
        if path not in KEPT:
            yield path, 1, read(os.path.join(root, path))


def problems(root):
    refused = re.compile("|".join(r"(?<!\w)" + r"\s+".join(map(re.escape, p.split())) + r"(?!\w)" for p in phrases(root)), re.I)
    for where, line, text in shown(root):
        for match in refused.finditer(text):
            yield f"{where}:{line + text.count(chr(10), 0, match.start())}: '{' '.join(match[0].split())}': see docs/words.md"


def check_itself():
    listed = phrases(ROOT)
    with tempfile.TemporaryDirectory() as root:
        for folder in ("src/a/testing", "man", "docs/stories", "web/testing"):
            os.makedirs(os.path.join(root, folder))

        def put(where, text):
            with open(os.path.join(root, where), "w", encoding="utf-8") as f:
                f.write(text)

        put("docs/words.md", "```phrases\n" + "\n".join(listed) + "\n```\n")
        for path in ("README.md", "NEWS.md", "man/a.md", "docs/stories/a.md"):
            put(path, "fine\n")
        for phrase in listed:
            head, _, tail = phrase.partition(" ")
            joined = f'"it {head} "\n\t"{tail} x"' if tail else f'"it {head} x"'
            put("src/a/a.c", f'/* {phrase} */ char *a = {joined};\n')
            put("src/a/b_test.c", f'char *b = "{phrase}";\n')
            put("src/a/testing/c.c", f'char *c = "{phrase}";\n')
            put("man/a.md", f"Some {head}\n{tail} words.\n")
            put("docs/stories/a.md", f"Some {head}\n{tail} words.\n")
            put("web/a.tsx", f"/* {phrase} */ const a = <p> x // {phrase}\n {head}\n {tail} x</p>;\n")
            put("web/b.ts", f'const b = "it {phrase}";\n')
            put("web/b_test.ts", f'const b = "{phrase}";\n')
            put("web/testing/c.ts", f'const c = "{phrase}";\n')
            put("README.md", f"{phrase.capitalize()}.\n")
            put("NEWS.md", f"{phrase.capitalize()}.\n")
            found = [x.partition(":")[0] for x in problems(root)]
            wanted = ["NEWS.md", "README.md", "docs/stories/a.md", "man/a.md", "src/a/a.c", "web/a.tsx", "web/b.ts"]
            assert sorted(set(found)) == wanted and len(found) == len(wanted), (phrase, found)
        put("src/a/a.c", 'char *a = "' + "x".join(p.replace(" ", "y") for p in listed) + '";\n')
        for path in ("README.md", "NEWS.md", "man/a.md", "docs/stories/a.md", "web/a.tsx", "web/b.ts"):
            put(path, "fine\n")
        assert not list(problems(root)), list(problems(root))
    print(f"{len(listed)} phrases")


def main():
    if sys.argv[1:] == ["--self"]:
        return check_itself()
    found = list(problems(ROOT))
    for problem in found:
        print(problem)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
