/* SPDX-License-Identifier: MIT */
/* Any text as a layout: what is taken has offsets inside of what they are offsets of.
 *
 * seeds: src/attach/layouts_seeds
 *
 * covers: src/attach/layouts.c */
#include <stdlib.h>
#include <string.h>

#include "attach/layouts.h"

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

/* Those that silt comes with, and a folder of the user's that is not there. */
int LLVMFuzzerInitialize(int *argc, char ***argv) {
        setenv("XDG_CONFIG_HOME", "/nonexistent", 1);
        if (layouts_known()->n_jemalloc == 0)
                abort();
        return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
        static struct layouts l;
        char text[4097];

        memset(&l, 0, sizeof(l));
        n = n < sizeof(text) ? n : sizeof(text) - 1;
        memcpy(text, data, n);
        text[n] = '\0';
        if (layouts_add(&l, text) != (l.n_jemalloc + l.n_mimalloc + l.n_mimalloc_map == 1))
                abort();
        if (l.n_mimalloc &&
            (l.mimalloc[0].used_off + l.mimalloc[0].used_bytes > l.mimalloc[0].page_bytes ||
             l.mimalloc[0].page_bytes > LAYOUT_MAX_PAGE_BYTES))
                abort();
        if (l.n_mimalloc_map && l.mimalloc_map[0].first_off + 8 > l.mimalloc_map[0].page_bytes)
                abort();
        return 0;
}
