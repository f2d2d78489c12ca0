# SPDX-License-Identifier: MIT
"""Pages that few live bytes pin, against a walk over every byte: of a program that tells its own blocks, with the kernel's own word on which pages are resident."""

import array
import json
import os
import subprocess
from collections import Counter, defaultdict

from harness.watch import children, comm

PAGE, PRESENT = os.sysconf("SC_PAGE_SIZE"), 1 << 63
FIGURES = ("pages", "pages_with_one_block", "blocks", "block_bytes", "free_bytes")


def room(address, size):
    """What glibc sets aside: from where to where."""
    if size >= 128 << 10 and address % PAGE == 16:
        return address - 16, address - 16 + (size + 16 + PAGE - 1) // PAGE * PAGE
    return address - 8, address - 8 + max(32, (size + 8 + 15) // 16 * 16)


def pieces(begin, end):
    """(page, bytes of it) of a range."""
    while begin < end:
        stop = min(end, (begin // PAGE + 1) * PAGE)
        yield begin // PAGE, stop - begin
        begin = stop


class Pages:
    """All that is known of each page, added up plainly."""

    def __init__(self, blocks):
        self.asked, self.begun = defaultdict(Counter), defaultdict(Counter)
        self.begun_bytes = defaultdict(Counter)
        self.n_blocks, self.used = Counter(), Counter()
        for site, address, size in sorted(blocks, key=lambda b: b[1]):
            for page, n in pieces(address, address + size):
                self.asked[page][site] += n
                self.n_blocks[page] += 1
            self.begun[address // PAGE][site] += 1
            self.begun_bytes[address // PAGE][site] += size
            for page, n in pieces(*room(address, size)):
                self.used[page] += n

    def resident(self, pid):
        with open(f"/proc/{pid}/pagemap", "rb", buffering=0) as f:
            for page in self.asked:
                f.seek(page * 8)
                if array.array("Q", f.read(8))[0] & PRESENT:
                    yield page

    def pinned(self, pid):
        rows = defaultdict(Counter)
        for page in self.resident(pid):
            sites = self.asked[page]
            if 4 * sum(sites.values()) > PAGE:
                continue
            site, _ = max(sites.items(), key=lambda x: x[1])  # of equals the first by address
            rows[site].update(pages=1, pages_with_one_block=self.n_blocks[page] == 1, blocks=self.begun[page][site], block_bytes=self.begun_bytes[page][site],
                              free_bytes=PAGE - self.used[page])
        return {site: tuple(row[x] for x in FIGURES) for site, row in rows.items()}


def compare(t, seed):
    program = t.context.helpers.build("known_blocks", ["known_blocks.c"])
    process = subprocess.Popen(t.silt.run_argv(t.path(f"{seed}.silt"), [program, str(seed)], ["-f"]), stdin=subprocess.PIPE,
                               stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, start_new_session=True)
    t.running.append(process)
    blocks = []
    for line in process.stdout:
        if line == b"end\n":
            break
        site, address, size = line.split()
        blocks.append((site.decode(), int(address), int(size)))
    pid = next(p for p in children(process.pid) if not (comm(p) or "silt").startswith("silt"))
    r = t.silt.command("bill", str(pid), "--json")
    assert r.code == 0, r.errors
    bill = json.loads(r.text)
    pages = Pages(blocks)
    truth = pages.pinned(pid)
    live = sum(sum(pages.asked[p].values()) for p in pages.resident(pid))
    process.communicate(b"\n", timeout=600)
    assert process.returncode == 0, process.returncode
    got = Counter()
    for row in bill["pinned"]:
        for x in FIGURES:
            got[row["function"], x] += row[x]
    told = {site: tuple(got[site, x] for x in FIGURES) for site in {row["function"] for row in bill["pinned"]}}
    t.notes.append(f"seed {seed}: {len(blocks):,} blocks, {FIGURES}: {truth}")
    assert sum(x[0] for x in truth.values()) > 1000, truth
    assert told == truth, (told, truth)
    assert (bill["blocks"], bill["asked_bytes"]) == (len(blocks), sum(b[2] for b in blocks)), bill["blocks"]
    assert next(p["bytes"] for p in bill["parts"] if p["part"] == "live") == live, live


def test_every_byte(t):
    for _ in range(t.count(2, 20)):
        compare(t, t.chance.randrange(1 << 30))
