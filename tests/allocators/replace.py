# SPDX-License-Identifier: MIT
"""Programs that replace allocator functions, in every way there is, against their own count: own new and delete in all forms or some,
own malloc over RTLD_NEXT, __libc_malloc or pages; direct, by a jump, through pointers, deep inside, behind a header, with blocks
of the replacement's own; in the program, a library, a plugin, preloaded, wrapped by the linker, as indirect functions, hidden,
with the C++ library inside, with link-time optimisation; by gcc and clang. Recorded, recorded without patches, attached to.
`make test` takes a few of each kind, drawn by a fixed seed; `make soak` all."""

import itertools
import os
import random

from allocators._workshop import HERE, Workshop
from attach._target import Attached, Target
from harness.process import run

FIGURES = ("allocations", "frees", "reallocations", "failed_allocations", "bytes_allocated", "end_live_blocks", "end_live_bytes")
NEVER = ("lost_events", "unknown_frees", "prior_frees", "implicit_frees")
ROUNDS, SEED = 20000, 7
STYLES = ("DIRECT", "TAIL", "DEEP", "POINTER", "HEADER", "TRACKER")
SOURCES = ("replace_main.cc", "replace_work.cc", "replace_own.cc", "replace.h")
NO_TABLES = "-O2 -fno-exceptions -fno-asynchronous-unwind-tables -fno-unwind-tables -fomit-frame-pointer"
WRAPPED = ("malloc", "realloc", "free", "_Znwm", "_ZdlPv")


class Variant:
    def __init__(self, what, style, over, place="program", compiler="g++", level="-O2"):
        self.what, self.style, self.over, self.place, self.compiler, self.level = what, style, over, place, compiler, level

    def __str__(self):
        return "_".join((self.what, self.style, self.over, self.place, self.compiler, self.level.strip("-"))).lower().replace("+", "x")

    def defines(self):
        own = {"plain": "-DOWN_NEW=1", "base": "-DOWN_NEW=2", "new": "-DOWN_NEW=3", "malloc": "-DOWN_MALLOC=1",
               "both": "-DOWN_NEW=3 -DOWN_MALLOC=1", "ifunc": "-DOWN_IFUNC=1", "wrap": "-DOWN_WRAP=1"}[self.what]
        return [*own.split(), f"-DSTYLE={self.style}", f"-DOVER={self.over}"]

    def is_inner(self):
        """malloc's own hook sees every block it hands out, with no patch."""
        return self.over == "PLAIN" or self.place in ("library", "preloaded", "plugin") or (self.what == "new" and self.over == "NEXT")

    def sizes_hold_unpatched(self):
        """Of a C++ library inside the program malloc's sizes are all there is, and it rounds."""
        return self.place != "static" and (self.style != "HEADER" or self.place not in ("program", "exported"))


def build(t, v):
    """The program's command but for its figures, and its environment."""
    w = Workshop(t.context)
    compiler = w.prefix + v.compiler if v.compiler == "g++" else v.compiler
    flags = ["-std=c++17", "-g", "-fno-builtin", "-fPIC", "-pthread", *v.level.split()]
    flags.append("-fno-allocation-dce" if v.compiler == "g++" else "-fsized-deallocation")
    inputs = [os.path.join(HERE, s) for s in SOURCES]
    main, work, own = (os.path.join(HERE, s) for s in SOURCES[:3])
    name, defines = f"replace_{v}", v.defines()

    def compiled(source, label, *more):
        """Where the linker does not compile once more, what many programs have in common is compiled once."""
        out = f"replace_{label}_{compiler}{v.level.replace(' ', '')}.o"
        return w.make(out, [[compiler, *flags, *more, "-c", source, "-o", w.path(out)]], inputs)

    main = compiled(main, "main_plugin", "-DWORK_IS_IN_PLUGIN") if v.place == "plugin" else compiled(main, "main")
    work = compiled(work, "work")
    if v.place == "plugin":
        flags_main = ["-rdynamic"]
        plugin = w.make(name + ".so", [[compiler, *flags, *defines, "-shared", work, own, "-o", w.path(name + ".so"), "-ldl"]], inputs)
        program = w.make(name, [[compiler, *flags, *flags_main, main, "-o", w.path(name), "-ldl"]], inputs)
        return [program, plugin], {}
    if v.place in ("library", "preloaded"):
        library = w.make(name + ".so", [[compiler, *flags, *defines, "-shared", own, "-o", w.path(name + ".so"), "-ldl"]], inputs)
        link = [library] if v.place == "library" else ["-rdynamic"]
        program = w.make(name, [[compiler, *flags, "-rdynamic", main, work, *link, "-o", w.path(name), "-ldl"]], inputs)
        return [program], {"LD_PRELOAD": library} if v.place == "preloaded" else {}
    link = {"program": [], "static": ["-static-libstdc++", "-static-libgcc"], "exported": ["-rdynamic"],
            "hidden": ["-Wl,--version-script=" + w.path("replace_hidden.map")]}[v.place]
    if v.place == "hidden":
        with open(w.path("replace_hidden.map"), "w") as f:
            f.write("{ global: replace_counted; local: *; };\n")
    if v.what == "wrap":
        link += ["-Wl," + ",".join("--wrap=" + n for n in WRAPPED)]
    program = w.make(name, [[compiler, *flags, *defines, main, work, own, *link, "-o", w.path(name), "-ldl"]], inputs)
    return [program], {}


