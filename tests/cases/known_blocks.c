/* SPDX-License-Identifier: MIT */
/* A heap with holes that tells all of its live blocks, a line "SITE ADDRESS SIZE" each and "end" last, then stands still until it reads a line:
 * known_blocks SEED. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define NOINLINE __attribute__((noinline))

enum { N = 30000, N_LARGE = 6 };

static struct block {
        char *p;
        size_t size_bytes;
        const char *site;
} blocks[N + N_LARGE];
static unsigned long drawn;

static unsigned long draw(unsigned long below) {
        drawn = drawn * 6364136223846793005ul + 1442695040888963407ul;
        return (drawn >> 33) % below;
}

static NOINLINE void small(struct block *b) {
        *b = (struct block){malloc(b->size_bytes), b->size_bytes, "small"};
        memset(b->p, 1, b->size_bytes);
}

static NOINLINE void medium(struct block *b) {
        *b = (struct block){malloc(b->size_bytes), b->size_bytes, "medium"};
        memset(b->p, 1, b->size_bytes);
}

/* Only its first and its last page are ever touched, if at all. */
static NOINLINE void large(struct block *b, int is_touched) {
        *b = (struct block){malloc(b->size_bytes), b->size_bytes, "large"};
        if (is_touched)
                b->p[0] = b->p[b->size_bytes - 1] = 1;
}

static void drop(struct block *b) {
        free(b->p);
        b->p = NULL;
}

static void make(void) {
        for (int i = 0; i < N; i++) {
                unsigned long kind = draw(10);

                blocks[i].size_bytes = kind < 6 ? 1 + draw(200) : 500 + draw(9000);
                if (kind < 6)
                        small(&blocks[i]);
                else
                        medium(&blocks[i]);
        }
        for (int i = 0; i < N_LARGE; i++) {
                blocks[N + i].size_bytes = 200000 + draw(400000);
                large(&blocks[N + i], i % 2);
        }
        for (int i = 0; i < N; i++)
                if (draw(100) < (strcmp(blocks[i].site, "small") == 0 ? 60ul : 90ul))
                        drop(&blocks[i]);
}

static void tell(const char *text, int n) {
        for (ssize_t k; n > 0; text += k, n -= (int)k)
                if ((k = write(1, text, (size_t)n)) <= 0)
                        _exit(1);
}

int main(int argc, char **argv) {
        char line[80];

        drawn = argc > 1 ? strtoul(argv[1], NULL, 10) : 1;
        make();
        for (int i = 0; i < N + N_LARGE; i++)
                if (blocks[i].p)
                        tell(line, snprintf(line, sizeof(line), "%s %lu %zu\n", blocks[i].site,
                                            (unsigned long)blocks[i].p, blocks[i].size_bytes));
        tell("end\n", 4);
        return read(0, line, 1) < 0;
}
