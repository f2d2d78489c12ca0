/* SPDX-License-Identifier: MIT */
/* The hooks behind patched entries. A compiler that has seen both a function and its caller knows which registers the
 * function leaves alone, and keeps values there over the call. So a hook must not change any that the function itself
 * does not: patched_enter.S saves them all around the two halves of a hook, before the call and after it. The
 * runtime uses no vector registers. Otherwise these are the hooks of malloc.c: a release is logged before the
 * call, an allocation after it, and only the outermost call. */
#include "hook/patched.h"

#include <sys/prctl.h>

#include "hook/call.h"
#include "hook/event.h"
#include "hook/patched_frame.h"
#include "hook/patched_heap.h"
#include "hook/patched_table.h"
#include "hook/sample.h"

/* In patched_enter.S. */
void patched_enter(void);
void patched_enter_throws(void);

/* From there. */
bool patched_before(struct patched_frame *f);
void patched_after(struct patched_frame *f);

static uint64_t patched_size(const struct patched_frame *f) {
        const struct wire_entry *entry = f->entry;
        uint64_t size_bytes = entry->size_arg == WIRE_ENTRY_NO_ARG ? 0 : f->regs[entry->size_arg];

        if (entry->count_arg != WIRE_ENTRY_NO_ARG) {
                size_t excess_bytes = runtime_tls_excess(size_bytes, (const void *)f->pc);

                if (__builtin_mul_overflow(size_bytes, f->regs[entry->count_arg], &size_bytes))
                        size_bytes = SIZE_MAX;
                size_bytes -= excess_bytes;
        }
        return size_bytes;
}

static uint64_t patched_text_bytes(const char *text) {
        uint64_t n = 0;

        while (text && text[n])
                n++;
        return n + 1;
}

static __attribute__((noinline)) void patched_log_free_stack(const struct patched_frame *f,
                                                             struct thread *t,
                                                             uint64_t size_bytes) {
        struct unwind_regs from = patched_caller(f);

        if (runtime.is_sampled)
                sample_free(t, f->block);
        else
                event_free_stack(t, f->block, size_bytes, &from);
}

static inline void patched_log_free(const struct patched_frame *f, struct thread *t) {
        uint64_t size_bytes = f->entry->size_arg == WIRE_ENTRY_NO_ARG ? WIRE_NO_SIZE
                                                                      : f->regs[f->entry->size_arg];

        if (unlikely(runtime.free_stacks))
                patched_log_free_stack(f, t, size_bytes);
        else
                event_free(t, f->block, size_bytes);
}

/* In the thread's address, in calls whose blocks are sampled: patched_after need not ask. PLAIN: the tally is the call's alone
 * until its end. INNER: it belongs to the call around it, which wants to know what came back. */
enum { PATCHED_SAMPLED = 1, PATCHED_PLAIN = 2, PATCHED_INNER = 4, PATCHED_MARKS = 7 };
_Static_assert(_Alignof(struct thread) > PATCHED_MARKS, "marks in its address");

static struct thread *patched_mark_sampled(struct patched_frame *f, struct thread *t) {
        f->heap = f->entry->call == WIRE_CALL_REALLOC && sample_realloc_begin(t, f->block);
        return (struct thread *)((uintptr_t)t | PATCHED_SAMPLED);
}

/* Of a call that is not the outermost: of an allocation what comes back is looked at. */
static bool patched_before_inner(struct patched_frame *f, struct thread *t,
                                 const struct real_fn *fn, void *block) {
        t->in_inner = fn; /* what this one calls belongs to the outer call too */
        if (!(fn->kinds & REAL_ALLOCATES) || f->entry->call == WIRE_CALL_RESIZE ||
            f->entry->call == WIRE_CALL_ALLOC_THROWS) /* what passes is the outer call's to count */
                return false;
        f->block = f->entry->call == WIRE_CALL_ALLOC_OUT ? (void *)f->regs[0] : block;
        f->size_bytes = patched_size(f);
        f->outer = t->in_real;
        f->t = (struct thread *)((uintptr_t)t | PATCHED_INNER);
        return true;
}

static __attribute__((noinline)) void patched_after_inner(struct patched_frame *f) {
        struct thread *t = (struct thread *)((uintptr_t)f->t & ~(uintptr_t)PATCHED_MARKS);
        uint64_t result = f->regs[PATCHED_RESULT];

        if (f->entry->call == WIRE_CALL_ALLOC_OUT)
                result = (int)result == 0 ? *(uint64_t *)f->block : 0;
        else if (f->entry->call == WIRE_CALL_ALLOC_TEXT)
                f->size_bytes = patched_text_bytes((const char *)result);
        if (inner_is_open(t))
                inner_note(t, (void *)result, f->size_bytes, f->entry->form);
}

