/* SPDX-License-Identifier: MIT */
/* A program with an allocator of its own (jemalloc_stand_in.c), whose functions nobody can name once it is stripped. */
#include "bulk.h"

void *stand_malloc(size_t n);
void *stand_calloc(size_t a, size_t b);
void *stand_realloc(void *p, size_t n);
void *stand_aligned_alloc(size_t align, size_t n);
int stand_posix_memalign(void **p, size_t align, size_t n);
void stand_free(void *p);

/* Begins where it loops to: nothing can be put there. */
void unfit(uint64_t n);
#if defined(__aarch64__)
__asm__(".text\n.p2align 4\n.globl unfit\n.type unfit, %function\nunfit: sub x0, x0, #1\n"
        "cbnz x0, unfit\nret\n.size unfit, . - unfit\n");
#else
__asm__(".text\n.p2align 4\n.globl unfit\n.type unfit, @function\nunfit: dec %rdi\n"
        "jnz unfit\nret\n.size unfit, . - unfit\n");
#endif

static void begin(void) {
        unfit(3);
}

static void end(void) {}

static void take(struct worker *w, struct block *b) {
        size_t n = random_size(w);
        void *p = NULL;

        switch (n % 5) {
        case 0: took(w, b, stand_calloc(n, 1), n); break;
        case 1: took(w, b, stand_aligned_alloc(64, n), n); break;
        case 2: took(w, b, stand_posix_memalign(&p, 128, n) == 0 ? p : NULL, n); break;
        default: took(w, b, stand_malloc(n), n); break;
        }
}

static void *work(void *arg) {
        struct worker *w = arg;

        for (uint64_t i = 0; i < w->n_operations; i++) {
                struct block *b = &w->slots[next_random(w) % N_SLOTS];

                if (!b->p) {
                        take(w, b);
                } else if (next_random(w) % 2) {
                        stand_free(b->p);
                        gave(w, b);
                } else {
                        size_t n = random_size(w);

                        resized(w, b, stand_realloc(b->p, n), n);
                }
        }
        return NULL;
}
