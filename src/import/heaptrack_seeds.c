/* SPDX-License-Identifier: MIT */
/* Writes the seeds of heaptrack_fuzz: recordings of all versions, interpreted and raw, plain and packed.
 * usage: heaptrack_seeds DIRECTORY */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>
#include <zstd.h>

#include "import/testing/import_fuzzing.h"

enum { SEED_MAX_BYTES = 4096 };

static const char *const seeds[] = {
        "v 10400 3\nX ./server -p 1\nI 1000 5e27ec\nS leak:known\ns 7 /bin/ls\ns 5 alloc\ns 3 a.c\n"
        "i 7feb2851eb9f 1 2 3 a\ni 7feb28508b03 1 2 3 14 2 3 1e\ni 7feb28508b04 1\ni 5 0 2\n"
        "t 2 0\nt 1 1\nt 3 0\na 11c00 2\na 10 3\na 0 0\n+ 0\n+ 1\n- 0\nc a\nR 2c0\n+ 1\n+ 1\n+ 0\n- 1\n- 1\n+ 2\n- 2\n- 2\n"
        "c 14\nA\n# strings: 3\n",
        "v 10400 3\nx 7 /bin/ls\nX ls\nI 1000 100\nm 1 -\nm 1 x 562495fc4000 0 1048 2000 eb1\n"
        "m 6 /l.so 7f1ea8200000 0 98e60 99000 1005c9\nt 7f1ea8210000 0\nt 562495fc4010 1\nt 1234 2\n"
        "+ 11c00 3 5624d33b6530\n+ 8 2 5624d33c81d0\nc 10\nR 20\n- 5624d33b6530\n- 5624d33b6530\n+ 9 1 5624d33c81d0\nm 1 -\n",
        "v 10100 2\nX a b\ns /bin/with blank\ns fn(int, char)\ni 10 1 2\nt 1 0\na 20 1\n+ 0\n- 0\n",
        "v 10200\nX a\ns x\ni 1 1 1 1 1\nt 1 0\na 1 1\n+ 0\r\n- 0",
        "v 10000 0\nX old\ns x\ni 1 1 1 1 1\nt 1 0\n+ 20 1 1000\n- 1000\n- 1000\n",
        "v 10000 1\nx /bin/exe with blank\nX old\nm x 4000 0 1000\nm /l.so 8000 0 1000\nt 4010 0\nt 8010 1\n+ 20 2 1000\n",
};

static void put(const char *directory, const char *kind, size_t i, const void *bytes, size_t n) {
        char name[32];

        snprintf(name, sizeof(name), "%s%zu", kind, i);
        import_fuzz_put_seed(directory, name, bytes, n);
}

static size_t gzip(const char *text, uint8_t *to) {
        z_stream z = {0};

        if (deflateInit2(&z, 9, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY) != Z_OK)
                abort();
        z.next_in = (Bytef *)text;
        z.avail_in = (uInt)strlen(text);
        z.next_out = to;
        z.avail_out = SEED_MAX_BYTES;
        if (deflate(&z, Z_FINISH) != Z_STREAM_END)
                abort();
        deflateEnd(&z);
        return SEED_MAX_BYTES - z.avail_out;
}

int main(int argc, char **argv) {
        uint8_t packed[SEED_MAX_BYTES];

        if (argc != 2)
                return 2;
        for (size_t i = 0; i < sizeof(seeds) / sizeof(seeds[0]); i++) {
                size_t n = strlen(seeds[i]);

                put(argv[1], "plain", i, seeds[i], n);
                put(argv[1], "gzip", i, packed, gzip(seeds[i], packed));
                put(argv[1], "zstd", i, packed,
                    ZSTD_compress(packed, sizeof(packed), seeds[i], n, 3));
        }
        return 0;
}
