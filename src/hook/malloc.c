/* SPDX-License-Identifier: MIT */
/* malloc, calloc, realloc, free: the four that matter for speed. The other ways to allocate are
 * in aligned.c and new.c. A release is logged before the real call, an allocation after it, so
 * that the events of one address alternate in time. */
#include <stdlib.h>

#include "hook/call.h"
#include "hook/early.h"
#include "hook/event.h"
#include "hook/malloc_hook.h"
#include "hook/new.h"

HOOK_EXPORT void *malloc(size_t size_bytes) {
        struct thread *t = thread_get();
        struct unwind_regs from;
        void *block;

        if (unlikely(!t)) {
                if (runtime_is_early())
                        return early_alloc(size_bytes, EARLY_ALIGN, WIRE_FORM_MALLOC, CALL_SITE);
                return REAL(malloc)(size_bytes);
        }
        if (unlikely(thread_is_recursion(t, CALL_SITE, REAL_ALLOCATES)))
                return REAL(malloc)(size_bytes);
        SIGNAL_POINT("malloc/begin");
        block = CALL_REAL(t, malloc, size_bytes);
        SIGNAL_POINT("malloc/returned");
        if (unlikely(!block)) {
                event_failed(t, size_bytes);
                return NULL;
        }
        UNWIND_HERE(&from);
        event_alloc(t, block, size_bytes, WIRE_FORM_MALLOC, &from);
        return block;
}

HOOK_EXPORT void *calloc(size_t n_items, size_t item_bytes) {
        struct thread *t = thread_get();
        struct unwind_regs from;
        size_t size_bytes;
        void *block;

        if (__builtin_mul_overflow(n_items, item_bytes, &size_bytes))
                size_bytes = SIZE_MAX;
        if (unlikely(!t)) {
                if (runtime_is_early())
                        return early_alloc(size_bytes, EARLY_ALIGN, WIRE_FORM_CALLOC, CALL_SITE);
                return REAL(calloc)(n_items, item_bytes);
        }
        if (unlikely(thread_is_recursion(t, CALL_SITE, REAL_ALLOCATES)))
                return REAL(calloc)(n_items, item_bytes);
        block = CALL_REAL(t, calloc, n_items, item_bytes);
        if (unlikely(!block)) {
                event_failed(t, size_bytes);
                return NULL;
        }
        UNWIND_HERE(&from);
        event_alloc(t, block, size_bytes, WIRE_FORM_CALLOC, &from);
        return block;
}

/* A block of the early arena moves to the real allocator. */
static HOOK_COLD void *malloc_move_early(void *old, size_t size_bytes) {
        size_t n_bytes = early_size(old) < size_bytes ? early_size(old) : size_bytes;
        uint8_t *block = REAL(malloc)(size_bytes);

        for (size_t i = 0; block && i < n_bytes; i++)
                block[i] = ((const uint8_t *)old)[i];
        return block;
}

HOOK_EXPORT void *realloc(void *old, size_t size_bytes) {
        struct thread *t = thread_get();
        struct unwind_regs from;
        void *block;

        if (unlikely(!t)) {
                if (runtime_is_early())
                        return old ? early_realloc(old, size_bytes, CALL_SITE)
                                   : early_alloc(size_bytes, EARLY_ALIGN, WIRE_FORM_REALLOC,
                                                 CALL_SITE);
                return unlikely(early_owns(old)) ? malloc_move_early(old, size_bytes)
                                                 : REAL(realloc)(old, size_bytes);
        }
        if (unlikely(thread_is_recursion(t, CALL_SITE, REAL_ALLOCATES | REAL_RELEASES)))
                return REAL(realloc)(old, size_bytes);
        if (old)
                event_realloc_begin(t, old);
        SIGNAL_POINT("realloc/begun");
        block = unlikely(early_owns(old)) ? malloc_move_early(old, size_bytes)
                                          : CALL_REAL(t, realloc, old, size_bytes);
        SIGNAL_POINT("realloc/returned");
        UNWIND_HERE(&from);
        event_realloc_done(t, old, block, size_bytes, WIRE_FORM_REALLOC, &from);
        return block;
}

/* The loader frees an object's description after it has unmapped it, and before it lets anyone
 * map another there. This also sees what libc opens and closes itself (iconv, NSS). */
static HOOK_COLD void malloc_note_unload(void) {
        unwind_modules_changed();
        new_forget_callers();
}

HOOK_EXPORT void free(void *block) {
        struct thread *t;

        if (unlikely(!block))
                return;
        t = thread_get();
        if (unlikely(!t)) {
                if (!early_owns(block)) {
                        if (!runtime_is_early())
                                REAL(free)(block);
                } else if (runtime_is_early()) {
                        early_free(block);
                }
                return;
        }
        if (unlikely(thread_is_recursion(t, CALL_SITE, REAL_RELEASES))) {
                REAL(free)(block);
                return;
        }
        if (unlikely(code_range_has(&runtime.loader, (uintptr_t)CALL_SITE)))
                malloc_note_unload();
        if (unlikely(runtime.free_stacks)) {
                struct unwind_regs from;

                UNWIND_HERE(&from);
                event_free_stack(t, block, WIRE_NO_SIZE, &from);
        } else {
                event_free(t, block, WIRE_NO_SIZE);
        }
        SIGNAL_POINT("free/logged");
        if (likely(!early_owns(block)))
                CALL_REAL_VOID(t, free, block);
}

extern __typeof__(realloc) malloc_hook_realloc __attribute__((alias("realloc"), nothrow, leaf));
extern __typeof__(free) malloc_hook_free __attribute__((alias("free"), nothrow, leaf));
