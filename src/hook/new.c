/* SPDX-License-Identifier: MIT */
/* The 8 forms of operator new and the 12 of operator delete. libstdc++ builds them on each other
 * and on malloc; only the outermost call logs. Where the program defines one of the inner forms
 * itself, that one ends in malloc or free, whose hooks see it: the forms built on it stay silent
 * then, or a block would count twice.
 *
 * A form inside another is a jump: an exception that passes is the outer one's to count, and what the inner one got, it
 * got from malloc, which was seen (inner.h).
 *
 * Where all of it is libstdc++'s own, the forms without an alignment go to the real malloc and free
 * at once, as the library would through two or three more hooks. A new that gets no memory goes to
 * the library after all, for its handler and its exception. */
#include "hook/new.h"

#include <malloc.h>
#include <stdlib.h>

#include "hook/call.h"
#include "hook/early.h"
#include "hook/event.h"
#include "hook/fail.h"
#include "hook/malloc_enter.h"
#include "hook/malloc_hook.h"
#include "hook/patched.h"
#include "hook/sample.h"

/* The forms that others are built on. */
enum new_base {
        NEW_PLAIN = 1 << 0,
        NEW_ARRAY = 1 << 1,
        NEW_ALIGNED = 1 << 2,
        NEW_ARRAY_ALIGNED = 1 << 3,
        DELETE_PLAIN = 1 << 4,
        DELETE_ARRAY = 1 << 5,
        DELETE_ALIGNED = 1 << 6,
        DELETE_ARRAY_ALIGNED = 1 << 7,
};

static uint32_t new_program_bases; /* those the program defines itself */
static bool new_is_malloc;         /* see above */

/* Does every unaligned form end in the real malloc and free, with nobody in between? */
static bool new_is_plain_library(void) {
        static const char *const names[] = {
                "malloc",
                "free",
                "_Znwm",
                "_Znam",
                "_ZnwmRKSt9nothrow_t",
                "_ZnamRKSt9nothrow_t",
                "_ZdlPv",
                "_ZdaPv",
                "_ZdlPvm",
                "_ZdaPvm",
                "_ZdlPvRKSt9nothrow_t",
                "_ZdaPvRKSt9nothrow_t",
        };

        for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
                if (real_is_preceded(names[i]) ||
                    (names[i][0] == '_' && !real_is_in(names[i], "libstdc++.so.6")))
                        return false;
        return true;
}

bool new_is_plain_malloc(void) {
        return new_is_malloc;
}

void new_init(void) {
        static const struct {
                uint32_t base;
                const char *name;
        } bases[] = {
                {NEW_PLAIN, "_Znwm"},
                {NEW_ARRAY, "_Znam"},
                {NEW_ALIGNED, "_ZnwmSt11align_val_t"},
                {NEW_ARRAY_ALIGNED, "_ZnamSt11align_val_t"},
                {DELETE_PLAIN, "_ZdlPv"},
                {DELETE_ARRAY, "_ZdaPv"},
                {DELETE_ALIGNED, "_ZdlPvSt11align_val_t"},
                {DELETE_ARRAY_ALIGNED, "_ZdaPvSt11align_val_t"},
        };

        for (size_t i = 0; i < sizeof(bases) / sizeof(bases[0]); i++)
                if (real_program_defines(bases[i].name))
                        new_program_bases |= bases[i].base;
        new_is_malloc = new_is_plain_library();
}

/* ---- a C++ library that is not in the program's own scope -------------------------------- */

enum { NEW_N_FOUND = 256 };

/* Append-only: a reader needs no lock. */
struct new_found {
        _Atomic uint64_t key; /* 0: free, 1: being filled */
        struct real_fn fn;
};

static struct new_found new_found[NEW_N_FOUND];
static _Atomic uint32_t new_generation;

void new_forget_callers(void) {
        atomic_fetch_add_explicit(&new_generation, 1, memory_order_release);
}

static const struct real_fn *new_remember(uint64_t key, const struct real_fn *fn) {
        for (unsigned i = 0; i < NEW_N_FOUND; i++) {
                uint64_t unused = 0;

                if (atomic_compare_exchange_strong_explicit(&new_found[i].key, &unused, 1,
                                                            memory_order_acquire,
                                                            memory_order_relaxed)) {
                        /* not as a whole: without vector registers gcc calls memcpy for that */
                        new_found[i].fn.fn = fn->fn;
                        new_found[i].fn.enter = fn->enter;
                        new_found[i].fn.begin = fn->begin;
                        new_found[i].fn.end = fn->end;
                        new_found[i].fn.kinds = fn->kinds;
                        /* release: fn before key. Pairs with the acquire in new_find_for_caller. */
                        atomic_store_explicit(&new_found[i].key, key, memory_order_release);
                        return &new_found[i].fn;
                }
        }
        return NULL;
}

