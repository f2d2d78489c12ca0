/* SPDX-License-Identifier: MIT */
/* Writes the seeds of perf_script_fuzz: with and without call graphs, two events, names that are unknown.
 * usage: perf_script_seeds DIRECTORY */
#include "import/testing/import_fuzzing.h"

static const char *const seeds[] = {
        "server 4711 [002] 1234.567890:     250000 cpu-clock:u: \n\t          401136 hot+0x20 (/usr/bin/server)\n"
        "\t    7f0011 std::f(int)+0x1 (/lib/libx (deleted).so)\n\t  1234 [unknown] ([kernel.kallsyms])\n\t  99 g (inlined)\n\n"
        "two words 1/2 5.000001: page-faults: \n\t 10 [unknown] (x)\n\n"
        "server 4711 [002] 1235.5: 1 cpu-clock:u: \n\t 401136 hot+0x20 (/usr/bin/server)\n\n",
        "# comment\nls 1 2.25:  7 cycles:  55aa main+0x4 (/bin/ls)\nls 1 2.26:  7 cycles:  55aa main+0x4 (/bin/ls)\n",
};

int main(int argc, char **argv) {
        return argc == 2 ? import_fuzz_put_texts(argv[1], seeds, sizeof(seeds) / sizeof(seeds[0]))
                         : 2;
}
