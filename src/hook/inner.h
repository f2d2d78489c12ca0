/* SPDX-License-Identifier: MIT */
/* Calls inside calls, where anybody's code may lie between: a program's own operator new that gets to malloc through functions of
 * its own. Of an allocator that is known, the code is known too, and a call from there is its own (thread_is_recursion); what a
 * replacement calls is anybody's guess. So
 *  - the stack is walked from the inner call to the outer hook: it must be there, with no signal handler in between
 *  - which block is whose is told by the address that the outer call returns: what it lies in was got for it. Blocks
 *    that it does not lie in (a list of all blocks, an exception, what a new handler allocates) are allocations of their own, told
 *    when the outer call returns
 *  - the same for releases: what holds the block that the outer call was given goes with it, all else is a release of its own. */
#pragma once

#include "hook/thread.h"

#pragma GCC visibility push(hidden)

/* A call of an open function (REAL_OPEN) began: in_real is that, and was `outer`. frame: lies in the hook's stack frame.
 * block: that it was given, or NULL. */
void inner_begin(struct thread *t, const struct real_fn *fn, const void *frame, const void *block,
                 const struct real_fn *outer);

/* It returned, and in_real is what it was before. What was allocated inside and is not `result` is told, as if by `from`. */
void inner_end(struct thread *t, const void *frame, const void *result,
               const struct unwind_regs *from);

/* It was left by an exception, and in_real is NULL. */
void inner_leave(struct thread *t, const struct unwind_regs *from);

/* As thread_is_recursion, while in_real is open. block: that is released or given a new size, or NULL; fn: by whom. */
bool inner_is_recursion(struct thread *t, unsigned kind, const void *block, const void *fn,
                        const struct unwind_regs *from);

/* What came back of a call for which one of these was true; block may be NULL. */
void inner_note(struct thread *t, const void *block, uint64_t size_bytes, unsigned form);

static inline bool inner_is_open(const struct thread *t) {
        return t->in_real && (t->in_real->kinds & REAL_OPEN);
}

/* In the body of a hook: whether its call belongs to one that is being made already. */
#define INNER_IS_RECURSION(t, kind, block, release)                                                \
        (unlikely((t)->in_real != NULL) && ({                                                      \
                 const void *real_release_ = (release);                                            \
                 struct unwind_regs inner_from_;                                                   \
                                                                                                   \
                 if (inner_is_open(t))                                                             \
                         UNWIND_HERE(&inner_from_);                                                \
                 inner_is_open(t)                                                                  \
                         ? inner_is_recursion(t, kind, block, real_release_, &inner_from_)         \
                         : thread_is_recursion(t, CALL_SITE, kind);                                \
         }))

#define INNER_NOTE(t, block, size_bytes, form)                                                     \
        ({                                                                                         \
                void *inner_block_ = (block);                                                      \
                                                                                                   \
                if (inner_is_open(t))                                                              \
                        inner_note(t, inner_block_, size_bytes, form);                             \
                inner_block_;                                                                      \
        })

#pragma GCC visibility pop
