/* SPDX-License-Identifier: MIT */
/* malloc and free as programs call them, by these names and by C++'s. Where samples are taken (sample.h) and nothing is unusual, they count and go on in the
 * real functions: these are the instructions that almost every call of such a program pays for. All else is in malloc.c and new.c.
 *
 * One word says that nothing is unusual: thread_tally, which is NULL for a thread without a state, inside a real function
 * that may call hooks, and while it is taken here. Where it lies is told by a word of the page that fork wipes, so that a
 * new process, or one that does not sample, is noticed by the same look. The real functions are read behind it, once: that
 * page may be wiped before, between and after, by a fork in a signal handler. On aarch64 a signal handler that interrupts the
 * counting finds no tally, and counts elsewhere; on x86_64 it counts in between. In the child of one that forks the frame tells
 * (fork_may_be_inside). */

#ifndef SILT_SIGNAL_POINTS
#define SILT_SIGNAL_POINTS 0
#endif

/* malloc_enter_test.c has other names for them */
#ifndef MALLOC_NAME
#define MALLOC_NAME malloc
#define FREE_NAME free
#define USABLE_SIZE_NAME malloc_usable_size
#define NEW_NAME _Znwm
#define NEW_ARRAY_NAME _Znam
#define DELETE_NAME _ZdlPv
#define DELETE_ARRAY_NAME _ZdaPv
#define DELETE_SIZED_NAME _ZdlPvm
#define DELETE_ARRAY_SIZED_NAME _ZdaPvm
#endif

        .hidden malloc_exact
        .hidden malloc_slow
        .hidden malloc_chosen
        .hidden malloc_failed
        .hidden free_exact
        .hidden free_slow
        .hidden new_slow
        .hidden new_chosen
        .hidden new_failed
        .hidden new_array_slow
        .hidden new_array_chosen
        .hidden new_array_failed
        .hidden delete_slow
        .hidden delete_array_slow
        .hidden delete_sized_slow
        .hidden delete_array_sized_slow

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
#define NEW_TALLY_OFF 40
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
        bti_c
.endm

/* wire/signal_point.h. Flags are not kept. */
.macro point label
#if SILT_SIGNAL_POINTS
        .section .rodata.str1.1, "aMS", %progbits, 1
9:      .asciz  "\label"
        .text
