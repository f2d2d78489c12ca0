/* SPDX-License-Identifier: MIT */
/* What mimalloc_fuzz exchanges words of: every version as it is, and with a word of each kind another. */
#include <stdio.h>
#include <string.h>

#include "attach/testing/mimalloc_fake.h"

enum { N_KINDS = 12 };

static uint64_t *word_of(struct mi_fake *f, unsigned version, unsigned kind) {
        switch (kind) {
        case 1: return &f->data[MI_QUEUES_WORD + 5];
        case 2: return mi_cookie(f, version, 0);
        case 3: return mi_cookie(f, version, 1) - 1;
        case 4: return mi_figures(f, version, 2);
        case 5: return mi_figures(f, version, 0) + 3;
        case 6: return mi_slice(f, version, 0, 10);
        case 7: return mi_slice(f, version, 0, 2) + 1;
        case 8: return mi_slice(f, version, 0, 1) + 4;
        case 9: return &f->segments[0][MI_DELAYED_WORD];
        case 10: return mi_slice(f, version, 1, 1) + 2;
        default: return mi_slice(f, version, 2, 1) + 3;
        }
}

static bool put_seed(const char *folder, unsigned version, unsigned kind) {
        static struct mi_fake f;
        size_t word = (size_t)(word_of(&f, version, kind) - (uint64_t *)&f);
        uint64_t value = kind == N_KINDS - 1 ? UINT64_C(0x8000000000000001) : kind;
        uint8_t bytes[11] = {(uint8_t)version, (uint8_t)word, (uint8_t)(word >> 8)};
        char path[4096];
        FILE *out;

        memcpy(bytes + 3, &value, sizeof(value));
        snprintf(path, sizeof(path), "%s/seed%u_%u", folder, version, kind);
        out = fopen(path, "we");
        return out && fwrite(bytes, kind ? sizeof(bytes) : 1, 1, out) == 1 && fclose(out) == 0;
}

int main(int argc, char **argv) {
        if (argc < 2)
                return 2;
        for (unsigned version = 0; version < MI_N_VERSIONS; version++)
                for (unsigned kind = 0; kind < N_KINDS; kind++)
                        if (!put_seed(argv[1], version, kind))
                                return 1;
        return 0;
}
