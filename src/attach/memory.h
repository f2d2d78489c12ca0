/* SPDX-License-Identifier: MIT */
/* The memory of a process that runs on while it is read: what is there, and words of it, by the page. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct memory_span {
        uint64_t begin, end;
};

struct memory {
        /* True when all of it was there, and there is time left. */
        bool (*read)(void *ctx, uint64_t addr, void *ret, size_t n_bytes);
        void *ctx;
        const struct memory_span *spans; /* anonymous and writable, by address: where blocks are */
        size_t n_spans;
};

uint64_t memory_all_bytes(const struct memory *m); /* of all spans: nothing can be more */

enum { MEMORY_PAGE_BYTES = 4096, MEMORY_PAGES = 4096 };

struct memory_page;

/* Pages are kept once they were read; a new round reads them again. {.memory = m, .round = 1} is an empty one. */
struct memory_words {
        const struct memory *memory;
        struct memory_page *pages[MEMORY_PAGES]; /* owned; NULL: never needed */
        uint32_t round;
        size_t last_span;
};

void memory_words_free(struct memory_words *w);

/* NULL: no block can be there. */
const struct memory_span *memory_span_at(struct memory_words *w, uint64_t addr);

/* addr is a multiple of 8. */
bool memory_word(struct memory_words *w, uint64_t addr, uint64_t *ret);
