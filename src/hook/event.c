/* SPDX-License-Identifier: MIT */
#include "hook/event.h"

#include "hook/early.h"
#include "hook/patched.h"
#include "hook/sample.h"

#define EVENT_LOST UINT64_MAX

HOOK_COLD void event_after_loss(struct lane *lane) {
        SIGNAL_POINT("event/lost");
        lane->has_lost = true;
        unwind_forget(lane->walker);
        if (!atomic_load_explicit(&runtime.header->recording, memory_order_acquire))
                runtime_pass();
}

/* A loader without _dl_find_object (glibc before 2.35) is asked for its list again when it has
 * allocated, which it does for every object it opens, and the program runs on. That is a call into libc. */
static void event_follow_loader(const struct unwind_regs *from) {
        static _Atomic bool list_changed;

        if (code_range_has(&runtime.loader, from->pc))
                atomic_store_explicit(&list_changed, true, memory_order_relaxed);
        else if (atomic_load_explicit(&list_changed, memory_order_relaxed) &&
                 atomic_exchange_explicit(&list_changed, false, memory_order_relaxed))
                patched_call_libc((void *)unwind_modules_refresh, 0, 0);
}

/* While there is no room a walk would be for nothing, and would announce modules to nobody. */
static bool event_is_still_losing(struct lane *lane) {
        if (lane->ring.n_lost && !ring_writer_reserve(&lane->ring, 2))
                return true;
        lane->has_lost = false;
        if (lane->module_was_lost)
                unwind_modules_changed();
        lane->module_was_lost = false;
        return false;
}

static HOOK_COLD bool event_prepare_walk(struct lane *lane, const struct unwind_regs *from) {
        if (lane->has_lost && event_is_still_losing(lane))
                return false;
        if (!real._dl_find_object.fn)
                event_follow_loader(from);
        return true;
}

/* The stack word but for its form; EVENT_LOST: the event is lost already. */
static inline uint64_t event_walk(struct lane *lane, const struct unwind_regs *from) {
        uint64_t stack;

        if (unlikely(lane->has_lost || !real._dl_find_object.fn) && !event_prepare_walk(lane, from))
                return EVENT_LOST;
        SIGNAL_POINT("event/walk");
        stack = unwind_walk_packed(lane->walker, from->pc, from->sp, from->fp);
        SIGNAL_POINT("event/walked");
        return stack;
}

/* The stack word and its pcs; returns the record's end. */
static inline uint64_t *event_put_stack(uint64_t *at, const struct lane *lane, uint64_t stack,
                                        unsigned form) {
        const uint64_t *pcs = unwind_walker_pcs(lane->walker);
        uint32_t n_new = wire_stack_n_new(stack);

        SIGNAL_POINT("event/stack");
        *at++ = stack | (uint64_t)form << 32;
        for (uint32_t i = 0; i < n_new; i++)
                *at++ = pcs[i];
        return at;
}

void event_alloc(struct thread *t, void *block, size_t size_bytes, unsigned form,
                 const struct unwind_regs *from) {
        struct lane *lane = lane_enter(t);
        uint64_t *words = NULL, stack;

        if (unlikely(!lane))
                return;
        stack = event_walk(lane, from);
        if (likely(stack != EVENT_LOST))
                words = ring_writer_reserve(&lane->ring, 4 + wire_stack_n_new(stack));
        if (likely(words != NULL)) {
                words[0] = wire_word0(ring_writer_time(&lane->ring), WIRE_ALLOC);
                words[1] = lane->last_block = (uint64_t)block;
                lane->last_block_time = lane->ring.last_time;
                words[2] = size_bytes;
                ring_writer_commit(&lane->ring, event_put_stack(words + 3, lane, stack, form));
        } else {
                event_after_loss(lane);
        }
        lane_leave(lane);
}

