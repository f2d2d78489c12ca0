/* SPDX-License-Identifier: MIT */
/* malloc and free as programs call them. Where samples are taken (sample.h) and nothing is unusual, they count and go on in the
 * real functions: these are the instructions that almost every call of such a program pays for. All else is in malloc.c.
 *
 * One word says that nothing is unusual: thread_tally, which is NULL for a thread without a state, inside a real function
 * that may call hooks, and while it is taken here. Where it lies is told by a word of the page that fork wipes, so that a
 * new process, or one that does not sample, is noticed by the same look. The real functions are read with it, once: that
 * page may be wiped at any moment after. A signal handler that interrupts the counting
 * finds no tally, and counts elsewhere; in the child of one that forks the frame tells (fork_may_be_inside). */

#ifndef SILT_SIGNAL_POINTS
#define SILT_SIGNAL_POINTS 0
#endif

/* malloc_enter_test.c has other names for them */
#ifndef MALLOC_NAME
#define MALLOC_NAME malloc
#define FREE_NAME free
#define USABLE_SIZE_NAME malloc_usable_size
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
        .hidden early_first
        .hidden sample_filter
        .hidden usable_size_slow

/* malloc.c checks them */
#define PHASE runtime_wiped
#define REAL_MALLOC 8           /* in runtime_wiped */
#define TALLY_OFF 16
#define REAL_FREE 24
#define REAL_USABLE_SIZE 32
/* in the tally */
#define N_ALLOCS 0
#define DUE_BYTES 8
#define N_FREES 16
#define CHARGE 16               /* SAMPLE_BLOCK_CHARGE */
#define EARLY_FIRST_SHIFT 18    /* EARLY_FIRST_BYTES */

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
        .irp    r, rax, rcx, rdx, rsi, rdi, r8, r9
        pushq   %\r
        .cfi_adjust_cfa_offset 8
        .endr
        leaq    9b(%rip), %rdi
        call    malloc_enter_point
        .irp    r, r9, r8, rdi, rsi, rdx, rcx, rax
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
        ldr     x1, runtime_wiped + TALLY_OFF
        ldr     x16, runtime_wiped + REAL_MALLOC
        cbz     x1, 1f
        mrs     x2, tpidr_el0
        ldr     x4, [x2, x1]
        cbz     x4, 2f
        point   enter/looked
        str     xzr, [x2, x1]
        point   enter/taken
        ldp     x5, x6, [x4, #N_ALLOCS]
        add     x6, x6, x0
        add     x5, x5, #1
        add     x6, x6, #CHARGE
        point   enter/loaded
        stp     x5, x6, [x4, #N_ALLOCS]
        point   enter/counted
        tbz     x6, #63, 3f
        str     x4, [x2, x1]
        point   enter/given
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
        ldr     x1, runtime_wiped + TALLY_OFF
        ldr     x16, runtime_wiped + REAL_FREE
        cbz     x1, 1f
        mrs     x2, tpidr_el0
        ldr     x4, [x2, x1]
        cbz     x4, 2f
        adrp    x3, sample_filter       /* sample_class; the begin of a page */
        ubfx    x5, x0, #12, #10
        ldr     x5, [x3, x5, lsl #3]
        lsr     x6, x0, #6
        lsr     x5, x5, x6
        tbnz    x5, #0, 2f
        point   enter/free-looked
        str     xzr, [x2, x1]
        ldr     x5, [x4, #N_FREES]
        add     x5, x5, #1
        point   enter/free-loaded
        str     x5, [x4, #N_FREES]
        str     x4, [x2, x1]
        point   enter/free-given
        br      x16
1:      ldr     w1, PHASE
        cbz     x0, 3f
        tbz     w1, #0, 2f
        b       free_exact
2:      b       free_slow
3:      ret
end FREE_NAME

begin USABLE_SIZE_NAME
        hint    #34
        ldr     x16, runtime_wiped + REAL_USABLE_SIZE
        adrp    x1, early_first
        sub     x1, x0, x1
        lsr     x1, x1, #EARLY_FIRST_SHIFT
        cbz     x1, 1f
        cbz     x16, 1f
        br      x16
1:      b       usable_size_slow
end USABLE_SIZE_NAME
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
        movq    runtime_wiped + REAL_MALLOC(%rip), %r8
        movq    runtime_wiped + TALLY_OFF(%rip), %rax
        testq   %rax, %rax
        je      1f
        movq    %fs:(%rax), %rsi
        testq   %rsi, %rsi
        je      2f
        point   enter/looked
        movq    $0, %fs:(%rax)
        point   enter/taken
        leaq    CHARGE(%rdi), %rdx
        incq    N_ALLOCS(%rsi)
        point   enter/loaded
        addq    %rdx, DUE_BYTES(%rsi)
        jns     3f
        point   enter/counted
        movq    %rsi, %fs:(%rax)
        point   enter/given
        pushq   %rdi
        .cfi_def_cfa_offset 16
        call    *%r8
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
        movq    runtime_wiped + REAL_FREE(%rip), %r8
        movq    runtime_wiped + TALLY_OFF(%rip), %rax
        testq   %rax, %rax
        je      1f
        movq    %fs:(%rax), %rsi
        testq   %rsi, %rsi
        je      2f
        movq    %rdi, %rcx
        leaq    sample_filter(%rip), %rdx
        shrq    $12, %rcx
        movq    %rdi, %r9
        andl    $1023, %ecx
        shrq    $6, %r9
        movq    (%rdx, %rcx, 8), %rdx
        btq     %r9, %rdx
        jc      2f
        point   enter/free-looked
        movq    $0, %fs:(%rax)
        point   enter/free-loaded
        incq    N_FREES(%rsi)
        movq    %rsi, %fs:(%rax)
        point   enter/free-given
        jmp     *%r8
1:      testq   %rdi, %rdi
        je      3f
        testb   $1, PHASE(%rip)
        je      2f
        jmp     free_exact
2:      jmp     free_slow
3:      ret
end FREE_NAME

begin USABLE_SIZE_NAME
        endbr64
        movq    runtime_wiped + REAL_USABLE_SIZE(%rip), %rax
        leaq    early_first(%rip), %rcx
        movq    %rdi, %rdx
        subq    %rcx, %rdx
        shrq    $EARLY_FIRST_SHIFT, %rdx
        je      1f
        testq   %rax, %rax
        je      1f
        jmp     *%rax
1:      jmp     usable_size_slow
end USABLE_SIZE_NAME
malloc_enter_end:

        .section .note.gnu.property, "a"
        .p2align 3
        .long   4, 16, 5
        .asciz  "GNU"
        .long   0xc0000002, 4, 3, 0

#endif

        .section .note.GNU-stack, "", %progbits