/* A plugin opened with RTLD_LOCAL brings its own C++ library: the form it would call without us.
 * NULL: none; then malloc and free stand in. */
static HOOK_COLD const struct real_fn *new_find_for_caller(const struct real_fn *fn,
                                                           const char *name, const void *caller) {
        uint64_t generation = atomic_load_explicit(&new_generation, memory_order_acquire);
        struct real_fn found = {0};
        uint64_t object, key;

        if (code_range_has(&runtime.self, (uintptr_t)caller) && thread_self && thread_self->in_real)
                caller = thread_self->in_real->fn; /* a form that another one jumped to */
        object = real_object_begin(caller);
        key = (object >> 8) ^ generation << 56 ^
              (uint64_t)(fn - (const struct real_fn *)&real) << 48 ^ 2;
        for (unsigned i = 0; i < NEW_N_FOUND; i++) {
                uint64_t k = atomic_load_explicit(&new_found[i].key, memory_order_acquire);

                if (k == key)
                        return new_found[i].fn.fn ? &new_found[i].fn : NULL;
                if (k == 0)
                        break;
        }
        if (real_for_caller(caller, name, &found) && patched_moved(found.fn))
                found.enter = patched_moved(found.fn);
        found.kinds |= REAL_OPEN; /* it may be built on another plugin's */
        fn = new_remember(key, &found);
        return fn && fn->fn ? fn : NULL;
}

/* Through the hooks, which log. */
static HOOK_COLD void *new_stand_in(size_t size_bytes, size_t align_bytes) {
        if (size_bytes == 0)
                size_bytes = 1;
        return align_bytes ? memalign(align_bytes, size_bytes) : malloc(size_bytes);
}

/* ---- operator new ------------------------------------------------------------------------ */

enum { NEW_UA_CLEANUP_PHASE = 2, NEW_UA_FORCE_UNWIND = 8, NEW_URC_CONTINUE_UNWIND = 8 };

/* An exception (bad_alloc) passes a hook's frame: the call returned no block. Handles nothing,
 * needs no unwinder. */
__attribute__((used)) int new_personality(int version, int actions, uint64_t exception_class,
                                          void *exception, void *context) {
        struct thread *t = thread_self;

        if ((actions & NEW_UA_CLEANUP_PHASE) && t && t->in_real) {
                struct unwind_regs from;

                UNWIND_HERE(&from);
                t->in_real = NULL;
                if (runtime_is_recording())
                        inner_leave(t, &from);
                if (!(actions & NEW_UA_FORCE_UNWIND) && runtime_is_recording())
                        event_failed_told(t, t->new_size_bytes);
        }
        return NEW_URC_CONTINUE_UNWIND;
}

static inline void new_log(struct thread *t, void *block, size_t size_bytes, unsigned form,
                           const struct unwind_regs *from, bool is_sampled) {
        if (unlikely(is_sampled))
                sample_alloc(t, block, size_bytes, form, from);
        else
                event_alloc(t, block, size_bytes, form, from);
}

