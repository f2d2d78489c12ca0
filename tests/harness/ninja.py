# SPDX-License-Identifier: MIT
"""Programs of the build that `ninja all` has not. Two ninjas in one build directory make the same things at once, each over the other's."""

import os

from .locks import Lock
from .process import run


def build_targets(build, *targets):
    with Lock(os.path.join(build, ".ninja_of_tests")):
        r = run(["ninja", "-C", build, "--quiet", *targets], timeout_s=900)  # a crate and what it needs, on a slow machine
    assert r.code == 0, r.text + r.errors


def build_example(silt, name):
    build = os.path.dirname(silt)
    build_targets(build, "examples/" + name)
    return os.path.join(build, "examples", name)
