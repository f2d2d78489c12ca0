/* SPDX-License-Identifier: MIT */
#include "hook/inner.h"

#include "hook/early.h"
#include "hook/sample.h"

/* A signal handler may come between any two lines, and make calls of its own: what it adds it takes away again. So a place is taken
 * before it is filled. */

/* The open call that in_real stands for. Those whose frames lie below the caller have returned (releases are not seen to). */
static struct inner_call *inner_find(struct thread *t, uintptr_t sp) {
        for (uint32_t i = t->n_open; i-- > 0;)
                if (t->open[i].fn == t->in_real && t->open[i].frame >= sp)
                        return &t->open[i];
        return NULL;
}

static void inner_drop_returned(struct thread *t, uintptr_t frame) {
        uint32_t n = 0;

        for (uint32_t i = 0; i < t->n_open; i++)
                if (t->open[i].frame > frame)
                        t->open[n++] = t->open[i];
        t->n_open = n;
}

void inner_begin(struct thread *t, const struct real_fn *fn, const void *frame, const void *block,
                 const struct real_fn *outer) {
        if (!outer) /* whatever is left was left by a jump */
                t->n_open = t->n_inner = 0;
        if (t->n_open == INNER_MAX_OPEN)
                inner_drop_returned(t, (uintptr_t)frame);
        if (t->n_open == INNER_MAX_OPEN)
                return; /* what is inside counts as it comes */
        t->n_open++;
        t->open[t->n_open - 1] =
                (struct inner_call){fn, (uintptr_t)frame, (uintptr_t)block, t->n_inner};
}

static void inner_tell(struct thread *t, const struct inner_block *b,
                       const struct unwind_regs *from) {
        sample_or_event_alloc(t, (void *)b->block, b->size_bytes, b->form, from);
}

static bool inner_has(const struct inner_block *b, uintptr_t addr) {
        return addr - b->block < (b->size_bytes ? b->size_bytes : 1);
}

/* All from `first` on, but those that `result` lies in. */
static void inner_settle(struct thread *t, uint32_t first, uintptr_t result,
                         const struct unwind_regs *from) {
        uint32_t n = t->n_inner;

        for (uint32_t i = first; i < n; i++)
                if (!inner_has(&t->inner[i], result))
                        inner_tell(t, &t->inner[i], from);
        t->n_inner = first;
}

void inner_end(struct thread *t, const void *frame, const void *result,
               const struct unwind_regs *from) {
        for (uint32_t i = t->n_open; i-- > 0;) {
                if (t->open[i].frame != (uintptr_t)frame)
                        continue;
                if (unlikely(t->n_inner > t->open[i].first_block))
                        inner_settle(t, t->open[i].first_block, (uintptr_t)result, from);
                t->n_open = i;
                return;
        }
}

void inner_leave(struct thread *t, const struct unwind_regs *from) {
        inner_settle(t, 0, 0, from);
        t->n_open = 0;
}

static struct inner_block *inner_find_block(struct thread *t, uint32_t first, const void *block) {
        for (uint32_t i = first; i < t->n_inner; i++)
                if (t->inner[i].block == (uintptr_t)block)
                        return &t->inner[i];
        return NULL;
}

static void inner_remove(struct thread *t, struct inner_block *b) {
        for (; b + 1 < &t->inner[t->n_inner]; b++)
                b[0] = b[1];
        t->n_inner--;
}

/* It came, and now it goes: both are told. */
static void inner_tell_known(struct thread *t, struct inner_block *known,
                             const struct unwind_regs *from) {
        struct inner_block b = *known;

        inner_remove(t, known);
        inner_tell(t, &b, from);
}

enum { INNER_HEADER_BYTES = 256 }; /* before a block, where nobody can say more */

/* `base` is about to be released by `fn`, so its allocator can be asked how long it is, if it has a way to say so. */
static bool inner_holds(const void *base, const void *fn, uintptr_t addr) {
        uintptr_t at = (uintptr_t)base;

        if (addr <= at || early_owns(base))
                return addr == at;
        if (!real_can_measure(fn))
                return addr - at <= INNER_HEADER_BYTES;
        return addr - at < ((size_t(*)(const void *))real.malloc_usable_size.enter)(base);
}

static bool inner_is_inside(struct thread *t, const struct inner_call *call,
                            const struct unwind_regs *from) {
        enum unwind_inside how;

        if (real_fn_has(t->in_real, (const void *)from->pc) ||
            code_range_has(&runtime.self, (uintptr_t)from->pc) ||
            (t->in_inner && real_fn_has(t->in_inner, (const void *)from->pc)))
                return true;
        how = unwind_is_inside(from, call->frame, runtime.self.begin, runtime.self.end,
                               &t->ways[(from->pc ^ from->pc >> 5) % INNER_N_WAYS]);
        if (how == UNWIND_OUTSIDE) { /* left by a longjmp */
                inner_settle(t, 0, 0, from);
                t->n_open = 0;
                t->in_real = NULL;
                thread_give_tally(t);
        }
        /* where nothing tells, addresses do: a block counts once, whoever it is for */
        return how == UNWIND_INSIDE || how == UNWIND_INSIDE_UNKNOWN;
}

bool inner_is_recursion(struct thread *t, unsigned kind, const void *block, const void *fn,
                        const struct unwind_regs *from) {
        struct inner_call *call = inner_find(t, from->sp);
        struct inner_block *known;

        if (!call) { /* one that was left by a jump may have left blocks behind */
                if (block && (known = inner_find_block(t, 0, block)))
                        inner_tell_known(t, known, from);
                return thread_is_recursion(t, (const void *)from->pc, kind);
        }
        if (!inner_is_inside(t, call, from))
                return false;
        if (!block && (kind & REAL_ALLOCATES))
                return (t->in_real->kinds & REAL_ALLOCATES) && t->n_inner < INNER_MAX_NOTED;
        known = inner_find_block(t, call->first_block, block);
        if (known && (kind & REAL_ALLOCATES)) { /* it grows: what comes back is noted */
                inner_remove(t, known);
                return true;
        }
        if (known) {
                inner_tell_known(t, known, from);
                return false;
        }
        return (t->in_real->kinds & REAL_RELEASES) && inner_holds(block, fn, call->block);
}

void inner_note(struct thread *t, const void *block, uint64_t size_bytes, unsigned form) {
        struct inner_call *call = inner_find(t, 0);

        if (!block || !call)
                return;
        /* one inside the other: the outermost counts */
        for (uint32_t i = t->n_inner; i-- > call->first_block;)
                if (inner_has(&t->inner[i], (uintptr_t)block))
                        inner_remove(t, &t->inner[i]);
        if (t->n_inner == INNER_MAX_BLOCKS)
                return;
        t->n_inner++;
        t->inner[t->n_inner - 1] =
                (struct inner_block){(uintptr_t)block, size_bytes, (uint8_t)form};
}
