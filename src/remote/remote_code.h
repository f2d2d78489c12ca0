/* SPDX-License-Identifier: MIT */
/* Code without tables that was interrupted anywhere: in a prologue, an epilogue, a stub of .plt. What a walk inside the
 * process never sees, for there frames are left at calls. Inside remote/ only. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "unwind/cfi.h"

enum { REMOTE_CODE_BEFORE = 16, REMOTE_CODE_AFTER = 16 };

/* The bytes around an interrupted pc: before it and from it on. */
struct remote_code {
        const uint8_t *at;
        size_t n_before, n_after;
};

/* Where the instruction alone tells how to leave the frame: at the first and the last of a function, in stubs. 0: it does
 * not. */
row_t remote_code_edge(const struct remote_code *c);

/* The loader's code that finds a function when it is first called, where it calls the part that does. x86_64: its CFA is from a
 * register that walks do not have. */
bool remote_code_is_lazy_call(const struct cfi_image *image, uint64_t addr);

/* Behind the system call of vfork, whose child uses the same stack. x86_64: the return address was taken into rdi before, and nothing is on the stack. */
bool remote_code_is_in_vfork(const struct cfi_image *image, uint64_t pc);

/* The row of an interrupted pc of an image whose tables do not have it. ROW_NO_CFI: the code does not tell. */
row_t remote_code_row(const struct cfi_image *image, uint64_t pc);