def told(text):
    return {name: int(value) for name, value in (line.rsplit(" ", 1) for line in text.splitlines() if not line.startswith(("ready", "done")))}


def argv_of(program, rounds):
    return [program[0], str(rounds), str(SEED), *program[1:]]


def record(t, program, env, rounds, *options):
    trace = t.path("t.silt")
    r = t.silt.record(trace, argv_of(program, rounds), ["-f", *options], env={**os.environ, **env}, timeout_s=300)
    errors = [line for line in r.errors.splitlines() if "for IFUNC symbol" not in line]  # the loader's word on those
    assert r.code == 0 and not errors, f"exit status {r.code}: {r.errors[-500:]}"
    report, why = t.silt.report(trace)
    assert report, why
    return told(r.text), report["totals"]


def hold(what, want, got, base, sizes=True):
    wrong = {n: f"{got[n] - base.get(n, 0)} for {want[n]}" for n in FIGURES
             if (sizes or "bytes" not in n) and got[n] - base.get(n, 0) != want[n]}
    wrong.update({n: got[n] for n in NEVER if got[n] != 0})
    assert not wrong, f"{what}: silt says {wrong}"


def check_run(t, v, program, env, options=(), sizes=True):
    _, base = record(t, program, env, 0, *options)
    want, got = record(t, program, env, ROUNDS, *options)
    hold(f"{v} {' '.join(options)}", want, got, base, sizes)
    return want


def attach(t, program, env):
    """(what it tells, what silt says)"""
    with Target(t, [*argv_of(program, ROUNDS), "wait"], env={**os.environ, **env}) as target:
        silt = Attached(t, target.pid).await_recording()
        target.tell("go")
        assert silt.end() == 0, silt.said
        got = silt.totals()
        target.process.stdin.write(b"end\n")
        return told(target.finish()), got


def check_attach(t, v, program, env):
    want, got = attach(t, program, env)
    hold(f"{v} attached", want, got, {})


def check(t, v, ways):
    program, env = build(t, v)
    launcher = t.context.runner.split() if t.context.runner else []
    if launcher and env:
        return False
    bare = run([*launcher, *argv_of(program, ROUNDS)], env={**os.environ, **env})
    assert bare.code == 0, f"{v}: {bare.code}: {bare.errors[-300:]}"
    if "run" in ways:
        want = check_run(t, v, program, env)
        assert want == told(bare.text), f"{v}: {want} for {told(bare.text)}"
    if "unpatched" in ways and v.is_inner():
        check_run(t, v, program, env, ("--no-patch",), v.sizes_hold_unpatched())
    if "attach" in ways and not t.context.runner:
        check_attach(t, v, program, env)
    return True


def is_sound(v):
    """Not everything goes with everything."""
    # blocks of the replacement's own are seen where malloc is
    if v.style == "TRACKER" and (v.what not in ("plain", "base", "new") or v.over in ("LIBC", "MMAP") or
                                 (v.over == "NEXT" and v.place in ("library", "preloaded", "plugin"))):
        return False
    if v.what in ("malloc", "both", "ifunc") and v.over == "PLAIN":
        return False
    # where nobody can name the replacement, malloc's sizes are what there is; and libc's own malloc is nobody's
    if v.place == "hidden" and (v.style == "HEADER" or v.over in ("LIBC", "MMAP")):
        return False
    return True


