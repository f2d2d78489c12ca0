/* SPDX-License-Identifier: MIT */
/* malloc, calloc, realloc, free: the four that matter for speed. malloc and free begin in malloc_enter.S. The other
 * ways to allocate are in aligned.c and new.c. A release is logged before the real call, an allocation after it, so
 * that the events of one address alternate in time. */
#include <stdlib.h>

#include "hook/call.h"
#include "hook/early.h"
#include "hook/event.h"
#include "hook/malloc_enter.h"
#include "hook/malloc_hook.h"
#include "hook/new.h"
#include "hook/sample.h"

/* As malloc_enter.S has them. */
_Static_assert(
        offsetof(union runtime_wiped, phase) == 0 &&
                offsetof(union runtime_wiped, real_malloc) == 8 &&
                offsetof(union runtime_wiped, tally_off) == 16 &&
                offsetof(union runtime_wiped, real_free) == 24 &&
                offsetof(union runtime_wiped, real_usable_size) == 32 &&
                offsetof(union runtime_wiped, new_tally_off) == 40 && EARLY_FIRST_BYTES == 1 << 18,
        "PHASE, REAL_MALLOC, TALLY_OFF, REAL_FREE, REAL_USABLE_SIZE, NEW_TALLY_OFF, EARLY_FIRST_SHIFT");
_Static_assert(SAMPLE_N_CLASSES == 1 << 16, "1,024 words of the filter");
_Static_assert(offsetof(struct wire_tally, n_allocs) == 0 &&
                       offsetof(struct wire_tally, due_bytes) == 8 &&
                       offsetof(struct wire_tally, n_frees) == 16 && SAMPLE_BLOCK_CHARGE == 16,
               "N_ALLOCS, DUE_BYTES, N_FREES, CHARGE");
/* One instruction stores both, one cache line has all. */
_Static_assert(offsetof(struct wire_slot, tally) % 16 == 0 &&
                       offsetof(struct wire_slot, tally.n_allocs) / 64 ==
                               offsetof(struct wire_slot, tally.n_frees) / 64,
               "where a slot has its tally");

/* Each hook goes one of three ways at once: _exact in the phase RECORDING, _sampled in SAMPLING, _other in all others and
 * for a thread without a state. They stand in the hook's place: their caller is the hook's. */

static inline __attribute__((always_inline)) void *malloc_recorded(struct thread *t,
                                                                   size_t size_bytes,
                                                                   bool is_sampled) {
        struct unwind_regs from;
        void *block;

        if (INNER_IS_RECURSION(t, REAL_ALLOCATES, NULL, NULL))
                return INNER_NOTE(t, REAL(malloc)(size_bytes), size_bytes, WIRE_FORM_MALLOC);
        SIGNAL_POINT("malloc/begin");
        block = CALL_REAL(t, is_sampled, malloc, size_bytes);
        SIGNAL_POINT("malloc/returned");
        if (unlikely(!block)) {
                event_failed(t, size_bytes);
                return NULL;
        }
        UNWIND_HERE(&from);
        if (is_sampled)
                sample_alloc(t, block, size_bytes, WIRE_FORM_MALLOC, &from);
        else
                event_alloc(t, block, size_bytes, WIRE_FORM_MALLOC, &from);
        return block;
}

#if SILT_SIGNAL_POINTS
void malloc_enter_point(const char *label) {
        SIGNAL_POINT(label);
}
#endif

static __attribute__((noinline)) void *malloc_other(size_t size_bytes) {
        bool is_sampled;
        struct thread *t = thread_get_mode(&is_sampled);

        if (t)
                return is_sampled ? malloc_recorded(t, size_bytes, true)
                                  : malloc_recorded(t, size_bytes, false);
        if (runtime_is_early())
                return early_alloc(size_bytes, EARLY_ALIGN, WIRE_FORM_MALLOC, CALL_SITE);
        return REAL(malloc)(size_bytes);
}

