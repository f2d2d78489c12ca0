/* SPDX-License-Identifier: MIT */
/* Memory with arenas in it, for arenas_fuzz: whole, and with words of it exchanged. */
#include <stdio.h>

#include "attach/testing/arenas_fake.h"

enum { N_SEEDS = 24 };

static void change(struct fake *f, unsigned seed) {
        uint64_t *words = (uint64_t *)f;

        switch (seed % 6) {
        case 1: *fake_word(f, FAKE_OTHER + 2304 + 16) = FAKE_OTHER + 2304 + 64; break;
        case 2: *fake_word(f, FAKE_HEAP + 1104 + 16) = FAKE_HEAP + 1104; break;
        case 3: *fake_word(f, FAKE_MAIN + 2160) = FAKE_MAIN; break;
        case 4: fake_put_params(f, FAKE_PARAMS_WORD, false, seed, 4096); break;
        case 5:
                words[(size_t)seed * 71 % (sizeof(*f) / 8)] = FAKE_HEAP + 16 * (uint64_t)seed;
                break;
        default: break;
        }
}

int main(int argc, char **argv) {
        if (argc < 2)
                return 2;
        for (unsigned seed = 0; seed < N_SEEDS; seed++) {
                char path[4096];
                struct fake f;
                FILE *out;

                fake_fill(&f);
                change(&f, seed);
                snprintf(path, sizeof(path), "%s/seed%u", argv[1], seed);
                out = fopen(path, "we");
                if (!out || fwrite(&f, sizeof(f), 1, out) != 1 || fclose(out))
                        return 1;
        }
        return 0;
}
