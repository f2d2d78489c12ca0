/* SPDX-License-Identifier: MIT */
/* Walks with known stacks: what a delta says, how walks end, what is announced, what is touched.
 * That remembered walks are right on stacks of every kind is walk_stress's matter. */

#include "unwind/unwind.h"

#include <dlfcn.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

enum { PLAIN_MAX = 20000, MODULES_MAX = 64 };

static struct unwind_walker *walker;
static struct unwind_delta last;
static uint64_t stack[UNWIND_DEPTH_MAX]; /* innermost first, put together from deltas */
static uint64_t plain[PLAIN_MAX];
static uint32_t n_plain;
static uint8_t plain_end;

static struct unwind_module modules[MODULES_MAX];
static unsigned n_modules;

static void *map_pages(size_t size_bytes) {
        void *p =
                mmap(NULL, size_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

        return p == MAP_FAILED ? NULL : p;
}

static void unmap_pages(void *pages, size_t size_bytes) {
        munmap(pages, size_bytes);
}

static void on_module(void *ctx, const struct unwind_module *m) {
        assert_ptr_equal(ctx, &modules);
        assert_true(m->begin < m->end && m->name);
        if (n_modules < MODULES_MAX)
                modules[n_modules++] = *m;
}

/* Keeps a call from becoming a jump. */
static inline void not_last(void) {
        __asm__ volatile("" ::: "memory");
}

/* Stands where a hook stands. */
__attribute__((noinline)) static void take(void) {
        struct unwind_regs regs;

        UNWIND_HERE(&regs);
        unwind_walk(walker, &regs, &last);
        assert_int_equal(last.depth, last.n_kept + last.n_new);
        assert_true(last.depth <= UNWIND_DEPTH_MAX);
        static uint32_t depth_before;
        if (last.depth > 0) {
                assert_true(last.n_kept <= depth_before);
                memmove(stack + last.n_new, stack + depth_before - last.n_kept,
                        last.n_kept * sizeof(stack[0]));
                memcpy(stack, last.pcs, last.n_new * sizeof(stack[0]));
        }
        depth_before = last.depth;
        n_plain = unwind_walk_once(&regs, modules, plain, PLAIN_MAX, &plain_end);
}

static void assert_stack_is_plain(void) {
        assert_int_equal(last.depth, n_plain);
        assert_int_equal(last.end, plain_end);
        assert_memory_equal(stack, plain, n_plain * sizeof(stack[0]));
}

__attribute__((noinline)) static void take_deeper(int depth) {
        if (depth > 0)
                take_deeper(depth - 1);
        else
                take();
        not_last();
}

/* ---- before and after unwind_init ----------------------------------------------------------- */

static void test_nothing_before_init(void **state) {
        struct unwind_regs regs;

        take();
        assert_int_equal(last.depth, 0);
        assert_int_equal(last.end, UNWIND_END_LOST);
        UNWIND_HERE(&regs);
        assert_int_equal(unwind_walk_once(&regs, NULL, plain, PLAIN_MAX, &plain_end), 0);
        assert_int_equal(plain_end, UNWIND_END_LOST);
        assert_true(unwind_init(NULL) < 0);
}

static void test_init(void **state) {
        const struct unwind_env env = {
                .map_pages = map_pages,
                .unmap_pages = unmap_pages,
                .on_module = on_module,
                .find_object = (void *)_dl_find_object,
                .vdso_begin = getauxval(AT_SYSINFO_EHDR),
                .main_phdrs = getauxval(AT_PHDR),
                .n_main_phdrs = getauxval(AT_PHNUM),
                .main_stack_end = getauxval(AT_RANDOM),
        };

        assert_int_equal(unwind_init(&env), 0);
}

/* ---- deltas --------------------------------------------------------------------------------- */

static void test_same_place_has_nothing_new(void **state) {
        for (volatile int i = 0; i < 3; i++) { /* volatile: one call site, not three */
                take();
                assert_int_equal(last.end, UNWIND_END_COMPLETE);
                assert_stack_is_plain();
                if (i > 0)
                        assert_int_equal(last.n_new, 0);
        }
        assert_true(last.depth > 3);
}

static void test_only_what_changed_is_new(void **state) {
        uint32_t depth;

        take();
        depth = last.depth;
        take_deeper(5);
        assert_stack_is_plain();
        assert_int_equal(last.depth, depth + 6);
        /* the test's own frame is new too: it called from another place */
        assert_int_equal(last.n_new, 7);
        take();
        assert_stack_is_plain();
        assert_int_equal(last.n_new, 1);
        assert_int_equal(last.n_kept, depth - 1);
}

static void test_forgetting_gives_a_whole_stack(void **state) {
        for (volatile int i = 0; i < 2; i++) {
                take();
                if (i == 0)
                        unwind_forget(walker);
        }
        assert_int_equal(last.n_kept, 0);
        assert_int_equal(last.n_new, last.depth);
        assert_stack_is_plain();
}

static bool is_announced(uint64_t pc) {
        for (unsigned i = 0; i < n_modules; i++)
                if (pc > modules[i].begin && pc <= modules[i].end)
                        return true;
        return false;
}

static void test_modules_are_announced_once_a_generation(void **state) {
        unsigned n_before;

        unwind_modules_changed();
        n_modules = 0;
        take_deeper(2);
        assert_int_equal(last.n_kept, 0);
        for (uint32_t i = 0; i < last.depth; i++)
                assert_true(is_announced(stack[i]));
        n_before = n_modules;
        assert_true(n_before >= 2); /* this program, libc */
        take_deeper(2);
#ifndef SILT_TINY /* where announcements are forgotten as fast as rows */
        assert_int_equal(n_modules, n_before);
#endif
        unwind_modules_changed();
        n_modules = 0;
        take_deeper(2);
        for (uint32_t i = 0; i < last.depth; i++)
                assert_true(is_announced(stack[i]));
        assert_stack_is_plain();
}

/* ---- depth ---------------------------------------------------------------------------------- */

static void test_a_first_deep_walk_is_cut(void **state) {
        unwind_forget(walker);
        take_deeper(UNWIND_FRESH_MAX * 3);
        assert_int_equal(last.end, UNWIND_END_CUT);
        assert_int_equal(last.depth, UNWIND_FRESH_MAX);
        assert_memory_equal(stack, plain, UNWIND_FRESH_MAX * sizeof(stack[0]));
}

__attribute__((noinline)) static void take_all_the_way(int depth) {
        take();
        if (depth > 0)
                take_all_the_way(depth - 1);
        not_last();
}

static void test_a_deep_stack_loses_its_middle(void **state) {
        uint32_t gap = 0;

        unwind_forget(walker);
        take_all_the_way(2 * UNWIND_DEPTH_MAX);
        assert_int_equal(last.end, UNWIND_END_CUT);
        while (gap < last.depth && stack[gap] != UNWIND_PC_OMITTED)
                gap++;
        assert_int_equal(last.depth, gap + 1 + UNWIND_OUTER_KEPT);
        assert_true(gap >= UNWIND_FRESH_MAX / 2);
        assert_memory_equal(stack, plain, gap * sizeof(stack[0]));
        assert_memory_equal(stack + gap + 1, plain + n_plain - UNWIND_OUTER_KEPT,
                            UNWIND_OUTER_KEPT * sizeof(stack[0]));
        take();
        assert_stack_is_plain(); /* and is whole again where it is not deep */
}

/* ---- code without CFI ----------------------------------------------------------------------- */

#if defined(__aarch64__)
static const uint32_t no_cfi_code[] = {
        0xa9bf7bfd, /* stp x29, x30, [sp, #-16]! */
        0x910003fd, /* mov x29, sp */
        0xd63f0000, /* blr x0 */
        0xa8c17bfd, /* ldp x29, x30, [sp], #16 */
        0xd65f03c0, /* ret */
};
#else
static const uint8_t no_cfi_code[] = {
        0x55,             /* push %rbp */
        0x48, 0x89, 0xe5, /* mov %rsp, %rbp */
        0xff, 0xd7,       /* call *%rdi */
        0x5d,             /* pop %rbp */
        0xc3,             /* ret */
};
#endif

static void test_frame_pointers_where_there_is_no_cfi(void **state) {
        void *code = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        uint64_t outer[256], begin = (uint64_t)code;
        uint32_t n_outer;

        assert_true(code != MAP_FAILED);
        memcpy(code, no_cfi_code, sizeof(no_cfi_code));
        __builtin___clear_cache(code, (char *)code + 4096);
        assert_int_equal(mprotect(code, 4096, PROT_READ | PROT_EXEC), 0);
        take();
        n_outer = last.depth - 1;
        memcpy(outer, stack + 1, n_outer * sizeof(outer[0]));
        for (volatile int i = 0; i < 2; i++) {
                ((void (*)(void (*)(void)))code)(take);
                assert_true(stack[0] > begin && stack[0] < begin + sizeof(no_cfi_code));
                assert_int_equal(last.end, UNWIND_END_GUESS);
                assert_stack_is_plain();
                assert_int_equal(last.depth, n_outer + 2);
                assert_memory_equal(stack + 2, outer, n_outer * sizeof(outer[0]));
        }
        munmap(code, 4096);
}

/* ---- signals -------------------------------------------------------------------------------- */

static volatile sig_atomic_t n_handled;

/* An instruction that traps: the interrupted pc is known. */
__attribute__((noinline)) static void interrupted(void) {
#if defined(__aarch64__)
        __asm__ volatile("brk #0x3e8");
#else
        __asm__ volatile("int3");
#endif
        not_last();
}

#if defined(__x86_64__) /* qemu-user 7.2 enters handlers with a stack that is not aligned */
#define HANDLER __attribute__((force_align_arg_pointer))
#else
#define HANDLER
#endif

HANDLER static void on_trap(int signo, siginfo_t *info, void *context) {
        take_deeper(2);
        n_handled++;
#if defined(__aarch64__)
        ((ucontext_t *)context)->uc_mcontext.pc += 4;
#endif
}

static void test_walks_go_through_signal_frames(void **state) {
        struct sigaction sa = {.sa_sigaction = on_trap, .sa_flags = SA_SIGINFO};
        uint64_t outer = 0;
        uint32_t i;

        if (getauxval(AT_SYSINFO_EHDR) == 0 && sizeof(no_cfi_code) == 20)
                skip(); /* an emulator without vdso: its trampoline is in no object */
        take();
        outer = stack[last.depth - 2];
        sigaction(SIGTRAP, &sa, NULL);
        n_handled = 0;
        interrupted();
        assert_int_equal(n_handled, 1);
        assert_int_equal(last.end, UNWIND_END_COMPLETE);
        assert_stack_is_plain();
        assert_int_equal(stack[last.depth - 2], outer);
        for (i = 0; i < last.depth; i++)
                if (stack[i] - (uint64_t)interrupted < 64)
                        break;
        assert_true(i > 3 && i < last.depth);
        interrupted(); /* remembered, across two barriers */
        assert_true(last.n_kept > 0);
        assert_stack_is_plain();
        signal(SIGTRAP, SIG_DFL);
}

/* ---- nonsense ------------------------------------------------------------------------------- */

static void test_nonsense_registers_are_survived(void **state) {
        struct unwind_regs good, bad;
        uint64_t zeros[64] = {0};

        UNWIND_HERE(&good);
        for (int i = 0; i < 7; i++) {
                bad = good;
                switch (i) {
                case 0: bad.sp += 4; break;
                case 1: bad.pc = 0; break;
                case 2: bad.pc = 1; break;
                case 3: bad.pc = 0x123456789; break;
                case 4: bad.sp = 0; break;
                case 5: bad = (struct unwind_regs){0x123456789, (uint64_t)zeros & ~15ul, 16}; break;
                default: bad = (struct unwind_regs){UINT64_MAX, UINT64_MAX - 15, UINT64_MAX}; break;
                }
                unwind_walk(walker, &bad, &last);
                assert_true(last.end == UNWIND_END_LOST || last.end == UNWIND_END_GUESS);
        }
        unwind_forget(walker);
        take();
        assert_stack_is_plain();
}

static struct unwind_regs by_macro, by_step;

__attribute__((noinline)) static void both_ways(void) {
        UNWIND_HERE(&by_macro);
#if defined(__aarch64__)
        __asm__ volatile("adr %0, .\n\tmov %1, sp\n\tmov %2, x29"
                         : "=r"(by_step.pc), "=r"(by_step.sp), "=r"(by_step.fp));
#else
        __asm__ volatile("lea 0(%%rip), %0\n\tmov %%rsp, %1\n\tmov %%rbp, %2"
                         : "=r"(by_step.pc), "=r"(by_step.sp), "=r"(by_step.fp));
#endif
        unwind_regs_leave(&by_step);
        not_last();
}

static void test_both_ways_to_say_here_agree(void **state) {
        both_ways();
        assert_int_equal(by_macro.pc, by_step.pc);
        assert_int_equal(by_macro.sp, by_step.sp);
        assert_int_equal(by_macro.fp, by_step.fp);
}

#ifndef SILT_TINY
static void test_a_shallow_thread_touches_three_pages(void **state) {
        size_t size = unwind_walker_size(), n_touched = 0;
        struct unwind_walker *w = map_pages(size);
        unsigned char resident[256];
        struct unwind_regs regs;
        struct unwind_delta d;

        if (sysconf(_SC_PAGESIZE) != 4096)
                skip();
        assert_true(size % 4096 == 0 && size / 4096 <= sizeof(resident));
        unwind_walker_init(w, modules);
        UNWIND_HERE(&regs);
        unwind_walk(w, &regs, &d);
        assert_true(d.depth > 3);
        assert_int_equal(mincore(w, size, resident), 0);
        for (size_t i = 0; i < size / 4096; i++)
                n_touched += resident[i] & 1;
        assert_true(n_touched <= 3);
        unwind_walker_done(w);
        munmap(w, size);
}
#endif

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_nothing_before_init),
                cmocka_unit_test(test_init),
                cmocka_unit_test(test_same_place_has_nothing_new),
                cmocka_unit_test(test_only_what_changed_is_new),
                cmocka_unit_test(test_forgetting_gives_a_whole_stack),
                cmocka_unit_test(test_modules_are_announced_once_a_generation),
                cmocka_unit_test(test_a_first_deep_walk_is_cut),
                cmocka_unit_test(test_a_deep_stack_loses_its_middle),
                cmocka_unit_test(test_frame_pointers_where_there_is_no_cfi),
                cmocka_unit_test(test_walks_go_through_signal_frames),
                cmocka_unit_test(test_nonsense_registers_are_survived),
                cmocka_unit_test(test_both_ways_to_say_here_agree),
#ifndef SILT_TINY
                cmocka_unit_test(test_a_shallow_thread_touches_three_pages),
#endif
        };

        walker = map_pages(unwind_walker_size());
        if (!walker)
                return 1;
        unwind_walker_init(walker, &modules);
        return cmocka_run_group_tests(tests, NULL, NULL);
}
