/* SPDX-License-Identifier: MIT */
/* Functions whose unwind tables are wrong: a stack that ends in one of them is not complete, however
 * clearly the tables say that it ends there. And stacks that do end so: those are.
 *
 * Each function calls the one given, which asks for 16 bytes and gives them back at once, 10 times.
 *   undefined_inside   the return address is said to be undefined; the function returns all the same
 *   zero_inside        the return address is said to be where a 0 lies
 *   pushed             the tables do not know of three words that were pushed, the last of them 0
 *   zero_root          a stack of its own that begins with the return address 0
 *   undefined_root     a stack of its own, and a first function that says so and never returns
 * The first three once more from each place a frame can have in a page, one block each: what lies above their frames may be in
 * the next page.
 *   allocations 818   frees 818   bytes 13,088   temporary 818   peak 16 in 1   end 0
 * Complete are the last two, 20 of 818. */
#include "truth.h"
#include <sys/mman.h>

typedef void body_fn(void);

void undefined_inside(body_fn *body);
void zero_inside(body_fn *body);
void pushed(body_fn *body);
void zero_root(body_fn *body, void *stack_end);
void undefined_root(body_fn *body, void *stack_end);

#if defined(__x86_64__)
__asm__(".text\n"
        "undefined_inside:\n"
        "        .cfi_startproc\n"
        "        .cfi_undefined rip\n"
        "        sub $8, %rsp\n"
        "        call *%rdi\n"
        "        add $8, %rsp\n"
        "        ret\n"
        "        .cfi_endproc\n"
        "zero_inside:\n"
        "        .cfi_startproc\n"
        "        sub $24, %rsp\n"
        "        .cfi_def_cfa_offset 24\n" /* 32 */
        "        movq $0, 16(%rsp)\n"
        "        call *%rdi\n"
        "        add $24, %rsp\n"
        "        ret\n"
        "        .cfi_endproc\n"
        "pushed:\n"
        "        .cfi_startproc\n"
        "        push %rbx\n"
        "        push %r12\n"
        "        push $0\n"
        "        call *%rdi\n"
        "        add $8, %rsp\n"
        "        pop %r12\n"
        "        pop %rbx\n"
        "        ret\n"
        "        .cfi_endproc\n"
        "zero_root:\n"
        "        .cfi_startproc\n"
        "        push %rbx\n"
        "        .cfi_def_cfa_offset 16\n"
        "        .cfi_offset rbx, -16\n"
        "        mov %rsp, %rbx\n"
        "        mov %rsi, %rsp\n"
        "        push $0\n"
        "        push $0\n"
        "        call zero_root_first\n"
        "        mov %rbx, %rsp\n"
        "        pop %rbx\n"
        "        ret\n"
        "        .cfi_endproc\n"
        "zero_root_first:\n" /* jumped to in spirit: its return address is taken for 0 */
        "        .cfi_startproc\n"
        "        sub $8, %rsp\n"
        "        .cfi_def_cfa_offset 24\n"
        "        call *%rdi\n"
        "        add $8, %rsp\n"
        "        ret\n"
        "        .cfi_endproc\n"
        "undefined_root:\n"
        "        .cfi_startproc\n"
        "        push %rbx\n"
        "        .cfi_def_cfa_offset 16\n"
        "        .cfi_offset rbx, -16\n"
        "        mov %rsp, %rbx\n"
        "        mov %rsi, %rsp\n"
        "        jmp undefined_root_first\n"
        "undefined_root_back:\n"
        "        pop %rbx\n"
        "        ret\n"
        "        .cfi_endproc\n"
        "undefined_root_first:\n"
        "        .cfi_startproc\n"
        "        .cfi_undefined rip\n"
        "        call *%rdi\n"
        "        mov %rbx, %rsp\n"
        "        jmp undefined_root_back\n"
        "        .cfi_endproc\n");
