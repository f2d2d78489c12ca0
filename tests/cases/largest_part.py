# SPDX-License-Identifier: MIT
"""The headline and the first finding speak of the largest part of resident memory: on programs of known layout, which look at their own smaps, and on
a compiler."""

import json
import os
import re

from harness.cases import skip
from harness.process import run
from harness.weight import max_rss_bytes

MIB = 1 << 20

# Each says how much of what it mapped itself, and of everything, the kernel finds resident.
HEAD = """
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#define MIB (1 << 20)
#define N (64)
static char *chunks[N];
static size_t sizes[N];
static int n_chunks;
static void say(void) {
        FILE *f = fopen("/proc/self/smaps", "r");
        char line[512];
        unsigned long begin, end, kib, mine = 0, all = 0;
        int is_mine = 0;
        while (fgets(line, sizeof(line), f)) {
                if (sscanf(line, "%lx-%lx ", &begin, &end) == 2) {
                        is_mine = 0;
                        for (int i = 0; i < n_chunks; i++)
                                is_mine |= (unsigned long)chunks[i] < end && begin < (unsigned long)chunks[i] + sizes[i];
                } else if (sscanf(line, "Rss: %lu kB", &kib) == 1) {
                        all += kib;
                        mine += is_mine ? kib : 0;
                }
        }
        fclose(f);
        printf("%lu %lu\\n", mine << 10, all << 10);
        fflush(stdout);
        usleep(2000000); // a look of the recorder, however little of the machine it gets
}
static char *keep(char *p, size_t n) {
        if (p == MAP_FAILED) exit(1);
        chunks[n_chunks] = p;
        sizes[n_chunks++] = n;
        return p;
}
__attribute__((noinline)) char *get_pages(size_t n) {
        char *p = keep(mmap(NULL, n, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), n);
        __asm__ volatile("");
        return p;
}
__attribute__((noinline)) char *pool_alloc(size_t n) {
        char *p = get_pages(n);
        memset(p, 1, n);
        return p;
}
__attribute__((noinline)) void parse(int i) { pool_alloc(MIB); __asm__ volatile(""); (void)i; }
__attribute__((noinline)) void expand(int i) { pool_alloc(MIB); __asm__ volatile(""); (void)i; }
__attribute__((noinline)) void optimise(int i) { pool_alloc(MIB); __asm__ volatile(""); (void)i; }
__attribute__((noinline)) void emit(int i) { pool_alloc(MIB); __asm__ volatile(""); (void)i; }
__attribute__((noinline)) void blocks(size_t mib) {
        for (size_t i = 0; i < mib * 256; i++) memset(malloc(4000), 1, 4000);
}
"""

POOL = HEAD + """
int main(void) {
        blocks(3);
        for (int i = 0; i < 12; i++) { parse(i); expand(i); optimise(i); emit(i); }
        say();
        return 0;
}
"""

BLOCKS = HEAD + """
int main(void) {
        blocks(48);
        for (int i = 0; i < 2; i++) { parse(i); expand(i); optimise(i); }
        say();
        return 0;
}
"""

# 167 blocks are left of few, and 5 MiB of blocks grow to the end: less than half of what is mapped.
SMALL = HEAD + """
int main(void) {
        void *volatile left[167];
        for (int i = 0; i < 167; i++) left[i] = malloc(64);
        for (int i = 0; i < 6; i++) { parse(i); expand(i); optimise(i); emit(i); }
        say();
        return left[0] == NULL;
}
"""

RISING = HEAD + """
__attribute__((noinline)) void remember(void) { memset(malloc(4000), 1, 4000); __asm__ volatile(""); }
int main(void) {
        for (int i = 0; i < 3; i++) { parse(i); expand(i); optimise(i); emit(i); }
        for (int i = 0; i < 1280; i++) { remember(); free(malloc(100)); usleep(1600); }
        say();
        return 0;
}
"""

OPENED = HEAD + """
int main(void) {
        char *p = keep(mmap(NULL, 1024L * MIB, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0), 1024L * MIB);
        blocks(2);
        for (int i = 0; i < 40; i++)
                if (mprotect(p + (size_t)i * 4 * MIB, MIB, PROT_READ | PROT_WRITE)) return 1;
                else memset(p + (size_t)i * 4 * MIB, 1, MIB);
        if (mprotect(p, 2 * MIB, PROT_NONE)) return 1; /* of it 1 MiB was open */
        say();
        return 0;
}
"""

UNTOUCHED = HEAD + """
int main(void) {
        get_pages(300L * MIB);
        blocks(24);
        say();
        return 0;
}
"""

RESERVED = HEAD + """
__attribute__((noinline)) char *reserve(size_t n) { char *p = malloc(n); __asm__ volatile(""); return p; }
int main(void) {
        char *p = reserve(600L * MIB);
        memset(p, 1, 24 * MIB);
        blocks(12);
        say();
        return p == NULL;
}
"""