/* bases: the forms the library builds this one on. hook: its own name, or where malloc_enter.S goes on. */
#define NEW_HOOK_AS(name, hook, form, align_bytes, bases, watch, params, ...)                      \
        void *name params;                                                                         \
        void *hook params {                                                                        \
                bool is_sampled;                                                                   \
                struct thread *t = thread_get_mode(&is_sampled);                                   \
                const struct real_fn *fn = &real.name;                                             \
                const struct real_fn *outer;                                                       \
                struct unwind_regs from;                                                           \
                uint64_t outer_bytes;                                                              \
                void *block;                                                                       \
                                                                                                   \
                watch;                                                                             \
                if (unlikely(!t && runtime_is_early()))                                            \
                        return early_alloc(size_bytes,                                             \
                                           (align_bytes) > EARLY_ALIGN ? (align_bytes)             \
                                                                       : EARLY_ALIGN,              \
                                           form, CALL_SITE);                                       \
                if (unlikely(!fn->fn) && !(fn = new_find_for_caller(fn, #name, CALL_SITE)))        \
                        return new_stand_in(size_bytes, align_bytes);                              \
                if (unlikely(!t || (new_program_bases & (bases))))                                 \
                        return ((__typeof__(&name))fn->enter)(__VA_ARGS__);                        \
                if (INNER_IS_RECURSION(t, REAL_ALLOCATES, NULL, NULL)) {                           \
                        t->in_inner = fn;                                                          \
                        return ((__typeof__(&name))fn->enter)(__VA_ARGS__);                        \
                }                                                                                  \
                if (likely(new_is_malloc && !(align_bytes))) {                                     \
                        block = CALL_REAL(t, is_sampled, malloc, size_bytes ? size_bytes : 1);     \
                        if (likely(block)) {                                                       \
                                UNWIND_HERE(&from);                                                \
                                new_log(t, block, size_bytes, form, &from, is_sampled);            \
                                return block;                                                      \
                        }                                                                          \
                        /* an exception leaves no way to tell it later */                          \
                        UNWIND_HERE(&from);                                                        \
                        event_fail_place(t, size_bytes, &from);                                    \
                        fail_once_more(t);                                                         \
                }                                                                                  \
                outer_bytes = t->new_size_bytes;                                                   \
                t->new_size_bytes = size_bytes;                                                    \
                outer = call_begin(t, fn, is_sampled);                                             \
                CALL_BEGUN(t, fn, outer, NULL);                                                    \
                block = ((__typeof__(&name))fn->enter)(__VA_ARGS__);                               \
                call_end(t, outer, is_sampled);                                                    \
                CALL_ENDED(t, fn, block);                                                          \
                t->new_size_bytes = outer_bytes;                                                   \
                if (unlikely(!block)) {                                                            \
                        event_failed_told(t, size_bytes);                                          \
                        return NULL;                                                               \
                }                                                                                  \
                UNWIND_HERE(&from);                                                                \
                new_log(t, block, size_bytes, form, &from, is_sampled);                            \
                return block;                                                                      \
        }

#define NEW_HOOK(name, form, align_bytes, bases, watch, params, ...)                               \
        HOOK_EXPORT void *name params;                                                             \
        NEW_HOOK_AS(name, name, form, align_bytes, bases, watch, params, __VA_ARGS__)
#define NEW_SILENT ((void)0)

NEW_HOOK_AS(_Znwm, new_slow, WIRE_FORM_NEW, 0, 0, NEW_WATCH_EXCEPTIONS, (size_t size_bytes),
            size_bytes)
NEW_HOOK_AS(_Znam, new_array_slow, WIRE_FORM_NEW_ARRAY, 0, NEW_PLAIN, NEW_WATCH_EXCEPTIONS,
            (size_t size_bytes), size_bytes)
NEW_HOOK(_ZnwmRKSt9nothrow_t, WIRE_FORM_NEW, 0, NEW_PLAIN, NEW_SILENT,
         (size_t size_bytes, const void *tag), size_bytes, tag)
NEW_HOOK(_ZnamRKSt9nothrow_t, WIRE_FORM_NEW_ARRAY, 0, NEW_PLAIN | NEW_ARRAY, NEW_SILENT,
         (size_t size_bytes, const void *tag), size_bytes, tag)
NEW_HOOK(_ZnwmSt11align_val_t, WIRE_FORM_NEW, align, 0, NEW_WATCH_EXCEPTIONS,
         (size_t size_bytes, size_t align), size_bytes, align)
NEW_HOOK(_ZnamSt11align_val_t, WIRE_FORM_NEW_ARRAY, align, NEW_ALIGNED, NEW_WATCH_EXCEPTIONS,
         (size_t size_bytes, size_t align), size_bytes, align)
NEW_HOOK(_ZnwmSt11align_val_tRKSt9nothrow_t, WIRE_FORM_NEW, align, NEW_ALIGNED, NEW_SILENT,
         (size_t size_bytes, size_t align, const void *tag), size_bytes, align, tag)
NEW_HOOK(_ZnamSt11align_val_tRKSt9nothrow_t, WIRE_FORM_NEW_ARRAY, align,
         NEW_ALIGNED | NEW_ARRAY_ALIGNED, NEW_SILENT,
         (size_t size_bytes, size_t align, const void *tag), size_bytes, align, tag)

static void new_give_tally(void) {
        struct thread *t = thread_self;

        if (t && sample_begin_chosen(t, &sample_counting))
                sample_end(t, NULL);
}

static void new_take_back(size_t size_bytes) {
        struct thread *t = thread_self;

        if (t) {
                sample_take_back(t, size_bytes);
                fail_once_more(t);
        }
}

/* All once more, by the slower way. */
void *new_chosen(size_t size_bytes) {
        new_give_tally();
        return new_slow(size_bytes);
}

void *new_array_chosen(size_t size_bytes) {
        new_give_tally();
        return new_array_slow(size_bytes);
}

void *new_failed(size_t size_bytes) {
        new_take_back(size_bytes);
        return new_slow(size_bytes);
}

void *new_array_failed(size_t size_bytes) {
        new_take_back(size_bytes);
        return new_array_slow(size_bytes);
}

/* ---- operator delete --------------------------------------------------------------------- */

/* given_bytes: the size the caller says, or WIRE_NO_SIZE. */
#define DELETE_HOOK_AS(name, hook, given_bytes, is_aligned, bases, params, ...)                    \
        void name params;                                                                          \
        void hook params {                                                                         \
                struct thread *t;                                                                  \
                const struct real_fn *fn = &real.name;                                             \
                const struct real_fn *outer;                                                       \
                bool is_sampled;                                                                   \
                                                                                                   \
                if (unlikely(!block))                                                              \
                        return;                                                                    \
                t = thread_get_mode(&is_sampled);                                                  \
                if (unlikely(early_owns(block)) || (!t && runtime_is_early())) {                   \
                        malloc_hook_free(block);                                                   \
                        return;                                                                    \
                }                                                                                  \
                if (unlikely(!fn->fn) && !(fn = new_find_for_caller(fn, #name, CALL_SITE))) {      \
                        malloc_hook_free(block);                                                   \
                        return;                                                                    \
                }                                                                                  \
                if (unlikely(!t || (new_program_bases & (bases)))) {                               \
                        ((__typeof__(&name))fn->enter)(__VA_ARGS__);                               \
                        return;                                                                    \
                }                                                                                  \
                if (INNER_IS_RECURSION(t, REAL_RELEASES, block, real.free.fn)) {                   \
                        t->in_inner = fn;                                                          \
                        ((__typeof__(&name))fn->enter)(__VA_ARGS__);                               \
                        return;                                                                    \
                }                                                                                  \
                if (unlikely(is_sampled)) {                                                        \
                        sample_free(t, block);                                                     \
                } else if (unlikely(runtime.free_stacks)) {                                        \
                        struct unwind_regs from;                                                   \
                                                                                                   \
                        UNWIND_HERE(&from);                                                        \
                        event_free_stack(t, block, given_bytes, &from);                            \
                } else {                                                                           \
                        event_free(t, block, given_bytes);                                         \
                }                                                                                  \
                if (likely(new_is_malloc && !(is_aligned))) {                                      \
                        CALL_REAL_VOID(t, is_sampled, free, block);                                \
                        return;                                                                    \
                }                                                                                  \
                outer = call_begin(t, fn, is_sampled);                                             \
                CALL_BEGUN(t, fn, outer, block);                                                   \
                ((__typeof__(&name))fn->enter)(__VA_ARGS__);                                       \
                call_end(t, outer, is_sampled);                                                    \
                CALL_ENDED(t, fn, NULL);                                                           \
        }

#define DELETE_HOOK(name, given_bytes, is_aligned, bases, params, ...)                             \
        HOOK_EXPORT void name params;                                                              \
        DELETE_HOOK_AS(name, name, given_bytes, is_aligned, bases, params, __VA_ARGS__)

DELETE_HOOK_AS(_ZdlPv, delete_slow, WIRE_NO_SIZE, false, 0, (void *block), block)
DELETE_HOOK_AS(_ZdaPv, delete_array_slow, WIRE_NO_SIZE, false, DELETE_PLAIN, (void *block), block)
DELETE_HOOK_AS(_ZdlPvm, delete_sized_slow, size_bytes, false, DELETE_PLAIN,
               (void *block, size_t size_bytes), block, size_bytes)
DELETE_HOOK_AS(_ZdaPvm, delete_array_sized_slow, size_bytes, false, DELETE_PLAIN | DELETE_ARRAY,
               (void *block, size_t size_bytes), block, size_bytes)
DELETE_HOOK(_ZdlPvRKSt9nothrow_t, WIRE_NO_SIZE, false, DELETE_PLAIN, (void *block, const void *tag),
            block, tag)
DELETE_HOOK(_ZdaPvRKSt9nothrow_t, WIRE_NO_SIZE, false, DELETE_PLAIN | DELETE_ARRAY,
            (void *block, const void *tag), block, tag)
DELETE_HOOK(_ZdlPvSt11align_val_t, WIRE_NO_SIZE, true, 0, (void *block, size_t align), block, align)
DELETE_HOOK(_ZdaPvSt11align_val_t, WIRE_NO_SIZE, true, DELETE_ALIGNED, (void *block, size_t align),
            block, align)
DELETE_HOOK(_ZdlPvSt11align_val_tRKSt9nothrow_t, WIRE_NO_SIZE, true, DELETE_ALIGNED,
            (void *block, size_t align, const void *tag), block, align, tag)
DELETE_HOOK(_ZdaPvSt11align_val_tRKSt9nothrow_t, WIRE_NO_SIZE, true,
            DELETE_ALIGNED | DELETE_ARRAY_ALIGNED, (void *block, size_t align, const void *tag),
            block, align, tag)
DELETE_HOOK(_ZdlPvmSt11align_val_t, size_bytes, true, DELETE_ALIGNED,
            (void *block, size_t size_bytes, size_t align), block, size_bytes, align)
DELETE_HOOK(_ZdaPvmSt11align_val_t, size_bytes, true, DELETE_ALIGNED | DELETE_ARRAY_ALIGNED,
            (void *block, size_t size_bytes, size_t align), block, size_bytes, align)
