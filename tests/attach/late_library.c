/* SPDX-License-Identifier: MIT */
/* A library with an allocator inside, under names like jemalloc's behind PREFIX, which it does not export. Compiled with other
 * prefixes its functions are the same: opened where another was, only its name tells it apart. */
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define PASTE2(a, b) a##b
#define PASTE(a, b) PASTE2(a, b)
#define NAME(name) PASTE(PREFIX, name)
#define INSIDE __attribute__((noinline, noclone, visibility("hidden")))
#define OUTSIDE __attribute__((noinline, noclone, visibility("default")))

enum { BLOCK_BYTES = 128, N_BLOCKS = 8192 };

struct block {
        struct block *next;
        char rest[BLOCK_BYTES - sizeof(struct block *)];
};

static struct block blocks[N_BLOCKS];
static struct block *free_blocks;
static size_t n_fresh;
static char is_taken;

INSIDE void *NAME(malloc)(size_t n);
INSIDE void *NAME(mallocx)(size_t n, int flags);
INSIDE void *NAME(rallocx)(void *p, size_t n, int flags);
INSIDE void NAME(dallocx)(void *p, int flags);
INSIDE void NAME(sdallocx)(void *p, size_t n, int flags);
INSIDE void NAME(free)(void *p);
OUTSIDE void *late_take(unsigned i);
OUTSIDE void *late_take_counted(unsigned i);
OUTSIDE void late_give(void *p, unsigned i);

static void lock(void) {
        while (__atomic_test_and_set(&is_taken, __ATOMIC_ACQUIRE))
                ;
}

static void unlock(void) {
        __atomic_clear(&is_taken, __ATOMIC_RELEASE);
}

static void *take(size_t n) {
        struct block *b = NULL;

        if (n > BLOCK_BYTES)
                return NULL;
        lock();
        if (free_blocks) {
                b = free_blocks;
                free_blocks = b->next;
        } else if (n_fresh < N_BLOCKS) {
                b = &blocks[n_fresh++];
        }
        unlock();
        return b;
}

static void give(void *p) {
        struct block *b = p;

        if (!b)
                return;
        lock();
        b->next = free_blocks;
        free_blocks = b;
        unlock();
}

void *NAME(malloc)(size_t n) {
        return take(n);
}

void *NAME(mallocx)(size_t n, int flags) {
        return flags ? NULL : take(n);
}

void *NAME(rallocx)(void *p, size_t n, int flags) {
        return flags || n > BLOCK_BYTES ? NULL : p;
}

void NAME(free)(void *p) {
        give(p);
}

void NAME(dallocx)(void *p, int flags) {
        if (!flags)
                give(p);
}

void NAME(sdallocx)(void *p, size_t n, int flags) {
        if (!flags && n <= BLOCK_BYTES)
                give(p);
}

/* A block of 100 bytes, by any function. */
void *late_take(unsigned i) {
        void *volatile p = i % 2 ? NAME(malloc)(100) : NAME(mallocx)(100, 0);

        return p;
}

/* By another name, to be told apart. */
void *late_take_counted(unsigned i) {
        void *volatile p = i % 2 ? NAME(malloc)(90) : NAME(mallocx)(90, 0);

        return p;
}

void late_give(void *p, unsigned i) {
        if (i % 3 == 0)
                NAME(free)(p);
        else if (i % 3 == 1)
                NAME(dallocx)(p, 0);
        else
                NAME(sdallocx)(p, BLOCK_BYTES, 0);
        __asm__ volatile(""); /* not its last call: it is on the stack */
}
