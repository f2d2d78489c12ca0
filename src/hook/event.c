/* SPDX-License-Identifier: MIT */
#include "hook/event.h"

#include "hook/early.h"
#include "hook/patched.h"
#include "hook/sample.h"

HOOK_COLD void event_after_loss(struct lane *lane) {
        SIGNAL_POINT("event/lost");
        lane->prepares = true;
        unwind_forget(lane->walker);
        tokens_forget(&lane->tokens);
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
        lane->prepares = !real._dl_find_object.fn;
        if (lane->module_was_lost)
                unwind_modules_changed();
        lane->module_was_lost = false;
        return false;
}

/* False: the event is lost already. */
static HOOK_COLD bool event_prepare_walk(struct lane *lane, const struct unwind_regs *from) {
        if (event_is_still_losing(lane))
                return false;
        if (!real._dl_find_object.fn)
                event_follow_loader(from);
        return true;
}

/* The stack word. */
static inline uint64_t event_walk(struct lane *lane, const struct unwind_regs *from,
                                  unsigned form) {
        uint64_t stack;

        SIGNAL_POINT("event/walk");
        stack = unwind_walk_packed(lane->walker, from->pc, from->sp, from->fp);
        SIGNAL_POINT("event/walked");
        return stack | (uint64_t)form << 32;
}

/* Word 0 and what follows it up to the stack; returns where that goes. */
static inline uint64_t *event_put_values(struct lane *lane, uint64_t *words, unsigned kind,
                                         const uint64_t *values, uint32_t n) {
        *words++ = wire_word0(kind == WIRE_FREE_STACK ? event_release_time(lane, values[0])
                                                      : ring_writer_time(&lane->ring),
                              kind);
        for (uint32_t i = 0; i < n; i++)
                *words++ = values[i];
        if ((kind == WIRE_ALLOC || kind == WIRE_REALLOC_END || kind == WIRE_POOL_ALLOC ||
             kind == WIRE_SAMPLE) &&
            values[0]) {
                lane->last_block = values[0];
                lane->last_block_time = lane->ring.last_time;
        }
        return words;
}

/* The frames that the recorder has not, innermost first; returns the record's end. */
static uint64_t *event_put_frames(uint64_t *at, const struct lane *lane, uint64_t stack) {
        const uint64_t *pcs = unwind_walker_pcs(lane->walker);
        uint32_t n_new = wire_stack_n_new(stack);

        SIGNAL_POINT("event/stack");
        for (uint32_t i = 0; i < n_new; i++)
                *at++ = pcs[i];
        for (uint32_t k = stack & 0xffff; k-- > lane->tokens.n_told;)
                *at++ = unwind_walker_outer_pc(lane->walker, k);
        return at;
}

/* A record with frames, and with the token that stands for them from now on: until it is written it stands for nothing.
 * key: 0: none does. */
static __attribute__((noinline)) void event_tell(struct lane *lane, unsigned kind,
                                                 const uint64_t *values, uint32_t n, uint64_t stack,
                                                 uint64_t key) {
        struct tokens *t = &lane->tokens;
        uint32_t depth = (uint32_t)(stack & 0xffff) + wire_stack_n_new(stack);
        uint32_t n_told = t->n_told;
        uint64_t token = 0, *words = ring_writer_reserve(&lane->ring, 2 + n + depth - n_told), *at;

        if (unlikely(!words)) {
                event_after_loss(lane);
                return;
        }
        if (likely(key != 0))
                token = tokens_take(t, key, !lane->is_nested);
        at = event_put_values(lane, words, kind, values, n);
        *at++ = wire_stack_word(n_told, depth - n_told, (stack >> 32) & 0xff,
                                wire_stack_end(stack)) |
                token << WIRE_TOKEN_SHIFT;
        at = event_put_frames(at, lane, stack);
        t->n_told = 0;
        atomic_signal_fence(memory_order_seq_cst);
        ring_writer_publish(&lane->ring, words, at);
        SIGNAL_POINT("event/told");
        atomic_signal_fence(memory_order_seq_cst);
        t->n_told = depth;
        if (token)
                tokens_give(t, token, key);
        SIGNAL_POINT("event/known");
}

/* The same for a path that has its token already. */
static void event_tell_known(struct lane *lane, unsigned kind, const uint64_t *values, uint32_t n,
                             uint64_t token) {
        uint64_t *words = ring_writer_reserve(&lane->ring, 2 + n), *at;

        if (unlikely(!words)) {
                event_after_loss(lane);
                return;
        }
        at = event_put_values(lane, words, kind, values, n);
        *at++ = wire_stack_word(0, WIRE_KNOWN, 0, 0) | token << WIRE_TOKEN_SHIFT;
        ring_writer_publish(&lane->ring, words, at);
}

