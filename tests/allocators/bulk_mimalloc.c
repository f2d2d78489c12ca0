/* SPDX-License-Identifier: MIT */
/* Heaps of mimalloc's that are destroyed, or deleted (their blocks live on). Each thread has a heap that it names and one that is its
 * default; blocks move between them by realloc. Which heap a block is in when one is destroyed, mimalloc is asked. */
#include <mimalloc.h>

#include "bulk.h"

struct place {
        mi_heap_t *named, *common; /* common: the thread's default; NULL: the one it began with */
};

static void take(struct worker *w, const struct place *at, struct block *b) {
        static const char text[] = "a text that is copied";
        size_t n = random_size(w);

        switch (n % 10) {
        case 0: took(w, b, mi_heap_malloc(at->named, n), n); break;
        case 1: took(w, b, mi_heap_zalloc(at->named, n), n); break;
        case 2: took(w, b, mi_heap_calloc(at->named, n, 1), n); break;
        case 3: took(w, b, mi_heap_malloc_aligned(at->named, n, 64), n); break;
        case 4: took(w, b, mi_heap_strdup(at->named, text), sizeof(text)); break;
        case 5: took(w, b, mi_heap_realloc(at->named, NULL, n), n); break;
        case 6: took(w, b, mi_calloc(n, 1), n); break;
        case 7: took(w, b, mi_malloc_aligned(n, 128), n); break;
        default: took(w, b, mi_malloc(n), n); break;
        }
}

static void resize(struct worker *w, const struct place *at, struct block *b) {
        /* often a little smaller, which stays where it is */
        size_t n = next_random(w) % 2 ? 1 + b->n * 3 / 4 : random_size(w);

        resized(w, b, n % 2 ? mi_realloc(b->p, n) : mi_heap_realloc(at->named, b->p, n), n);
}

static mi_heap_t *heap_new(struct worker *w) {
        w->heaps++;
        return mi_heap_new();
}

static void heap_end(struct worker *w, mi_heap_t *heap, bool is_destroy) {
        for (unsigned i = 0; is_destroy && i < N_SLOTS; i++) {
                struct block *b = &w->slots[i];

                if (!b->p || !mi_heap_contains_block(heap, b->p))
                        continue;
                w->in_bulk++;
                gave(w, b);
        }
        if (is_destroy)
                mi_heap_destroy(heap);
        else
                mi_heap_delete(heap);
        w->heaps_gone++;
}

static void begin(void) {}

/* Blocks of threads that are gone, whose heaps were deleted with them. */
static void end(void) {
        for (unsigned i = 0; i < n_workers; i += 2)
                for (unsigned k = 0; k < N_SLOTS; k += 2)
                        if (workers[i].slots[k].p) {
                                mi_free(workers[i].slots[k].p);
                                gave(&workers[i], &workers[i].slots[k]);
                        }
}

static void *work(void *arg) {
        struct worker *w = arg;
        struct place at;

        if (!w->n_operations)
                return NULL;
        at = (struct place){heap_new(w), NULL};
        for (uint64_t i = 0; i < w->n_operations; i++) {
                struct block *b = &w->slots[next_random(w) % N_SLOTS];
                uint64_t r = next_random(w) % 3000;

                if (!b->p) {
                        take(w, &at, b);
                } else if (next_random(w) % 2) {
                        mi_free(b->p);
                        gave(w, b);
                } else {
                        resize(w, &at, b);
                }
                if (r == 0) {
                        heap_end(w, at.named, next_random(w) % 3 != 0);
                        at.named = heap_new(w);
                } else if (r == 1 && at.common) {
                        /* sometimes while it is the default */
                        if (next_random(w) % 2)
                                mi_heap_set_default(mi_heap_get_backing());
                        heap_end(w, at.common, next_random(w) % 3 != 0);
                        at.common = NULL;
                } else if (r == 1) {
                        at.common = heap_new(w);
                        mi_heap_set_default(at.common);
                }
        }
        /* those that are left are deleted with the thread */
        w->heaps_gone += 1 + (at.common != NULL);
        return NULL;
}