#elif defined(__aarch64__)
__asm__(".text\n"
        "undefined_inside:\n"
        "        .cfi_startproc\n"
        "        .cfi_undefined x30\n"
        "        stp x29, x30, [sp, #-16]!\n"
        "        mov x29, xzr\n"
        "        blr x0\n"
        "        ldp x29, x30, [sp], #16\n"
        "        ret\n"
        "        .cfi_endproc\n"
        "zero_inside:\n"
        "        .cfi_startproc\n"
        "        stp x29, x30, [sp, #-32]!\n"
        "        .cfi_def_cfa_offset 32\n"
        "        .cfi_offset 29, -32\n"
        "        .cfi_offset 30, -8\n" /* -24 */
        "        stp xzr, xzr, [sp, #16]\n"
        "        blr x0\n"
        "        ldp x29, x30, [sp], #32\n"
        "        ret\n"
        "        .cfi_endproc\n"
        "pushed:\n"
        "        .cfi_startproc\n"
        "        stp x29, x30, [sp, #-16]!\n"
        "        .cfi_def_cfa_offset 16\n"
        "        .cfi_offset 29, -16\n"
        "        .cfi_offset 30, -8\n"
        "        stp xzr, xzr, [sp, #-16]!\n"
        "        blr x0\n"
        "        add sp, sp, #16\n"
        "        ldp x29, x30, [sp], #16\n"
        "        ret\n"
        "        .cfi_endproc\n"
        "zero_root:\n"
        "        .cfi_startproc\n"
        "        stp x19, x30, [sp, #-16]!\n"
        "        .cfi_def_cfa_offset 16\n"
        "        .cfi_offset 19, -16\n"
        "        .cfi_offset 30, -8\n"
        "        mov x19, sp\n"
        "        mov sp, x1\n"
        "        bl zero_root_first\n"
        "        mov sp, x19\n"
        "        ldp x19, x30, [sp], #16\n"
        "        ret\n"
        "        .cfi_endproc\n"
        "zero_root_first:\n"
        "        .cfi_startproc\n"
        "        sub sp, sp, #32\n"
        "        .cfi_def_cfa_offset 32\n"
        "        .cfi_offset 30, -8\n"
        "        str x30, [sp]\n"
        "        str xzr, [sp, #24]\n"
        "        blr x0\n"
        "        ldr x30, [sp]\n"
        "        add sp, sp, #32\n"
        "        ret\n"
        "        .cfi_endproc\n"
        "undefined_root:\n"
        "        .cfi_startproc\n"
        "        stp x19, x30, [sp, #-16]!\n"
        "        .cfi_def_cfa_offset 16\n"
        "        .cfi_offset 19, -16\n"
        "        .cfi_offset 30, -8\n"
        "        mov x19, sp\n"
        "        mov sp, x1\n"
        "        b undefined_root_first\n"
        "undefined_root_back:\n"
        "        ldp x19, x30, [sp], #16\n"
        "        ret\n"
        "        .cfi_endproc\n"
        "undefined_root_first:\n"
        "        .cfi_startproc\n"
        "        .cfi_undefined x30\n"
        "        blr x0\n"
        "        mov sp, x19\n"
        "        b undefined_root_back\n"
        "        .cfi_endproc\n");
#endif

static __attribute__((noinline)) void body(void) {
        for (int i = 0; i < 10; i++)
                free(malloc(16));
}

static __attribute__((noinline)) void one_block(void) {
        free(malloc(16));
}

static __attribute__((noinline)) void call_below(size_t n_bytes, body_fn *wrong_body) {
        volatile char *room = __builtin_alloca(n_bytes);

        room[0] = 1;
        undefined_inside(wrong_body);
        zero_inside(wrong_body);
        pushed(wrong_body);
        room[0] = 2;
}

int main(void) {
        size_t stack_bytes = 64 << 10;
        char *stack =
                mmap(NULL, stack_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

        MUST(stack != MAP_FAILED);
        undefined_inside(body);
        zero_inside(body);
        pushed(body);
        zero_root(body, stack + stack_bytes);
        undefined_root(body, stack + stack_bytes);
        for (size_t n_bytes = 16; n_bytes <= 4096; n_bytes += 16)
                call_below(n_bytes, one_block);
        return 0;
}