/* What is rare about an allocation: its path is not known, or it is very large. */
static __attribute__((noinline)) void event_tell_alloc(struct lane *lane, uint64_t block,
                                                       uint64_t size_bytes, uint64_t stack,
                                                       uint64_t key) {
        const uint64_t values[] = {block, size_bytes};
        uint64_t token = tokens_find(&lane->tokens, key);

        if (token)
                event_tell_known(lane, WIRE_ALLOC, values, 2, token);
        else
                event_tell(lane, WIRE_ALLOC, values, 2, stack, key);
}

void event_alloc(struct thread *t, void *block, size_t size_bytes, unsigned form,
                 const struct unwind_regs *from) {
        struct lane *lane = lane_enter(t);
        uint64_t *words, stack, key, token, now;

        if (unlikely(!lane))
                return;
        if (unlikely(lane->prepares) && !event_prepare_walk(lane, from))
                goto lost;
        stack = event_walk(lane, from, form);
        key = tokens_key(&lane->tokens, lane->walker, stack);
        token = tokens_find(&lane->tokens, key);
        if (unlikely(token == 0) || unlikely(size_bytes > WIRE_SIZE_MASK)) {
                event_tell_alloc(lane, (uint64_t)block, size_bytes, stack, key);
                goto out;
        }
        words = ring_writer_reserve(&lane->ring, 3);
        if (unlikely(!words))
                goto lost;
        now = ring_writer_time(&lane->ring);
        words[0] = wire_word0(now, WIRE_ALLOC_KNOWN);
        words[1] = lane->last_block = (uint64_t)block;
        lane->last_block_time = now;
        words[2] = size_bytes | token << WIRE_TOKEN_SHIFT;
        ring_writer_publish(&lane->ring, words, words + 3);
out:
        lane_leave(lane);
        return;
lost:
        event_after_loss(lane);
        goto out;
}

void event_stack(struct thread *t, unsigned kind, const uint64_t *values, uint32_t n, unsigned form,
                 const struct unwind_regs *from) {
        struct lane *lane = lane_enter(t);
        uint64_t stack, key, token;

        if (unlikely(!lane))
                return;
        if (unlikely(lane->prepares) && !event_prepare_walk(lane, from)) {
                event_after_loss(lane);
                lane_leave(lane);
                return;
        }
        stack = event_walk(lane, from, form);
        key = tokens_key(&lane->tokens, lane->walker, stack);
        token = tokens_find(&lane->tokens, key);
        if (likely(token != 0))
                event_tell_known(lane, kind, values, n, token);
        else
                event_tell(lane, kind, values, n, stack, key);
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
                ring_writer_publish(&lane->ring, words, words + 1 + n);
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

/* Where an allocation failed, of the first ones: the record before FAILED. One that was made to fail has its own. */
HOOK_COLD void event_fail_place(struct thread *t, size_t size_bytes,
                                const struct unwind_regs *from) {
        static _Atomic uint32_t n_told;

        /* relaxed: a bound, that several threads may pass by one each */
        if (t->has_failed ||
            atomic_load_explicit(&n_told, memory_order_relaxed) >= EVENT_MAX_FAIL_PLACES)
                return;
        atomic_fetch_add_explicit(&n_told, 1, memory_order_relaxed);
        event_stack(t, WIRE_FAIL, (const uint64_t[]){0, size_bytes}, 2, 0, from);
}

HOOK_COLD void event_failed(struct thread *t, size_t size_bytes) {
        struct unwind_regs from;

        UNWIND_HERE(&from);
        for (int i = 0; i < EVENT_MAX_OWN_FRAMES && code_range_has(&runtime.self, from.pc); i++)
                unwind_regs_leave(&from);
        if (from.pc)
                event_fail_place(t, size_bytes, &from);
        event_failed_told(t, size_bytes);
}

HOOK_COLD void event_failed_told(struct thread *t, size_t size_bytes) {
        event_words(t, WIRE_FAILED, (const uint64_t[]){size_bytes}, 1);
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

        if (old && !block && size_bytes)
                event_fail_place(t, size_bytes, from);
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
        atomic_fetch_add_explicit(&tokens_n_modules, 1, memory_order_relaxed);
        words = ring_writer_reserve(&lane->ring, 5 + n_words);
        if (!words) {
                ring_writer_uncount_lost(&lane->ring);
                lane->module_was_lost = lane->prepares = true;
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
        tokens_forget(&t->lane.tokens);
}
