/* SPDX-License-Identifier: MIT */
/* What malloc_heap_fuzz exchanges words of: a word of each kind, and none. */
#include <stdio.h>
#include <string.h>

#include "attach/testing/malloc_heap_fake.h"

struct exchange {
        uint64_t addr, value;
};

static const struct exchange exchanges[] = {
        {FAKE_OTHER + 8, FAKE_OTHER},                 /* a heap before itself */
        {FAKE_OTHER + 16, (uint64_t)64 << 20},        /* more than there is */
        {FAKE_HEAP + 0x290 + 8, 0},                   /* no size */
        {FAKE_HEAP + 0x290 + 8, 0x10001},             /* behind the end */
        {FAKE_HEAP + 8, 0x2a1},                       /* the first chunk leads nowhere */
        {FAKE_HEAP + 16, 200},                        /* more in the cache than fit */
        {FAKE_HEAP + 16 + 128, FAKE_HEAP + 0x290},    /* something else in it */
        {FAKE_MAIN + 96, FAKE_HEAP + 16},             /* the top */
        {FAKE_MAIN + 96, FAKE_OTHER},                 /* outside of the heap */
        {FAKE_MAIN + 16 + 8, FAKE_HEAP + 0x290},      /* a block in a fast list */
        {FAKE_DATA + 8 * FAKE_PARAMS_WORD + 80, 0},   /* no mappings */
        {FAKE_DATA + 8 * FAKE_PARAMS_WORD + 80, 4096} /* one */
};

static bool put_seed(const char *folder, unsigned number, const struct exchange *x) {
        static struct heap_fake f;
        size_t word = x ? (size_t)(fake_word(&f.arenas, x->addr) - (uint64_t *)&f) : 0;
        uint8_t bytes[10] = {(uint8_t)word, (uint8_t)(word >> 8)};
        char path[4096];
        FILE *out;

        if (x)
                memcpy(bytes + 2, &x->value, sizeof(x->value));
        snprintf(path, sizeof(path), "%s/seed%u", folder, number);
        out = fopen(path, "we");
        return out && fwrite(bytes, x ? sizeof(bytes) : 1, 1, out) == 1 && fclose(out) == 0;
}

int main(int argc, char **argv) {
        if (argc < 2)
                return 2;
        for (unsigned i = 0; i < sizeof(exchanges) / sizeof(exchanges[0]); i++)
                if (!put_seed(argv[1], i + 1, &exchanges[i]))
                        return 1;
        return !put_seed(argv[1], 0, NULL);
}
