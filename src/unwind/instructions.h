/* SPDX-License-Identifier: MIT */
#ifndef SILT_UNWIND_INSTRUCTIONS_H
#define SILT_UNWIND_INSTRUCTIONS_H

/* What the instructions around a pc tell where the unwind tables say nothing, or are not believed.
 *  - reads only inside the image's ranges of code, whatever the bytes are; CODE_SCAN_MAX_BYTES at most. A program
 *    may take any page of its data away (guards of static stacks), and words on a stack may point there
 *  - never sure: the bytes may be data. docs/unwinding.md says what is made of each answer */

#include <stdbool.h>
#include <stdint.h>

#include "unwind/cfi.h"

#pragma GCC visibility push(hidden)

enum { CODE_SCAN_MAX_BYTES = 64 << 10 };

bool code_can_read(const struct cfi_image *image, uint64_t addr, uint64_t size_bytes);

/* Does a call end right before addr? Of a return address it does. */
bool code_is_after_call(const struct cfi_image *image, uint64_t addr);

/* Does the code from addr on, which ends at end, never return to a caller? True of what a call in
 * the first function of a process, a thread or a coroutine comes back to. */
bool code_never_returns(const struct cfi_image *image, uint64_t addr, uint64_t end);

/* The row of a call in a function that sets up a frame pointer, from the function's own first
 * instructions; ROW_NO_CFI where there are none. key: return address - 1. */
row_t code_row(const struct cfi_image *image, uint64_t key);

/* The same of any instruction behind those first ones. */
row_t code_row_inside(const struct cfi_image *image, uint64_t key);

#pragma GCC visibility pop

#endif
