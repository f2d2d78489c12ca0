/* SPDX-License-Identifier: MIT */
/* Writes the seeds of malloc_log_fuzz: logs of mtrace and ltrace with all that may stand on a line.
 * usage: malloc_log_seeds DIRECTORY */
#include "import/testing/import_fuzzing.h"

static const char *const seeds[] = {
        "= Start\n@ ./mt:[0x11b1] + 0x55c3111bb4a0 0x64\n@ ./mt:(inner+0x1a)[0x11dd] + 0x55c3111bb510 0x96\n"
        "@ ./mt:[0x11f2] < 0x55c3111bb4a0\n@ ./mt:[0x11f2] > 0x55c3111bb5b0 0x1388\n"
        "@ ./mt:[0x11f2] ! 0x55c3111bb5b0 0xffffffff\n@ [0x1276] + 0x55c3111bb780 0\n+ 0x1000 0x20\n- 0x1000\n"
        "@ ./mt:[0x127e] - 0x55c3111bb780\n- (nil)\n@ nowhere] - 0x1\n= End\n",
        "@ ./mt:[0x401156] + 0x1d3e6b0 0x10\n@ ./mt:[0x401156] - 0x1d3e6b0\n",
        "mtnl->malloc(100) = 0x38e0e2a0\nmtnl->calloc(3, 50) = 0x38e0e310\nmtnl->realloc(0x38e0e2a0, 5000) = 0x38e0e3b0\n"
        "mtnl->free(0x38e0e3b0) = <void>\nmtnl->strdup(\"hallo\") = 0x38e0e3b0\n"
        "mtnl->memalign(64, 300, 2, 0x6c6c6168) = 0x38e0e400\nfree(nil) = <void>\nrealloc(0x38e0e400, 0) = nil\n"
        "reallocarray(0, 3, 5) = 0x1\ncalloc(0xffffffffffffffff, 2) = 0\nposix_memalign(0x7f, 64, 3) = 0\n"
        "+++ exited (status 3) +++\n",
        "[pid 1] 23:59:59.9 [0x40119e] a->malloc(1) = 0x10 <0.000162>\n[pid 2] 00:00:01 [0x40119e] a->malloc(1) = 0x20\n"
        "[pid 1] 00:00:02 malloc(7 <unfinished ...>\n[pid 2] 00:00:02 free(0x20) = <void>\n[pid 1] 00:00:03 <... malloc resumed> ) = 0x30\n",
        "  0.000000 malloc(100 <unfinished ...>\n  0.000010 malloc@libc.so.6(100) = 0x10\n  0.000010 <... malloc resumed> ) = 0x10\n",
        "8395 1794895301.406676 malloc(100) = 0x10\n8396 1794895301.406676 _Znwm(5) = 0x20\n8396 1794895302 _ZdlPvm(0x20, 5) = <void>\n",
};

int main(int argc, char **argv) {
        return argc == 2 ? import_fuzz_put_texts(argv[1], seeds, sizeof(seeds) / sizeof(seeds[0]))
                         : 2;
}
