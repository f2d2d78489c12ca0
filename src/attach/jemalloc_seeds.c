/* SPDX-License-Identifier: MIT */
/* What jemalloc_fuzz exchanges words of: every version and machine as it is, and with a word of each kind another. */
#include <stdio.h>
#include <string.h>

#include "attach/testing/jemalloc_fake.h"
#include "base/macros.h"

enum { N_KINDS = 14 };

static uint64_t *word_of(struct je_fake *f, const struct je_config *c, unsigned kind) {
        switch (kind) {
        case 1: return &f->data[JE_TABLE_WORD + 1];
        case 2: return &f->data[JE_ARENAS_WORD + 1];
        case 3: return &f->heaps[1][0];
        case 4: return je_base(f, c, 0);
        case 5: return je_active(f, c, 1);
        case 6: return je_bin(f, c, 0, 3);
        case 7: return je_bin(f, c, 1, 9) + 9;
        case 8: return je_large(f, c, 0, 0) + 1;
        case 9: return &f->extents[0];
        case 10: return &f->extents[12 * JE_EXTENT_WORDS + 1];
        case 11: return &f->links[0].value;
        case 12: return &f->heaps[0][JE_HEAP_WORDS - 1];
        default: return &f->data[JE_ARENAS_WORD - 1];
        }
}

static bool put_seed(const char *folder, unsigned config, unsigned kind) {
        static struct je_fake f;
        struct je_config c = je_config_at(config);
        uint16_t word = je_number(&f, word_of(&f, &c, kind));
        uint64_t value = kind == N_KINDS - 1 ? JE_HEAP + JE_ARENA_OFF : kind;
        uint8_t bytes[11] = {(uint8_t)config, (uint8_t)word, (uint8_t)(word >> 8)};
        char path[4096];
        FILE *out;

        memcpy(bytes + 3, &value, sizeof(value));
        snprintf(path, sizeof(path), "%s/seed%u_%u", folder, config, kind);
        out = fopen(path, "we");
        return out && fwrite(bytes, kind ? sizeof(bytes) : 1, 1, out) == 1 && fclose(out) == 0;
}

int main(int argc, char **argv) {
        if (argc < 2)
                return 2;
        for (unsigned config = 0; config < JE_N_CONFIGS; config += 5)
                for (unsigned kind = 0; kind < N_KINDS; kind++)
                        if (!put_seed(argv[1], config, kind))
                                return 1;
        return 0;
}
