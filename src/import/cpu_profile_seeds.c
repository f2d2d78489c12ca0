/* SPDX-License-Identifier: MIT */
/* Writes the seeds of cpu_profile_fuzz: words of 4 and of 8 bytes, with and without maps.
 * usage: cpu_profile_seeds DIRECTORY */
#include <string.h>

#include "base/bytes.h"
#include "base/macros.h"
#include "import/testing/import_fuzzing.h"

static const char maps[] = "00400000-00410000 r-xp 00000000 08:01 12   /proc/self/exe\n"
                           "7f000000-7f100000 r-xp 00001000 08:01 13   /nowhere/lib.so\n";

static const uint32_t words[] = {0, 3, 0,        2000,       0,          5, 2, 0x401000, 0x401100,
                                 1, 3, 0x401008, 0x7f000010, 0x7f000020, 0, 1, 0};

static void put(const char *directory, const char *name, size_t word_bytes, const char *text) {
        uint8_t bytes[1024] = {0};
        size_t n = 0;

        for (size_t i = 0; i < ARRAY_SIZE(words); i++, n += word_bytes)
                buf_put_le32(bytes + n, words[i]);
        memcpy(bytes + n, text, strlen(text) + 1);
        import_fuzz_put_seed(directory, name, bytes, n + strlen(text));
}

int main(int argc, char **argv) {
        if (argc != 2)
                return 2;
        put(argv[1], "8", 8, maps);
        put(argv[1], "4", 4, maps);
        put(argv[1], "plain", 8, "");
        return 0;
}