/* in_real is set for the call, which keeps handlers out of the tally just as well. */
static inline __attribute__((always_inline)) void *malloc_held(struct thread *t,
                                                               size_t size_bytes) {
        void *block = REAL(malloc)(size_bytes);
        struct unwind_regs from;

        if (likely(block && !sample_tally_alloc(t, size_bytes))) {
                sample_end(t, NULL);
                return block;
        }
        UNWIND_HERE(&from);
        return sample_finish(t, block, size_bytes, WIRE_FORM_MALLOC, &from);
}

static __attribute__((noinline)) void *malloc_sampled(size_t size_bytes) {
        struct thread *t = thread_self;

        if (unlikely(!t) || unlikely(sample_is_inside(t)) ||
            unlikely(real.malloc.kinds & REAL_OPEN))
                return malloc_other(size_bytes);
        sample_begin(t, &real.malloc);
        return malloc_held(t, size_bytes);
}

void *malloc_chosen(size_t size_bytes) {
        struct thread *t = thread_self;

        if (unlikely(!t) || unlikely(!sample_begin_chosen(t, &real.malloc)))
                return REAL(malloc)(size_bytes);
        return malloc_held(t, size_bytes);
}

void *malloc_failed(size_t size_bytes) {
        struct thread *t = thread_self;

        if (t) {
                sample_take_back(t, size_bytes);
                event_failed(t, size_bytes);
        }
        return NULL;
}

void *malloc_exact(size_t size_bytes) {
        struct thread *t = thread_self;

        return likely(t != NULL) ? malloc_recorded(t, size_bytes, false) : malloc_other(size_bytes);
}

void *malloc_slow(size_t size_bytes) {
        switch (runtime_phase()) {
        case RUNTIME_SAMPLING: return malloc_sampled(size_bytes);
        case RUNTIME_PASSING: return REAL(malloc)(size_bytes);
        default: return malloc_other(size_bytes);
        }
}

static inline __attribute__((always_inline)) void *calloc_recorded(struct thread *t, size_t n_items,
                                                                   size_t item_bytes,
                                                                   bool is_sampled) {
        struct unwind_regs from;
        size_t size_bytes;
        void *block;

        if (__builtin_mul_overflow(n_items, item_bytes, &size_bytes))
                size_bytes = SIZE_MAX;
        if (INNER_IS_RECURSION(t, REAL_ALLOCATES, NULL, NULL))
                return INNER_NOTE(t, REAL(calloc)(n_items, item_bytes), size_bytes,
                                  WIRE_FORM_CALLOC);
        size_bytes -= runtime_tls_excess(item_bytes, CALL_SITE);
        block = CALL_REAL(t, is_sampled, calloc, n_items, item_bytes);
        if (unlikely(!block)) {
                event_failed(t, size_bytes);
                return NULL;
        }
        UNWIND_HERE(&from);
        /* an object's description: its release is to be looked at */
        if (is_sampled && unlikely(code_range_has(&runtime.loader, (uintptr_t)CALL_SITE)))
                sample_mark_early(block);
        if (is_sampled)
                sample_alloc(t, block, size_bytes, WIRE_FORM_CALLOC, &from);
        else
                event_alloc(t, block, size_bytes, WIRE_FORM_CALLOC, &from);
        return block;
}

static __attribute__((noinline)) void *calloc_other(size_t n_items, size_t item_bytes) {
        bool is_sampled;
        struct thread *t = thread_get_mode(&is_sampled);
        size_t size_bytes;

        if (t)
                return is_sampled ? calloc_recorded(t, n_items, item_bytes, true)
                                  : calloc_recorded(t, n_items, item_bytes, false);
        if (__builtin_mul_overflow(n_items, item_bytes, &size_bytes))
                size_bytes = SIZE_MAX;
        if (runtime_is_early())
                return early_alloc(size_bytes, EARLY_ALIGN, WIRE_FORM_CALLOC, CALL_SITE);
        return REAL(calloc)(n_items, item_bytes);
}

