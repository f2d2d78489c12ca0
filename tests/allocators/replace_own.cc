/* SPDX-License-Identifier: MIT */
/* Replaces allocator functions in one of many ways, as its macros say:
 *   OWN_NEW     0 none, 1 plain new and delete, 2 and the aligned ones, 3 all 20 forms
 *   OWN_MALLOC  those of C
 *   OWN_IFUNC   the same as indirect functions
 *   OWN_WRAP    the same and plain new and delete as the linker's --wrap has it
 *   STYLE       how a replacement gets to what it is built on
 *   OVER        what that is */
#include <dlfcn.h>
#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>

#include <new>

#include "replace.h"

#define DIRECT 0  /* in its own body */
#define TAIL 1    /* a jump to a function that does it */
#define DEEP 2    /* three calls further in, with frames of several kinds */
#define POINTER 3 /* through a pointer */
#define HEADER 4  /* the block begins behind a header */
#define TRACKER 5 /* and a block of its own is kept for each */

#define PLAIN 0 /* malloc as the program calls it */
#define NEXT 1  /* dlsym(RTLD_NEXT) */
#define LIBC 2  /* __libc_malloc */
#define MMAP 3  /* pages of its own */

#ifndef OWN_NEW
#define OWN_NEW 0
#endif
#ifndef OWN_MALLOC
#define OWN_MALLOC 0
#endif
#ifndef OWN_IFUNC
#define OWN_IFUNC 0
#endif
#ifndef OWN_WRAP
#define OWN_WRAP 0
#endif

#ifdef __clang__
#define FAR __attribute__((noinline))
#else
#define FAR __attribute__((noinline, noclone))
#endif
#define NEAR __attribute__((always_inline)) inline
#define STAYS __asm__ volatile("" ::: "memory") /* no tail call */

extern "C" {
void *malloc(size_t);
void *calloc(size_t, size_t);
void *realloc(void *, size_t);
void free(void *);
void *memalign(size_t, size_t);
void *__libc_malloc(size_t);
void *__libc_realloc(void *, size_t);
void *__libc_memalign(size_t, size_t);
void __libc_free(void *);
void *__real_malloc(size_t);
void *__real_realloc(void *, size_t);
void __real_free(void *);
}

/* ---- what it is built on ----------------------------------------------------------------- */

#if OVER == MMAP

struct arena_header {
        char *base;
        uint64_t kind;
};

static char *arena_at, *arena_end;
static char *arena_free[64];

