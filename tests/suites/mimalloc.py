# SPDX-License-Identifier: MIT
"""mimalloc's own tests, from Debian's source package: with the library inside the program, and with it in place of malloc."""

import os
import shutil

from allocators._workshop import LOCK, Workshop
from suites._suite import Program, Suite, soak_alone

INSIDE = ("mimalloc-test-api", "mimalloc-test-api-fill", "mimalloc-test-stress")
OVERRIDES = ("main-override.c", "main-override.cpp")


def built(t, kind):
    workshop = Workshop(t.context)
    tree, folder = workshop.source("mimalloc"), workshop.path("suite_mimalloc_" + kind.lower())
    with LOCK:
        if not os.path.exists(os.path.join(folder, ".complete")):
            shutil.rmtree(folder, ignore_errors=True)
            workshop.run("cmake", "-S", tree, "-B", folder, "-DCMAKE_BUILD_TYPE=" + kind, "-DMI_BUILD_TESTS=ON", "-DMI_BUILD_OBJECT=OFF")
            workshop.run("cmake", "--build", folder, timeout=3600)
            library = next(f for f in os.listdir(folder) if f.startswith("libmimalloc") and f.endswith(".so"))
            for source in OVERRIDES:
                compiler = "g++" if source.endswith("pp") else "gcc"
                workshop.run(compiler, "-g", "-O1", "-w", "-pthread", "-I" + os.path.join(tree, "include"), os.path.join(tree, "test", source),
                             "-o", os.path.join(folder, source.replace(".", "_")), "-L" + folder, "-l:" + library, "-Wl,-rpath," + folder)
            open(os.path.join(folder, ".complete"), "w").close()
    return folder


@soak_alone
def test_suite(t):
    suite = Suite(t, "mimalloc")
    programs = []
    for kind in ("Release", "Debug"):
        folder = built(t, kind)
        for name in (*INSIDE, *(s.replace(".", "_") for s in OVERRIDES)):
            arguments = ["8", "30", "5"] if name == "mimalloc-test-stress" else []
            programs.append(Program(f"{name} {kind.lower()}", [os.path.join(folder, name), *arguments]))
        preload = next(os.path.join(folder, f) for f in os.listdir(folder) if f.startswith("libmimalloc") and f.endswith(".so"))
        programs.append(Program(f"preloaded {kind.lower()}", ["sqlite3", ":memory:", "with recursive c(x) as (select 1 union all select x + 1 from c "
                                "where x < 20000) select sum(length(hex(randomblob(x % 50)))) from c;"], {"LD_PRELOAD": preload}))
    suite.run(programs)
