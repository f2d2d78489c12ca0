/* SPDX-License-Identifier: MIT */
/* Writes the seeds of heap_v2_fuzz: profiles with and without what was ever allocated, sampled and not.
 * usage: heap_v2_seeds DIRECTORY */
#include "import/testing/import_fuzzing.h"

static const char *const seeds[] = {
        "heap_v2/524288\n  t*: 3: 640 [0: 0]\n  t0: 3: 640 [0: 0]\n"
        "@ 0x401000 0x401100 0x7f0000001234\n  t*: 2: 512 [0: 0]\n  t0: 2: 512 [0: 0]\n"
        "@ 0x401000 0x401200\n  t*: 1: 128 [0: 0]\n  t0: 1: 128 [0: 0]\n\n"
        "MAPPED_LIBRARIES:\n"
        "00400000-00410000 r-xp 00000000 08:01 12   /proc/self/exe\n"
        "7f0000000000-7f0000100000 r-xp 00001000 08:01 13   /nowhere/lib.so\n"
        "7ffff0000000-7ffff0010000 rw-p 00000000 00:00 0   [stack]\n",
        "heap_v2/1\n  t*: 1: 8 [5: 80]\n@ 0x10 0x20\n  t*: 1: 8 [5: 80]\n@ 0x10 0x20\n  t*: 0: 0 [1: 1]\n",
        "heap_v2/4096\r\n  t*: 0: 0 [0: 0]\r\n@\r\n  t*: 1: 1 [2: 2]\r\n",
};

int main(int argc, char **argv) {
        return argc == 2 ? import_fuzz_put_texts(argv[1], seeds, sizeof(seeds) / sizeof(seeds[0]))
                         : 2;
}