static void *arena_take(size_t n_bytes) {
        void *block = arena_at;

        if ((size_t)(arena_end - arena_at) < n_bytes) {
                size_t map_bytes = n_bytes < (1 << 22) ? 1 << 22 : n_bytes;
                void *pages = mmap(NULL, map_bytes, PROT_READ | PROT_WRITE,
                                   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

                if (pages == MAP_FAILED)
                        return NULL;
                block = arena_at = (char *)pages;
                arena_end = arena_at + map_bytes;
        }
        arena_at += n_bytes;
        return block;
}

static NEAR void *raw_aligned(size_t align, size_t n_bytes) {
        unsigned kind = 5;
        char *base, *at;

        if (n_bytes > (size_t)1 << 40) {
                errno = ENOMEM;
                return NULL;
        }
        while (((size_t)1 << kind) < n_bytes + align + sizeof(struct arena_header))
                kind++;
        base = arena_free[kind];
        if (base)
                memcpy(&arena_free[kind], base, sizeof(char *));
        else if (!(base = (char *)arena_take((size_t)1 << kind)))
                return NULL;
        at = (char *)(((uintptr_t)base + sizeof(struct arena_header) + align - 1) & -align);
        ((struct arena_header *)at)[-1] = (struct arena_header){base, kind};
        return at;
}

static NEAR void *raw_alloc(size_t n_bytes) {
        return raw_aligned(16, n_bytes);
}

static NEAR void raw_free(void *block) {
        struct arena_header h;

        if (!block)
                return;
        h = ((struct arena_header *)block)[-1];
        memcpy(h.base, &arena_free[h.kind], sizeof(char *));
        arena_free[h.kind] = h.base;
}

static NEAR void *raw_realloc(void *block, size_t n_bytes) {
        void *moved = raw_alloc(n_bytes);

        if (block && moved) {
                struct arena_header h = ((struct arena_header *)block)[-1];
                size_t had_bytes = (size_t)(h.base + ((size_t)1 << h.kind) - (char *)block);

                memcpy(moved, block, had_bytes < n_bytes ? had_bytes : n_bytes);
                raw_free(block);
        }
        return moved;
}

#elif OVER == LIBC

#define raw_alloc __libc_malloc
#define raw_aligned __libc_memalign
#define raw_free __libc_free
#define raw_realloc __libc_realloc

#elif OVER == NEXT

static void *(*next_malloc)(size_t);
static void *(*next_realloc)(void *, size_t);
static void *(*next_memalign)(size_t, size_t);
static void (*next_free)(void *);

/* dlsym may allocate: what it is given then is never released. */
static char first_bytes[65536], *first_at = first_bytes;
static bool is_asking;

static FAR void ask(void) {
        is_asking = true;
        next_realloc = (void *(*)(void *, size_t))dlsym(RTLD_NEXT, "realloc");
        next_memalign = (void *(*)(size_t, size_t))dlsym(RTLD_NEXT, "memalign");
        next_free = (void (*)(void *))dlsym(RTLD_NEXT, "free");
        next_malloc = (void *(*)(size_t))dlsym(RTLD_NEXT, "malloc");
        is_asking = false;
}

static NEAR void *raw_aligned(size_t align, size_t n_bytes) {
        if (!next_malloc) {
                if (is_asking) {
                        first_at = (char *)(((uintptr_t)first_at + align - 1) & -align) + n_bytes;
                        return first_at - n_bytes;
                }
                ask();
        }
        return next_memalign(align, n_bytes);
}

static NEAR void *raw_alloc(size_t n_bytes) {
        if (!next_malloc)
                return raw_aligned(16, n_bytes);
        return next_malloc(n_bytes);
}

static NEAR bool is_first(const void *block) {
        return (uintptr_t)block - (uintptr_t)first_bytes < sizeof(first_bytes);
}

static NEAR void raw_free(void *block) {
        if (!block || is_first(block))
                return;
        if (!next_free)
                ask();
        next_free(block);
}

static NEAR void *raw_realloc(void *block, size_t n_bytes) {
        if (!block)
                return raw_alloc(n_bytes);
        if (!next_realloc)
                ask();
        return next_realloc(block, n_bytes);
}

#else

#define raw_alloc malloc
#define raw_aligned memalign
#define raw_free free
#define raw_realloc realloc

#endif

/* ---- how ---------------------------------------------------------------------------------- */

#if STYLE == HEADER

struct header {
        void *base;
        size_t n_bytes;
};

static FAR void *own_alloc(size_t n_bytes, size_t align) {
        char *base, *at;

        align = align < 32 ? 32 : align;
        base = (char *)raw_alloc(n_bytes + align + sizeof(struct header));
        if (!base)
                return NULL;
        at = (char *)(((uintptr_t)base + sizeof(struct header) + align - 1) & -align);
        ((struct header *)at)[-1] = (struct header){base, n_bytes};
        return at;
}

static FAR void own_free(void *block) {
        if (block)
                raw_free(((struct header *)block)[-1].base);
}

static NEAR void *own_realloc(void *block, size_t n_bytes) {
        void *moved = own_alloc(n_bytes, 0);

        if (block && moved) {
                size_t had_bytes = ((struct header *)block)[-1].n_bytes;

                memcpy(moved, block, had_bytes < n_bytes ? had_bytes : n_bytes);
                own_free(block);
        }
        return moved;
}

#else

static NEAR void *own_alloc_here(size_t n_bytes, size_t align) {
        return align ? raw_aligned(align, n_bytes) : raw_alloc(n_bytes ? n_bytes : 1);
}

#if STYLE == DIRECT

static NEAR void *own_alloc(size_t n_bytes, size_t align) {
        return own_alloc_here(n_bytes, align);
}

static NEAR void own_free(void *block) {
        raw_free(block);
}

static NEAR void *own_realloc(void *block, size_t n_bytes) {
        return raw_realloc(block, n_bytes);
}

#elif STYLE == TAIL

static FAR void *own_alloc(size_t n_bytes, size_t align) {
        void *block = own_alloc_here(n_bytes, align);

        STAYS;
        return block;
}

static FAR void own_free(void *block) {
        raw_free(block);
        STAYS;
}

static FAR void *own_realloc(void *block, size_t n_bytes) {
        return raw_realloc(block, n_bytes);
}

#elif STYLE == DEEP

static FAR void *own_third(size_t n_bytes, size_t align) {
        volatile char room[300]; /* a frame with an array */
        void *block;

        room[n_bytes % 300] = 1;
        block = own_alloc_here(n_bytes, align);
        STAYS;
        return room[n_bytes % 300] ? block : NULL;
}

static FAR void *own_second(size_t n_bytes, size_t align) {
        volatile char *room = (volatile char *)__builtin_alloca(16 + n_bytes % 64);
        void *block;

        room[0] = 1;
        block = own_third(n_bytes, align);
        STAYS;
        return room[0] ? block : NULL;
}

static FAR void *own_alloc(size_t n_bytes, size_t align) {
        void *block = own_second(n_bytes, align);

        STAYS;
        return block;
}

static FAR void own_free_second(void *block) {
        volatile char *room = (volatile char *)__builtin_alloca(16 + (uintptr_t)block % 64);

        room[0] = 1;
        raw_free(block);
        STAYS;
}

static FAR void own_free(void *block) {
        own_free_second(block);
        STAYS;
}

static FAR void *own_realloc(void *block, size_t n_bytes) {
        void *moved = raw_realloc(block, n_bytes);

        STAYS;
        return moved;
}

#elif STYLE == POINTER

static FAR void *own_pointed_alloc(size_t n_bytes, size_t align) {
        return own_alloc_here(n_bytes, align);
}

static FAR void own_pointed_free(void *block) {
        raw_free(block);
}

static FAR void *own_pointed_realloc(void *block, size_t n_bytes) {
        return raw_realloc(block, n_bytes);
}

static void *(*volatile own_alloc)(size_t, size_t) = own_pointed_alloc;
static void (*volatile own_free)(void *) = own_pointed_free;
static void *(*volatile own_realloc)(void *, size_t) = own_pointed_realloc;

#elif STYLE == TRACKER

/* A list entry for each block, by the block's address: blocks of the program's as good as any other. */
struct entry {
        void *block;
        struct entry *next;
};
static struct entry *entries[1024];

static unsigned entry_place(const void *block) {
        return (unsigned)((uintptr_t)block >> 4) % 1024;
}

static FAR void *own_alloc(size_t n_bytes, size_t align) {
        struct entry *e = (struct entry *)raw_alloc(sizeof(*e));
        void *block = own_alloc_here(n_bytes, align);

        if (!block || !e) {
                raw_free(e);
                return NULL;
        }
        *e = (struct entry){block, entries[entry_place(block)]};
        entries[entry_place(block)] = e;
        replace_count_alloc(sizeof(*e));
        return block;
}

static FAR void own_free(void *block) {
        struct entry **at = &entries[entry_place(block)], *e;

        if (!block)
                return;
        while (*at && (*at)->block != block)
                at = &(*at)->next;
        if ((e = *at)) {
                *at = e->next;
                raw_free(e);
                replace_count_free(sizeof(*e));
        }
        raw_free(block);
        STAYS;
}

#endif
#endif

/* ---- C ------------------------------------------------------------------------------------ */

#if OWN_MALLOC || OWN_IFUNC

#if OWN_IFUNC
#define NAMED(name) indirect_##name
#define LINKAGE static
#else
#define NAMED(name) name
#define LINKAGE extern "C"
#endif

static NEAR void *own_zeroed(size_t n_bytes) {
        void *block = own_alloc(n_bytes, 0);

        return block ? memset(block, 0, n_bytes) : NULL;
}

LINKAGE void *NAMED(malloc)(size_t n_bytes) {
        return own_alloc(n_bytes, 0);
}

LINKAGE void NAMED(free)(void *block) {
        own_free(block);
}

LINKAGE void *NAMED(calloc)(size_t n, size_t item_bytes) {
        size_t n_bytes;

        if (__builtin_mul_overflow(n, item_bytes, &n_bytes))
                return NULL;
        return own_zeroed(n_bytes);
}

LINKAGE void *NAMED(realloc)(void *block, size_t n_bytes) {
        return own_realloc(block, n_bytes);
}

LINKAGE void *NAMED(reallocarray)(void *block, size_t n, size_t item_bytes) {
        size_t n_bytes;

        if (__builtin_mul_overflow(n, item_bytes, &n_bytes))
                return NULL;
        return own_realloc(block, n_bytes);
}

LINKAGE void *NAMED(memalign)(size_t align, size_t n_bytes) {
        return own_alloc(n_bytes, align);
}

LINKAGE void *NAMED(aligned_alloc)(size_t align, size_t n_bytes) {
        return own_alloc(n_bytes, align);
}

LINKAGE int NAMED(posix_memalign)(void **ret, size_t align, size_t n_bytes) {
        void *block = own_alloc(n_bytes, align);

        if (block)
                *ret = block;
        return block ? 0 : ENOMEM;
}

#if OWN_IFUNC
/* Other libraries may ask before this one is relocated: the address is known without. */
#define INDIRECT(type, name, params)                                                               \
        extern "C" __typeof__(&indirect_##name) resolve_##name(void) {                             \
                return indirect_##name;                                                            \
        }                                                                                          \
        extern "C" type name params __attribute__((ifunc("resolve_" #name)));

INDIRECT(void *, malloc, (size_t))
INDIRECT(void, free, (void *))
INDIRECT(void *, calloc, (size_t, size_t))
INDIRECT(void *, realloc, (void *, size_t))
INDIRECT(void *, reallocarray, (void *, size_t, size_t))
INDIRECT(void *, memalign, (size_t, size_t))
INDIRECT(void *, aligned_alloc, (size_t, size_t))
INDIRECT(int, posix_memalign, (void **, size_t, size_t))
#endif
#endif

/* ---- C++ ---------------------------------------------------------------------------------- */

#if OWN_NEW

static NEAR void *own_new(size_t n_bytes, size_t align) {
#if STYLE == TAIL
        return own_alloc(n_bytes, align); /* a jump is all there is */
#else
        void *block = own_alloc(n_bytes, align);

        if (!block)
#if defined(__cpp_exceptions)
                throw std::bad_alloc();
#else
                __builtin_trap();
#endif
        return block;
#endif
}

void *operator new(size_t n) {
        return own_new(n, 0);
}

void operator delete(void *p) noexcept {
        own_free(p);
}

#if OWN_NEW >= 2

void *operator new(size_t n, std::align_val_t a) {
        return own_new(n, (size_t)a);
}

void operator delete(void *p, std::align_val_t) noexcept {
        own_free(p);
}

#endif
#if OWN_NEW >= 3

void *operator new[](size_t n) {
        return own_new(n, 0);
}

void *operator new(size_t n, const std::nothrow_t &) noexcept {
        return own_alloc(n, 0);
}

void *operator new[](size_t n, const std::nothrow_t &) noexcept {
        return own_alloc(n, 0);
}

void *operator new[](size_t n, std::align_val_t a) {
        return own_new(n, (size_t)a);
}

void *operator new(size_t n, std::align_val_t a, const std::nothrow_t &) noexcept {
        return own_alloc(n, (size_t)a);
}

void *operator new[](size_t n, std::align_val_t a, const std::nothrow_t &) noexcept {
        return own_alloc(n, (size_t)a);
}

void operator delete[](void *p) noexcept {
        own_free(p);
}

void operator delete(void *p, size_t) noexcept {
        own_free(p);
}

void operator delete[](void *p, size_t) noexcept {
        own_free(p);
}

void operator delete(void *p, const std::nothrow_t &) noexcept {
        own_free(p);
}

void operator delete[](void *p, const std::nothrow_t &) noexcept {
        own_free(p);
}

void operator delete[](void *p, std::align_val_t) noexcept {
        own_free(p);
}

void operator delete(void *p, size_t, std::align_val_t) noexcept {
        own_free(p);
}

void operator delete[](void *p, size_t, std::align_val_t) noexcept {
        own_free(p);
}

void operator delete(void *p, std::align_val_t, const std::nothrow_t &) noexcept {
        own_free(p);
}

void operator delete[](void *p, std::align_val_t, const std::nothrow_t &) noexcept {
        own_free(p);
}

#endif
#endif

/* ---- the linker's --wrap ------------------------------------------------------------------ */

#if OWN_WRAP

extern "C" void *__real__Znwm(size_t n_bytes);
extern "C" void __real__ZdlPv(void *block);

static FAR void *wrapped(void *block) {
        STAYS;
        return block;
}

extern "C" void *__wrap_malloc(size_t n_bytes) {
        return wrapped(__real_malloc(n_bytes));
}

extern "C" void *__wrap_realloc(void *block, size_t n_bytes) {
        return __real_realloc(block, n_bytes);
}

extern "C" void __wrap_free(void *block) {
        __real_free(wrapped(block));
}

extern "C" void *__wrap__Znwm(size_t n_bytes) {
        return wrapped(__real__Znwm(n_bytes));
}

extern "C" void __wrap__ZdlPv(void *block) {
        __real__ZdlPv(block);
}

#endif
