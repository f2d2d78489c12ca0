#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""No phrase that docs/words.md refuses stands where a user can read it: in a string literal of src/, in man/ or in README.md.

    check_words.py           the whole tree
    check_words.py --self    the check itself: each phrase is found in each kind of file, wherever the line breaks, and not in comments
"""

import os
import re
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
TOKEN = re.compile(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])+\'|\s+|PRI[a-zA-Z0-9]+|.', re.S)
NOT_SHOWN = re.compile(r"(_test|_fuzz|_seeds)\.c$|/testing/")
# Words that earlier recordings hold; the reader must know them.
KEPT = {"src/trace/limit.c"}


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


def shown(root):
    """What users read: file, line, text."""
    for folder, _, names in os.walk(os.path.join(root, "src")):
        for name in sorted(names):
            path = os.path.join(folder, name)
            where = os.path.relpath(path, root)
            if name.endswith((".c", ".h")) and not NOT_SHOWN.search(where) and where not in KEPT:
                for line, text in literals(read(path)):
                    yield where, line, text
    pages = os.path.join(root, "man")
    for path in [os.path.join(pages, name) for name in sorted(os.listdir(pages)) if name.endswith(".md")] + [os.path.join(root, "README.md")]:
        yield os.path.relpath(path, root), 1, read(path)


def problems(root):
    refused = re.compile("|".join(r"(?<!\w)" + r"\s+".join(map(re.escape, p.split())) + r"(?!\w)" for p in phrases(root)), re.I)
    for where, line, text in shown(root):
        for match in refused.finditer(text):
            yield f"{where}:{line + text.count(chr(10), 0, match.start())}: '{' '.join(match[0].split())}': see docs/words.md"


def check_itself():
    listed = phrases(ROOT)
    with tempfile.TemporaryDirectory() as root:
        for folder in ("src/a/testing", "man", "docs"):
            os.makedirs(os.path.join(root, folder))

        def put(where, text):
            with open(os.path.join(root, where), "w", encoding="utf-8") as f:
                f.write(text)

        put("docs/words.md", "```phrases\n" + "\n".join(listed) + "\n```\n")
        put("README.md", "fine\n")
        put("man/a.md", "fine\n")
        for phrase in listed:
            head, _, tail = phrase.partition(" ")
            joined = f'"it {head} "\n\t"{tail} x"' if tail else f'"it {head} x"'
            put("src/a/a.c", f'/* {phrase} */ char *a = {joined};\n')
            put("src/a/b_test.c", f'char *b = "{phrase}";\n')
            put("src/a/testing/c.c", f'char *c = "{phrase}";\n')
            put("man/a.md", f"Some {head}\n{tail} words.\n")
            put("README.md", f"{phrase.capitalize()}.\n")
            found = [x.partition(":")[0] for x in problems(root)]
            assert sorted(set(found)) == ["README.md", "man/a.md", "src/a/a.c"], (phrase, found)
        put("src/a/a.c", 'char *a = "' + "x".join(p.replace(" ", "y") for p in listed) + '";\n')
        put("man/a.md", "fine\n")
        put("README.md", "fine\n")
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