/* As malloc_sampled. The loader's blocks are seen to by the other way. */
static __attribute__((noinline)) void *calloc_sampled(size_t n_items, size_t item_bytes) {
        struct thread *t = thread_self;
        struct unwind_regs from;
        size_t size_bytes;
        void *block;

        if (unlikely(!t) || unlikely(sample_is_inside(t)) ||
            unlikely(real.calloc.kinds & REAL_OPEN) ||
            unlikely(code_range_has(&runtime.loader, (uintptr_t)CALL_SITE)) ||
            unlikely(__builtin_mul_overflow(n_items, item_bytes, &size_bytes)))
                return calloc_other(n_items, item_bytes);
        sample_begin(t, &real.calloc);
        block = REAL(calloc)(n_items, item_bytes);
        if (likely(block && !sample_tally_alloc(t, size_bytes))) {
                sample_end(t, NULL);
                return block;
        }
        UNWIND_HERE(&from);
        return sample_finish(t, block, size_bytes, WIRE_FORM_CALLOC, &from);
}

HOOK_EXPORT void *calloc(size_t n_items, size_t item_bytes) {
        uint32_t phase = runtime_phase();

        if (likely(phase == RUNTIME_RECORDING)) {
                struct thread *t = thread_self;

                if (likely(t != NULL))
                        return calloc_recorded(t, n_items, item_bytes, false);
        }
        return phase == RUNTIME_SAMPLING ? calloc_sampled(n_items, item_bytes)
                                         : calloc_other(n_items, item_bytes);
}

/* A block of the early arena moves to the real allocator. */
static HOOK_COLD void *malloc_move_early(void *old, size_t size_bytes) {
        size_t n_bytes = early_size(old) < size_bytes ? early_size(old) : size_bytes;
        uint8_t *block = REAL(malloc)(size_bytes);

        for (size_t i = 0; block && i < n_bytes; i++)
                block[i] = ((const uint8_t *)old)[i];
        return block;
}

static inline __attribute__((always_inline)) void *realloc_recorded(struct thread *t, void *old,
                                                                    size_t size_bytes,
                                                                    bool is_sampled) {
        struct unwind_regs from;
        bool was_chosen = false;
        void *block;

        if (INNER_IS_RECURSION(t, REAL_ALLOCATES | REAL_RELEASES, old, real.free.fn))
                return INNER_NOTE(t, REAL(realloc)(old, size_bytes), size_bytes, WIRE_FORM_REALLOC);
        if (is_sampled)
                was_chosen = sample_realloc_begin(t, old);
        else if (old)
                event_realloc_begin(t, old);
        SIGNAL_POINT("realloc/begun");
        block = unlikely(early_owns(old))
                        ? malloc_move_early(old, size_bytes)
                        : CALL_REAL_OF(t, is_sampled, old, realloc, old, size_bytes);
        SIGNAL_POINT("realloc/returned");
        UNWIND_HERE(&from);
        if (is_sampled)
                sample_realloc_done(t, old, was_chosen, block, size_bytes, WIRE_FORM_REALLOC,
                                    &from);
        else
                event_realloc_done(t, old, block, size_bytes, WIRE_FORM_REALLOC, &from);
        return block;
}

static __attribute__((noinline)) void *realloc_other(void *old, size_t size_bytes) {
        bool is_sampled;
        struct thread *t = thread_get_mode(&is_sampled);

        if (t)
                return is_sampled ? realloc_recorded(t, old, size_bytes, true)
                                  : realloc_recorded(t, old, size_bytes, false);
        if (runtime_is_early())
                return old ? early_realloc(old, size_bytes, CALL_SITE)
                           : early_alloc(size_bytes, EARLY_ALIGN, WIRE_FORM_REALLOC, CALL_SITE);
        return unlikely(early_owns(old)) ? malloc_move_early(old, size_bytes)
                                         : REAL(realloc)(old, size_bytes);
}

/* A block that was not chosen, and became another: counted at once, behind the call. */
static __attribute__((noinline)) void *realloc_sampled(void *old, size_t size_bytes) {
        struct thread *t = thread_self;
        struct unwind_regs from;
        void *block;

        /* NULL is of a class that the filter has */
        if (unlikely(!t) || unlikely(sample_may_have(old)) || unlikely(sample_is_inside(t)) ||
            unlikely(real.realloc.kinds & REAL_OPEN))
                return realloc_other(old, size_bytes);
        sample_begin(t, &real.realloc);
        block = REAL(realloc)(old, size_bytes);
        if (likely(block != NULL)) {
                sample_count(&t->lane.slot->tally.n_frees, 1);
                sample_count(&t->lane.slot->tally.n_reallocs, 1);
                if (likely(!sample_tally_alloc(t, size_bytes))) {
                        sample_end(t, NULL);
                        return block;
                }
        }
        UNWIND_HERE(&from);
        if (block) {
                sample_take(t, block, size_bytes, WIRE_FORM_REALLOC, &from);
        } else {
                sample_end(t, NULL);
                sample_realloc_done(t, old, false, NULL, size_bytes, WIRE_FORM_REALLOC, &from);
        }
        return block;
}

