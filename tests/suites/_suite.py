# SPDX-License-Identifier: MIT
"""Other people's test programs, bare and under silt: the verdicts must be the same.

A verdict is the exit status and the lines that the program prints, which threads do in any order. Each runs twice by itself, which shows what it prints differently every time,
and once under silt. Where that is different the program runs by itself some more: only one whose own verdicts differ is flaky, and
flaky ones are named."""

import concurrent.futures
import os
import re
import shutil
import time

from harness.process import TimedOut, outlived, run

N_MORE = 6  # times by itself before a difference is believed
PATIENCE_S = 900


class Program:
    """One test: `argv`, with `env` beside the environment, in a folder of its own, with empty `files`, unless `cwd` is given.
    `known`: (pattern, why) of what it prints that silt is known to change."""

    def __init__(self, name, argv, env=None, cwd=None, files=(), known=None):
        self.name, self.argv, self.env, self.cwd, self.files, self.known = name, argv, env or {}, cwd, files, known


class Verdict:
    def __init__(self, code, stdout, said=""):
        self.code, self.stdout, self.said = code, stdout, said

    def __str__(self):
        return f"{self.code}, {self.stdout[-300:]!r} {self.said}".strip()


def loosened(text):
    """Without what a program prints anew every time: times, addresses, process ids."""
    return re.sub(rb"0x[0-9a-f]+|\d+(\.\d+)?", b"N", text)


def lines(text):
    """What is printed, whoever of several threads and processes came first, in the middle of a line too."""
    return bytes(sorted(text))


def is_same(got, wanted):
    """Against the verdicts by itself. What these agree about must be the same under silt."""
    if got.code not in {v.code for v in wanted} or got.said:
        return False
    if len({lines(v.stdout) for v in wanted}) == 1:
        return lines(got.stdout) == lines(wanted[0].stdout)
    forms = {lines(loosened(v.stdout)) for v in wanted}
    return len(forms) > 1 or lines(loosened(got.stdout)) in forms


class Suite:
    def __init__(self, t, name):
        self.t, self.name = t, name
        self.n = 0
        self.different, self.flaky, self.left_out, self.known = {}, [], {}, {}

    def leave_out(self, name, reason):
        self.left_out.setdefault(reason, []).append(name)

    def path(self, program, tag):
        """Without anything that a shell in a test would take for its own."""
        return self.t.path(re.sub(r"[^\w.-]", "_", f"{self.name}.{program.name}.{tag}"))

    def once(self, program, wrap=lambda argv: argv, tag="bare"):
        folder = self.path(program, tag)
        os.makedirs(folder)
        for name in program.files:
            open(os.path.join(folder, name), "w").close()
        try:
            r = run(wrap(program.argv), env={"TMPDIR": folder, **program.env}, cwd=program.cwd or folder, timeout_s=PATIENCE_S)
        except TimedOut:
            return Verdict("no end", b"")
        finally:
            shutil.rmtree(folder, ignore_errors=True)
        said = [line for line in r.errors.splitlines() if line.startswith("silt")]
        stdout = re.sub(program.known[0], b"", r.stdout, flags=re.M) if program.known else r.stdout
        return Verdict(r.code, stdout, "; ".join(said))

    def watched(self, program):
        trace = self.path(program, "silt")
        verdict = self.once(program, lambda argv: self.t.silt.run_argv(trace, argv, ["-f"]), "watched")
        self.look_at(program, trace, verdict)
        return verdict

    def look_at(self, program, trace, verdict):
        if outlived(trace, 30):  # a process of the test lives on, and would still be recorded
            return
        r = self.t.silt.command("verify", trace, timeout_s=PATIENCE_S)
        if r.code:
            verdict.said += f" silt verify: {r.code}: {(r.text + r.errors).strip()[-300:]}"
        self.measure(program, trace, verdict)
        if os.path.exists(trace):
            os.unlink(trace)

    def measure(self, program, trace, verdict):
        """For suites that look at the figures too."""

    def judge(self, program):
        bare = [self.once(program), self.once(program)]
        got = self.watched(program)
        if not is_same(got, bare):
            bare += [self.once(program) for _ in range(N_MORE)]
            if len({v.code for v in bare}) > 1:
                self.flaky.append(program.name)
            elif not is_same(got, bare):
                self.different[program.name] = f"{got}; by itself: {bare[0]}"
        elif bare[0].code != bare[1].code:
            self.flaky.append(program.name)
        self.n += 1

    def run(self, programs, jobs=2):
        begin = time.monotonic()
        for program in programs:
            if program.known:
                self.known.setdefault(program.known[1], []).append(program.name)
        with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
            for future in [pool.submit(self.judge, p) for p in programs]:
                future.result()
        self.tell(time.monotonic() - begin)

    def tell(self, seconds):
        n_different = len(self.different)
        told = [f"{self.name}: {self.n} tests, {self.n - n_different - len(self.flaky)} the same, {n_different} different, "
                f"{len(self.flaky)} flaky by themselves{': ' if self.flaky else ''}{', '.join(sorted(self.flaky))}; {seconds:.0f} s"]
        told += [f"{self.name}: {len(names)} left out: {reason}: {', '.join(sorted(names))}" for reason, names in sorted(self.left_out.items())]
        told += [f"{self.name}: {len(names)} compared without {why}: {', '.join(sorted(names))}" for why, names in sorted(self.known.items())]
        self.t.notes += told + self.more_to_tell()
        assert not self.different, "\n".join([*self.t.notes, *(f"{name}: {what}" for name, what in sorted(self.different.items()))])

    def more_to_tell(self):
        return []


def soak_alone(test):
    """Fetches a source package and builds it."""
    test.repeats, test.soak_repeats = 0, 1
    return test
