/* SPDX-License-Identifier: MIT */
/* Writes the seeds of perf_script_fuzz: with and without call graphs, two events, names that are unknown.
 * usage: perf_script_seeds DIRECTORY */
#include "import/testing/import_fuzzing.h"

static const char *const seeds[] = {
        "server 4711 [002] 1234.567890:     250000 cpu-clock:u: \n\t          401136 hot+0x20 (/usr/bin/server)\n"
        "\t    7f0011 std::f(int)+0x1 (/lib/libx (deleted).so)\n\t  1234 [unknown] ([kernel.kallsyms])\n\t  99 g (inlined)\n\n"
        "two words 1/2 5.000001: page-faults: \n\t 10 [unknown] (x)\n\n"
        "server 4711 [002] 1235.5: 1 cpu-clock:u: \n\t 401136 hot+0x20 (/usr/bin/server)\n\n",
        "            busy 31952   801.629234: PERF_RECORD_COMM exec: busy:31952/31952\n"
        "            busy 31952   801.629481:     250000 cpu-clock:      7fcab2cb49b4 hot+0x44 (/usr/bin/busy)\n"
        "            a b 31953/31954 [001]  801.629382:     250000 task-clock:      7fcab2cb49b4 hot+0x44 (/usr/bin/busy)\n",
        "spin 2 [001]  1.098335: sched:sched_switch: prev_comm=spin prev_pid=21323\n\t 10 f+0x1 (x)\n  x.c:81\n\n"
        "spin 2/2 1.098: 7 offcpu-time:\n\t ffff10 g+0x1 ([kernel])\n\nspin 2/2 1.098: 9 ready-time:\n\t 10 f+0x1 (x)\n\n",
        "# comment\nls 1 2.25:  7 cycles:  55aa main+0x4 (/bin/ls)\nls 1 2.26:  7 cycles:  55aa main+0x4 (/bin/ls)\n",
};

int main(int argc, char **argv) {
        return argc == 2 ? import_fuzz_put_texts(argv[1], seeds, sizeof(seeds) / sizeof(seeds[0]))
                         : 2;
}
