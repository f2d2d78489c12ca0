# SPDX-License-Identifier: MIT
"""The programs of tests/programs and their expectations: one test per program, or per case of it."""

import json
import os

from . import expect
from .process import TimedOut, outlived

# qemu-user says it when a signal ends the guest
EMULATOR_WORDS = b"qemu: uncaught target signal"


def load_cases(source_dir):
    """All expectations as plain dictionaries with `name` and `sources`; cases inherit from their program."""
    for file_name in sorted(os.listdir(source_dir)):
        if not file_name.endswith(".json"):
            continue
        stem = file_name[:-5]
        with open(os.path.join(source_dir, file_name)) as f:
            program = json.load(f)
        program["program"] = stem
        if "sources" not in program:
            found = [stem + ext for ext in (".c", ".cc", ".rs") if os.path.exists(os.path.join(source_dir, stem + ext))]
            program["sources"] = found[:1]
        cases = program.pop("cases", None)
        if cases is None:
            yield {**program, "name": stem, "binary": stem}
            continue
        for name, case in cases.items():
            builds_itself = any(key in case for key in ("flags", "link", "sources"))
            yield {**program, **case, "name": f"{stem}/{name}",
                   "binary": f"{stem}.{name}" if builds_itself else stem}


RECORDER_END_S = 60  # far more than a busy machine needs


class ProgramTest:
    """Runs one case under silt, verifies and reports the trace, and compares."""

    def __init__(self, case, context):
        self.case, self.context = case, context
        self.name = "program/" + case["name"]
        self.repeats = 2 if case.get("racy") else 1
        self.soak_repeats = 100

    def build(self):
        tools, case = self.context.tools, self.case
        for library, how in case.get("libraries", {}).items():
            tools.build(library, how["sources"], how.get("flags", []), shared=True)
        return tools.build(case["binary"], case["sources"], case.get("flags", []), case.get("link", []))

    def environment(self, baseline):
        env = {k: v.replace("{dir}", self.context.tools.out_dir) for k, v in self.case.get("env", {}).items()}
        if self.case.get("baseline"):
            env["TRUTH_BASELINE" if baseline else "TRUTH_MEASURED"] = "1"
        return env

    def arguments(self, baseline):
        args = self.case.get("args", [])
        if self.case.get("baseline"):
            args = ["baseline" if baseline else "measured", *args]
        return [a.replace("{dir}", self.context.tools.out_dir) for a in args]

    def record(self, binary, baseline):
        """One run under silt: (told names, report, report of all processes, failures)."""
        silt, case = self.context.silt, self.case
        trace = self.context.trace_path(self.name + (".baseline" if baseline else ""))
        if os.path.exists(trace):
            os.unlink(trace)
        r = silt.record(trace, [binary, *self.arguments(baseline)], options=case.get("run_options", []),
                        env=self.environment(baseline))
        failures = []
        if r.code != (case.get("exit", 0) if not baseline else 0):
            failures.append(f"exit status: expected {case.get('exit', 0)}, got {r.code}")
        stderr = b"".join(line for line in r.stderr.splitlines(True) if not line.startswith(EMULATOR_WORDS))
        if stderr:
            failures.append(f"stderr: expected nothing, got {stderr[-500:]!r}")
        names = expect.told(r.stdout)
        if not os.path.exists(trace):
            return names, None, None, failures + ["no trace was written"]
        verified = silt.command("verify", trace)
        if verified.code != 0:
            failures.append(f"silt verify: {verified.code}: {(verified.errors + verified.text).strip()[-300:]}")
        report, why = silt.report(trace)
        if outlived(trace, RECORDER_END_S):
            failures.append(f"the recorder still ran {RECORDER_END_S} s after the last process of the program had ended")
        if report is None:
            return names, None, None, failures + [why]
        if "took too long" in json.dumps(report["limits"]):
            raise TimedOut(f"silt says that it lacked the time to see all: {report['limits']}")
        all_report = None
        if "all" in case and not baseline:
            all_report, why = silt.report(trace, "--process", "all")
            if all_report is None:
                failures.append(why)
        return names, report, all_report, failures

    def run(self):
        """Returns (failures, notes)."""
        binary = self.build()
        names = {}
        if self.case.get("baseline"):
            base_names, report, _, failures = self.record(binary, True)
            if report is None or failures:
                return ["baseline: " + f for f in failures], []
            names["base"] = expect.namespace({**base_names, **report["totals"]})
        told, report, all_report, failures = self.record(binary, False)
        if report is None:
            return failures, []
        names.update(told, main=report.get("pid"), lost=0)
        check = expect.Check(names)
        check.failures += failures
        for name, value in self.case.get("equals", {}).items():
            check.equal(f"the program's own {name}", value, told.get(name))
        case = self.case
        if self.context.is_tiny:
            case = {**case, "complete_stacks_pct": {"min": 0, "max": 100, "why": "a tiny build walks few frames"}}
            if "tiny_loses" in case:
                names["lost"] = report["totals"]["lost_events"]
                case["totals"] = {**case["totals"], "lost_events": {"min": 0, "max": 10000, "why": case["tiny_loses"]}}
        elif case.get("handlers") and not self.context.walks_handlers:
            case = {**case, "complete_stacks_pct": {"min": 0, "max": 100, "why": "the code a handler returns to is in no object there"}}
        expect.check_report(check, case, report, all_report)
        return check.failures, check.notes