def all_variants():
    builds = [*itertools.product(("g++", "clang++"), ("-O0", "-O2", "-O3"))]
    for (compiler, level), style in itertools.product(builds, STYLES):
        for what, over, place in itertools.product(("plain", "base", "new", "malloc", "both"), ("PLAIN", "NEXT", "LIBC", "MMAP"),
                                                   ("program", "exported", "static", "hidden", "library", "preloaded", "plugin")):
            v = Variant(what, style, over, place, compiler, level)
            if is_sound(v):
                yield v


def sample(variants, few):
    """A few, so that every value of every choice is among them."""
    variants, chosen, seen = sorted(variants, key=str), [], set()
    random.Random(SEED).shuffle(variants)
    for v in variants:
        values = set(vars(v).items())
        if len(chosen) < few and (not values <= seen or len(chosen) > 5):
            chosen.append(v)
            seen |= values
    return chosen


def check_all(t, variants, ways=("run", "unpatched", "attach")):
    failures, n = [], 0
    for v in variants:
        try:
            n += check(t, v, ways)
        except AssertionError as e:
            failures.append(str(e))
    assert not failures, f"{len(failures)} of {len(variants)}: " + "\n  ".join(failures[:60])
    t.notes.append(f"{n} programs, exactly")


def test_known_cases(t):
    """Those that were wrong once."""
    check_all(t, [Variant("new", "TAIL", "PLAIN"), Variant("new", "DEEP", "PLAIN", level="-O0"), Variant("new", "HEADER", "PLAIN"),
                  Variant("new", "TRACKER", "PLAIN"), Variant("plain", "DEEP", "PLAIN", "library"),
                  Variant("malloc", "DIRECT", "NEXT"),  # below the C++ library's own new
                  Variant("plain", "HEADER", "PLAIN"),  # delete is a jump of two bytes
                  Variant("base", "TAIL", "MMAP", "plugin"),  # forms that the plugin has not end in those it has
                  *(Variant("new", style, "PLAIN", level=NO_TABLES) for style in ("DEEP", "HEADER", "TRACKER"))])  # no walk gets out


def test_sample(t):
    """A few of all, the same on every run."""
    check_all(t, sample(all_variants(), 8))


def test_all(t):
    check_all(t, sorted(all_variants(), key=str))


test_all.repeats, test_all.soak_repeats = 0, 1
test_all.native_alone = test_sample.native_alone = "it takes two compilers"


def test_link_time_optimisation(t):
    """Calls that were put inline are not seen, and what they are built on is. A header makes two addresses of one block: not tested."""
    kinds = [("new", "PLAIN"), ("plain", "PLAIN"), ("malloc", "NEXT")]
    variants = [Variant(what, style, over, level="-O2 -flto") for what, over in kinds for style in STYLES if style != "HEADER"]
    variants = [v for v in variants if is_sound(v)]
    check_all(t, variants if t.context.is_soak else variants[::4])


def test_wrapped(t):
    check_all(t, [Variant("wrap", "DIRECT", "PLAIN"), Variant("wrap", "DIRECT", "PLAIN", "static", level="-O0")])


def test_indirect_functions(t):
    """What has the name is a function that says which one it is: no allocation. Of libraries: a program's own do not start. Where silt
    attaches, what they lead to is not known: libc's functions below are seen, and no sizes that nobody asked for."""
    variants = [Variant("ifunc", "DEEP", "LIBC", "library"), Variant("ifunc", "DIRECT", "MMAP", "library")]
    check_all(t, variants, ("run", "unpatched"))
    for v in variants:
        want, got = attach(t, *build(t, v))
        assert got["bytes_allocated"] < 2 * want["bytes_allocated"] and got["lost_events"] == 0, (str(v), want, got)


test_indirect_functions.native_alone = "the emulator's loader has warnings of its own"


def test_preloaded_before(t):
    """A script puts the user's library before silt's: what it does not hand on to malloc is not seen, what it does is, once."""
    v = Variant("new", "DEEP", "PLAIN", "preloaded")
    program, env = build(t, v)
    script = f"LD_PRELOAD={env['LD_PRELOAD']}:$LD_PRELOAD exec {' '.join(argv_of(program, '$1'))}"
    want, totals = {}, {}
    for rounds in (0, ROUNDS):
        r = t.silt.record(t.path("t.silt"), ["sh", "-c", script, "sh", str(rounds)], ["-f"])
        assert r.code == 0, r.errors
        report, why = t.silt.report(t.path("t.silt"))
        assert report, why
        want, totals[rounds] = told(r.text), report["totals"]
    hold("before silt", want, totals[ROUNDS], totals[0])


test_preloaded_before.native_alone = "an LD_PRELOAD of the environment would reach the emulator itself"
