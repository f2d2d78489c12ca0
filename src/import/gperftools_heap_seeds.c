/* SPDX-License-Identifier: MIT */
/* Writes the seeds of gperftools_heap_fuzz: exact ones, samples of both kinds, with names before them.
 * usage: gperftools_heap_seeds DIRECTORY */
#include "import/testing/import_fuzzing.h"

static const char *const seeds[] = {
        "heap profile:    666:  6992667 [  1000: 10589500] @ heapprofile\n"
        "    66:  6632670 [   100: 10049500] @ 0x401000 0x401100 0x7f0000001234\n"
        "   600:   359997 [   900:   540000] @ 0x401000 0x401200\n"
        "\n"
        "MAPPED_LIBRARIES:\n"
        "00400000-00410000 r-xp 00000000 08:01 12   /proc/self/exe\n"
        "7f0000000000-7f0000100000 r-xp 00001000 08:01 13   /usr/lib/libtcmalloc.so.4\n",
        "heap profile: 1: 8 [1: 8] @ heap_v2/4096\n"
        "1: 8 [1: 8] @ 0x10 0x20\n",
        "heap profile: 1: 8 [1: 8] @ heap/4096\n"
        "binary=/bin/x\n"
        "0x0000000000000010 outer--inner<0000000000001149>\n"
        "---\n"
        "1: 8 [0: 0] @ 0x10 0x20\n",
        "heap profile: 1: 8 [2: 16] @ heap/4096\n"
        "1: 8 [2: 16] @ 0x10 0x21\n"
        "#\t0x20\tmain.leak+0x90\t\t/home/me/main.go:4\n"
        "#\t0x30\tmain.main\n"
        "\n"
        "# runtime.MemStats\n"
        "# Alloc = 8\n",
        "heap profile: 1: 8 [1: 8] @ growthz\n"
        "1: 8 [3: 24] @ 0x10 0x20\n",
};

int main(int argc, char **argv) {
        return argc == 2 ? import_fuzz_put_texts(argv[1], seeds, sizeof(seeds) / sizeof(seeds[0]))
                         : 2;
}
