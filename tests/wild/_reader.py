# SPDX-License-Identifier: MIT
"""What a stranger reads first about a program: lists of programs, one line each, and how they are recorded, read and judged.

    name | verdict | must | must not | command

    verdict   calm: no finding is a problem; problem: the first one is; any
    must, must not   regular expressions, held against the first sentence and the first finding, in lines of their own; - for none
    command   {name} is what an entry of `inputs` makes: text, or a function of the folder that gives a path; or what `tools` finds

What is not installed is left out. `make soak` runs all of them, `make test` the quick ones."""

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile

ENV = {"LC_ALL": "C", "HOME": "/nonexistent", "TERM": "dumb", "GIT_CONFIG_GLOBAL": "/dev/null", "GIT_PAGER": "cat", "R_HOME": "/usr/lib/R",
       "LD_LIBRARY_PATH": "/usr/lib/R/lib"}


class Line:
    def __init__(self, text):
        # a pattern may have alternatives, columns are set apart by blanks
        self.name, self.verdict, self.must, self.must_not, self.command = (x.strip() for x in re.split(r"\s\|\s", text, maxsplit=4))


class List:
    def __init__(self, text, inputs, tools, quick):
        self.lines = [Line(x) for x in text.strip().splitlines() if x and not x.startswith("#")]
        self.inputs, self.tools, self.quick = inputs, tools, quick

    def make_input(self, folder, silt, name):
        path = os.path.join(folder, name)
        if name in self.tools:
            return self.tools[name](folder, silt)
        if name in self.inputs and not os.path.exists(path):
            with open(path, "w") as f:
                f.write(self.inputs[name]())
        return path

    def argv_of(self, line, folder, silt):
        """None: a program is not installed."""
        text = re.sub(r"(?<!\{)\{([\w.]+)\}(?!\})", lambda m: self.make_input(folder, silt, m[1]), line.command)
        argv = shlex.split(text.replace("{{", "{").replace("}}", "}"))
        path = {"Rbin": "/usr/lib/R/bin/exec/R", "emacs": "/usr/bin/emacs-nox"}.get(argv[0], shutil.which(argv[0], path="/usr/bin:/bin:/usr/local/bin:/usr/sbin"))
        if argv[0] == "python3":
            path = "/usr/bin/python3"
        if argv[0] == "Rbin":
            argv[1:1] = ["--vanilla", "--no-echo"]
        return [path, *argv[1:]] if path and os.path.exists(path) else None

    def read(self, silt, line, folder, options=()):
        """(first sentence, findings) as told, None: not installed."""
        argv = self.argv_of(line, folder, silt)
        if not argv:
            return None
        trace = os.path.join(folder, line.name + ".silt")
        env = {**os.environ, **ENV}
        r = subprocess.run([silt, "run", "-q", "-f", "-o", trace, *options, "--", *argv], env=env, cwd=folder, stdin=subprocess.DEVNULL,
                           stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, timeout=600)
        assert r.returncode in (0, 137), f"{line.name}: {r.returncode}: {r.stderr[-300:]!r}"  # 137: killed, as a story may want it
        out = subprocess.run([silt, "report", "--json", trace], capture_output=True, timeout=600)
        report = json.loads(out.stdout)
        text = subprocess.run([silt, "report", trace], capture_output=True, text=True, timeout=600, env={**os.environ, "COLUMNS": "1000"}).stdout
        return report.get("headline") or text.lstrip().split("\n")[0], report["findings"]

    def case_of(self, line):
        def test(t):
            told = self.read(t.silt.path, line, t.dir, ["--runtime", t.silt.runtime] if t.silt.runtime else [])
            if told is None:
                from harness.cases import skip
                skip(f"{line.name}: not installed")
            wrong = check(line, *told)
            assert not wrong, "\n".join(wrong)

        test.repeats = 1 if line.name in self.quick else 0
        test.soak_repeats = 1
        return test

    def cases(self):
        return {f"test_{x.name}": self.case_of(x) for x in self.lines}

    def main(self):
        silt, only = os.path.abspath(sys.argv[1]), re.compile(sys.argv[2] if len(sys.argv) > 2 else ".")
        with tempfile.TemporaryDirectory() as folder:
            for line in self.lines:
                if not only.search(line.name):
                    continue
                try:
                    told = self.read(silt, line, folder)
                except (AssertionError, subprocess.SubprocessError) as e:
                    print(f"{line.name}\tfailed\t{e}", flush=True)
                    continue
                if told is None:
                    print(f"{line.name}\tnot installed", flush=True)
                    continue
                headline, findings = told
                first = findings[0] if findings else {"text": "none"}
                verdict = "wrong" if check(line, *told) else "right"
                print(f"{line.name}\t{verdict}\t{headline}\n\t{first.get('severity', '')}\t{first.get('kind', '')}: {first['text']}", flush=True)


def check(line, headline, findings):
    first = findings[0]["text"] if findings else ""
    told = f"{headline}\n{first}"
    problems = [f["text"] for f in findings if f.get("severity") == "problem"]
    wrong = []
    if line.verdict == "calm" and problems:
        wrong.append(f"false alarm: {problems[0]}")
    if line.verdict == "problem" and not (findings and findings[0].get("severity") == "problem"):
        wrong.append("the first finding is no problem")
    if line.must != "-" and not re.search(line.must, told):
        wrong.append(f"'{line.must}' is missing")
    if line.must_not != "-" and re.search(line.must_not, told):
        wrong.append(f"'{line.must_not}' is told")
    # a library's reserve, told in the first sentence at most
    if re.search(r"7\d\.\d KiB in 1 block", first):
        wrong.append("libstdc++'s reserve is a finding")
    return [f"{line.name}: {w}:\n{told}" for w in wrong]
