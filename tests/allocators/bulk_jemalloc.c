/* SPDX-License-Identifier: MIT */
/* Arenas of jemalloc's that are reset and destroyed; PREFIX is that of its names. Each thread makes arenas and allocates from
 * them past all caches or, with "cached", in one of four ways, frees and resizes some blocks, and resets or destroys the arena with the others in it.
 * Which blocks those are, jemalloc is asked: caches mix arenas. */
#include "bulk.h"

#include <stdio.h>

#define PASTE2(a, b) a##b
#define PASTE(a, b) PASTE2(a, b)
#ifdef PREFIX
#define JE(name) PASTE(PREFIX, name)
#else
#define JE(name) name
#endif

#define ARENA(a) ((int)(((a) + 1) << 20))
#define CACHE(t) ((int)(((t) + 2) << 8))
#define NO_CACHE (1 << 8)

void *JE(malloc)(size_t n);
void *JE(calloc)(size_t a, size_t b);
void *JE(realloc)(void *p, size_t n);
void *JE(aligned_alloc)(size_t a, size_t n);
int JE(posix_memalign)(void **p, size_t a, size_t n);
void JE(free)(void *p);
void *JE(mallocx)(size_t n, int flags);
void *JE(rallocx)(void *p, size_t n, int flags);
size_t JE(xallocx)(void *p, size_t n, size_t extra, int flags);
void JE(dallocx)(void *p, int flags);
int JE(mallctl)(const char *name, void *oldp, size_t *oldlenp, void *newp, size_t newlen);
int JE(mallctlbymib)(const size_t *mib, size_t miblen, void *oldp, size_t *oldlenp, void *newp,
                     size_t newlen);
int JE(mallctlnametomib)(const char *name, size_t *mib, size_t *miblen);

enum way { WAY_UNCACHED, WAY_BOUND, WAY_CACHED, WAY_OWN_CACHE, N_WAYS };

struct place {
        enum way way;
        unsigned arena, cache;
        int flags;
};

static unsigned ask_number(struct worker *w, const char *name) {
        unsigned value = 0;
        size_t n = sizeof(value);

        w->wrong += JE(mallctl)(name, &value, &n, NULL, 0) != 0;
        return value;
}

static void set_number(struct worker *w, const char *name, unsigned value) {
        w->wrong += JE(mallctl)(name, NULL, NULL, &value, sizeof(value)) != 0;
}

static unsigned arena_of(struct worker *w, void *p) {
        unsigned arena = 0;
        size_t n = sizeof(arena);

        w->wrong += JE(mallctl)("arenas.lookup", &arena, &n, &p, sizeof(p)) != 0;
        return arena;
}

static struct place place_new(struct worker *w, enum way way) {
        struct place p = {.way = way, .arena = ask_number(w, "arenas.create")};

        w->heaps++;
        p.flags = ARENA(p.arena);
        if (way == WAY_UNCACHED) {
                p.flags |= NO_CACHE;
        } else if (way == WAY_OWN_CACHE) {
                p.cache = ask_number(w, "tcache.create");
                p.flags |= CACHE(p.cache);
        } else if (way == WAY_BOUND) {
                p.flags = 0;
                set_number(w, "thread.arena", p.arena);
        }
        return p;
}

static void take(struct worker *w, const struct place *at, struct block *b) {
        size_t n = random_size(w);
        void *p = NULL;

        if (at->way != WAY_BOUND) {
                took(w, b, JE(mallocx)(n, at->flags | (n % 16 == 0 ? 6 : 0)), n);
                return;
        }
        switch (n % 5) {
        case 0: took(w, b, JE(calloc)(n, 1), n); break;
        case 1: took(w, b, JE(aligned_alloc)(64, n), n); break;
        case 2: took(w, b, JE(posix_memalign)(&p, 128, n) == 0 ? p : NULL, n); break;
        case 3: took(w, b, JE(mallocx)(n, 0), n); break;
        default: took(w, b, JE(malloc)(n), n); break;
        }
}

static void give(struct worker *w, const struct place *at, struct block *b) {
        if (at->way == WAY_BOUND)
                JE(free)(b->p);
        else
                JE(dallocx)(b->p, at->flags & 0xfff00);
        gave(w, b);
}

