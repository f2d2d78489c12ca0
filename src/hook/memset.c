/* SPDX-License-Identifier: MIT */
/* What compilers call of their own accord to clear a large variable. libc's may use vector registers, which the runtime
 * must leave alone (patched.c), and cannot be called before relocation. */
#include <stddef.h>
#include <stdint.h>

__attribute__((visibility("hidden"))) void *memset(void *to, int byte, size_t n);

void *memset(void *to, int byte, size_t n) {
        uint8_t *at = to;
        uint64_t word = (uint8_t)byte * UINT64_C(0x0101010101010101);

        for (; n && (uintptr_t)at % 8; n--)
                *at++ = (uint8_t)byte;
        for (; n >= 16; n -= 16, at += 16)
                ((uint64_t *)at)[0] = word, ((uint64_t *)at)[1] = word;
        for (; n; n--)
                *at++ = (uint8_t)byte;
        return to;
}