/* Around call_begin and call_end, where anybody's code may be inside. */
static inline void patched_begun(struct patched_frame *f, struct thread *t,
                                 const struct real_fn *fn) {
        if (unlikely(fn->kinds & REAL_OPEN))
                inner_begin(t, fn, f, fn->kinds & REAL_RELEASES ? f->block : NULL, f->outer);
}

static __attribute__((noinline)) void patched_ended(struct patched_frame *f) {
        struct unwind_regs from = patched_caller(f);
        uint64_t result = f->regs[PATCHED_RESULT];

        if (f->entry->call == WIRE_CALL_ALLOC_OUT)
                result = (int)result == 0 ? *(uint64_t *)f->block : 0;
        inner_end(f->t, f, (void *)result, &from);
}

static inline bool patched_is_open(const struct patched_frame *f) {
        return patched_fns[f->entry - patched_entries].kinds & REAL_OPEN;
}

/* Calls of all kinds, inner ones too. */
static __attribute__((noinline)) bool patched_before_any(struct patched_frame *f) {
        const struct wire_entry *entry = f->entry;
        const struct real_fn *fn = &patched_fns[entry - patched_entries];
        bool is_sampled;
        struct thread *t;

        if (unlikely(entry->call == WIRE_CALL_LOADED)) {
                patched_loaded();
                return false;
        }
        if (unlikely(entry->call == WIRE_CALL_PRCTL)) {
                if (f->regs[0] == PR_SET_NO_NEW_PRIVS || f->regs[0] == PR_SET_SECCOMP)
                        runtime.is_confined = true; /* before it is, and for good */
                return false;
        }
        t = thread_get_mode(&is_sampled);
        if (unlikely(!t))
                return false;
        if (unlikely(inner_is_open(t)) && (fn->kinds & (REAL_ALLOCATES | REAL_RELEASES))) {
                struct unwind_regs from = patched_caller(f);
                void *block = entry->block_arg == WIRE_ENTRY_NO_ARG
                                      ? NULL
                                      : (void *)f->regs[entry->block_arg];

                if (!block && fn->kinds == REAL_RELEASES)
                        return false;
                if (inner_is_recursion(t, fn->kinds & (REAL_ALLOCATES | REAL_RELEASES), block,
                                       fn->fn, &from))
                        return patched_before_inner(f, t, fn, block);
        } else if (unlikely(thread_is_recursion(t, (const void *)f->pc, fn->kinds))) {
                t->in_inner = fn; /* what this one calls belongs to the outer call too */
                return false;
        }
        f->outer_bytes = t->new_size_bytes;
        f->heap = 0;
        if (entry->call >= WIRE_CALL_HEAP_NEW) {
                if (is_sampled && entry->call == WIRE_CALL_HEAP_DESTROY)
                        runtime_mark_unfollowed(WIRE_UNFOLLOWED_HEAPS);
                if (!patched_heap_before(f, t, is_sampled))
                        return false;
                f->t = is_sampled ? (struct thread *)((uintptr_t)t | PATCHED_SAMPLED) : t;
                f->outer = call_begin(t, patched_heap_fn(f, fn), is_sampled);
                return true;
        }
        if (entry->block_arg != WIRE_ENTRY_NO_ARG)
                f->block = (void *)f->regs[entry->block_arg];
        if (entry->call == WIRE_CALL_FREE) {
                if (!f->block)
                        return false;
                patched_log_free(f, t);
        } else {
                f->size_bytes = patched_size(f);
                if (entry->call == WIRE_CALL_REALLOC && f->block && !is_sampled)
                        event_realloc_begin(t, f->block);
                else if (entry->call == WIRE_CALL_ALLOC_OUT)
                        f->block = (void *)f->regs[0];
                t->new_size_bytes = f->size_bytes;
                if (unlikely(patched_has_heaps))
                        f->heap = patched_heap_asked(f, t);
        }
        f->t = is_sampled && entry->call != WIRE_CALL_FREE ? patched_mark_sampled(f, t) : t;
        f->outer = call_begin(t, fn, is_sampled);
        patched_begun(f, t, fn);
        return true;
}

static __attribute__((noinline)) bool patched_before_free(struct patched_frame *f,
                                                          struct thread *t) {
        f->block = (void *)f->regs[f->entry->block_arg];
        if (unlikely(!f->block))
                return false;
        f->t = t;
        patched_log_free(f, t);
        f->outer = call_begin(t, &patched_fns[f->entry - patched_entries], false);
        patched_begun(f, t, &patched_fns[f->entry - patched_entries]);
        return true;
}

