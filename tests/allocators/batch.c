/* SPDX-License-Identifier: MIT */
/* Blocks that jemalloc makes many of at once (experimental.batch_alloc), by name and by number, in arenas of the program's own too;
 * released one by one, or with their arena. Tells what that is. PREFIX: of jemalloc's names; CONF: its configuration. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PASTE2(a, b) a##b
#define PASTE(a, b) PASTE2(a, b)
#ifdef PREFIX
#define JE(name) PASTE(PREFIX, name)
#else
#define JE(name) name
#endif

int JE(mallctl)(const char *name, void *oldp, size_t *oldlenp, void *newp, size_t newlen);
int JE(mallctlnametomib)(const char *name, size_t *mibp, size_t *miblenp);
int JE(mallctlbymib)(const size_t *mib, size_t n, void *oldp, size_t *oldlenp, void *newp,
                     size_t newlen);
void JE(dallocx)(void *p, int flags);

#ifdef CONF
extern const char *malloc_conf;
const char *malloc_conf = CONF;
#endif

enum { N_THREADS = 4, N_MOST = 300, NO_CACHE = 1 << 8 };

struct packet {
        void **blocks;
        size_t n, size_bytes;
        int flags;
};

static unsigned n_rounds;
static atomic_ulong n_allocs, n_frees, n_bytes;

static void must(int is_true) {
        if (!is_true)
                abort();
}

static size_t take(struct packet *packet, int is_by_mib) {
        size_t n = 0, n_bytes_told = sizeof(n), mib[2], mib_len = 2;
        int r;

        if (is_by_mib) {
                must(JE(mallctlnametomib)("experimental.batch_alloc", mib, &mib_len) == 0);
                r = JE(mallctlbymib)(mib, mib_len, &n, &n_bytes_told, packet, sizeof(*packet));
        } else {
                r = JE(mallctl)("experimental.batch_alloc", &n, &n_bytes_told, packet,
                                sizeof(*packet));
        }
        must(r == 0);
        for (size_t i = 0; i < n; i++)
                memset(packet->blocks[i], 1, packet->size_bytes);
        atomic_fetch_add(&n_allocs, n);
        atomic_fetch_add(&n_bytes, n * packet->size_bytes);
        return n;
}

static unsigned new_arena(void) {
        unsigned arena;
        size_t n = sizeof(arena);

        must(JE(mallctl)("arenas.create", &arena, &n, NULL, 0) == 0);
        return arena;
}

static void *run(void *seed) {
        unsigned arena = new_arena(), random = (unsigned)(size_t)seed * 7919 + 1;
        void *blocks[N_MOST];
        char reset[40];

        snprintf(reset, sizeof(reset), "arena.%u.reset", arena);
        for (unsigned i = 0; i < n_rounds; i++) {
                int is_in_arena = i % 3 == 0;
                struct packet packet = {blocks, 0, 0, 0};
                size_t n;

                random = random * 1103515245 + 12345;
                packet.n = (random >> 8) % N_MOST;
                packet.size_bytes = (random >> 16) % (i % 10 ? 200 : 40000) + 1;
                packet.flags = is_in_arena ? (int)((arena + 1) << 20) | NO_CACHE : 0;
                n = take(&packet, i % 2);
                if (is_in_arena && i % 6 == 0) {
                        must(JE(mallctl)(reset, NULL, NULL, NULL, 0) == 0);
                        atomic_fetch_add(&n_frees, n);
                        continue;
                }
                for (size_t k = 0; k < n; k++)
                        JE(dallocx)(blocks[k], is_in_arena ? NO_CACHE : 0);
                atomic_fetch_add(&n_frees, n);
        }
        return NULL;
}

int main(int argc, char **argv) {
        pthread_t threads[N_THREADS];
        size_t left_bytes = 77;
        void *left[10];
        struct packet packet = {left, 10, left_bytes, 0};

        must(argc > 1);
        n_rounds = (unsigned)atoi(argv[1]);
        for (size_t i = 0; i < N_THREADS; i++)
                must(pthread_create(&threads[i], NULL, run, (void *)(i + 1)) == 0);
        for (size_t i = 0; i < N_THREADS; i++)
                must(pthread_join(threads[i], NULL) == 0);
        if (n_rounds)
                must(take(&packet, 0) == 10);
        printf("allocations %lu\nfrees %lu\nbytes_allocated %lu\n", n_allocs, n_frees, n_bytes);
        return 0;
}
