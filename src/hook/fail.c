/* SPDX-License-Identifier: MIT */
#include "hook/fail.h"

#include <errno.h>
#include <malloc.h>
#include <stdlib.h>

#include "hook/event.h"
#include "hook/real.h"

enum {
        FAIL_MAX_OWN_FRAMES = 8,     /* of libsilt.so, above its caller */
        FAIL_MAX_START_FRAMES = 256, /* a library's constructor is not deeper */
};

/* operator new is built on these. */
/* clang-format off */
#define FAIL_NAMES(X) \
        X(malloc) X(calloc) X(realloc) X(reallocarray) X(memalign) X(aligned_alloc) X(posix_memalign) \
        X(valloc) X(pvalloc)
/* clang-format on */

/* What they replaced. */
static struct {
#define FAIL_MEMBER(name) void *name;
        FAIL_NAMES(FAIL_MEMBER)
#undef FAIL_MEMBER
} fail_next;

static bool fail_is_on;
static _Atomic bool fail_has_started; /* the program's first instruction */
static _Atomic uint64_t fail_n;       /* allocations since */

#define FAIL_NEXT(name) ((__typeof__(&name))fail_next.name)

/* Before that the loader runs constructors of libraries: the outermost frame is its own. */
static HOOK_COLD bool fail_look_for_start(const struct unwind_regs *from) {
        struct unwind_frame frames[FAIL_MAX_START_FRAMES];
        uint32_t n = unwind_walk_frames(from, frames, FAIL_MAX_START_FRAMES);

        if (n == 0 || n == FAIL_MAX_START_FRAMES ||
            code_range_has(&runtime.loader, frames[n - 1].pc))
                return false;
        atomic_store_explicit(&fail_has_started, true, memory_order_relaxed);
        return true;
}

/* The same numbers fail in every run with this seed. */
static bool fail_is_drawn(const struct wire_fails *f, uint64_t number) {
        uint64_t z = f->seed + number * UINT64_C(0x9e3779b97f4a7c15);

        z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
        z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
        return (z ^ z >> 31) >> 32 < f->rate;
}

static bool fail_is_meant(const struct wire_fails *f, uint64_t number, size_t size_bytes) {
        return number == f->nth || size_bytes > f->above_bytes ||
               (f->rate && fail_is_drawn(f, number));
}

/* from: of the function that asks, which a hook called. */
static bool fail_is_chosen(size_t size_bytes, struct unwind_regs *from) {
        const struct wire_fails *f = &runtime.header->fails;
        struct thread *t = thread_self;
        uint64_t number;

        if (!t || !runtime_is_recording() || t->is_in_fail || (f->pid && f->pid != runtime.pid))
                return false;
        if (t->fails_again) {
                t->fails_again = false;
                t->has_failed = true;
                return true;
        }
        t->has_failed = false;
        if (!atomic_load_explicit(&fail_has_started, memory_order_relaxed) &&
            !fail_look_for_start(from))
                return false;
        number = atomic_fetch_add_explicit(&fail_n, 1, memory_order_relaxed) + 1;
        if (!fail_is_meant(f, number, size_bytes))
                return false;
        for (int i = 0; i < FAIL_MAX_OWN_FRAMES && code_range_has(&runtime.self, from->pc); i++)
                unwind_regs_leave(from);
        t->has_failed = true;
        event_stack(t, WIRE_FAIL, (const uint64_t[]){number, size_bytes}, 2, 0, from);
        return true;
}

#define FAIL_IF_CHOSEN(size_bytes, result)                                                         \
        do {                                                                                       \
                struct unwind_regs from_;                                                          \
                                                                                                   \
                UNWIND_HERE(&from_);                                                               \
                if (unlikely(fail_is_chosen(size_bytes, &from_))) {                                \
                        errno = ENOMEM;                                                            \
                        return result;                                                             \
                }                                                                                  \
        } while (0)

static void *fail_malloc(size_t size_bytes) {
        FAIL_IF_CHOSEN(size_bytes, NULL);
        return FAIL_NEXT(malloc)(size_bytes);
}

static void *fail_calloc(size_t n_items, size_t item_bytes) {
        size_t size_bytes;

        if (__builtin_mul_overflow(n_items, item_bytes, &size_bytes))
                size_bytes = SIZE_MAX;
        FAIL_IF_CHOSEN(size_bytes, NULL);
        return FAIL_NEXT(calloc)(n_items, item_bytes);
}

/* realloc(p, 0) is a release. */
static void *fail_realloc(void *old, size_t size_bytes) {
        if (!old || size_bytes)
                FAIL_IF_CHOSEN(size_bytes, NULL);
        return FAIL_NEXT(realloc)(old, size_bytes);
}

/* libc's calls realloc, whose hook gets here too: one request. */
static void *fail_reallocarray(void *old, size_t n_items, size_t item_bytes) {
        struct thread *t = thread_self;
        size_t size_bytes;
        void *block;

        if (__builtin_mul_overflow(n_items, item_bytes, &size_bytes))
                size_bytes = SIZE_MAX;
        if (!old || size_bytes)
                FAIL_IF_CHOSEN(size_bytes, NULL);
        if (t)
                t->is_in_fail = true;
        block = FAIL_NEXT(reallocarray)(old, n_items, item_bytes);
        if (t)
                t->is_in_fail = false;
        return block;
}

static void *fail_memalign(size_t align_bytes, size_t size_bytes) {
        FAIL_IF_CHOSEN(size_bytes, NULL);
        return FAIL_NEXT(memalign)(align_bytes, size_bytes);
}

static void *fail_aligned_alloc(size_t align_bytes, size_t size_bytes) {
        FAIL_IF_CHOSEN(size_bytes, NULL);
        return FAIL_NEXT(aligned_alloc)(align_bytes, size_bytes);
}

static int fail_posix_memalign(void **ret, size_t align_bytes, size_t size_bytes) {
        int errno_before = errno;

        FAIL_IF_CHOSEN(size_bytes, (errno = errno_before, ENOMEM));
        return FAIL_NEXT(posix_memalign)(ret, align_bytes, size_bytes);
}

static void *fail_valloc(size_t size_bytes) {
        FAIL_IF_CHOSEN(size_bytes, NULL);
        return FAIL_NEXT(valloc)(size_bytes);
}

static void *fail_pvalloc(size_t size_bytes) {
        FAIL_IF_CHOSEN(size_bytes, NULL);
        return FAIL_NEXT(pvalloc)(size_bytes);
}

void fail_rewrap(void) {
        if (!fail_is_on)
                return;
#define FAIL_WRAP(name)                                                                            \
        if (real.name.fn && real.name.enter != (void *)fail_##name) {                              \
                fail_next.name = real.name.enter;                                                  \
                real.name.enter = (void *)fail_##name;                                             \
        }
        FAIL_NAMES(FAIL_WRAP)
#undef FAIL_WRAP
}

void fail_wrap(void) {
        fail_is_on = true;
        fail_rewrap();
}