#if defined(__aarch64__)
        sub     sp, sp, #96
        .cfi_adjust_cfa_offset 96
        stp     x0, x1, [sp]
        stp     x9, x10, [sp, #16]
        stp     x11, x12, [sp, #32]
        stp     x13, x14, [sp, #48]
        stp     x16, x30, [sp, #64]
        .cfi_remember_state
        .cfi_rel_offset 30, 72
        adrp    x0, 9b
        add     x0, x0, #:lo12:9b
        bl      malloc_enter_point
        ldp     x0, x1, [sp]
        ldp     x9, x10, [sp, #16]
        ldp     x11, x12, [sp, #32]
        ldp     x13, x14, [sp, #48]
        ldp     x16, x30, [sp, #64]
        .cfi_restore_state
        add     sp, sp, #96
        .cfi_adjust_cfa_offset -96
#else
        .irp    r, rax, rdi, rsi, r8, r9, r10, r11
        pushq   %\r
        .cfi_adjust_cfa_offset 8
        .endr
        leaq    9b(%rip), %rdi
        call    malloc_enter_point
        .irp    r, r11, r10, r9, r8, rsi, rdi, rax
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

/* A block that is chosen is not counted here. look: goes to 1 where the process does not count here, to 2 where something is unusual. allocate, release: what is
 * counted goes to the real function; NULL is of a class that the filter never lets pass. Arguments stay where they are. */

#if defined(__aarch64__)

.macro bti_c
        hint    #34
.endm

.macro go to
        b       \to
.endm

.macro look off, real
        ldr     x9, runtime_wiped + \off
        point   enter/begun
        ldr     x16, runtime_wiped + \real
        cbz     x9, 1f
        cbz     x16, 2f
        mrs     x10, tpidr_el0
        ldr     x11, [x10, x9]
        cbz     x11, 2f
.endm

.macro allocate chosen, failed
        point   enter/looked
        str     xzr, [x10, x9]
        point   enter/taken
        ldp     x12, x13, [x11, #N_ALLOCS]
        add     x13, x13, x0
        add     x12, x12, #1
        add     x13, x13, #CHARGE
        point   enter/loaded
        tbz     x13, #63, 3f
        stp     x12, x13, [x11, #N_ALLOCS]
        point   enter/counted
        str     x11, [x10, x9]
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
        b       \failed
3:      point   enter/chosen
        b       \chosen
.endm

.macro release
        adrp    x14, sample_filter      /* sample_class; the begin of a page */
        ubfx    x12, x0, #12, #10
        ldr     x12, [x14, x12, lsl #3]
        lsr     x13, x0, #6
        lsr     x12, x12, x13
        tbnz    x12, #0, 2f
        point   enter/free-looked
        str     xzr, [x10, x9]
        ldr     x12, [x11, #N_FREES]
        add     x12, x12, #1
        point   enter/free-loaded
        str     x12, [x11, #N_FREES]
        str     x11, [x10, x9]
        point   enter/free-given
        br      x16
.endm

.macro to_exact exact
        ldr     w9, PHASE
        tbz     w9, #0, 2f
        b       \exact
.endm

.macro return_if_null
        cbnz    x0, 5f
        ret
5:
.endm

.macro unusual_if_0
        cbz     x0, 2f
.endm

.macro usable_size
        ldr     x16, runtime_wiped + REAL_USABLE_SIZE
        adrp    x9, early_first
        sub     x9, x0, x9
        lsr     x9, x9, #EARLY_FIRST_SHIFT
        cbz     x9, 1f
        cbz     x16, 1f
        br      x16
1:      b       usable_size_slow
.endm

#elif defined(__x86_64__)

.macro bti_c
        endbr64
.endm

.macro go to
        jmp     \to
.endm

.macro look off, real
        movq    runtime_wiped + \off(%rip), %rax
        point   enter/begun
        movq    runtime_wiped + \real(%rip), %r8
        testq   %rax, %rax
        je      1f
        testq   %r8, %r8
        je      2f
        movq    %fs:(%rax), %r10
        testq   %r10, %r10
        je      2f
.endm

/* An instruction that adds to memory is whole for a handler: no mark is needed, and what handlers count comes on top. A block that
 * proves to be chosen is uncounted, and then the tally is taken; malloc_held decides again. */
.macro allocate chosen, failed
        point   enter/looked
        leaq    CHARGE(%rdi), %r11
        incq    N_ALLOCS(%r10)
        point   enter/loaded
        addq    %r11, DUE_BYTES(%r10)
        jns     3f
        point   enter/counted
        pushq   %rdi
        .cfi_def_cfa_offset 16
        call    *%r8
        popq    %rdi
        .cfi_def_cfa_offset 8
        testq   %rax, %rax
        je      4f
        ret
4:      jmp     \failed
3:      point   enter/taken
        subq    %r11, DUE_BYTES(%r10)
        point   enter/given
        decq    N_ALLOCS(%r10)
        movq    $0, %fs:(%rax)
        point   enter/chosen
        jmp     \chosen
.endm

.macro release
        movl    %edi, %r9d
        leaq    sample_filter(%rip), %r11
        shrl    $6, %r9d
        movzwl  %r9w, %eax
        shrl    $6, %eax
        movq    (%r11, %rax, 8), %r11
        point   enter/free-loaded
        btq     %r9, %r11
        jc      2f
        point   enter/free-looked
        incq    N_FREES(%r10)
        point   enter/free-given
        jmp     *%r8
.endm

.macro to_exact exact
        testb   $1, PHASE(%rip)
        je      2f
        jmp     \exact
.endm

.macro return_if_null
        testq   %rdi, %rdi
        jne     5f
        ret
5:
.endm

.macro unusual_if_0
        testq   %rdi, %rdi
        je      2f
.endm

.macro usable_size
        movq    runtime_wiped + REAL_USABLE_SIZE(%rip), %rax
        leaq    early_first(%rip), %r9
        movq    %rdi, %r10
        subq    %r9, %r10
        shrq    $EARLY_FIRST_SHIFT, %r10
        je      1f
        testq   %rax, %rax
        je      1f
        jmp     *%rax
1:      jmp     usable_size_slow
.endm

#endif

begin MALLOC_NAME
        look    TALLY_OFF, REAL_MALLOC
        allocate malloc_chosen, malloc_failed
1:      to_exact malloc_exact
2:      go      malloc_slow
end MALLOC_NAME

        .globl  malloc_hook_free
        .hidden malloc_hook_free
        .type   malloc_hook_free, %function
        .set    malloc_hook_free, FREE_NAME

begin FREE_NAME
        look    TALLY_OFF, REAL_FREE
        release
1:      return_if_null
        to_exact free_exact
2:      go      free_slow
end FREE_NAME

begin USABLE_SIZE_NAME
        usable_size
end USABLE_SIZE_NAME

/* An empty object is a block of one byte: seen to by the slower way. */
.macro new name, of
begin \name
        look    NEW_TALLY_OFF, REAL_MALLOC
        unusual_if_0
        allocate \of\()_chosen, \of\()_failed
1:
2:      go      \of\()_slow
end \name
.endm

.macro delete name, of
begin \name
        look    NEW_TALLY_OFF, REAL_FREE
        release
1:
2:      go      \of\()_slow
end \name
.endm

        new     NEW_NAME, new
        new     NEW_ARRAY_NAME, new_array
        delete  DELETE_NAME, delete
        delete  DELETE_ARRAY_NAME, delete_array
        delete  DELETE_SIZED_NAME, delete_sized
        delete  DELETE_ARRAY_SIZED_NAME, delete_array_sized
malloc_enter_end:

/* Branch targets are marked, as the compiler says of its own code. */
        .section .note.gnu.property, "a"
        .p2align 3
        .long   4, 16, 5
        .asciz  "GNU"
#if defined(__aarch64__)
        .long   0xc0000000, 4, 1, 0
#else
        .long   0xc0000002, 4, 3, 0
#endif

        .section .note.GNU-stack, "", %progbits
