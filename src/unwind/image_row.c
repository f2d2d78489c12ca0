/* SPDX-License-Identifier: MIT */
#include "unwind/image_row.h"

#include "unwind/arch.h"
#include "unwind/instructions.h"

enum { ENTRY_MAX_BYTES = 128 };

static bool code_is(const struct cfi_image *image, uint64_t addr, bool (*is)(const uint8_t *code)) {
        return code_can_read(image, addr, ARCH_CODE_MAX) && is((const uint8_t *)addr);
}

/* Is key in the trampoline a signal handler returns to? Handlers have its first byte as return
 * address, so key is one below; a signal that comes in the trampoline itself has key on its first
 * or on its last instruction, and who looks from outside while the kernel is at it, behind that. */
static bool is_sigreturn(const struct cfi_image *image, uint64_t key) {
#if defined(__aarch64__)
        uint64_t last_insn_off = 4;
#else
        uint64_t last_insn_off = 7;
#endif
        return code_is(image, key + 1, arch_is_sigreturn) ||
               code_is(image, key, arch_is_sigreturn) ||
               code_is(image, key - last_insn_off, arch_is_sigreturn) ||
               code_is(image, key - ARCH_CODE_MAX, arch_is_sigreturn);
}

/* A return address no call made: key is in no function, and a function begins right behind it.
 * Somebody wrote the function's address where a return address goes: the root of a coroutine. */
static bool is_planted(const struct cfi_image *image, uint64_t key) {
        struct cfi_answer a;

        return cfi_find(image, key + 1, &a) == 0 && a.fde_begin == key + 1;
}

/* The first code of the program or the loader, where there may be no CFI (programs linked with glibc
 * before 2.32 on aarch64, the loader on x86_64). */
static bool is_entry(const uint64_t entries[2], uint64_t key) {
        for (unsigned i = 0; i < 2; i++)
                if (entries[i] != 0 && key - entries[i] < ENTRY_MAX_BYTES)
                        return true;
        return false;
}

/* A signal arrived in a stub of .plt; the stub may begin with a landing pad. */
static bool is_interrupted_plt(const struct cfi_image *image, uint64_t key) {
#if defined(__aarch64__)
        if (!arch_key_is_exact(key))
                return false;
        for (uint64_t begin = key - 12; begin <= key + 4; begin += 4)
                if (code_can_read(image, begin, ARCH_PLT_BYTES) &&
                    arch_is_plt((const uint8_t *)begin))
                        return true;
#endif
        return false;
}

row_t image_row(const struct cfi_image *image, uint64_t key, const uint64_t entries[2]) {
        struct cfi_answer a;
        int r;

        if (is_sigreturn(image, key))
                return ROW_SIGNAL_FRAME;
        if (code_is(image, key + 1, arch_is_context_start))
                return ROW_END;
        r = cfi_find(image, key, &a);
        if (r < 0 && is_interrupted_plt(image, key))
                return row_make(ROW_RA_LR, 0, 0, 0);
        if (r < 0)
                return is_entry(entries, key) || is_planted(image, key) ? ROW_END
                                                                        : code_row(image, key);
        if (a.row == ROW_END && !is_entry(entries, key) &&
            !code_never_returns(image, key + 1, a.fde_end))
                return ROW_NO_CFI;
        /* 'S' on code that is not the trampoline: its registers are not where a ucontext has them */
        return a.row & ROW_SIGNAL ? ROW_NO_CFI : a.row;
}
