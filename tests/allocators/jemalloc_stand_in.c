/* SPDX-License-Identifier: MIT */
/* A stand-in for jemalloc, for machines that have no archive of it: its names, behind "stand_", over arenas of the simplest kind.
 * What an arena that is destroyed had is handed out to everybody at once, and its number again. */
#include <errno.h>
#include <pthread.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

enum { N_ARENAS = 256, N_AUTO = 2, N_CLASSES = 24, ALIGN_MAX = 128 };

/* Before each block. */
struct head {
        struct head *next, **to_this; /* of the arena's live blocks, or next of a free list */
        unsigned arena, class_no;
        void *base;
};

struct arena {
        int is_open;
        struct head *live;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct arena arenas[N_ARENAS] = {{.is_open = 1}, {.is_open = 1}};
static struct head *free_lists[N_CLASSES];
static char *fresh, *fresh_end;
static __thread unsigned thread_arena;
static unsigned n_bound[N_ARENAS];

#ifndef EXPORT
#define EXPORT __attribute__((noinline, visibility("default")))
#endif

/* Built with -DLONG_BODY: as long as functions become without optimisation when all they call is in them. */
#ifndef LONG_BODY
#define PASS_LONG_BODY()
#elif defined(__x86_64__)
#define PASS_LONG_BODY() __asm__ volatile("jmp 1f\n\t.fill 230000, 1, 0x90\n1:")
#else
#define PASS_LONG_BODY() __asm__ volatile("b 1f\n\t.fill 57500, 4, 0xd503201f\n1:")
#endif

static unsigned class_of(size_t n) {
        unsigned class_no = 6;

        while (((size_t)1 << class_no) < n + sizeof(struct head) + ALIGN_MAX)
                class_no++;
        return class_no;
}

static void *fresh_bytes(size_t n) {
        char *p;

        if (fresh_end - fresh < (ptrdiff_t)n) {
                fresh = mmap(NULL, 64 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
                             -1, 0);
                fresh_end = fresh + (64 << 20);
        }
        p = fresh;
        fresh += n;
        return p;
}

static struct head *head_of(void *p) {
        return (struct head *)p - 1;
}

static size_t room_of(const struct head *h) {
        return (size_t)((char *)h->base + ((size_t)1 << h->class_no) - (const char *)(h + 1));
}

static void *take(size_t n, size_t align, unsigned arena) {
        unsigned class_no = class_of(n);
        struct head *h;
        void *base;

        if (class_no >= N_CLASSES || arena >= N_ARENAS)
                return NULL;
        pthread_mutex_lock(&lock);
        h = free_lists[class_no];
        base = h ? h->base : fresh_bytes((size_t)1 << class_no);
        if (h)
                free_lists[class_no] = h->next;
        h = (struct head *)(((uintptr_t)base + sizeof(*h) + align - 1) & -align) - 1;
        *h = (struct head){arenas[arena].live, &arenas[arena].live, arena, class_no, base};
        if (h->next)
                h->next->to_this = &h->next;
        arenas[arena].live = h;
        pthread_mutex_unlock(&lock);
        return h + 1;
}

/* Locked. */
static void put_back(struct head *h) {
        *h->to_this = h->next;
        if (h->next)
                h->next->to_this = h->to_this;
        h->next = free_lists[h->class_no];
        free_lists[h->class_no] = h;
}

static void give(void *p) {
        pthread_mutex_lock(&lock);
        if (p)
                put_back(head_of(p));
        pthread_mutex_unlock(&lock);
}

static void *resize(void *p, size_t n, size_t align, unsigned arena) {
        void *new;

        if (p && n <= room_of(head_of(p)) && (uintptr_t)p % align == 0)
                return p;
        new = take(n, align, arena);
        if (new &&p) {
                memcpy(new, p, n < room_of(head_of(p)) ? n : room_of(head_of(p)));
                give(p);
        }
        return new;
}

static unsigned arena_of_flags(int flags) {
        return (unsigned)flags >> 20 ? ((unsigned)flags >> 20) - 1 : thread_arena;
}

static size_t align_of_flags(int flags) {
        return flags & 63 ? (size_t)1 << (flags & 63) : 16;
}

EXPORT void *stand_malloc(size_t n) {
        PASS_LONG_BODY();
        return take(n, 16, thread_arena);
}

EXPORT void *stand_calloc(size_t a, size_t b) {
        void *p = take(a * b, 16, thread_arena);

        PASS_LONG_BODY();
        return p ? memset(p, 0, a * b) : NULL;
}

EXPORT void *stand_realloc(void *p, size_t n) {
        PASS_LONG_BODY();
        return resize(p, n, 16, thread_arena);
}

EXPORT void *stand_aligned_alloc(size_t align, size_t n) {
        return take(n, align, thread_arena);
}

EXPORT int stand_posix_memalign(void **p, size_t align, size_t n) {
        *p = take(n, align, thread_arena);
        return *p ? 0 : ENOMEM;
}

EXPORT void stand_free(void *p) {
        PASS_LONG_BODY();
        give(p);
}

EXPORT void *stand_mallocx(size_t n, int flags) {
        PASS_LONG_BODY();
        return take(n, align_of_flags(flags), arena_of_flags(flags));
}

EXPORT void *stand_rallocx(void *p, size_t n, int flags) {
        PASS_LONG_BODY();
        return resize(p, n, align_of_flags(flags), arena_of_flags(flags));
}

EXPORT size_t stand_xallocx(void *p, size_t n, size_t extra, int flags) {
        (void)n, (void)extra, (void)flags;
        return room_of(head_of(p));
}

EXPORT void stand_dallocx(void *p, int flags) {
        (void)flags;
        give(p);
}

EXPORT void stand_sdallocx(void *p, size_t n, int flags) {
        (void)n, (void)flags;
        give(p);
}

/* ---- control ----------------------------------------------------------------------------------- */

static const char *const names[] = {"arenas.create", "arenas.lookup",   "thread.arena",
                                    "tcache.create", "tcache.flush",    "tcache.destroy",
                                    "arena.0.reset", "arena.0.destroy", "thread.tcache.flush"};
enum { N_NAMES = sizeof(names) / sizeof(names[0]) };

static int create(unsigned *ret) {
        for (unsigned i = N_AUTO; i < N_ARENAS; i++)
                if (!arenas[i].is_open) {
                        arenas[i].is_open = 1;
                        *ret = i;
                        return 0;
                }
        return EAGAIN;
}

static int clear(unsigned arena, int is_destroy) {
        if (arena < N_AUTO || arena >= N_ARENAS || !arenas[arena].is_open ||
            (is_destroy && n_bound[arena]))
                return EFAULT;
        while (arenas[arena].live)
                put_back(arenas[arena].live);
        arenas[arena].is_open = !is_destroy;
        return 0;
}

static int control(unsigned name, unsigned arena, void *oldp, void *newp) {
        switch (name) {
        case 0: return create(oldp);
        case 1: *(unsigned *)oldp = head_of(*(void **)newp)->arena; return 0;
        case 2:
                n_bound[thread_arena]--;
                thread_arena = *(unsigned *)newp;
                n_bound[thread_arena]++;
                return 0;
        case 3: *(unsigned *)oldp = 3; return 0;
        case 6:
        case 7: return clear(arena, name == 7);
        default: return 0;
        }
}

EXPORT int stand_mallctlnametomib(const char *name, size_t *mib, size_t *n) {
        for (unsigned i = 0; i < N_NAMES; i++)
                if (!strcmp(name, names[i]) && *n >= 2 + (i >= 6)) {
                        *n = 2 + (i >= 6);
                        mib[0] = i >= 6 ? 70 : 80;
                        mib[1] = i >= 6 ? 0 : i;
                        if (i >= 6)
                                mib[2] = i;
                        return 0;
                }
        return ENOENT;
}

EXPORT int stand_mallctlbymib(const size_t *mib, size_t n, void *oldp, size_t *oldlenp, void *newp,
                              size_t newlen) {
        int r;

        (void)oldlenp, (void)newlen;
        pthread_mutex_lock(&lock);
        r = control((unsigned)mib[n - 1], (unsigned)mib[1], oldp, newp);
        pthread_mutex_unlock(&lock);
        return r;
}

EXPORT int stand_mallctl(const char *name, void *oldp, size_t *oldlenp, void *newp, size_t newlen) {
        size_t mib[3], n = 3;
        unsigned arena = 0;
        char what[16] = "", plain[32];

        if (sscanf(name, "arena.%u.%15s", &arena, what) == 2) {
                snprintf(plain, sizeof(plain), "arena.0.%s", what);
                name = plain;
        }
        if (stand_mallctlnametomib(name, mib, &n) != 0)
                return ENOENT;
        if (n == 3)
                mib[1] = arena;
        return stand_mallctlbymib(mib, n, oldp, oldlenp, newp, newlen);
}
