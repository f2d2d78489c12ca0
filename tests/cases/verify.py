# SPDX-License-Identifier: MIT
"""`silt verify`, and every reader, on traces that are not what they should be."""

import subprocess
import time

from harness.answer import parse
from harness.process import give_up, run


def sound(t):
    trace = t.path("sound.silt")
    r = t.silt.record(trace, [t.program("threads")])
    assert r.code == 0, r.errors
    v = t.silt.command("verify", trace)
    assert v.code == 0, f"{v.code}: {v.errors}{v.text}"
    with open(trace, "rb") as f:
        return f.read()


def write(t, name, data):
    with open(t.path(name), "wb") as f:
        f.write(data)
    return t.path(name)


def test_every_changed_byte_is_found(t):
    """A bit flipped anywhere: verify finds it, report does not fall over it."""
    data = sound(t)
    chance = t.chance
    places = sorted(chance.sample(range(len(data)), 60)) + [0, 1, 8, len(data) - 1]
    unseen = []
    for place in places:
        bad = bytearray(data)
        bad[place] ^= 1 << chance.randrange(8)
        path = write(t, "bad.silt", bad)
        v = t.silt.command("verify", path)
        assert v.code in (0, 1, 2), f"byte {place}: verify died: {v.code} {v.errors[-200:]}"
        if v.code == 0:
            unseen.append(place)
        else:
            assert "at offset" in v.text + v.errors, f"byte {place}: {v.text + v.errors!r}"
        r = t.silt.command("report", "--json", path)
        assert r.code in (0, 2), f"byte {place}: report died: {r.code} {r.errors[-200:]}"
        if r.code == 2:
            assert len(r.errors.splitlines()) == 1 and r.errors.startswith("silt: "), r.errors
    assert not unseen, f"changes at bytes {unseen} of {len(data)} were not found"


def test_cut_off_anywhere(t):
    """A trace that ends early is incomplete: verify says so, and what is there can be reported."""
    data = sound(t)
    chance = t.chance
    for length in [0, 1, 7, 8, 16, 31, *sorted(chance.sample(range(32, len(data)), 30)), len(data) - 1]:
        path = write(t, "cut.silt", data[:length])
        v = t.silt.command("verify", path)
        assert v.code in (0, 1, 2), f"{length} bytes: verify died: {v.code} {v.errors[-200:]}"
        assert (v.text + v.errors).strip(), f"{length} bytes: verify says nothing"
        r = t.silt.command("report", "--json", path)
        assert r.code in (0, 2), f"{length} bytes: report died: {r.code} {r.errors[-200:]}"
        if r.code == 2:
            assert len(r.errors.splitlines()) == 1, r.errors
    assert t.silt.command("verify", write(t, "cut.silt", data[:len(data) // 2])).text != \
        t.silt.command("verify", write(t, "whole.silt", data)).text


IN_TWO = """#include <stdlib.h>
#include <unistd.h>
static void *volatile kept[20];
int main(void) {
        char c;
        for (int i = 0; i < 20; i++) {
                if (i == 10 && read(0, &c, 1) != 1)
                        return 1;
                kept[i] = malloc(10000);
        }
        return 0;
}
"""


def peak_bytes(t, trace):
    report, _ = t.silt.report(trace)
    return report["totals"]["peak_live_bytes"] if report else 0


def record_in_two(t, program, trace):
    """A recording with a slice that ends in the middle of the program."""
    recording = subprocess.Popen(t.silt.run_argv(trace, [program]), stdin=subprocess.PIPE, start_new_session=True)
    t.running.append(recording)
    deadline = time.monotonic() + 300
    while peak_bytes(t, trace) < 100_000:  # a slice has the first half
        give_up(deadline, "no slice with the first half")
        time.sleep(0.05)
    recording.communicate(b"x", timeout=300)
    assert recording.returncode == 0


def test_cut_before_the_last_slice(t):
    """Between the end of a process and the figures that go until then: its end is not told with the figures of before."""
    program = t.path("in_two")
    with open(program + ".c", "w") as f:
        f.write(IN_TWO)
    assert run(["gcc", "-O0", program + ".c", "-o", program]).code == 0
    for attempt in range(50):  # on a busy machine another slice may end between the last block and the end: then there is no such place
        trace = t.path(f"in_two.{attempt}.silt")
        record_in_two(t, program, trace)
        with open(trace, "rb") as f:
            data = f.read()
        whole = parse(t.silt.command("report", "--json", trace).text)["totals"]
        n_before = n_ended = 0
        for length in range(data.index(b"PEND") - 200, len(data), 37):
            path = write(t, "cut.silt", data[:length])
            r = t.silt.command("report", path)
            cut = parse(t.silt.command("report", "--json", path).text)["totals"]
            is_ended = " exited" in r.text
            assert not is_ended or cut["peak_live_bytes"] == whole["peak_live_bytes"] == 200_000, (length, r.text[:400])
            n_ended += is_ended
            n_before += cut["peak_live_bytes"] < 200_000
        assert n_ended, attempt
        if n_before:
            return
    assert False, "no file is cut between the end and its figures"


def test_appended_bytes_are_found(t):
    data = sound(t)
    v = t.silt.command("verify", write(t, "long.silt", data + t.chance.randbytes(100)))
    assert v.code in (1, 2), f"{v.code}: {v.text}{v.errors}"


def test_other_files_are_refused(t):
    for name, data in (("empty.silt", b""), ("text.silt", b"not a trace\n" * 100), ("zero.silt", bytes(5000)),
                       ("random.silt", t.chance.randbytes(5000))):
        path = write(t, name, data)
        for command in (["verify"], ["report"], ["report", "--json"]):
            r = t.silt.command(*command, path)
            assert r.code in ((1, 2) if command == ["verify"] else (2,)), f"{command} {name}: {r.code} {r.errors}"
            if command != ["verify"]:
                assert len(r.errors.splitlines()) == 1 and r.errors.startswith("silt: "), f"{command} {name}: {r.errors}"


def test_quiet(t):
    data = sound(t)
    r = t.silt.command("verify", "-q", write(t, "whole.silt", data))
    assert r.code == 0 and not r.stdout and not r.stderr
    bad = bytearray(data)
    bad[len(bad) // 2] ^= 0x10
    r = t.silt.command("verify", "-q", write(t, "bad.silt", bad))
    assert r.code in (1, 2) and not r.stdout, r.text