HALF = HEAD + """
int main(void) {
        blocks(30);
        for (int i = 0; i < 7; i++) { parse(i); expand(i); optimise(i); emit(i); }
        say();
        return 0;
}
"""

FILES = HEAD + """
int main(int argc, char **argv) {
        char path[4096];
        int made;
        volatile long sum = 0;
        snprintf(path, sizeof(path), "%s.data", argv[0]);
        made = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
        for (int i = 0; i < 64; i++) { static char page[MIB]; memset(page, i, MIB); if (write(made, page, MIB) != MIB) return 1; }
        char *p = keep(mmap(NULL, 64 * MIB, PROT_READ, MAP_SHARED, made, 0), 64 * MIB);
        for (long i = 0; i < 64L * MIB; i += 4096) sum += p[i];
        blocks(2);
        say();
        unlink(path);
        return argc == 0;
}
"""


def record(t, name, source):
    path = t.path(name)
    with open(path + ".c", "w") as f:
        f.write(source)
    r = run(["gcc", "-O1", "-g", "-fno-builtin", "-fno-optimize-sibling-calls", path + ".c", "-o", path])
    assert r.code == 0, r.errors
    r = t.silt.record(path + ".silt", [path], ["-f"])
    assert r.code == 0, r.errors
    mine, everything = map(int, r.stdout.split())
    got, why = t.silt.report(path + ".silt", "--by", "mapped")
    assert got, why
    headline = " ".join(got["headline"].split())
    resident = got["resident"]
    assert resident["mapped_bytes"] <= max(resident["peak_bytes"] - resident["blocks_bytes"], 0), resident
    return path + ".silt", got, headline, mine, everything


def mapped(got):
    top = got["top"][0]
    assert top["metric"] == "mapped", top
    return sum(s["bytes"] for s in top["sites"])


def near(a, b, share):
    return abs(a - b) <= share * b


def test_a_pool_of_its_own(t):
    trace, got, headline, mine, everything = record(t, "pool", POOL)
    assert mapped(got) == 48 * MIB and near(mine, 48 * MIB, 0.01), (mapped(got), mine)
    assert got["resident"]["largest_part"] == "mapped" and near(got["resident"]["mapped_bytes"], mine, 0.05), got["resident"]
    assert near(got["resident"]["peak_bytes"], everything, 0.1), (got["resident"], everything)
    assert re.search(r"used up to \S+ MiB of memory: about \S+ MiB in its own mappings \(all through pool_alloc\)", headline), headline
    first = got["findings"][0]
    assert first["kind"] == "mapped" and first["bytes"] == 48 * MIB and first["text"].startswith("pool_alloc mapped all of the 48.0 MiB"), first
    assert "on 4 call paths" in first["text"], first
    text = t.silt.command("report", trace).text
    assert re.search(r"48\.0 MiB +48\.0 MiB +48 +4 +pool_alloc \(larg", text), text
    # the same bytes in each view
    tree = t.silt.command("report", trace, "--by", "mapped", "--callers", "pool_alloc").text
    assert "48.0 MiB of the 48.0 MiB mapped by the program itself" in " ".join(tree.split()), tree
    part = t.silt.command("report", trace, "--by", "mapped", "--group-by", "function", "--function", "^parse$").text
    assert "12.0 MiB of the 12.0 MiB mapped" in " ".join(part.split()), part
    folded = t.silt.command("export", trace, "--format", "folded", "--by", "mapped", "-o", "-")
    assert sum(int(line.rsplit(" ", 1)[1]) for line in folded.stdout.decode().splitlines()) == 48 * MIB, folded.stdout
    same = t.silt.command("diff", trace, trace, "--by", "mapped")
    assert same.code == 0 and "maps 48.0 MiB itself, as OLD does" in " ".join(same.text.split()), same.text
    drawn = t.silt.command("flame", trace, "--by", "mapped", "-o", t.path("pool.svg"))
    assert drawn.code == 0 and "48.0 MiB mapped by the program itself" in open(t.path("pool.svg")).read(), drawn.errors
    bill = json.loads(t.silt.command("bill", trace, "--json").text)
    lines = next(p["lines"] for p in bill["parts"] if p["part"] == "mapped")
    assert [(x["function"], x["call_paths"], x["bytes"]) for x in lines] == [("pool_alloc", 4, 48 * MIB)], lines
    assert "48.0 MiB were mapped by the program itself, all through pool_alloc;" in bill["text"], bill["text"]


def test_blocks_come_first_where_they_are_most(t):
    _, got, headline, mine, _ = record(t, "blocks", BLOCKS)
    assert mapped(got) == 6 * MIB and near(mine, 6 * MIB, 0.02), (mapped(got), mine)
    assert got["resident"]["largest_part"] == "blocks", got["resident"]
    assert re.search(r"ran for .* and peaked at 4\d\.\d MiB", headline) and "own mappings" not in headline, headline
    assert not [f for f in got["findings"] if f["kind"] == "mapped"], got["findings"]


