/* SPDX-License-Identifier: MIT */
/* Whether vector registers are longer than the 16 bytes all processors have: patched_call_libc keeps all of them. */
#include "hook/patched.h"

#include <stdbool.h>

#if defined(__x86_64__)
#include <cpuid.h>

enum {
        VECTORS_X86 = 0xe6, /* xmm, ymm, masks, zmm, zmm16 and above, as XCR0 numbers them */
        VECTORS_XSAVE_BYTES = 2688
};
#else
enum { VECTORS_HWCAP_SVE = 1 << 22 };
#endif

/* For patched_enter.S. aarch64: 1, there is SVE. x86_64: the parts that `xsave` takes; 0: it cannot. */
uint64_t patched_vectors;

#if defined(__x86_64__)
static bool vectors_fit(uint32_t part) {
        uint32_t n_bytes, off, c, d;

        return part == 1 || (__get_cpuid_count(0xd, part, &n_bytes, &off, &c, &d) &&
                             off + n_bytes <= VECTORS_XSAVE_BYTES);
}

void patched_find_vectors(uint64_t hwcap) {
        uint32_t a, b, c = 0, d, on, high;

        (void)hwcap;
        if (!__get_cpuid(1, &a, &b, &c, &d) || !(c & bit_OSXSAVE))
                return;
        __asm__("xgetbv" : "=a"(on), "=d"(high) : "c"(0));
        for (uint32_t part = 1; part < 8; part++)
                if ((on & VECTORS_X86) >> part & 1 && vectors_fit(part))
                        patched_vectors |= 1u << part;
}
#else
void patched_find_vectors(uint64_t hwcap) {
        patched_vectors = (hwcap & VECTORS_HWCAP_SVE) != 0;
}
#endif
