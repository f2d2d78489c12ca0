# SPDX-License-Identifier: MIT
"""Runs a program of this folder with parameters drawn at random and holds the report's findings against what it tells of itself.

A failure names its seed: SILT_FINDINGS_SEED=N tests/run.py --only '^findings/growing/list' runs the same again."""

import json
import math
import os
import random
import re
import shlex
import shutil
import urllib.parse

from harness.process import TimedOut

ALARMS = ("growing", "leak", "large-site", "short-peak")  # what may stand first
NOTES = ("lost", "wrong-size", "unknown-frees", "failed", "incomplete-stacks", "unseen")  # about the recording or single mistakes
STRETCHES = (1, 1, 2, 4)  # a run in which the machine stood still is repeated, and then made longer
STALL_PART = 0.04  # of the run: so late a step may be
START_PART = 0.15  # so long setting up may take
SEED = os.environ.get("SILT_FINDINGS_SEED")


class Chance(random.Random):
    """Draws of a run; sizes and counts are drawn by their logarithm, small ones as often as large ones."""

    def log(self, low, high):
        return int(round(math.exp(self.uniform(math.log(low), math.log(high)))))

    def pct(self, percent):
        return self.random() * 100 < percent


class Run:
    """One recorded run: `truth` is what the program told, `findings` what silt says."""

    def __init__(self, t, program, shape, params, seed, trace):
        self.program, self.shape, self.params, self.seed = program, shape, params, seed
        self.silt = t.silt
        first_ms = params["ms"]
        flags = [] if program.endswith(".rs") else ["-fno-optimize-sibling-calls"]  # a caller's frame stays
        binary = t.context.shapes.build(program.replace(".", "_"), [program], flags)
        for stretch in STRETCHES:
            params["ms"] = first_ms * stretch
            self.truth = self.record(t, binary, trace)
            if not self.was_stalled():
                break
        else:
            raise TimedOut(f"the machine stood still in each of {len(STRETCHES)} runs: {self.truth}")
        self.report, why = t.silt.report(trace)
        self.expect(self.report, why)
        self.findings = self.report["findings"]
        self.totals = self.report["totals"]
        self.expect(self.totals["lost_events"] == 0, f"{self.totals['lost_events']} events lost")
        self.check_form(trace)

    def record(self, t, binary, trace):
        argv = [binary, self.shape, *(f"{k}={v}" for k, v in self.params.items())]
        r = t.silt.record(trace, argv, ["-f"])
        self.expect(r.code == 0, f"exit status {r.code}: {r.errors}")
        words = [line.split(" ", 1) for line in r.text.splitlines()]
        return {k: int(v) if v.isdigit() else v for k, v in words}

    def was_stalled(self):
        """Whether the machine stood still for so long that the program did not do what was drawn: its rise has a step, its peak is long."""
        return self.truth["late_ms"] > STALL_PART * self.params["ms"] or self.truth["start_ms"] > START_PART * self.params["ms"]

    def expect(self, holds, text):
        """Fails with all that is needed to see why."""
        if holds:
            return
        params = " ".join(f"{k}={v}" for k, v in self.params.items())
        findings = [f"  {f['kind']}: {f['text']}" for f in getattr(self, "findings", [])]
        raise AssertionError("\n".join([text, f"{self.program} {self.shape} {params}", f"told: {getattr(self, 'truth', {})}",
                                        "findings:", *findings, f"the same again: SILT_FINDINGS_SEED={self.seed}"]))

    def check_next(self, finding):
        """Its command answers, and what it shows is what the text has promised."""
        command = shlex.split(finding["next"])
        self.expect(command[0] == "silt", f"no command: {finding['next']}")
        asked = urllib.parse.parse_qsl(finding["next_request"], strict_parsing=True)
        self.expect(finding["next_view"] == command[1] and all(f"--{key}" in command and (value == "1" or value in command) for key, value in asked),
                    f"{finding['next']} and {finding['next_view']}?{finding['next_request']} differ")
        text, shows = self.silt.command(*command[1:]), finding["next_shows"]
        self.expect(text.code == 0, f"{finding['next']}: exit status {text.code}: {text.errors}")
        if not shows:
            return
        tree = json.loads(self.silt.command(*command[1:], "--json").text)
        value = tree["nodes"][0]["total"]["value"]
        self.expect(value == shows["value"] and value > 0, f"{finding['next']} shows {value:,}, not {shows['value']:,}: {finding['text']}")
        first = " ".join(text.text.split("\n\n")[0].split())
        figure = re.search(r"(?:requested|made) \+?([\d.,]+(?: (?:[KMGT]i)?B)?) of the", first)
        self.expect(figure and figure[1] in finding["text"], f"{finding['next']} says {first!r}, the finding {finding['text']!r}")
        share = re.search(r"\((\d+) %\)", first)
        if finding["kind"] == "growing" and share:
            self.expect(re.search(f" {share[1]} % of (all growth|the peak)", finding["text"]), f"{finding['next']} says {first!r}, the finding {finding['text']!r}")

    def check_places(self, text, told):
        """The text of a finding and its line "in ..." name the same function."""
        functions, text = [f["function"] for f in told], text.split("\nTotals\n")[0]
        for place in re.findall(r"\.\n    in (?!the same place as)(.*?)(?:  .*)?$", text, re.M):
            name = place.rstrip(".").rstrip("…")  # cut to the line
            self.expect(any(f.startswith(name) for f in functions), f"a finding is in '{place}', and told of {functions}")

    def check_form(self, trace):
        """At most seven, each a sentence with its numbers and what to look at next, no place told of twice by an alarm."""
        told = [f for f in self.findings if f["kind"] not in NOTES]
        self.expect(len(told) <= 7, f"{len(told)} findings")
        for f in told:
            self.expect(f["text"].endswith(".") and "\n" not in f["text"], f"no sentence: {f['text']!r}")
            self.expect(f["next"] and f["site"] and f["site"]["stack"], f"{f['kind']} does not say where")
            self.expect(f["evidence"] and all(isinstance(v, (int, float)) for v in f["evidence"].values()), f"no numbers: {f}")
            self.check_next(f)
        self.check_places(self.silt.command("report", trace).text, told)
        places = [str(f["site"]["stack"]) for f in self.of_kind("growing", "leak")]
        self.expect(len(set(places)) == len(places), "one place has two alarms")

    def of_kind(self, *kinds):
        return [f for f in self.findings if f["kind"] in kinds]

    def none(self, *kinds):
        """Nothing of these kinds is said."""
        said = self.of_kind(*kinds)
        self.expect(not said, f"{said[0]['kind'] if said else ''} is said where there is none")

    def names(self, finding):
        """Whether the finding names the culprit, in its text or on its call path."""
        site = finding.get("site") or {"stack": []}
        return any(self.truth["culprit"] in text for text in [finding["text"], *(f["function"] for f in site["stack"])])

    def alarm(self, *kinds):
        """The first alarm: of one of these kinds, about the culprit."""
        alarms = self.of_kind(*ALARMS)
        self.expect(alarms, f"no {' or '.join(kinds)} is said")
        self.expect(alarms[0]["kind"] in kinds, f"the first alarm is {alarms[0]['kind']}, not {' or '.join(kinds)}")
        self.expect(self.names(alarms[0]), f"the first alarm does not name {self.truth['culprit']}")
        return alarms[0]

    def remark(self, kind):
        """A finding of this kind about the culprit, wherever it stands."""
        about = [f for f in self.of_kind(kind) if self.names(f)]
        self.expect(about, f"no {kind} about {self.truth['culprit']}")
        return about[0]

    def evidence(self, finding, name):
        self.expect(name in finding.get("evidence", {}), f"{finding['kind']} has no evidence {name}: {finding.get('evidence')}")
        return finding["evidence"][name]

    def equal(self, what, got, expected):
        self.expect(got == expected, f"{what} is {got:,}, not {expected:,}")

    def near(self, what, got, expected, tolerance):
        self.expect(abs(got - expected) <= abs(expected) * tolerance,
                    f"{what} is {got:,.1f}, not {expected:,.1f} within {tolerance:.0%}")


