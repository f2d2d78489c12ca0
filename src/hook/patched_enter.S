/* SPDX-License-Identifier: MIT */
/* Where the branches at patched entries lead: saves the registers, asks patched_before, calls the function itself at its
 * moved entry, tells patched_after, and returns with every register as it was, but for the result: one that the function
 * leaves alone has its value, and nobody looks at the others. When patched_before says no, it
 * goes on in the function as if it had never been here. The layout is that of struct patched_frame in patched.c. */

        .hidden patched_before
        .hidden patched_after
        .hidden patched_vectors
        .hidden new_personality

#if defined(__aarch64__)

#define FRAME_BYTES 208
#define FRAME_ENTRY 152
#define FRAME_THREAD 160        /* then: outer */
#define ENTRY_MOVED 16
#define ENTRY_CALL 24
#define CALL_FREE 5
#define THREAD_IN_REAL 240

.macro save_registers
        stp     x0, x1, [sp, #16]
        stp     x2, x3, [sp, #32]
        stp     x4, x5, [sp, #48]
        stp     x6, x7, [sp, #64]
        stp     x8, x9, [sp, #80]
        stp     x10, x11, [sp, #96]
        stp     x12, x13, [sp, #112]
        stp     x14, x15, [sp, #128]
        str     x18, [sp, #144]
.endm

.macro load_registers
        ldp     x0, x1, [sp, #16]
        ldp     x2, x3, [sp, #32]
        ldp     x4, x5, [sp, #48]
        ldp     x6, x7, [sp, #64]
        ldp     x8, x9, [sp, #80]
        ldp     x10, x11, [sp, #96]
        ldp     x12, x13, [sp, #112]
        ldp     x14, x15, [sp, #128]
        ldr     x18, [sp, #144]
.endm

.macro load_arguments
        ldp     x0, x1, [sp, #16]
        ldp     x2, x3, [sp, #32]
        ldp     x4, x5, [sp, #48]
        ldp     x6, x7, [sp, #64]
.endm

/* x17: the entry. x16 and x17 belong to veneers, nobody keeps anything there. */
.macro enter name, personality
        .globl  \name
        .hidden \name
        .type   \name, %function
        .p2align 4
\name:
        .cfi_startproc
        .if \personality
        .cfi_personality 0x1b, new_personality
        .endif
        hint    #34             /* bti c */
        sub     sp, sp, #FRAME_BYTES
        .cfi_def_cfa_offset FRAME_BYTES
        stp     x29, x30, [sp]
        .cfi_offset 29, -FRAME_BYTES
        .cfi_offset 30, -(FRAME_BYTES - 8)
        save_registers
        str     x17, [sp, #FRAME_ENTRY]
        mov     x29, sp
        mov     x0, sp
        bl      patched_before
        ldr     x17, [sp, #FRAME_ENTRY]
        ldr     x16, [x17, #ENTRY_MOVED]
        tbz     w0, #0, 1f
        ldrb    w17, [x17, #ENTRY_CALL]
        sub     w17, w17, #CALL_FREE
        cbz     w17, 2f
        load_arguments
        blr     x16
        str     x0, [sp, #16]
        mov     x0, sp
        bl      patched_after
        load_registers
3:      ldp     x29, x30, [sp]
        .cfi_remember_state
        .cfi_restore 29
        .cfi_restore 30
        add     sp, sp, #FRAME_BYTES
        .cfi_def_cfa_offset 0
        ret
1:      .cfi_restore_state
        load_registers
        ldp     x29, x30, [sp]
        .cfi_restore 29
        .cfi_restore 30
        add     sp, sp, #FRAME_BYTES
        .cfi_def_cfa_offset 0
        br      x16
        /* a release was logged before: what is left of patched_after is call_end */
2:      .cfi_def_cfa_offset FRAME_BYTES
        .cfi_offset 29, -FRAME_BYTES
        .cfi_offset 30, -(FRAME_BYTES - 8)
        load_registers
        blr     x16
        ldp     x16, x17, [sp, #FRAME_THREAD]
        str     x17, [x16, #THREAD_IN_REAL]
        b       3b
        .cfi_endproc
        .size   \name, . - \name
.endm

/* uint64_t patched_call_libc(void *fn, uint64_t a, uint64_t b): libc may use vector registers. Where there is SVE all of them is
 * kept: what writes the lower half clears the rest. */
        .text
        .arch_extension sve
        .globl  patched_call_libc
        .hidden patched_call_libc
        .type   patched_call_libc, %function
        .p2align 4
patched_call_libc:
        .cfi_startproc
        hint    #34
        stp     x29, x30, [sp, #-16]!
        .cfi_def_cfa_offset 16
        .cfi_offset 29, -16
        .cfi_offset 30, -8
        mov     x29, sp
        .cfi_def_cfa_register 29
        mov     x16, x0
        mov     x0, x1
        mov     x1, x2
        adrp    x17, patched_vectors
        ldr     x17, [x17, #:lo12:patched_vectors]
        cbnz    x17, 1f
        sub     sp, sp, #384
        stp     q0, q1, [sp]
        stp     q2, q3, [sp, #32]
        stp     q4, q5, [sp, #64]
        stp     q6, q7, [sp, #96]
        stp     q16, q17, [sp, #128]
        stp     q18, q19, [sp, #160]
        stp     q20, q21, [sp, #192]
        stp     q22, q23, [sp, #224]
        stp     q24, q25, [sp, #256]
        stp     q26, q27, [sp, #288]
        stp     q28, q29, [sp, #320]
        stp     q30, q31, [sp, #352]
        blr     x16
        ldp     q0, q1, [sp]
        ldp     q2, q3, [sp, #32]
        ldp     q4, q5, [sp, #64]
        ldp     q6, q7, [sp, #96]
        ldp     q16, q17, [sp, #128]
        ldp     q18, q19, [sp, #160]
        ldp     q20, q21, [sp, #192]
        ldp     q22, q23, [sp, #224]
        ldp     q24, q25, [sp, #256]
        ldp     q26, q27, [sp, #288]
        ldp     q28, q29, [sp, #320]
        ldp     q30, q31, [sp, #352]
        b       2f
1:      addvl   sp, sp, #-32
        .irp    n, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31
        str     z\n, [sp, #\n, mul vl]
        .endr
        addvl   sp, sp, #-2
        .irp    n, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15
        str     p\n, [sp, #\n, mul vl]
        .endr
        blr     x16
        .irp    n, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15
        ldr     p\n, [sp, #\n, mul vl]
        .endr
        addvl   sp, sp, #2
        .irp    n, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31
        ldr     z\n, [sp, #\n, mul vl]
        .endr
2:      mov     sp, x29
        .cfi_def_cfa_register 31
        ldp     x29, x30, [sp], #16
        .cfi_restore 29
        .cfi_restore 30
        .cfi_def_cfa_offset 0
        ret
        .cfi_endproc
        .size   patched_call_libc, . - patched_call_libc

        enter patched_enter, 0
        enter patched_enter_throws, 1

/* Branch targets are marked: whoever links this may demand it (as the compiler says of its own code). */
        .section .note.gnu.property, "a"
        .p2align 3
        .word   4, 16, 5
        .asciz  "GNU"
        .word   0xc0000000, 4, 1, 0

#elif defined(__x86_64__)

#define FRAME_BYTES 136
#define FRAME_THREAD 72
#define FRAME_OUTER 80
#define FRAME_MOVED 120
#define ENTRY_MOVED 16
#define ENTRY_CALL 24
#define CALL_FREE 5
#define THREAD_IN_REAL 240
#define XSAVE_BYTES 2752        /* 2688 for 32 registers of 64 bytes and 8 masks, and the result */

.macro save_registers
        movq    %rdi, (%rsp)
        movq    %rsi, 8(%rsp)
        movq    %rdx, 16(%rsp)
        movq    %rcx, 24(%rsp)
        movq    %r8, 32(%rsp)
        movq    %r9, 40(%rsp)
        movq    %rax, 48(%rsp)
        movq    %r10, 56(%rsp)
        movq    %r11, 64(%rsp)
.endm

.macro load_registers
        movq    (%rsp), %rdi
        movq    8(%rsp), %rsi
        movq    16(%rsp), %rdx
        movq    24(%rsp), %rcx
        movq    32(%rsp), %r8
        movq    40(%rsp), %r9
        movq    48(%rsp), %rax
        movq    56(%rsp), %r10
        movq    64(%rsp), %r11
.endm

/* (%rsp): the entry, pushed by the thunk; behind it the return address. */
.macro enter name, personality
        .globl  \name
        .hidden \name
        .type   \name, @function
        .p2align 4
\name:
        .cfi_startproc
        .if \personality
        .cfi_personality 0x1b, new_personality
        .endif
        endbr64
        .cfi_def_cfa_offset 16
        pushq   %rbp
        .cfi_def_cfa_offset 24
        .cfi_offset %rbp, -24
        movq    8(%rsp), %rbp
        popq    (%rsp)                  /* to beside the return address, where walks by frame pointers look */
        .cfi_def_cfa_offset 16
        .cfi_offset %rbp, -16
        pushq   %rbp
        .cfi_def_cfa_offset 24
        leaq    8(%rsp), %rbp
        .cfi_def_cfa %rbp, 16
        subq    $FRAME_BYTES, %rsp
        save_registers
        cld
        movq    %rsp, %rdi
        call    patched_before
        testb   %al, %al
        jz      1f
        movq    -8(%rbp), %rax
        movq    ENTRY_MOVED(%rax), %rcx
        movq    %rcx, FRAME_MOVED(%rsp) /* no register is free for it: this one is the frame's */
        cmpb    $CALL_FREE, ENTRY_CALL(%rax)
        load_registers
        je      2f
        call    *FRAME_MOVED(%rsp)
        movq    %rax, 48(%rsp)
        movq    %rsp, %rdi
        call    patched_after
        load_registers
        leaq    FRAME_BYTES + 8(%rsp), %rsp
        .cfi_remember_state
        .cfi_def_cfa %rsp, 16
        popq    %rbp
        .cfi_restore %rbp
        .cfi_def_cfa_offset 8
        ret
1:      .cfi_restore_state
        /* the two words below the return address become what was in the register, and the address to go on at */
        movq    -8(%rbp), %rax
        movq    ENTRY_MOVED(%rax), %rax
        movq    (%rbp), %rcx
        movq    %rcx, -8(%rbp)
        .cfi_offset %rbp, -24
        movq    %rax, (%rbp)
        load_registers
        leaq    -8(%rbp), %rsp
        .cfi_def_cfa %rsp, 24
        popq    %rbp
        .cfi_restore %rbp
        .cfi_def_cfa_offset 16
        ret
        /* a release was logged before: what is left of patched_after is call_end, without a register */
2:      .cfi_def_cfa %rbp, 16
        .cfi_offset %rbp, -16
        call    *FRAME_MOVED(%rsp)
        movq    FRAME_THREAD(%rsp), %rbp
        .cfi_def_cfa %rsp, FRAME_BYTES + 24
        pushq   FRAME_OUTER(%rsp)
        .cfi_adjust_cfa_offset 8
        popq    THREAD_IN_REAL(%rbp)
        .cfi_adjust_cfa_offset -8
        leaq    FRAME_BYTES + 8(%rsp), %rsp
        .cfi_def_cfa_offset 16
        popq    %rbp
        .cfi_restore %rbp
        .cfi_def_cfa_offset 8
        ret
        .cfi_endproc
        .size   \name, . - \name
.endm

        .text
        .globl  patched_call_libc
        .hidden patched_call_libc
        .type   patched_call_libc, @function
        .p2align 4
patched_call_libc:
        .cfi_startproc
        endbr64
        pushq   %rbp
        .cfi_def_cfa_offset 16
        .cfi_offset %rbp, -16
        movq    %rsp, %rbp
        .cfi_def_cfa_register %rbp
        movq    %rdi, %r11
        movq    %rsi, %rdi
        movq    %rdx, %rsi
        movl    patched_vectors(%rip), %eax
        testl   %eax, %eax
        jnz     1f
        /* compilers call functions whose bodies they know with a stack of any alignment */
        subq    $256, %rsp
        andq    $-16, %rsp
        .irp    n, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15
        movups  %xmm\n, 16 * \n(%rsp)
        .endr
        call    *%r11
        .irp    n, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15
        movups  16 * \n(%rsp), %xmm\n
        .endr
        leave
        .cfi_remember_state
        .cfi_def_cfa %rsp, 8
        ret
        /* more than 16 bytes of each: the result waits above */
1:      .cfi_restore_state
        subq    $XSAVE_BYTES + 64, %rsp
        andq    $-64, %rsp
        xorl    %edx, %edx
        .irp    n, 0, 1, 2, 3, 4, 5, 6, 7
        movq    %rdx, 512 + 8 * \n(%rsp)
        .endr
        xsave   (%rsp)
        call    *%r11
        movq    %rax, -8(%rbp)
        movl    patched_vectors(%rip), %eax
        xorl    %edx, %edx
        xrstor  (%rsp)
        movq    -8(%rbp), %rax
        leave
        .cfi_def_cfa %rsp, 8
        ret
        .cfi_endproc
        .size   patched_call_libc, . - patched_call_libc

        enter patched_enter, 0
        enter patched_enter_throws, 1

        .section .note.gnu.property, "a"
        .p2align 3
        .long   4, 16, 5
        .asciz  "GNU"
        .long   0xc0000002, 4, 3, 0
#endif

        .section .note.GNU-stack, "", %progbits
