/* SPDX-License-Identifier: MIT */
/* What the files of patched.h share: the entries that were put in, and which files they are asked for. */
#pragma once

#include "hook/real.h"
#include "wire/hello.h"

#pragma GCC visibility push(hidden)

/* patched_enter.S is given their addresses by the thunks. */
extern struct wire_entry patched_entries[WIRE_PLAN_MAX_ENTRIES];
/* The same, as thread_is_recursion wants it: all of the allocator's code. */
extern struct real_fn patched_fns[WIRE_PLAN_MAX_ENTRIES];

/* The longest stretch of entries that are free: its first. */
uint32_t patched_find_free(uint32_t *ret_n);

/* Takes back what objects had that are no longer in the loader's list: nobody can be in their functions. */
void patched_free_closed(void);

/* An object is back where it was: what was written into it is written again; false: nothing was. */
bool patched_write_again(uintptr_t base);

/* The objects that the image begins with were planned for when it said hello. */
void patched_know_files(void);

/* ld.so has changed its list, or is about to. The thread holds the loader's lock; what is new has not run yet. */
void patched_loaded(void);

/* The object that has addr, by its name; 0: there is none. Under the loader's lock. */
uint64_t patched_owner_at(uintptr_t addr);
bool patched_has_writes(const struct code_range *range);

uint32_t patched_flags(void); /* of a hello */

/* Of a hello: what was opened. */
void patched_introduce_news(struct wire_hello *hello);

#pragma GCC visibility pop
