/* SPDX-License-Identifier: MIT */
/* malloc and free as programs call them. Where samples are taken (sample.h) and nothing is unusual, they count and go on in the
 * real functions: these are the instructions that almost every call of such a program pays for. All else is in malloc.c.
 *
 * One word says that nothing is unusual: thread_tally, which is NULL for a thread without a state, inside a real function
 * that may call hooks, and while it is taken here. Where it lies is told by a word of the page that fork wipes, so that a
 * new process, or one that does not sample, is noticed by the same look. A signal handler that interrupts the counting
 * finds no tally, and counts elsewhere; in the child of one that forks the frame tells (fork_may_be_inside). */

#ifndef SILT_SIGNAL_POINTS
#define SILT_SIGNAL_POINTS 0
#endif

/* malloc_enter_test.c has other names for them */
#ifndef MALLOC_NAME
#define MALLOC_NAME malloc
#define FREE_NAME free
#endif

        .hidden malloc_exact
        .hidden malloc_slow
        .hidden malloc_chosen
        .hidden malloc_failed
        .hidden free_exact
        .hidden free_slow

#if SILT_SIGNAL_POINTS
        .hidden malloc_enter_point
#endif
        .hidden runtime_wiped
        .hidden real
        .hidden sample_filter

/* malloc.c checks them */
#define PHASE runtime_wiped
#define TALLY_OFF runtime_wiped + 8
#define REAL_MALLOC real + 8
#define REAL_FREE real + 136
/* in the tally */
#define SAMPLE_AT -8
#define N_ALLOCS 0
#define ALLOC_BYTES 8
#define N_FREES 16
#define CHARGE_SHIFT 4          /* SAMPLE_BLOCK_CHARGE */

        .globl  malloc_enter_begin
        .hidden malloc_enter_begin
        .globl  malloc_enter_end
        .hidden malloc_enter_end

        .text
malloc_enter_begin:

.macro begin name
        .globl  \name
        .type   \name, %function
        .p2align 6
\name:
        .cfi_startproc
.endm

/* wire/point.h. Flags are not kept. */
.macro point label
#if SILT_SIGNAL_POINTS
        .section .rodata.str1.1, "aMS", %progbits, 1
9:      .asciz  "\label"
        .text
