# SPDX-License-Identifier: MIT
"""Stacks through code that was made while the program ran: where they are most of all, the report says so before its first figure."""

from harness.process import run

# Code without unwind information, with a frame pointer: it calls what it is given.
SOURCE = """
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#if defined(__aarch64__)
static const unsigned code[] = {0xa9bf7bfd, 0x910003fd, 0xd63f0000, 0xa8c17bfd, 0xd65f03c0};
#else
static const unsigned char code[] = {0x55, 0x48, 0x89, 0xe5, 0xff, 0xd7, 0x5d, 0xc3};
#endif
static void *volatile kept;
__attribute__((noinline)) static void allocate(void) { free(kept); kept = malloc(100); }
int main(int argc, char **argv) {
        int n_made = atoi(argv[1]), n_plain = argc > 2 ? atoi(argv[2]) : 0;
        void *made = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        void (*call)(void (*)(void));
        memcpy(made, code, sizeof(code));
        if (mprotect(made, 4096, PROT_READ | PROT_EXEC)) return 1;
        __builtin___clear_cache((char *)made, (char *)made + sizeof(code));
        memcpy(&call, &made, sizeof(call));
        for (int i = 0; i < n_made; i++) call(allocate);
        for (int i = 0; i < n_plain; i++) allocate();
        return 0;
}
"""


def record(t, *argv):
    path = t.path("made_code")
    with open(path + ".c", "w") as f:
        f.write(SOURCE)
    r = run(["gcc", "-O1", "-g", "-fno-builtin", "-fno-omit-frame-pointer", "-fno-optimize-sibling-calls", path + ".c", "-o", path])
    assert r.code == 0, r.errors
    r = t.silt.record(path + ".silt", [path, *argv], ["-f"])
    assert r.code == 0, r.errors
    got, why = t.silt.report(path + ".silt")
    assert got, why
    return got, t.silt.command("report", path + ".silt").text


def test_most_stacks_lead_through_it(t):
    got, text = record(t, "300")
    assert got["quality"]["complete_stacks_pct"] < 50, got["quality"]
    assert [limit["kind"] for limit in got["limits"]] == ["stacks"], got["limits"]
    assert "made while the program ran" in got["limits"][0]["text"], got["limits"]
    assert text.startswith("! Incomplete: ") and "of the stacks" in text.split("\n")[0], text[:300]
    assert "  ! Only" not in text, text


def test_few_do(t):
    got, text = record(t, "30", "300")
    assert got["quality"]["complete_stacks_pct"] > 50 and not got["limits"], (got["quality"], got["limits"])
    assert not text.startswith("!"), text[:300]
