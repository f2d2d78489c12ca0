/* SPDX-License-Identifier: MIT */
/* Allocators linked into the program: their functions were given a branch to these hooks (wire/patch_plan.h). */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "wire/attach_message.h"
#include "wire/hello.h"

#pragma GCC visibility push(hidden)

/* What the recorder must know to plan. */
void patched_introduce(struct wire_hello *hello);

/* Maps and writes what the plan says; does nothing where it is not as it should be. Nobody else runs the code that is
 * patched: before the program's own code runs, or in objects that were opened and not yet initialised. */
void patched_apply(int plan_fd, uint64_t plan_bytes);

/* A runtime that is brought into a running program. While deferred, plans are taken but for the entries themselves, which silt
 * writes: it reads them where patched_tell_writes says. */
void patched_defer(bool is_deferred);
void patched_tell_writes(struct wire_attach *request);
void patched_begin_recording(void); /* for another recorder than before */

/* All below is done in a turn: a thread may be opening objects meanwhile. */
bool patched_try_turn(void);
void patched_end_turn(void);
void patched_open_guard(void);
/* Under the loader's lock: what there is for the next hello to be planned for; which of that has an allocator. is_told: the loader's
 * function is hooked already. False: a thread is opening or closing objects. */
bool patched_look(bool is_told);
void patched_settle(bool is_list_changed);
bool patched_is_any_unmapped(void);

/* Where to call a function whose entry is patched; NULL: it is not. */
void *patched_moved(const void *fn);

/* Tells the recorder, through the arena, what became of plans. */
void patched_tell(void);

/* fn(a, b) of libc, which may use registers that a patched function's caller keeps values in. */
uint64_t patched_call_libc(void *fn, uint64_t a, uint64_t b);

/* What the processor has of vectors that are longer than 16 bytes; at start. hwcap: AT_HWCAP. */
void patched_find_vectors(uint64_t hwcap);

#pragma GCC visibility pop