#if defined(__aarch64__)
        sub     sp, sp, #96
        .cfi_adjust_cfa_offset 96
        stp     x0, x1, [sp]
        stp     x2, x3, [sp, #16]
        stp     x4, x5, [sp, #32]
        stp     x6, x7, [sp, #48]
        stp     x16, x30, [sp, #64]
        .cfi_remember_state
        .cfi_rel_offset 30, 72
        adrp    x0, 9b
        add     x0, x0, #:lo12:9b
        bl      malloc_enter_point
        ldp     x0, x1, [sp]
        ldp     x2, x3, [sp, #16]
        ldp     x4, x5, [sp, #32]
        ldp     x6, x7, [sp, #48]
        ldp     x16, x30, [sp, #64]
        .cfi_restore_state
        add     sp, sp, #96
        .cfi_adjust_cfa_offset -96
#else
        .irp    r, rax, rcx, rdx, rsi, rdi
        pushq   %\r
        .cfi_adjust_cfa_offset 8
        .endr
        leaq    9b(%rip), %rdi
        call    malloc_enter_point
        .irp    r, rdi, rsi, rdx, rcx, rax
        popq    %\r
        .cfi_adjust_cfa_offset -8
        .endr
#endif
#endif
.endm

.macro end name
        .cfi_endproc
        .size   \name, . - \name
.endm

#if defined(__aarch64__)

begin MALLOC_NAME
        hint    #34             /* bti c */
        ldr     x1, TALLY_OFF
        cbz     x1, 1f
        mrs     x2, tpidr_el0
        ldr     x4, [x2, x1]
        cbz     x4, 2f
        point   enter/looked
        str     xzr, [x2, x1]
        point   enter/taken
        ldp     x5, x6, [x4, #N_ALLOCS]
        ldur    x7, [x4, #SAMPLE_AT]
        add     x5, x5, #1
        add     x6, x6, x0
        point   enter/loaded
        stp     x5, x6, [x4, #N_ALLOCS]
        point   enter/counted
        add     x6, x6, x5, lsl #CHARGE_SHIFT
        cmp     x6, x7
        b.pl    3f
        str     x4, [x2, x1]
        point   enter/given
        ldr     x16, REAL_MALLOC
        stp     x30, x0, [sp, #-16]!
        .cfi_def_cfa_offset 16
        .cfi_offset 30, -16
        blr     x16
        cbz     x0, 4f
        ldr     x30, [sp], #16
        .cfi_remember_state
        .cfi_restore 30
        .cfi_def_cfa_offset 0
        ret
4:      .cfi_restore_state
        ldp     x30, x0, [sp], #16
        .cfi_restore 30
        .cfi_def_cfa_offset 0
        b       malloc_failed
3:      point   enter/chosen
        b       malloc_chosen
1:      ldr     w1, PHASE
        tbz     w1, #0, 2f
        b       malloc_exact
2:      b       malloc_slow
end MALLOC_NAME

        .globl  malloc_hook_free
        .hidden malloc_hook_free
        .type   malloc_hook_free, %function
        .set    malloc_hook_free, FREE_NAME

/* NULL is of a class that the filter never lets pass. */
begin FREE_NAME
        hint    #34
        ldr     x1, TALLY_OFF
        cbz     x1, 1f
        mrs     x2, tpidr_el0
        ldr     x4, [x2, x1]
        cbz     x4, 2f
        adrp    x3, sample_filter       /* sample_class: of its address the lower 16 bits are 0 */
        bfxil   x3, x0, #6, #16
        ldrb    w5, [x3]
        cbnz    w5, 2f
        point   enter/free-looked
        str     xzr, [x2, x1]
        ldr     x5, [x4, #N_FREES]
        add     x5, x5, #1
        point   enter/free-loaded
        str     x5, [x4, #N_FREES]
        str     x4, [x2, x1]
        point   enter/free-given
        ldr     x16, REAL_FREE
        br      x16
1:      ldr     w1, PHASE
        cbz     x0, 3f
        tbz     w1, #0, 2f
        b       free_exact
2:      b       free_slow
3:      ret
end FREE_NAME
malloc_enter_end:

/* Branch targets are marked, as the compiler says of its own code. */
        .section .note.gnu.property, "a"
        .p2align 3
        .long   4, 16, 5
        .asciz  "GNU"
        .long   0xc0000000, 4, 1, 0

#elif defined(__x86_64__)

begin MALLOC_NAME
        endbr64
        movq    TALLY_OFF(%rip), %rax
        testq   %rax, %rax
        je      1f
        movq    %fs:(%rax), %rsi
        testq   %rsi, %rsi
        je      2f
        point   enter/looked
        movq    $0, %fs:(%rax)
        point   enter/taken
        movq    N_ALLOCS(%rsi), %rcx
        movq    ALLOC_BYTES(%rsi), %rdx
        incq    %rcx
        addq    %rdi, %rdx
        point   enter/loaded
        movq    %rcx, N_ALLOCS(%rsi)
        movq    %rdx, ALLOC_BYTES(%rsi)
        point   enter/counted
        shlq    $CHARGE_SHIFT, %rcx
        addq    %rcx, %rdx
        subq    SAMPLE_AT(%rsi), %rdx
        jns     3f
        movq    %rsi, %fs:(%rax)
        point   enter/given
        pushq   %rdi
        .cfi_def_cfa_offset 16
        call    *REAL_MALLOC(%rip)
        popq    %rdi
        .cfi_def_cfa_offset 8
        testq   %rax, %rax
        je      4f
        ret
4:      jmp     malloc_failed
3:      point   enter/chosen
        jmp     malloc_chosen
1:      testb   $1, PHASE(%rip)
        je      2f
        jmp     malloc_exact
2:      jmp     malloc_slow
end MALLOC_NAME

        .globl  malloc_hook_free
        .hidden malloc_hook_free
        .type   malloc_hook_free, %function
        .set    malloc_hook_free, FREE_NAME

begin FREE_NAME
        endbr64
        movq    TALLY_OFF(%rip), %rax
        testq   %rax, %rax
        je      1f
        movq    %fs:(%rax), %rsi
        testq   %rsi, %rsi
        je      2f
        movq    %rdi, %rcx
        leaq    sample_filter(%rip), %rdx
        shrq    $6, %rcx
        movzwl  %cx, %ecx
        cmpb    $0, (%rdx, %rcx)
        jne     2f
        point   enter/free-looked
        movq    $0, %fs:(%rax)
        movq    N_FREES(%rsi), %rcx
        incq    %rcx
        point   enter/free-loaded
        movq    %rcx, N_FREES(%rsi)
        movq    %rsi, %fs:(%rax)
        point   enter/free-given
        jmp     *REAL_FREE(%rip)
1:      testq   %rdi, %rdi
        je      3f
        testb   $1, PHASE(%rip)
        je      2f
        jmp     free_exact
2:      jmp     free_slow
3:      ret
end FREE_NAME
malloc_enter_end:

        .section .note.gnu.property, "a"
        .p2align 3
        .long   4, 16, 5
        .asciz  "GNU"
        .long   0xc0000002, 4, 3, 0

#endif

        .section .note.GNU-stack, "", %progbits
