/* SPDX-License-Identifier: MIT */
/* Allocations that are made to fail, to test what the program does then (docs/lab.md). The real functions are replaced by ones that
 * decide first: hooks know nothing of it, and pay nothing where no allocation is to fail. */
#pragma once

#include "hook/thread.h"

#pragma GCC visibility push(hidden)

/* WIRE_FAILS: from now on REAL(malloc) and the others decide. */
void fail_wrap(void);
/* Real functions were moved: those that were replaced stay so. */
void fail_rewrap(void);

/* A hook that got no block asks the library for the same: if the first was made to fail, so is that. */
static inline void fail_once_more(struct thread *t) {
        t->fails_again = t->has_failed;
        t->has_failed = false;
}

#pragma GCC visibility pop