static inline void patched_begin_alloc(struct patched_frame *f, struct thread *t) {
        f->heap = 0;
        f->size_bytes = patched_size(f);
        f->outer_bytes = t->new_size_bytes;
        t->new_size_bytes = f->size_bytes;
}

/* Counted while in_real is set for the call, which keeps handlers out of the tally just as well. */
static __attribute__((noinline)) bool patched_before_sampled(struct patched_frame *f,
                                                             struct thread *t) {
        const struct wire_entry *entry = f->entry;
        const struct real_fn *fn = &patched_fns[entry - patched_entries];

        if (entry->call == WIRE_CALL_FREE) {
                f->block = (void *)f->regs[entry->block_arg];
                if (unlikely(!f->block) || unlikely(sample_may_have(f->block)) ||
                    unlikely(sample_is_inside(t)) || unlikely(fn->kinds & REAL_OPEN))
                        return patched_before_any(f);
                f->t = t;
                f->outer = NULL;
                sample_begin(t, fn);
                sample_count(&t->lane.slot->tally.n_frees, 1);
                return true;
        }
        if (entry->call > WIRE_CALL_ALLOC_THROWS || unlikely(sample_is_inside(t)) ||
            unlikely(fn->kinds & REAL_OPEN))
                return patched_before_any(f);
        patched_begin_alloc(f, t);
        f->t = (struct thread *)((uintptr_t)t | PATCHED_SAMPLED | PATCHED_PLAIN);
        f->outer = call_begin(t, fn, true);
        return true;
}

/* See WIRE_ENTRY_HEAP_NONE_INNER. */
static inline bool patched_is_inner(const struct patched_frame *f) {
        return f->entry->heap == WIRE_ENTRY_HEAP_NONE_INNER &&
               f->pc - f->entry->code_begin < f->entry->code_end - f->entry->code_begin;
}

/* False: the call is none of ours, and the function goes on as if nobody had looked. Most calls are plain ones from outside: an
 * allocation takes few instructions and no frame, a release what logging it takes; the rest above. */
bool patched_before(struct patched_frame *f) {
        const struct wire_entry *entry = f->entry;
        struct thread *t = thread_self;

        if (unlikely(patched_is_inner(f)))
                return false;
        if (unlikely(!t) || unlikely(t->in_real != NULL))
                return patched_before_any(f);
        if (unlikely(runtime_phase() != RUNTIME_RECORDING))
                return runtime_phase() == RUNTIME_SAMPLING ? patched_before_sampled(f, t)
                                                           : patched_before_any(f);
        if (entry->call == WIRE_CALL_FREE)
                return patched_before_free(f, t);
        if (entry->call > WIRE_CALL_ALLOC_THROWS || unlikely(patched_has_heaps))
                return patched_before_any(f);
        patched_begin_alloc(f, t);
        f->t = t;
        f->outer = call_begin(t, &patched_fns[entry - patched_entries], false);
        patched_begun(f, t, &patched_fns[entry - patched_entries]);
        return true;
}

static void patched_log_alloc(struct patched_frame *f, void *block) {
        struct unwind_regs from = patched_caller(f);

        if (unlikely(f->heap) && block)
                patched_heap_tell(f, block);
        if (likely(block != NULL))
                event_alloc(f->t, block, f->size_bytes, f->entry->form, &from);
        else
                event_failed(f->t, f->size_bytes);
}

/* The block has the new size, or stays as it was; nobody else can be given its address meanwhile. */
static void patched_log_resize(struct patched_frame *f, uint64_t usable_bytes) {
        struct unwind_regs from = patched_caller(f);

        if (!f->block || usable_bytes < f->size_bytes)
                return;
        event_realloc_begin(f->t, f->block);
        event_realloc_done(f->t, f->block, f->block, f->size_bytes, f->entry->form, &from);
}

static __attribute__((noinline)) void patched_after_any(struct patched_frame *f, uint64_t result) {
        struct unwind_regs from;

        switch (f->entry->call) {
        case WIRE_CALL_REALLOC:
                from = patched_caller(f);
                if (f->heap && result && (void *)result != f->block)
                        patched_heap_tell(f, (void *)result);
                event_realloc_done(f->t, f->block, (void *)result, f->size_bytes, f->entry->form,
                                   &from);
                break;
        case WIRE_CALL_RESIZE: patched_log_resize(f, result); break;
        case WIRE_CALL_ALLOC_OUT:
                patched_log_alloc(f, (int)result == 0 ? *(void **)f->block : NULL);
                break;
        case WIRE_CALL_ALLOC_TEXT:
                f->size_bytes = patched_text_bytes((const char *)result);
                patched_log_alloc(f, (void *)result);
                break;
        case WIRE_CALL_ALLOC:
        case WIRE_CALL_ALLOC_THROWS: patched_log_alloc(f, (void *)result); break;
        default: patched_heap_after(f, result); break;
        }
}

