# SPDX-License-Identifier: MIT
"""The tree of call paths in a report's text, read back."""

import re

BRANCH = "│├└|+` "


class Entry:
    """One entry: its figures as text, how deep it is, its functions (outermost first), and what stands behind them."""

    def __init__(self, figures, depth, text):
        self.figures, self.depth, self.text = figures.split(), depth, text
        self.names, self.place, self.via = [], "", ""
        self.is_rest = bool(re.match(r"(…|\.\.) [\d,]+ more call path", text))
        self.is_leaf = True

    def finish(self):
        calls = re.split(r" (?:→|>) ", self.text)
        head, *behind = re.split(r" {2,}", calls[-1])
        self.names = [re.sub(r" [×x]\d+$", "", name) for name in calls[:-1] + [head]]
        for part in behind:
            if part.startswith("via "):
                self.via = part[4:]
            else:
                self.place = part


def strip_branches(text):
    depth = 0
    while len(text) > 1 and text[0] in BRANCH and text[1] == " ":
        text = text[2:]
        depth += 1
    return depth, text


def entries(text):
    """All entries of the tree, in order; [] where there is none."""
    found, column = [], 0
    lines = text[text.find("by call path ("):].splitlines() if "by call path (" in text else []
    for line in lines[1:]:
        if not line.strip() or line.startswith("Spread over"):
            break
        if not column:
            column = line.index("call path")
            continue
        depth, rest = strip_branches(line[column:])
        if line[:column].strip():
            found.append(Entry(line[:column], depth, rest))
        elif found:
            gap = "  " if re.match(r"via |\S+:\d+$", rest.strip()) else " "
            found[-1].text += gap + rest.strip()
    for i, entry in enumerate(found):
        entry.is_leaf = not entry.is_rest and (i + 1 == len(found) or found[i + 1].depth <= entry.depth)
        entry.finish()
    return found


def call_paths(text):
    """The functions of every call path that is told, the code that asked first."""
    found, above = [], []
    for entry in entries(text):
        if entry.is_rest:
            continue
        above = above[:entry.depth] + [entry.names]
        if entry.is_leaf:
            found.append([name for names in above for name in names][::-1])
    return found
