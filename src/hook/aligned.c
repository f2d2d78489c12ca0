/* SPDX-License-Identifier: MIT */
/* The less travelled members of the malloc family. */
#include <errno.h>
#include <malloc.h>
#include <stdlib.h>

#include "hook/call.h"
#include "hook/early.h"
#include "hook/event.h"
#include "hook/malloc_enter.h"
#include "hook/malloc_hook.h"
#include "hook/sample.h"

void cfree(void *block);
void free_sized(void *block, size_t size_bytes);
void free_aligned_sized(void *block, size_t align_bytes, size_t size_bytes);

/* The hook's tail: an event for what the real function returned. */
#define ALIGNED_DONE(t, block, size_bytes)                                                         \
        do {                                                                                       \
                struct unwind_regs from_;                                                          \
                                                                                                   \
                UNWIND_HERE(&from_);                                                               \
                if (likely(block))                                                                 \
                        sample_or_event_alloc(t, block, size_bytes, WIRE_FORM_ALIGNED, &from_);    \
                else                                                                               \
                        event_failed(t, size_bytes);                                               \
        } while (0)

static size_t aligned_power_of_two(size_t align_bytes) {
        size_t power = EARLY_ALIGN;

        while (power < align_bytes && power < EARLY_SECOND_BYTES)
                power *= 2;
        return power;
}

static HOOK_COLD void *aligned_early(size_t align_bytes, size_t size_bytes, const void *caller) {
        return early_alloc(size_bytes, aligned_power_of_two(align_bytes), WIRE_FORM_ALIGNED,
                           caller);
}

HOOK_EXPORT void *memalign(size_t align_bytes, size_t size_bytes) {
        struct thread *t = thread_get();
        void *block;

        if (unlikely(!t)) {
                if (runtime_is_early())
                        return aligned_early(align_bytes, size_bytes, CALL_SITE);
                return REAL(memalign)(align_bytes, size_bytes);
        }
        if (INNER_IS_RECURSION(t, REAL_ALLOCATES, NULL, NULL))
                return INNER_NOTE(t, REAL(memalign)(align_bytes, size_bytes), size_bytes,
                                  WIRE_FORM_ALIGNED);
        block = CALL_REAL(t, runtime.is_sampled, memalign, align_bytes, size_bytes);
        ALIGNED_DONE(t, block, size_bytes);
        return block;
}

HOOK_EXPORT void *aligned_alloc(size_t align_bytes, size_t size_bytes) {
        struct thread *t = thread_get();
        void *block;

        if (unlikely(!t)) {
                if (runtime_is_early())
                        return aligned_early(align_bytes, size_bytes, CALL_SITE);
                return REAL(aligned_alloc)(align_bytes, size_bytes);
        }
        if (INNER_IS_RECURSION(t, REAL_ALLOCATES, NULL, NULL))
                return INNER_NOTE(t, REAL(aligned_alloc)(align_bytes, size_bytes), size_bytes,
                                  WIRE_FORM_ALIGNED);
        block = CALL_REAL(t, runtime.is_sampled, aligned_alloc, align_bytes, size_bytes);
        ALIGNED_DONE(t, block, size_bytes);
        return block;
}

HOOK_EXPORT int posix_memalign(void **ret_block, size_t align_bytes, size_t size_bytes) {
        struct thread *t = thread_get();
        const struct real_fn *outer;
        void *block;
        int r;

        if (unlikely(!t)) {
                if (!runtime_is_early())
                        return REAL(posix_memalign)(ret_block, align_bytes, size_bytes);
                block = aligned_early(align_bytes, size_bytes, CALL_SITE);
                if (!block)
                        return ENOMEM;
                *ret_block = block;
                return 0;
        }
        if (INNER_IS_RECURSION(t, REAL_ALLOCATES, NULL, NULL)) {
                r = REAL(posix_memalign)(ret_block, align_bytes, size_bytes);
                INNER_NOTE(t, r == 0 ? *ret_block : NULL, size_bytes, WIRE_FORM_ALIGNED);
                return r;
        }
        outer = call_begin(t, &real.posix_memalign, runtime.is_sampled);
        CALL_BEGUN(t, &real.posix_memalign, outer, NULL);
        r = REAL(posix_memalign)(ret_block, align_bytes, size_bytes);
        block = r == 0 ? *ret_block : NULL;
        call_end(t, outer, runtime.is_sampled);
        CALL_ENDED(t, &real.posix_memalign, block);
        ALIGNED_DONE(t, block, size_bytes);
        return r;
}

HOOK_EXPORT void *valloc(size_t size_bytes) {
        struct thread *t = thread_get();
        void *block;

        if (unlikely(!t)) {
                if (runtime_is_early())
                        return aligned_early(RUNTIME_PAGE_MAX, size_bytes, CALL_SITE);
                return REAL(valloc)(size_bytes);
        }
        if (INNER_IS_RECURSION(t, REAL_ALLOCATES, NULL, NULL))
                return INNER_NOTE(t, REAL(valloc)(size_bytes), size_bytes, WIRE_FORM_ALIGNED);
        block = CALL_REAL(t, runtime.is_sampled, valloc, size_bytes);
        ALIGNED_DONE(t, block, size_bytes);
        return block;
}

