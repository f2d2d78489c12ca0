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

/* What was written where, by entry, to be written again when an object comes back to its place; silt reads it from outside. n_bytes
 * 0: nothing. */
extern struct wire_plan_write patched_writes[WIRE_PLAN_MAX_ENTRIES];
extern struct wire_guard patched_guard;

/* Compares and writes; while deferred it only compares. */
bool patched_write(const struct wire_plan_write *w);

/* ---- what objects have: patched_lots.c ------------------------------------------------------ */

enum { PATCHED_MAX_LOTS = 255 };

/* The longest stretch of entries that are free: its first. */
uint32_t patched_find_free(uint32_t *ret_n);

/* With this room, NULL: it has none. PATCHED_MAX_LOTS: there is no lot left. */
unsigned patched_take_lot(const struct wire_plan_section *room, bool is_lasting);
void patched_free_lot(unsigned lot);

/* The entry, which is for the object at `at`, belongs to the lot. False: the lot has no room. */
bool patched_join_lot(uint32_t entry, unsigned lot, uint64_t at);
/* Of an entry that belongs to a lot: whose it is, as silt is told; whether that object still lies there. */
uint32_t patched_owner_of(uint32_t entry);
bool patched_is_in_place(uint32_t entry);
/* Where it has no write of its own: to that of the entry before it. */
void patched_join_neighbour(uint32_t entry, unsigned other_lot);

/* Takes back what objects had that are no longer in the loader's list: nobody can be in their functions. */
void patched_free_closed(void);

/* Keeps it for when they are back, and nobody writes there meanwhile; those that are back have it again. */
void patched_hide_closed(void);

/* An object is back where it was: what was written into it is written again; false: nothing was. */
bool patched_write_again(const struct link_map *m);
bool patched_has_lot(const struct link_map *m);

/* The object in the loader's list that has addr. Of a program at fixed addresses: once its headers are known. */
const struct link_map *patched_object_at(uintptr_t addr);
void patched_know_program(const struct dl_phdr_info *info);
uint64_t patched_name_hash(const char *name);

/* ---- what is opened: patched_loaded.c -------------------------------------------------------- */

/* The objects that the image begins with were planned for when it said hello. */
void patched_know_files(void);

/* ld.so has changed its list, or is about to. The thread holds the loader's lock; what is new has not run yet. */
void patched_loaded(void);

/* Around all that changes code, or patched_writes. False: silt is about to leave, or the process must not be touched any more. */
bool patched_begin_writing(void);
void patched_end_writing(void);

/* Nobody changes the loader's list meanwhile. In attached.c. */
void attached_under_lock(void (*fn)(void *arg), void *arg);

uint32_t patched_flags(void); /* of a hello */

/* Of a hello: what was opened. */
void patched_introduce_news(struct wire_hello *hello);

#pragma GCC visibility pop
