# SPDX-License-Identifier: MIT
"""The silt under test, as commands."""

import os

from .answer import parse
from .process import run


class Silt:
    """`launcher` is for programs of another machine under qemu-user; `runtime` for those, and for a silt
    built without one of its own (sanitized)."""

    def __init__(self, build_dir, launcher=None, runtime=None):
        self.path = os.path.join(os.path.abspath(build_dir), "silt")
        self.launcher, self.runtime = launcher, runtime

    def run_argv(self, trace, argv, options=()):
        foreign = ["--launcher", self.launcher] if self.launcher else []
        foreign += ["--runtime", self.runtime] if self.runtime else []
        return [self.path, "run", "-q", *foreign, *options, "-o", trace, "--", *argv]

    def record(self, trace, argv, options=(), **kwargs):
        return run(self.run_argv(trace, argv, options), **kwargs)

    def command(self, *argv, **kwargs):
        return run([self.path, *argv], **kwargs)

    def report(self, trace, *options):
        """(report, None) or (None, what went wrong)."""
        r = self.command("report", "--json", *options, trace)
        if r.code != 0:
            return None, f"silt report: exit status {r.code}: {r.errors.strip()[-300:]}"
        try:
            return parse(r.stdout), None
        except ValueError as e:
            return None, f"silt report --json: {e}: {r.stdout[:200]!r}"