def test_what_is_next_to_nothing_is_no_finding(t):
    _, got, _, _, _ = record(t, "small", SMALL)
    assert got["totals"]["end_live_bytes"] >= 167 * 64, got["totals"]
    assert [f["kind"] for f in got["findings"]] == ["mapped"], got["findings"]


def test_most_of_the_memory_comes_first(t):
    _, got, _, _, _ = record(t, "rising", RISING)
    kinds = [f["kind"] for f in got["findings"]]
    assert kinds[0] == "mapped" and "pool_alloc" in got["findings"][0]["text"], got["findings"]
    assert "growing" in kinds, got["findings"]


def test_reserved_addresses_that_are_opened_up(t):
    """1 GiB of addresses, of which 40 times 1 MiB was opened and 1 MiB closed again, which stays resident."""
    _, got, headline, mine, _ = record(t, "opened", OPENED)
    assert mapped(got) == 40 * MIB and near(mine, 40 * MIB, 0.01), (mapped(got), mine)
    assert got["resident"]["largest_part"] == "mapped" and "40.0 MiB in its own mappings" in headline, headline


def test_untouched_pages_are_not_resident(t):
    _, got, headline, mine, everything = record(t, "untouched", UNTOUCHED)
    assert mapped(got) == 300 * MIB and mine < MIB, (mapped(got), mine)
    assert got["resident"]["largest_part"] == "blocks" and got["resident"]["peak_bytes"] < 1.2 * everything, (got["resident"], everything)
    assert "300.0 MiB" not in headline and "own mappings" not in headline, headline


def test_blocks_that_were_never_touched(t):
    """Resident memory comes first, and how much more was requested; the kernel told at the end what was resident at most."""
    _, got, headline, _, everything = record(t, "reserved", RESERVED)
    assert got["totals"]["peak_live_bytes"] >= 600 * MIB and near(got["resident"]["peak_bytes"], everything, 0.1), (got["resident"], everything)
    assert re.search(r"and used up to [34]\d\.\d MiB of memory, although its blocks were 61\d\.\d MiB: ", headline), headline


def test_blocks_are_the_largest_part_and_not_most_of_it(t):
    """30 MiB of blocks, and 28 that the program mapped: the two are far apart, whichever is larger."""
    _, got, headline, _, _ = record(t, "half", HALF)
    assert got["resident"]["largest_part"] == "blocks" and not got["resident"]["is_mostly_blocks"], got["resident"]
    assert re.search(r"used up to [56]\d\.\d MiB of memory: at most 29\.\d MiB in blocks and about 2\d\.\d MiB in its own mappings", headline), headline


def test_files_are_no_memory_of_its_own(t):
    _, got, headline, mine, _ = record(t, "files", FILES)
    assert mapped(got) == 64 * MIB and near(mine, 64 * MIB, 0.01), (mapped(got), mine)
    assert got["resident"]["largest_part"] == "files" and got["resident"]["mapped_bytes"] < 4 * MIB, got["resident"]
    assert re.search(r"used up to \S+ MiB of memory: 6\d\.\d MiB in files", headline), headline


def test_a_compiler(t):
    """Peak memory as the kernel counted it for a run without silt; most of it is mapped by the compiler's own collector."""
    found = run(["g++", "-print-prog-name=cc1plus"]).stdout.decode().strip()
    if not os.path.isabs(found):
        skip("no g++")
    source = t.path("work.cc")
    with open(source, "w") as f:
        f.write("#include <string>\nint main() { return (int)std::string(\"a\").size(); }\n")
    argv = [found, "-quiet", "-fsyntax-only", "-imultiarch", run(["g++", "-print-multiarch"]).stdout.decode().strip(), "-D_GNU_SOURCE", source, "-o", t.path("work.s")]
    alone_bytes = max_rss_bytes(argv)
    r = t.silt.record(t.path("cc.silt"), argv, ["-f"])
    assert r.code == 0, r.errors
    got, why = t.silt.report(t.path("cc.silt"))
    assert got, why
    resident, headline = got["resident"], " ".join(got["headline"].split())
    assert near(resident["peak_bytes"], alone_bytes, 0.1), (resident, alone_bytes)
    assert resident["largest_part"] == "mapped" and resident["mapped_bytes"] > 3 * resident["blocks_bytes"], resident
    assert re.search(r"of memory: about \S+ MiB in its own mappings \((nearly )?all through ggc_\w+\)", headline), headline
    assert got["findings"][0]["kind"] == "mapped" and "ggc_" in got["findings"][0]["text"], got["findings"][0]
