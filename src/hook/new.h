/* SPDX-License-Identifier: MIT */
/* C++ operator new and delete. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#pragma GCC visibility push(hidden)

/* Finds out which forms the program defines itself. Once, when the real functions are known. */
void new_init(void);

/* Every form without an alignment is the real malloc and free, with nobody in between. */
bool new_is_plain_malloc(void);

/* Objects were unloaded: what was found for their code may be gone. */
void new_forget_callers(void);

/* A hook whose real function may throw begins with this. DW_EH_PE_pcrel | DW_EH_PE_sdata4 */
#define NEW_WATCH_EXCEPTIONS __asm__ volatile(".cfi_personality 0x1b, new_personality")
int new_personality(int version, int actions, uint64_t exception_class, void *exception,
                    void *context);

#pragma GCC visibility pop
