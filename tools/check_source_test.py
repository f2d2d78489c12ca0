#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Rules of check_source.py fail where they are broken: small trees, each with one thing wrong."""

import os
import shutil
import subprocess
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import check_source  # noqa: E402

LICENCE = "/* SPDX-License-Identifier: MIT */\n"


def problems(check, tree):
    """What a check says of a src/ of these files."""
    with tempfile.TemporaryDirectory() as root:
        for path, text in tree.items():
            path = os.path.join(root, "src", path)
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(path, "w", encoding="utf-8") as f:
                f.write(LICENCE + text)
        before = check_source.ROOT, check_source.SRC
        check_source.ROOT, check_source.SRC = root, os.path.join(root, "src")
        try:
            return list(check())
        finally:
            check_source.ROOT, check_source.SRC = before


class Headers(unittest.TestCase):
    def check(self, tree, *expected):
        found = problems(lambda: check_source.check_headers([shutil.which("cc") or "gcc"]), tree)
        self.assertEqual(len(found), len(expected), found)
        for text, part in zip(found, expected):
            self.assertIn(part, text)

    BROKEN = {"a/bad.h": "size_t n_of(void);\n"}

    def test_alone(self):
        self.check({"a/good.h": "#include <stddef.h>\nsize_t n_of(void);\n"})
        self.check(self.BROKEN, "src/a/bad.h does not compile alone")

    def test_first_in_a_source(self):
        """Which the build compiles, and which would fail there."""
        self.check({**self.BROKEN, "a/bad.c": '/* #include <stddef.h> */\n#include "a/bad.h"\n'})
        self.check({**self.BROKEN, "a/bad.c": '#include <stddef.h>\n\n#include "a/bad.h"\n'}, "a/bad.h")
        self.check({**self.BROKEN, "a/bad_fuzz.c": '#include "a/bad.h"\n'}, "a/bad.h")
        self.check({**self.BROKEN, "a/bad_aarch64.c": '#include "a/bad.h"\n'}, "a/bad.h")


class Private(unittest.TestCase):
    HEADER = {"report/gather.h": "/* What a report says. Inside report/ only. */\n"}
    USE = '#include "report/gather.h"\n'

    def check(self, tree, *expected):
        found = problems(check_source.check_private, tree)
        self.assertEqual(len(found), len(expected), found)
        for text, part in zip(found, expected):
            self.assertIn(part, text)

    def test_own_folder(self):
        self.check({**self.HEADER, "report/text.c": self.USE, "report/testing/fake.c": self.USE})

    def test_other_folder(self):
        self.check({**self.HEADER, "diff/side.c": "\n" + self.USE},
                   "src/diff/side.c:3: report/gather.h is for report/ only")

    def test_other_header(self):
        self.check({**self.HEADER, "diff/side.h": "/* A side. Inside diff/ only. */\n" + self.USE},
                   "src/diff/side.h:3: report/gather.h is for report/ only")

    def test_public(self):
        self.check({"show/style.h": "/* What is inside: words. */\n", "diff/side.c": '#include "show/style.h"\n'})

    def test_broken_line(self):
        self.check({"report/gather.h": "/* What a report says. Inside report/\n * only. */\n", "cli/main.c": self.USE},
                   "src/cli/main.c:2")

    def test_other_spellings(self):
        for text in ("Inside report/ and diff/ only.", "inside report/ only", "Private to report/ alone."):
            self.check({"report/gather.h": f"/* What a report says. {text} */\n"}, 'spell it "Inside report/ only."')

    def test_wrong_folder(self):
        self.check({"report/gather.h": "/* Inside diff/ only. */\n"}, "is for diff/ only, and is not there")


class Names(unittest.TestCase):
    def test_used_once(self):
        self.assertEqual(problems(check_source.check_names, {"diff/diff_text.c": "", "report/report_text.c": ""}), [])

    def test_used_twice(self):
        found = problems(check_source.check_names, {"diff/text.c": "", "report/text.c": ""})
        self.assertTrue(found)
        self.assertIn("text.c", found[0])


class Sleeps(unittest.TestCase):
    def test_sleeps(self):
        tree = {"base/wait.c": "/* usleep(1) is what we do not do. */\nvoid f(void) {\n\tusleep(1);\n}\n"}
        self.assertEqual(problems(check_source.check_sleeps, tree), ["src/base/wait.c:4: waits by sleeping: usleep(1);"])


class Root(unittest.TestCase):
    def check(self, listed, *there):
        with tempfile.TemporaryDirectory() as root:
            for name in ("tools/root.txt", ".gitignore", *there):
                os.makedirs(os.path.dirname(os.path.join(root, name)), exist_ok=True)
                with open(os.path.join(root, name), "w", encoding="utf-8") as f:
                    f.write("".join(x + "\n" for x in ("# a list", "tools/", ".gitignore", *listed)) if name == "tools/root.txt" else "build*\n")
            subprocess.run(["git", "init", "-q", root], check=True)
            subprocess.run(["git", "-C", root, "add", ".gitignore", "tools"], check=True)
            before, check_source.ROOT = check_source.ROOT, root
            try:
                return list(check_source.check_root())
            finally:
                check_source.ROOT = before

    def test_listed(self):
        self.assertEqual(self.check(["src/", "Makefile"], "src/a.c", "Makefile", "build-asan/x"), [])

    def test_stray(self):
        found = self.check(["src/"], "src/a.c", "out.log", "new/x")
        self.assertEqual([x.split(":")[0] for x in found], ["new/", "out.log"])

    def test_gone(self):
        self.assertEqual(self.check(["src/"]), ["src/: is in tools/root.txt and not there"])


if __name__ == "__main__":
    unittest.main()