def parameters(program, shape, seed, draw, fixed):
    """All that a seed stands for. Of what is fixed, pairs are drawn from low to high."""
    chance = Chance(f"{program}/{shape}/{seed}")
    params = {"seed": seed, "ms": chance.randint(600, 1500), "steps": chance.randint(60, 400),
              "hold_kb": chance.log(50, 8000), "others": chance.choice([0, 0, 1, 2]), "churn": chance.randint(0, 30),
              "depth": chance.randint(0, 12)}
    params.update(draw(chance))
    params.update({k: chance.log(*v) if isinstance(v, tuple) else v for k, v in fixed.items()})
    return params


def hold(t, program, shape, draw, fixed, check, many=20):
    """Calls check(run) for runs with drawn parameters: the same one in every `make test`, many in `make soak`, one when a seed is
    given."""

    def attempt(seed):
        trace = t.path(f"{shape}.{seed}.silt")
        try:
            check(Run(t, program, shape, parameters(program, shape, seed, draw, fixed), seed, trace))
        except AssertionError:
            if os.path.exists(trace):
                shutil.move(trace, os.path.join(t.context.failed, f"{program}.{shape}.{seed}.silt"))
            raise

    for seed in [int(SEED)] if SEED else [t.chance.randrange(1 << 30) for _ in range(t.count(1, many))]:
        attempt(seed)