HOOK_EXPORT void *realloc(void *old, size_t size_bytes) {
        uint32_t phase = runtime_phase();

        if (likely(phase == RUNTIME_RECORDING)) {
                struct thread *t = thread_self;

                if (likely(t != NULL))
                        return realloc_recorded(t, old, size_bytes, false);
        }
        return phase == RUNTIME_SAMPLING ? realloc_sampled(old, size_bytes)
                                         : realloc_other(old, size_bytes);
}

/* The loader frees an object's description after it has unmapped it, and before it lets anyone
 * map another there. This also sees what libc opens and closes itself (iconv, NSS). */
static HOOK_COLD void malloc_note_unload(void) {
        unwind_modules_changed();
        new_forget_callers();
}

enum free_how { FREE_EXACT, FREE_EXACT_RARE, FREE_SAMPLED };

static inline __attribute__((always_inline)) void free_recorded(struct thread *t, void *block,
                                                                enum free_how how) {
        if (INNER_IS_RECURSION(t, REAL_RELEASES, block, real.free.fn)) {
                REAL(free)(block);
                return;
        }
        if (unlikely(code_range_has(&runtime.loader, (uintptr_t)CALL_SITE)))
                malloc_note_unload();
        if (how == FREE_SAMPLED) {
                sample_free(t, block);
        } else if (unlikely(runtime.free_stacks)) {
                struct unwind_regs from;

                UNWIND_HERE(&from);
                event_free_stack(t, block, WIRE_NO_SIZE, &from);
        } else if (how == FREE_EXACT) {
                event_free_inline(t, block, WIRE_NO_SIZE);
        } else {
                event_free(t, block, WIRE_NO_SIZE);
        }
        SIGNAL_POINT("free/logged");
        if (likely(!early_owns(block)))
                CALL_REAL_VOID(t, how == FREE_SAMPLED, free, block);
}

static __attribute__((noinline)) void free_other(void *block) {
        bool is_sampled;
        struct thread *t = thread_get_mode(&is_sampled);

        if (t && is_sampled)
                free_recorded(t, block, FREE_SAMPLED);
        else if (t)
                free_recorded(t, block, FREE_EXACT_RARE);
        else if (!early_owns(block)) {
                if (!runtime_is_early())
                        REAL(free)(block);
        } else if (runtime_is_early()) {
                early_free(block);
        }
}

/* As malloc_sampled. */
static __attribute__((noinline)) void free_sampled(void *block) {
        struct thread *t = thread_self;

        /* the filter has blocks of the early arena and descriptions of objects too */
        if (unlikely(!t) || unlikely(sample_may_have(block)) || unlikely(sample_is_inside(t)) ||
            unlikely(real.free.kinds & REAL_OPEN)) {
                free_other(block);
                return;
        }
        sample_begin(t, &real.free);
        sample_count(&t->lane.slot->tally.n_frees, 1);
        REAL(free)(block);
        sample_end(t, NULL);
}

void free_exact(void *block) {
        struct thread *t = thread_self;

        if (likely(t != NULL))
                free_recorded(t, block, FREE_EXACT);
        else
                free_other(block);
}

void free_slow(void *block) {
        uint32_t phase = runtime_phase();

        if (unlikely(!block))
                return;
        if (phase == RUNTIME_SAMPLING)
                free_sampled(block);
        else if (phase == RUNTIME_PASSING && !early_owns(block))
                REAL(free)(block);
        else
                free_other(block);
}

extern __typeof__(realloc) malloc_hook_realloc __attribute__((alias("realloc"), nothrow, leaf));
