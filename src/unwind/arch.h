/* SPDX-License-Identifier: MIT */
#ifndef SILT_UNWIND_ARCH_H
#define SILT_UNWIND_ARCH_H

/* What differs between aarch64 and x86_64: DWARF register numbers, pointer authentication, the
 * kernel's signal frame, and the few pieces of code a walk must know by their bytes. */

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <ucontext.h>

/* A word of some frame of the stack being walked: not a variable of anybody a sanitizer knows. */
__attribute__((no_sanitize_address, no_sanitize_thread)) static inline uint64_t arch_load(
        uint64_t addr) {
        return *(const uint64_t *)addr;
}

static inline bool arch_bytes_equal(const uint8_t *a, const uint8_t *b, size_t n) {
        for (size_t i = 0; i < n; i++)
                if (a[i] != b[i])
                        return false;
        return true;
}

#if defined(__aarch64__)

enum {
        ARCH_REG_FP = 29,
        ARCH_REG_SP = 31,
        ARCH_REG_RA = 30,
        ARCH_STACK_ALIGN = 16,
        ARCH_HAS_LR = 1,
        ARCH_USER_BITS = 48, /* of an address */
        ARCH_CODE_MAX = 8,   /* bytes of code that the functions below look at */
};

/* Bits 48 and up of a user address are 0 unless they hold a PAC (or addresses have 52 bits: then
 * the instruction leaves them alone). The hint is a no-op where the CPU knows no PAC. */
static inline uint64_t arch_strip(uint64_t pc) {
        register uint64_t lr __asm__("x30") = pc;

        if (__builtin_expect(pc >> 48 == 0, 1))
                return pc;
        __asm__("hint #7" : "+r"(lr)); /* xpaclri */
        return lr;
}

static inline uint64_t arch_thread_pointer(void) {
        uint64_t tp;

        __asm__("mrs %0, tpidr_el0" : "=r"(tp));
        return tp;
}

/* A return address is never aligned after - 1, an interrupted pc always is. */
static inline bool arch_key_is_exact(uint64_t key) {
        return (key & 3) == 0;
}

/* struct rt_sigframe { siginfo_t info; ucontext_t uc; } is where sp points in the trampoline. */
enum { ARCH_SIGFRAME_CONTEXT_OFF = sizeof(siginfo_t) };
#define ARCH_SIGFRAME_REG(name)                                                                    \
        (ARCH_SIGFRAME_CONTEXT_OFF + offsetof(ucontext_t, uc_mcontext) + offsetof(mcontext_t, name))
#define ARCH_SIGFRAME_FP (ARCH_SIGFRAME_REG(regs) + 29 * 8)
#define ARCH_SIGFRAME_LR (ARCH_SIGFRAME_REG(regs) + 30 * 8)
#define ARCH_SIGFRAME_SP ARCH_SIGFRAME_REG(sp)
#define ARCH_SIGFRAME_PC ARCH_SIGFRAME_REG(pc)

/* mov x8, #139 (rt_sigreturn); svc #0 */
static inline bool arch_is_sigreturn(const uint8_t *code) {
        static const uint8_t insns[8] = {0x68, 0x11, 0x80, 0xd2, 0x01, 0x00, 0x00, 0xd4};

        return arch_bytes_equal(code, insns, sizeof(insns));
}

/* glibc's __startcontext, which makecontext plants as a return address: mov x0, x19; cbnz x0, …
 * Its CFI does not say that a stack ends there. */
static inline bool arch_is_context_start(const uint8_t *code) {
        static const uint8_t mov[4] = {0xe0, 0x03, 0x13, 0xaa};

        return arch_bytes_equal(code, mov, sizeof(mov)) && (code[4] & 0x1f) == 0 && code[7] == 0xb5;
}

/* A stub of the linker's .plt, which has no CFI on this machine: adrp x16; ldr x17, [x16, …];
 * add x16, x16, …; br x17. Nothing is pushed: the return address is in the link register all
 * through. */
enum { ARCH_PLT_BYTES = 16 };
static inline bool arch_is_plt(const uint8_t *code) {
        uint32_t insns[4];

        for (unsigned i = 0; i < 4; i++)
                insns[i] = (uint32_t)code[4 * i] | (uint32_t)code[4 * i + 1] << 8 |
                           (uint32_t)code[4 * i + 2] << 16 | (uint32_t)code[4 * i + 3] << 24;
        return (insns[0] & 0x9f00001f) == 0x90000010 && (insns[1] & 0xffc003ff) == 0xf9400211 &&
               (insns[2] & 0xffc003ff) == 0x91000210 && insns[3] == 0xd61f0220;
}

#elif defined(__x86_64__)

enum {
        ARCH_REG_FP = 6,
        ARCH_REG_SP = 7,
        ARCH_REG_RA = 16,
        ARCH_STACK_ALIGN = 8, /* 16 by the ABI, but hand-written code and old compilers differ */
        ARCH_HAS_LR = 0,
        ARCH_USER_BITS = 47,
        ARCH_CODE_MAX = 9,
};

static inline uint64_t arch_strip(uint64_t pc) {
        return pc;
}

static inline uint64_t arch_thread_pointer(void) {
        uint64_t tp;

        __asm__("mov %%fs:0, %0" : "=r"(tp));
        return tp;
}

/* The ucontext is where sp points in the trampoline: the handler's ret took pretcode away. */
#define ARCH_SIGFRAME_REG(greg)                                                                    \
        (offsetof(ucontext_t, uc_mcontext) + offsetof(mcontext_t, gregs) + (greg) * sizeof(greg_t))
#define ARCH_SIGFRAME_FP ARCH_SIGFRAME_REG(REG_RBP)
#define ARCH_SIGFRAME_SP ARCH_SIGFRAME_REG(REG_RSP)
#define ARCH_SIGFRAME_PC ARCH_SIGFRAME_REG(REG_RIP)

/* mov $15 (rt_sigreturn), %rax; syscall */
static inline bool arch_is_sigreturn(const uint8_t *code) {
        static const uint8_t insns[9] = {0x48, 0xc7, 0xc0, 0x0f, 0x00, 0x00, 0x00, 0x0f, 0x05};

        return arch_bytes_equal(code, insns, sizeof(insns));
}

/* glibc's __start_context: mov %rbx, %rsp; then mov (%rsp), %rdi, before 2.28 pop %rdi */
static inline bool arch_is_context_start(const uint8_t *code) {
        static const uint8_t with_mov[7] = {0x48, 0x89, 0xdc, 0x48, 0x8b, 0x3c, 0x24};
        static const uint8_t with_pop[7] = {0x48, 0x89, 0xdc, 0x5f, 0x48, 0x85, 0xff};

        return arch_bytes_equal(code, with_mov, sizeof(with_mov)) ||
               arch_bytes_equal(code, with_pop, sizeof(with_pop));
}

#else
#error "silt unwinds aarch64 and x86_64"
#endif

#endif