void event_stack(struct thread *t, unsigned kind, const uint64_t *values, uint32_t n, unsigned form,
                 const struct unwind_regs *from) {
        struct lane *lane = lane_enter(t);
        uint64_t *words = NULL, stack;

        if (unlikely(!lane))
                return;
        stack = event_walk(lane, from);
        if (likely(stack != EVENT_LOST))
                words = ring_writer_reserve(&lane->ring, 2 + n + wire_stack_n_new(stack));
        if (likely(words != NULL)) {
                words[0] = wire_word0(kind == WIRE_FREE_STACK ? event_release_time(lane, values[0])
                                                              : ring_writer_time(&lane->ring),
                                      kind);
                for (uint32_t i = 0; i < n; i++)
                        words[1 + i] = values[i];
                if ((kind == WIRE_REALLOC_END || kind == WIRE_POOL_ALLOC || kind == WIRE_SAMPLE) &&
                    values[0]) {
                        lane->last_block = values[0];
                        lane->last_block_time = lane->ring.last_time;
                }
                ring_writer_commit(&lane->ring, event_put_stack(words + 1 + n, lane, stack, form));
        } else {
                event_after_loss(lane);
        }
        lane_leave(lane);
}

void event_words(struct thread *t, unsigned kind, const uint64_t *values, uint32_t n) {
        struct lane *lane = lane_enter(t);
        uint64_t *words;

        if (unlikely(!lane))
                return;
        words = ring_writer_reserve(&lane->ring, 1 + n);
        /* a release of blocks it may have been handed: their allocations come before it */
        if (kind == WIRE_FREE_RANGE || (kind == WIRE_HEAP && values[1] != WIRE_HEAP_NEXT))
                clock_wait_for_loads();
        if (likely(words != NULL)) {
                words[0] = wire_word0(kind == WIRE_REALLOC_BEGIN || kind == WIRE_SAMPLE_FREE
                                              ? event_release_time(lane, values[0])
                                              : ring_writer_time(&lane->ring),
                                      kind);
                for (uint32_t i = 0; i < n; i++)
                        words[1 + i] = values[i];
                ring_writer_commit(&lane->ring, words + 1 + n);
        } else {
                event_after_loss(lane);
        }
        lane_leave(lane);
}

void event_thread_name(struct thread *t, const char *name) {
        uint64_t words[2] = {0};

        for (unsigned i = 0; i < 15 && name[i]; i++)
                ((char *)words)[i] = name[i];
        event_words(t, WIRE_THREAD_NAME, words, 2);
}

HOOK_COLD void event_failed(struct thread *t, size_t size_bytes) {
        const uint64_t words[] = {size_bytes};

        event_words(t, WIRE_FAILED, words, 1);
}

void event_realloc_begin(struct thread *t, void *old) {
        const uint64_t words[] = {(uint64_t)old};

        event_words(t, WIRE_REALLOC_BEGIN, words, 1);
}

/* realloc(NULL, n) is an allocation; realloc(p, 0) that returns NULL has released p. */
void event_realloc_done(struct thread *t, void *old, void *block, size_t size_bytes, unsigned form,
                        const struct unwind_regs *from) {
        const uint64_t words[] = {(uint64_t)block, size_bytes,
                                  block             ? WIRE_REALLOC_OK
                                  : size_bytes == 0 ? WIRE_REALLOC_RELEASED
                                                    : WIRE_REALLOC_FAILED};

        if (old)
                event_stack(t, WIRE_REALLOC_END, words, 3, form, from);
        else if (block)
                event_alloc(t, block, size_bytes, form, from);
        else
                event_failed(t, size_bytes);
}

void event_free_stack(struct thread *t, void *block, uint64_t size_bytes,
                      const struct unwind_regs *from) {
        const uint64_t words[] = {(uint64_t)block, size_bytes};

        event_stack(t, WIRE_FREE_STACK, words, 2, 0, from);
}

/* Called from within a walk: the lane is taken, and this record comes before the one with the
 * stack. */
