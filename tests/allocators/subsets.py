# SPDX-License-Identifier: MIT
"""Allocators of which a program has only some functions, drawn anew on every run: a linker drops what nobody calls. Whatever is left is
recognised, and counted exactly; functions of the program's own that are called like an allocator's are not taken for one."""


from allocators._workshop import HERE, Workshop
from allocators.exact import built_elsewhere, record

ROUNDS = 2000
NEVER = ("unknown_frees", "implicit_frees", "lost_events", "wrong_size_frees")

# name: (declaration, call, bytes); p: the block, n: the bytes it has
TAKES = {
    "c": {"malloc": ("void *{}(size_t)", "{}(40)", 40), "calloc": ("void *{}(size_t, size_t)", "{}(2, 21)", 42),
          "aligned_alloc": ("void *{}(size_t, size_t)", "{}(64, 128)", 128)},
    "jemalloc": {"mallocx": ("void *{}(size_t, int)", "{}(44, 0)", 44)},
    "mimalloc": {"malloc": ("void *{}(size_t)", "{}(40)", 40), "zalloc": ("void *{}(size_t)", "{}(41)", 41),
                 "calloc": ("void *{}(size_t, size_t)", "{}(2, 21)", 42), "malloc_aligned": ("void *{}(size_t, size_t)", "{}(43, 64)", 43)},
    "gperftools": {"malloc": ("void *{}(size_t)", "{}(40)", 40), "calloc": ("void *{}(size_t, size_t)", "{}(2, 21)", 42),
                   "new": ("void *{}(size_t)", "{}(43)", 43), "newarray": ("void *{}(size_t)", "{}(45)", 45)},
    "tcmalloc": {"Malloc": ("void *{}(size_t)", "{}(40)", 40), "New": ("void *{}(size_t)", "{}(43)", 43),
                 "NewArray": ("void *{}(size_t)", "{}(45)", 45), "Calloc": ("void *{}(size_t, size_t)", "{}(2, 21)", 42)},
    "snmalloc": {"rust_alloc": ("void *{}(size_t, size_t)", "{}(16, 40)", 40),
                 "rust_alloc_zeroed": ("void *{}(size_t, size_t)", "{}(16, 41)", 41)},
}
RESIZES = {
    "c": {"realloc": ("void *{}(void *, size_t)", "{}(p, 80)", 80)},
    "jemalloc": {"rallocx": ("void *{}(void *, size_t, int)", "{}(p, 90, 0)", 90)},
    "mimalloc": {"realloc": ("void *{}(void *, size_t)", "{}(p, 80)", 80),
                 "realloc_aligned": ("void *{}(void *, size_t, size_t)", "{}(p, 90, 64)", 90)},
    "gperftools": {"realloc": ("void *{}(void *, size_t)", "{}(p, 80)", 80)},
    "tcmalloc": {"Realloc": ("void *{}(void *, size_t)", "{}(p, 80)", 80)},
    "snmalloc": {"rust_realloc": ("void *{}(void *, size_t, size_t, size_t)", "{}(p, 16, n, 80)", 80)},
}
GIVES = {
    "c": {"free": ("void {}(void *)", "{}(p)")},
    "jemalloc": {"dallocx": ("void {}(void *, int)", "{}(p, 0)"), "sdallocx": ("void {}(void *, size_t, int)", "{}(p, n, 0)")},
    "mimalloc": {"free": ("void {}(void *)", "{}(p)"), "free_size": ("void {}(void *, size_t)", "{}(p, n)")},
    "gperftools": {"free": ("void {}(void *)", "{}(p)"), "delete": ("void {}(void *)", "{}(p)"),
                   "deletearray": ("void {}(void *)", "{}(p)")},
    "tcmalloc": {"Free": ("void {}(void *)", "{}(p)"), "Delete": ("void {}(void *)", "{}(p)")},
    "snmalloc": {"rust_dealloc": ("void {}(void *, size_t, size_t)", "{}(p, 16, n)")},
}
JEMALLOC_REST = ("xallocx", "nallocx", "sallocx", "mallctl", "mallctlbymib", "mallctlnametomib", "posix_memalign", "memalign", "valloc",
                 "malloc_usable_size", "malloc_stats_print")


def merged(table, *kinds):
    return {name: how for kind in kinds for name, how in table[kind].items()}


def draw(rng, some, at_least):
    return dict(rng.sample(sorted(some.items()), rng.randint(at_least, len(some))))


def source(prefix, takes, resizes, gives):
    """A program that calls each of them in turn; what it allocates in a round: blocks, resizes and bytes."""
    declared = [how[0].format(prefix + name) + ";" for some in (takes, resizes, gives) for name, how in some.items()]
    lines, n_blocks, n_resizes, n_bytes = [], 0, 0, 0
    givers = list(gives.items())
    for i, (take, (_, call, taken)) in enumerate(takes.items()):
        for resize, how in [(None, None), *resizes.items()]:
            size = taken
            lines.append(f"p = {call.format(prefix + take)}; n = {taken};")
            n_blocks, n_bytes = n_blocks + 1, n_bytes + taken
            if resize:
                size = how[2]
                lines.append(f"p = {how[1].format(prefix + resize)}; n = {size};")
                n_resizes, n_bytes = n_resizes + 1, n_bytes + size
            give, (_, release) = givers[n_blocks % len(givers)]
            lines.append("if (!p) return 1;")
            lines.append(release.format(prefix + give) + ";")
    text = "#include <stddef.h>\n#include <stdlib.h>\n" + "\n".join(declared) + "\n"
    text += "int main(int argc, char **argv) {\n        volatile size_t n;\n        void *volatile p;\n        (void)argc;\n"
    text += "        for (int i = 0; i < atoi(argv[1]); i++) {\n                " + "\n                ".join(lines) + "\n        }\n"
    return text + "        return 0;\n}\n", n_blocks, n_resizes, n_bytes


