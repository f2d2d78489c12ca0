/* SPDX-License-Identifier: MIT */
#include "remote/remote_code.h"

#include <string.h>

#include "base/macros.h"
#include "unwind/arch.h"
#include "unwind/instructions.h"

#if defined(__aarch64__)

row_t remote_code_edge(const struct remote_code *c) {
        const row_t in_lr = row_make(ROW_RA_LR, 0, 0, 0);
        uint32_t insn;

        if (c->n_after < sizeof(insn))
                return 0;
        memcpy(&insn, c->at, sizeof(insn));
        /* ret, with or without authentication before it or in it */
        if (insn == 0xd65f03c0 || insn == 0xd65f0bff || insn == 0xd65f0fff || insn == 0xd50323bf ||
            insn == 0xd50323ff)
                return in_lr;
        /* paciasp, pacibsp, bti c: a function begins */
        if (insn == 0xd503233f || insn == 0xd503237f || insn == 0xd503245f)
                return in_lr;
        return (insn & 0xffc07fff) == 0xa9807bfd ? in_lr : 0; /* stp x29, x30, [sp, #-N]! */
}

bool remote_code_is_lazy_call(const struct cfi_image *image, uint64_t addr) {
        return false; /* its CFA is from sp here */
}

bool remote_code_is_in_vfork(const struct cfi_image *image, uint64_t pc) {
        return false; /* it is in lr, as of any other leaf */
}

#elif defined(__x86_64__)

static bool has(const uint8_t *p, size_t n, const void *wanted, size_t n_wanted) {
        return n >= n_wanted && memcmp(p, wanted, n_wanted) == 0;
}
#define HAS(p, n, text) has(p, n, text, sizeof(text) - 1)

static bool is_mov_rsp_rbp(const uint8_t *p, size_t n) {
        return HAS(p, n, "\x48\x89\xe5") || HAS(p, n, "\x48\x8b\xec");
}

/* jmp *N(%rip), with what may stand before it */
static bool is_stub_jump(const uint8_t *p, size_t n) {
        return HAS(p, n, "\xff\x25") || HAS(p, n, "\xf2\xff\x25");
}

static bool is_ret(const uint8_t *p, size_t n) {
        return n > 0 &&
               (p[0] == 0xc3 || p[0] == 0xc2 || HAS(p, n, "\xf3\xc3") || HAS(p, n, "\xf2\xc3"));
}

/* Nothing is on the stack but the return address. */
static bool is_at_return_address(const struct remote_code *c) {
        const uint8_t *p = c->at;
        size_t n = c->n_after;

        if (is_ret(p, n) || is_stub_jump(p, n))
                return true;
        /* jmp, when rbp was taken back: a call as a function's last deed */
        if (n > 0 && c->n_before > 0 && (p[-1] == 0x5d || p[-1] == 0xc9) &&
            (p[0] == 0xe9 || p[0] == 0xeb))
                return true;
        /* endbr64: a function begins, or a stub. sub $8, %rsp; mov N(%rip), %rax: what the linker makes _init of */
        if (HAS(p, n, "\xf3\x0f\x1e\xfa") || HAS(p, n, "\x48\x83\xec\x08\x48\x8b\x05"))
                return true;
        if (n > 0 && p[0] == 0x55 && is_mov_rsp_rbp(p + 1, n - 1))
                return true;
        /* push $N; jmp: the lazy half of a stub */
        return n > 5 && p[0] == 0x68 && p[5] == 0xe9;
}

row_t remote_code_edge(const struct remote_code *c) {
        if (is_at_return_address(c))
                return row_make(0, 8, -8, 0);
        if (c->n_before > 0 && c->at[-1] == 0x55 && is_mov_rsp_rbp(c->at, c->n_after))
                return row_make(ROW_FP_SAVED, 16, -8, -16);
        if (c->n_before >= 5 && c->at[-5] == 0x68 && c->n_after > 0 && c->at[0] == 0xe9)
                return row_make(0, 16, -8, 0);
        return 0;
}

bool remote_code_is_lazy_call(const struct cfi_image *image, uint64_t addr) {
        /* mov 16(%rbx), %rsi; mov 8(%rbx), %rdi; call */
        static const uint8_t before[] = {0x48, 0x8b, 0x73, 0x10, 0x48, 0x8b, 0x7b, 0x08, 0xe8};
        uint64_t begin = addr - sizeof(before) - 4;

        return code_can_read(image, begin, sizeof(before) + 4) &&
               memcmp((const uint8_t *)begin, before, sizeof(before)) == 0;
}

bool remote_code_is_in_vfork(const struct cfi_image *image, uint64_t pc) {
        /* pop %rdi; mov $58, %eax; syscall; and then push %rdi */
        static const uint8_t around[] = {0x5f, 0xb8, 0x3a, 0, 0, 0, 0x0f, 0x05, 0x57};
        uint64_t begin = pc - (sizeof(around) - 1);

        return code_can_read(image, begin, sizeof(around)) &&
               memcmp((const uint8_t *)begin, around, sizeof(around)) == 0;
}

#endif

row_t remote_code_row(const struct cfi_image *image, uint64_t pc) {
        struct remote_code c = {(const uint8_t *)pc, REMOTE_CODE_BEFORE, REMOTE_CODE_AFTER};
        row_t row;

        while (c.n_after > 0 && !code_can_read(image, pc, c.n_after))
                c.n_after--;
        while (c.n_before > 0 && !code_can_read(image, pc - c.n_before, c.n_before))
                c.n_before--;
        row = remote_code_edge(&c);
        return row ? row : code_row_inside(image, pc);
}