void event_module(void *ctx, const struct unwind_module *module) {
        struct lane *lane = ctx;
        uint32_t len = 0, n_words;
        uint64_t *words;
        char *name;

        while (len < WIRE_MAX_NAME && module->name[len])
                len++;
        n_words = (len + 7) / 8;
        SIGNAL_POINT("event/module");
        words = ring_writer_reserve(&lane->ring, 5 + n_words);
        if (!words) {
                ring_writer_uncount_lost(&lane->ring);
                lane->module_was_lost = lane->has_lost = true;
                return;
        }
        words[0] = wire_word0(ring_writer_time(&lane->ring), WIRE_MODULE);
        words[1] = module->base;
        words[2] = module->begin;
        words[3] = module->end;
        words[4] = len;
        if (n_words)
                words[4 + n_words] = 0;
        name = (char *)(words + 5);
        for (uint32_t i = 0; i < len; i++)
                name[i] = module->name[i];
        ring_writer_commit(&lane->ring, words + 5 + n_words);
}

/* A stack of one frame, the caller, made by no walk. */
static void event_put_early(struct lane *lane, unsigned kind, const uint64_t *values, uint32_t n,
                            unsigned form, const void *caller) {
        uint64_t *words = ring_writer_reserve(&lane->ring, 3 + n);

        if (!words)
                return;
        words[0] = wire_word0(ring_writer_time(&lane->ring), kind);
        for (uint32_t i = 0; i < n; i++)
                words[1 + i] = values[i];
        words[1 + n] = wire_stack_word(0, 1, form, WIRE_END_NONE);
        words[2 + n] = (uint64_t)caller;
        ring_writer_commit(&lane->ring, words + 3 + n);
}

/* All of them, each for itself alone: they are few. */
static void event_replay_sampled(struct thread *t, const struct early_entry *e, void *block,
                                 void *old) {
        struct lane *lane = &t->lane;
        struct unwind_module module;
        uint64_t n_allocs;

        if (e->kind != EARLY_ALLOC)
                sample_replay_free(t, old, e->kind == EARLY_REALLOC);
        if (e->kind == EARLY_FREE)
                return;
        atomic_fetch_add_explicit(&runtime.process->n_early_events, 1, memory_order_relaxed);
        sample_replay_alloc(t, block, e->size_bytes, &n_allocs);
        lane->inside = 1;
        atomic_signal_fence(memory_order_seq_cst);
        if (real_find_module(e->caller, &module))
                event_module(lane, &module);
        event_put_early(lane, WIRE_SAMPLE,
                        (const uint64_t[]){(uint64_t)block, e->size_bytes, 0, n_allocs}, 4, e->form,
                        e->caller);
        lane_leave(lane);
}

static void event_replay_entry(void *ctx, const struct early_entry *e, void *block, void *old) {
        struct thread *t = ctx;
        struct lane *lane = &t->lane;
        uint64_t begin = (uint64_t)old;
        struct unwind_module module;

        if (runtime.is_sampled) {
                event_replay_sampled(t, e, block, old);
                return;
        }
        if (e->kind == EARLY_FREE) {
                event_words(t, WIRE_FREE, &begin, 1);
                return;
        }
        atomic_fetch_add_explicit(&runtime.process->n_early_events, 1, memory_order_relaxed);
        if (e->kind == EARLY_REALLOC)
                event_words(t, WIRE_REALLOC_BEGIN, &begin, 1);
        lane->inside = 1;
        atomic_signal_fence(memory_order_seq_cst);
        if (real_find_module(e->caller, &module))
                event_module(lane, &module);
        if (e->kind == EARLY_REALLOC)
                event_put_early(lane, WIRE_REALLOC_END,
                                (const uint64_t[]){(uint64_t)block, e->size_bytes, WIRE_REALLOC_OK},
                                3, WIRE_FORM_REALLOC, e->caller);
        else
                event_put_early(lane, WIRE_ALLOC,
                                (const uint64_t[]){(uint64_t)block, e->size_bytes}, 2, e->form,
                                e->caller);
        lane_leave(lane);
}

/* The recorder's mirror holds a stack that no walk of ours made: the next walk must be whole. */
void event_replay_early(struct thread *t) {
        early_replay(event_replay_entry, t);
        unwind_forget(t->lane.walker);
}
