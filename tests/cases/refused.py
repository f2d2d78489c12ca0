# SPDX-License-Identifier: MIT
"""Programs silt cannot enter get one line with the remedy before they run, and status 125: never an empty trace."""

import os
import shutil
import struct
import tempfile

from harness.cases import skip
from harness.process import run


def refused(t, argv, word, name="t.silt"):
    r = t.silt.record(t.path(name), argv)
    assert r.code == 125, f"expected 125, got {r.code}: {r.errors}"
    lines = r.errors.splitlines()
    assert len(lines) == 1 and lines[0].startswith("silt: ") and lines[0].count(": ") >= 2, r.errors
    assert word in lines[0].lower(), f"no {word!r} in {lines[0]!r}"
    assert not os.path.exists(t.path(name)), "a trace was left behind"
    assert b"ready" not in r.stdout and not r.stdout, "the program ran"
    doctor = t.silt.command("doctor", argv[0])
    assert doctor.code == 1, f"doctor: expected 1, got {doctor.code}: {doctor.text}{doctor.errors}"
    assert word in (doctor.text + doctor.errors).lower(), f"doctor does not say {word!r}: {doctor.text}"


def static_helper(t):
    return t.helper("helper_static", flags=["-static"])


def test_static(t):
    refused(t, [static_helper(t), "allocate", "10"], "static")
    refused(t, [static_helper(t), "allocate", "10"], "silt cpu run")


def test_static_pie(t):
    refused(t, [t.helper("helper_static_pie", flags=["-static-pie"]), "allocate", "10"], "static")


def test_script_with_a_static_interpreter(t):
    script = t.path("script")
    with open(script, "w") as f:
        f.write(f"#!{static_helper(t)} allocate\n")
    os.chmod(script, 0o755)
    refused(t, [script], "static")


def test_script_of_a_script(t):
    inner, outer = t.path("inner"), t.path("outer")
    with open(inner, "w") as f:
        f.write(f"#!{static_helper(t)} allocate\n")
    with open(outer, "w") as f:
        f.write(f"#!{inner}\n")
    os.chmod(inner, 0o755)
    os.chmod(outer, 0o755)
    refused(t, [outer], "static")


def test_script_with_a_dynamic_interpreter_runs(t):
    script = t.path("script")
    with open(script, "w") as f:
        f.write("#!/bin/sh\nexit 9\n")
    os.chmod(script, 0o755)
    r = t.silt.record(t.path("t.silt"), [script])
    assert r.code == 9 and t.silt.report(t.path("t.silt"))[0], r.errors


def test_another_architecture(t):
    """A program whose header names a machine this is not."""
    foreign = t.path("foreign")
    with open(t.helper(), "rb") as f:
        data = bytearray(f.read())
    machine, = struct.unpack_from("<H", data, 18)
    struct.pack_into("<H", data, 18, 243 if machine != 243 else 62)  # RISC-V
    with open(foreign, "wb") as f:
        f.write(data)
    os.chmod(foreign, 0o755)
    refused(t, [foreign, "allocate", "10"], "built for")


def test_setuid_as_root(t):
    if os.getuid() != 0:
        skip("making a setuid program of another user needs root")
    program = t.path("setuid")
    shutil.copy(t.helper(), program)
    os.chown(program, 65534, 65534)
    os.chmod(program, 0o4755)
    refused(t, [program, "allocate", "10"], "setuid")


def test_setcap_as_root(t):
    """A file with capabilities, started by an ordinary user: for root itself it is a program like any other."""
    if os.getuid() != 0:
        skip("giving a file capabilities needs root")
    folder = tempfile.mkdtemp(prefix="silt-setcap.", dir="/tmp")
    try:
        os.chmod(folder, 0o777)
        for path in (t.silt.path, os.path.join(os.path.dirname(t.silt.path), "libsilt.so"), t.helper()):
            shutil.copy(path, folder)
        program = os.path.join(folder, "helper")
        # version 2, effective; permitted: CAP_NET_BIND_SERVICE
        try:
            os.setxattr(program, "security.capability", struct.pack("<IIIII", 0x02000001, 1 << 10, 0, 0, 0))
        except OSError as e:
            skip(f"the file system takes no capabilities: {e}")
        r = run(["setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups", folder + "/silt", "run", "-q",
                 "-o", folder + "/t.silt", "--", program, "allocate", "10"])
        assert r.code == 125 and not r.stdout, f"expected 125, got {r.code}: {r.errors}"
        assert len(r.errors.splitlines()) == 1 and "capabilit" in r.errors, r.errors
    finally:
        shutil.rmtree(folder)


def test_doctor_on_a_good_program(t):
    r = t.silt.command("doctor", t.helper())
    assert r.code == 0, f"{r.code}: {r.text}{r.errors}"
    assert t.silt.command("doctor").code == 0
    assert t.silt.command("doctor", "/no/such/program").code == 2
