/* SPDX-License-Identifier: MIT */
/* The input of remote_fuzz.c: this head, n_words words of a stack, and a file. */
#pragma once

#include <stdint.h>

struct remote_fuzz_head {
        uint16_t pc_off; /* from the file's code */
        uint16_t fp_off; /* from sp */
        uint16_t n_words, more;
};

/* Where the file's beginning and the stack are. */
#define REMOTE_FUZZ_CODE UINT64_C(0x10000000)
#define REMOTE_FUZZ_SP UINT64_C(0x7ffc00000000)

/* Where seeds have a signal trampoline, in the code. */
enum { REMOTE_FUZZ_SIGRETURN = 80 };

#if defined(__x86_64__)
#define ARCH_IS_X86_64 1
#else
#define ARCH_IS_X86_64 0
#endif