def hold(t, name, program, n_blocks, n_resizes, n_bytes, rounds=ROUNDS):
    _, base = record(t, [program, "0"])
    _, report = record(t, [program, str(rounds)])
    got = {figure: report["totals"][figure] - base["totals"][figure]
           for figure in ("allocations", "frees", "reallocations", "bytes_allocated", "end_live_blocks")}
    want = {"allocations": rounds * (n_blocks + n_resizes), "frees": rounds * (n_blocks + n_resizes), "reallocations": rounds * n_resizes,
            "bytes_allocated": rounds * n_bytes, "end_live_blocks": 0}
    assert got == want, f"{name}: silt says {got}, it is {want}"
    assert all(report["totals"][figure] == 0 for figure in NEVER), report["totals"]


def subsets(t, kinds, prefix, link, strip=()):
    """strip: what an archive without a section for each function keeps although nobody calls it."""
    w = Workshop(t.context)
    rng = t.chance
    for i in range(t.count(3, 30) if not t.context.runner else 1):
        takes = draw(rng, merged(TAKES, *kinds), 1)
        resizes = draw(rng, merged(RESIZES, *kinds), 0)
        gives = draw(rng, merged(GIVES, *kinds), 1)
        text, *figures = source(prefix, takes, resizes, gives)
        path = t.path(f"subset{i}")
        with open(path + ".c", "w") as f:
            f.write(text)
        w.run(w.prefix + "gcc", "-O2", "-g", "-fno-builtin", path + ".c", *link, "-Wl,--gc-sections", "-lpthread", "-lm", "-ldl", "-lstdc++",
              "-o", path)
        left = [name for name in strip if name not in takes and name not in resizes and name not in gives]
        if left:
            w.run(w.prefix + "objcopy", *(f"--strip-symbol={prefix}{name}" for name in left), path)
        chosen = ", ".join(prefix + name for some in (takes, resizes, gives) for name in some)
        hold(t, chosen, path, *figures)
    t.notes.append(f"the last: {chosen}")


def jemalloc(t, prefix):
    w = Workshop(t.context)
    kinds = ("c", "jemalloc")
    names = [name for table in (TAKES, RESIZES, GIVES) for name in merged(table, *kinds)]
    subsets(t, kinds, prefix, [w.prefixed_jemalloc(prefix)], [*names, *JEMALLOC_REST])


@built_elsewhere
def test_jemalloc_as_rust_has_it(t):
    jemalloc(t, "_rjem_")


@built_elsewhere
def test_jemalloc_with_its_usual_prefix(t):
    jemalloc(t, "je_")


@built_elsewhere
def test_gperftools(t):
    w = Workshop(t.context)
    names = [name for table in (TAKES, RESIZES, GIVES) for name in table["gperftools"]]
    subsets(t, ("gperftools",), "tc_", [w.gperftools()], [*names, "malloc_skip_new_handler", "new_nothrow", "newarray_nothrow",
                                                       "delete_nothrow", "deletearray_nothrow", "delete_sized", "deletearray_sized"])


def stand_in(t, name, prefix):
    w = Workshop(t.context)
    own = w.object(f"{name}_stand_in.c", "-ffunction-sections", name=f"{name}_sections")
    subsets(t, (name,), prefix, [own])


def test_stand_in_for_mimalloc(t):
    stand_in(t, "mimalloc", "mi_")


def test_stand_in_for_tcmalloc(t):
    stand_in(t, "tcmalloc", "TCMallocInternal")


def test_stand_in_for_snmalloc(t):
    stand_in(t, "snmalloc", "sn_")


WRAPPERS = """
#include <stdlib.h>
#define OWN __attribute__((noinline, used))
OWN void *inner(size_t n) { return malloc(n); }
OWN void inner_free(void *p) { free(p); }
#define FAMILY(prefix) \\
        OWN void *prefix##malloc(size_t n) { return inner(n); } \\
        OWN void prefix##free(void *p) { inner_free(p); } \\
        OWN void *prefix##calloc(size_t a, size_t n) { return inner(a * n); }
FAMILY(my_) FAMILY(je_) FAMILY(mi_) FAMILY(tc_) FAMILY(sn_) FAMILY(x)
OWN void *my_mallocx(size_t n, int flags) { return flags ? NULL : inner(n); }
OWN void my_dallocx(void *p, int flags) { if (!flags) inner_free(p); }
OWN void *tc_new(size_t n) { return inner(n); }
OWN int je_arena_of(int i) { return i; } /* one name alone is nobody's inner code */
int main(int argc, char **argv) {
        (void)argc;
        for (int i = 0; i < atoi(argv[1]); i++) {
                my_free(my_malloc(10)); je_free(je_malloc(10)); mi_free(mi_malloc(10)); tc_free(tc_new(10)); sn_free(sn_malloc(10));
                xfree(xcalloc(2, 5)); my_dallocx(my_mallocx(10, 0), 0); je_free(je_calloc(1, 10)); tc_free(tc_malloc(10));
                mi_free(mi_calloc(5, 2));
        }
        return 0;
}
"""


def test_wrappers_are_no_allocators(t):
    """A program's own functions under such names, over malloc by way of one more, count once."""
    w = Workshop(t.context)
    path = t.path("wrappers")
    with open(path + ".c", "w") as f:
        f.write(WRAPPERS)
    w.run(w.prefix + "gcc", "-O1", "-g", "-fno-builtin", path + ".c", "-o", path)
    hold(t, "wrappers", path, 10, 0, 100)