static void resize(struct worker *w, const struct place *at, struct block *b) {
        size_t n = random_size(w);

        if (n % 3 == 0) {
                if (JE(xallocx)(b->p, n, 0, at->flags) >= n)
                        resized(w, b, b->p, n);
                else if (n % 2)
                        resized(w, b, JE(rallocx)(b->p, n, at->flags), n);
        } else {
                resized(w, b,
                        at->way == WAY_BOUND ? JE(realloc)(b->p, n)
                                             : JE(rallocx)(b->p, n, at->flags),
                        n);
        }
}

/* By name or by number; n: how often it was done. */
static int act(struct worker *w, const char *what, unsigned arena, unsigned n) {
        size_t mib[3], n_mib = 3;
        char name[64];

        snprintf(name, sizeof(name), "arena.%u.%s", n % 2 ? 0 : arena, what);
        if (n % 2 == 0)
                return JE(mallctl)(name, NULL, NULL, NULL, 0);
        w->wrong += JE(mallctlnametomib)(name, mib, &n_mib) != 0;
        mib[1] = arena;
        return JE(mallctlbymib)(mib, n_mib, NULL, NULL, NULL, 0);
}

static void flush(struct worker *w, const struct place *at) {
        if (at->way == WAY_OWN_CACHE)
                set_number(w, "tcache.flush", at->cache);
        w->wrong += JE(mallctl)("thread.tcache.flush", NULL, NULL, NULL, 0) != 0;
}

/* The thread's cache has blocks of the arena it began with, which are handed out where another is named. */
static void mix(struct worker *w, const struct place *at) {
        struct block blocks[20];

        flush(w, at);
        for (unsigned i = 0; i < 20; i++) {
                size_t n = 1 + next_random(w) % 700;

                took(w, &blocks[i], JE(mallocx)(n, 0), n);
        }
        for (unsigned i = 0; i < 20; i++) {
                JE(dallocx)(blocks[i].p, 0);
                gave(w, &blocks[i]);
        }
}

/* Blocks of other arenas, as caches had them, live on. */
static void release_all(struct worker *w, const struct place *at, bool is_destroy, unsigned n) {
        bool is_inside[N_SLOTS];

        flush(w, at);
        for (unsigned i = 0; i < N_SLOTS; i++)
                is_inside[i] = w->slots[i].p && arena_of(w, w->slots[i].p) == at->arena;
        if (is_destroy && at->way == WAY_BOUND) {
                /* refused: a thread is bound to it. Nothing happens to the blocks */
                w->wrong += act(w, "destroy", at->arena, n) == 0;
                set_number(w, "thread.arena", 0);
        }
        w->wrong += act(w, is_destroy ? "destroy" : "reset", at->arena, n / 2) != 0;
        for (unsigned i = 0; i < N_SLOTS; i++)
                if (is_inside[i]) {
                        gave(w, &w->slots[i]);
                        w->in_bulk++;
                }
        if (is_destroy && at->way == WAY_OWN_CACHE)
                set_number(w, "tcache.destroy", at->cache);
        w->heaps_gone += is_destroy;
}

static void begin(void) {}

/* What the threads left behind in their last arenas is alive. */
static void end(void) {
        struct worker *w = &workers[0];

        for (unsigned i = 0; w->n_operations && i < N_SLOTS / 2; i++)
                if (w->slots[i].p) {
                        JE(dallocx)(w->slots[i].p, NO_CACHE);
                        gave(w, &w->slots[i]);
                }
}

static void *work(void *arg) {
        struct worker *w = arg;
        enum way way = is_cached ? w->no % N_WAYS : WAY_UNCACHED;
        struct place at;

        if (!w->n_operations)
                return NULL;
        at = place_new(w, way);
        for (uint64_t i = 0, n = 0; i < w->n_operations; i++) {
                struct block *b = &w->slots[next_random(w) % N_SLOTS];

                if (!b->p)
                        take(w, &at, b);
                else if (next_random(w) % 2)
                        give(w, &at, b);
                else
                        resize(w, &at, b);
                if (way == WAY_CACHED && i % 300 == 0)
                        mix(w, &at);
                if (next_random(w) % 1500 == 0 && i + 100 < w->n_operations) {
                        bool is_destroy = n++ % 3 == 2;

                        release_all(w, &at, is_destroy, (unsigned)n);
                        if (is_destroy)
                                at = place_new(w, way);
                }
        }
        /* a bound thread must not take its cache's blocks with it, nor may others find any there */
        flush(w, &at);
        return NULL;
}