HOOK_EXPORT void *pvalloc(size_t size_bytes) {
        struct thread *t = thread_get();
        void *block;

        if (unlikely(!t)) {
                if (runtime_is_early())
                        return aligned_early(RUNTIME_PAGE_MAX, size_bytes, CALL_SITE);
                return REAL(pvalloc)(size_bytes);
        }
        if (INNER_IS_RECURSION(t, REAL_ALLOCATES, NULL, NULL))
                return INNER_NOTE(t, REAL(pvalloc)(size_bytes), size_bytes, WIRE_FORM_ALIGNED);
        block = CALL_REAL(t, runtime.is_sampled, pvalloc, size_bytes);
        ALIGNED_DONE(t, block, size_bytes);
        return block;
}

/* A libc without it (before glibc 2.26) had no program that calls it; ours must still be right
 * for one. */
static inline __attribute__((always_inline)) void *aligned_call_reallocarray(struct thread *t,
                                                                             void *old,
                                                                             size_t n_items,
                                                                             size_t item_bytes) {
        size_t size_bytes;

        if (real.reallocarray.fn)
                return CALL_REAL_OF(t, runtime.is_sampled, old, reallocarray, old, n_items,
                                    item_bytes);
        if (__builtin_mul_overflow(n_items, item_bytes, &size_bytes)) {
                errno = ENOMEM;
                return NULL;
        }
        return CALL_REAL_OF(t, runtime.is_sampled, old, realloc, old, size_bytes);
}

HOOK_EXPORT void *reallocarray(void *old, size_t n_items, size_t item_bytes) {
        struct thread *t = thread_get();
        bool was_chosen = false;
        struct unwind_regs from;
        size_t size_bytes;
        void *block;

        if (__builtin_mul_overflow(n_items, item_bytes, &size_bytes))
                size_bytes = SIZE_MAX;
        if (unlikely(!t || early_owns(old)))
                return malloc_hook_realloc(old, size_bytes); /* it knows what to do */
        if (INNER_IS_RECURSION(t, REAL_ALLOCATES | REAL_RELEASES, old, real.free.fn)) {
                block = real.reallocarray.fn ? REAL(reallocarray)(old, n_items, item_bytes)
                                             : REAL(realloc)(old, size_bytes);
                return INNER_NOTE(t, block, size_bytes, WIRE_FORM_REALLOC);
        }
        if (runtime.is_sampled)
                was_chosen = sample_realloc_begin(t, old);
        else if (old)
                event_realloc_begin(t, old);
        block = aligned_call_reallocarray(t, old, n_items, item_bytes);
        UNWIND_HERE(&from);
        if (runtime.is_sampled)
                sample_realloc_done(t, old, was_chosen, block, size_bytes, WIRE_FORM_REALLOC,
                                    &from);
        else
                event_realloc_done(t, old, block, size_bytes, WIRE_FORM_REALLOC, &from);
        return block;
}

size_t usable_size_slow(void *block) {
        if (!block)
                return 0;
        if (early_owns(block))
                return early_size(block);
        thread_get();
        return runtime_is_early() || !real.malloc_usable_size.fn ? 0
                                                                 : REAL(malloc_usable_size)(block);
}

/* The releases below are free() under other names; the names exist in some versions of libc
 * only. */
HOOK_EXPORT void cfree(void *block) {
        malloc_hook_free(block);
}

/* size_bytes: as the caller says */
static void aligned_free_sized(void *block, size_t size_bytes, const struct unwind_regs *from) {
        struct thread *t = block ? thread_get() : NULL;
        const uint64_t words[] = {(uint64_t)block, size_bytes};

        if (!block)
                return;
        if (unlikely(!t || early_owns(block))) {
                malloc_hook_free(block);
                return;
        }
        if (unlikely(t->in_real != NULL) &&
            (inner_is_open(t) ? inner_is_recursion(t, REAL_RELEASES, block, real.free.fn, from)
                              : thread_is_recursion(t, (const void *)from->pc, REAL_RELEASES))) {
                REAL(free)(block);
                return;
        }
        if (unlikely(runtime.is_sampled))
                sample_free(t, block);
        else if (unlikely(runtime.free_stacks))
                event_free_stack(t, block, size_bytes, from);
        else
                event_words(t, WIRE_FREE_SIZED, words, 2);
        CALL_REAL_VOID(t, runtime.is_sampled, free, block);
}

HOOK_EXPORT void free_sized(void *block, size_t size_bytes) {
        struct unwind_regs from;

        UNWIND_HERE(&from);
        aligned_free_sized(block, size_bytes, &from);
}

HOOK_EXPORT void free_aligned_sized(void *block, size_t align_bytes, size_t size_bytes) {
        struct unwind_regs from;

        UNWIND_HERE(&from);
        aligned_free_sized(block, size_bytes, &from);
}