/* ---- the same where blocks are sampled (sample.h) ------------------------------------------ */

/* Heaps that are released whole are not followed there; f->heap says whether a block that is given a new size was chosen. */

static void patched_sample_plain(struct patched_frame *f, void *block) {
        struct unwind_regs from;

        f->t->new_size_bytes = f->outer_bytes;
        if (likely(!sample_tally_alloc(f->t, f->size_bytes))) {
                sample_end(f->t, NULL);
                return;
        }
        from = patched_caller(f);
        sample_take(f->t, block, f->size_bytes, f->entry->form, &from);
}

static void patched_sample_alloc(struct patched_frame *f, void *block) {
        struct unwind_regs from = patched_caller(f);

        if (likely(block != NULL))
                sample_alloc(f->t, block, f->size_bytes, f->entry->form, &from);
        else
                event_failed(f->t, f->size_bytes);
}

static void patched_sample_realloc(struct patched_frame *f, void *block, bool was_chosen) {
        struct unwind_regs from = patched_caller(f);

        sample_realloc_done(f->t, f->block, was_chosen, block, f->size_bytes, f->entry->form,
                            &from);
}

static __attribute__((noinline)) void patched_after_sampled(struct patched_frame *f) {
        uint64_t result = f->regs[PATCHED_RESULT];
        bool is_plain = (uintptr_t)f->t & PATCHED_PLAIN;

        f->t = (struct thread *)((uintptr_t)f->t & ~(uintptr_t)PATCHED_MARKS);
        if (likely(is_plain && result)) {
                patched_sample_plain(f, (void *)result);
                return;
        }
        call_end(f->t, f->outer, true);
        if (unlikely(patched_is_open(f)))
                patched_ended(f);
        f->t->new_size_bytes = f->outer_bytes;
        switch (f->entry->call) {
        case WIRE_CALL_REALLOC: patched_sample_realloc(f, (void *)result, f->heap); break;
        case WIRE_CALL_RESIZE:
                if (f->block && result >= f->size_bytes)
                        patched_sample_realloc(f, f->block, sample_realloc_begin(f->t, f->block));
                break;
        case WIRE_CALL_ALLOC_OUT:
                patched_sample_alloc(f, (int)result == 0 ? *(void **)f->block : NULL);
                break;
        case WIRE_CALL_ALLOC_TEXT:
                f->size_bytes = patched_text_bytes((const char *)result);
                patched_sample_alloc(f, (void *)result);
                break;
        case WIRE_CALL_CONTROL:
        case WIRE_CALL_CONTROL_MIB:
        case WIRE_CALL_NAME_TO_MIB: patched_heap_after(f, result); break;
        default: patched_sample_alloc(f, (void *)result); break;
        }
}

/* Not of releases: patched_enter.S has what they need. Most calls are plain allocations. */
void patched_after(struct patched_frame *f) {
        uint64_t result = f->regs[PATCHED_RESULT];
        struct unwind_regs from = patched_caller(f);

        if (unlikely((uintptr_t)f->t & PATCHED_MARKS)) {
                if ((uintptr_t)f->t & PATCHED_INNER)
                        patched_after_inner(f);
                else
                        patched_after_sampled(f);
                return;
        }
        call_end(f->t, f->outer, false);
        if (unlikely(patched_is_open(f)))
                patched_ended(f);
        f->t->new_size_bytes = f->outer_bytes;
        if (likely(f->entry->call <= WIRE_CALL_ALLOC_THROWS) && likely(!f->heap) && likely(result))
                event_alloc(f->t, (void *)result, f->size_bytes, f->entry->form, &from);
        else
                patched_after_any(f, result);
}

void patched_introduce(struct wire_hello *hello) {
        for (unsigned i = 0; i < WIRE_N_CALLS; i++)
                hello->hooks[i] = (uint64_t)patched_enter;
        hello->hooks[WIRE_CALL_ALLOC_THROWS] = (uint64_t)patched_enter_throws;
        hello->entries = (uint64_t)patched_entries;
        hello->first_free = patched_find_free(&hello->n_free);
        hello->flags = patched_flags();
        hello->reserved = 0;
        hello->malloc = (uint64_t)real.malloc.fn;
        patched_introduce_news(hello);
}
