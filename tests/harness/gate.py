# SPDX-License-Identifier: MIT
"""What closes the gate (`make test`): the tests that tests/gate.txt lists, and which of their failures are forgiven."""

import re

# More tests than that which fail and then pass are no accident.
MAX_UNSTEADY = 3

# Harm, or a file that is wrong: never an accident, however often the test passes afterwards.
GRAVE = re.compile(r"(Address|Thread|Leak|UndefinedBehavior)Sanitizer|runtime error: |silt verify: |code bytes changed"
                   r"|SIG(SEGV|BUS|ILL|ABRT|FPE|TRAP|SYS)|Segmentation fault|dumped core|Aborted"
                   r"|exit status:? (expected \d+, got )?1(32|33|34|35|36|39|59)\b")


def is_grave(failures):
    return any(GRAVE.search(text) for text in failures)


class Listing:
    """The lines of tests/gate.txt: the name of a group or of a test is in, `GROUP: names` are some of a group, `not NAME: reason` is out."""

    def __init__(self, path):
        self.inside, self.outside, self.used = [], {}, set()
        group = ""
        with open(path) as f:
            for line in (raw.partition("#")[0].rstrip() for raw in f):
                if not line.startswith(" "):
                    group = ""
                line = line.strip()
                if line.startswith("not "):
                    name, _, reason = line[4:].partition(":")
                    assert reason.strip(), f"{path}: '{line}' has no reason"
                    self.outside[name.strip()] = reason.strip()
                elif line:
                    first, *others = line.split()
                    if first.endswith(":"):
                        group = first[:-1] + "/"
                    else:
                        others.insert(0, first)
                    self.inside += [group + name for name in others]

    def has(self, name):
        if name in self.outside:
            self.used.add(name)
            return False
        hits = [entry for entry in self.inside if name == entry or name.startswith(entry + "/")]
        self.used.update(hits)
        return bool(hits)

    def unused(self):
        """Entries that no test has the name of."""
        return sorted({*self.inside, *self.outside} - self.used)
