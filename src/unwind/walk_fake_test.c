/* SPDX-License-Identifier: MIT */
/* Walks over stacks made by hand: words in an array, and functions that exist only for their CFI. So
 * every slot can be changed between two walks, and the second must see it. */

#include "unwind/unwind.h"

#include <dlfcn.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>

#include <cmocka.h>

#include "unwind/arch.h"

/* Every function is 32 bytes of no operation; a "return address" into it is its begin + 16. */
#if defined(__aarch64__)
#define NOPS4 "nop\nnop\nnop\nnop\n"
#define FP_NAME "x29"
#define RA_NAME "x30"
#define BREG_FP "0x8d"
#define FP_NUMBER "29"
#define SIGRETURN "mov x8, #139\nsvc #0\n"
#define CALL "bl"
#else
#define NOPS4 ".skip 16, 0x90\n"
#define FP_NAME "rbp"
#define RA_NAME "rip"
#define BREG_FP "0x76"
#define FP_NUMBER "6"
#define SIGRETURN "mov $15, %rax\nsyscall\n"
#define CALL "call"
#endif
#define FUNCTION(name, cfi) FUNCTION2(name, cfi, "")
#define FUNCTION2(name, cfi, cfi_half)                                                             \
        __asm__(".text\n.p2align 4\n" #name ":\n.cfi_startproc\n" cfi NOPS4 cfi_half NOPS4         \
                ".cfi_endproc\n");                                                                 \
        extern const char name[] __attribute__((visibility("hidden")))

/* CFA = sp + 32: fp at sp + 0, ra at sp + 8 */
FUNCTION(fake_sp,
         ".cfi_def_cfa_offset 32\n.cfi_offset " FP_NAME ", -32\n.cfi_offset " RA_NAME ", -24\n");
/* CFA = fp + 16: fp at fp + 0, ra at fp + 8 */
FUNCTION(fake_fp, ".cfi_def_cfa " FP_NAME ", 16\n.cfi_offset " FP_NAME ", -16\n.cfi_offset " RA_NAME
                  ", -8\n");
/* CFA = M[fp + 16], fp at fp + 0, ra at CFA - 8 */
FUNCTION(fake_deref, ".cfi_offset " RA_NAME ", -8\n.cfi_escape 0x0f, 3, " BREG_FP ", 16, 0x06\n"
                     ".cfi_escape 0x10, " FP_NUMBER ", 2, " BREG_FP ", 0\n");
FUNCTION(fake_end, ".cfi_undefined " RA_NAME "\n");
/* the row changes right at begin + 16: CFA = sp + 32 before, sp + 64 from there on */
FUNCTION2(fake_two, ".cfi_def_cfa_offset 32\n.cfi_offset " RA_NAME ", -24\n",
          ".cfi_def_cfa_offset 64\n.cfi_offset " RA_NAME ", -56\n");
__asm__(".text\n.p2align 4\n" NOPS4 "fake_sigreturn:\n" SIGRETURN NOPS4);
extern const char fake_sigreturn[] __attribute__((visibility("hidden")));

/* CFA = sp + 600 KiB, and + 100 MiB: fp at sp + 0, ra at sp + 8 */
FUNCTION(fake_600k, ".cfi_def_cfa_offset 614400\n.cfi_offset " FP_NAME
                    ", -614400\n.cfi_offset " RA_NAME ", -614392\n");
FUNCTION(fake_100m, ".cfi_def_cfa_offset 104857600\n.cfi_offset " FP_NAME
                    ", -104857600\n.cfi_offset " RA_NAME ", -104857592\n");
/* says that it is the first, and returns */
__asm__(".text\n.p2align 4\nfake_returns:\n.cfi_startproc\n.cfi_undefined " RA_NAME "\n" NOPS4
        "ret\n" NOPS4 ".cfi_endproc\n");
extern const char fake_returns[] __attribute__((visibility("hidden")));
__asm__(".text\n.p2align 4\n" NOPS4 CALL " fake_end\nfake_called:\n" NOPS4);
extern const char fake_called[] __attribute__((visibility("hidden")));

#define AT(name) ((uint64_t)(name) + 16)
#define MADE(n) (UINT64_C(0x12340000) + (n)*256) /* in no object */

static uint64_t words[512] __attribute__((aligned(4096)));
static struct unwind_walker *walker;
static struct unwind_regs from;
static struct unwind_delta last;
static uint64_t stack[64];
static uint32_t depth;

static void *map_pages(size_t size_bytes) {
        void *p =
                mmap(NULL, size_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

        return p == MAP_FAILED ? NULL : p;
}

static uint64_t at(uint32_t word) {
        return (uint64_t)&words[word];
}

/* Walks, remembered and plain: both must be the same. */
static void walk(void) {
        uint64_t plain[64];
        uint8_t plain_end;
        uint32_t n_plain;

        unwind_walk(walker, &from, &last);
        assert_true(last.n_kept <= depth && last.depth <= 64);
        memmove(stack + last.n_new, stack + depth - last.n_kept, last.n_kept * sizeof(stack[0]));
        memcpy(stack, last.pcs, last.n_new * sizeof(stack[0]));
        depth = last.depth;
        n_plain = unwind_walk_once(&from, walker, plain, 64, &plain_end);
        assert_int_equal(depth, n_plain);
        assert_int_equal(last.end, plain_end);
        assert_memory_equal(stack, plain, n_plain * sizeof(stack[0]));
}

#define ASSERT_STACK(...)                                                                          \
        do {                                                                                       \
                const uint64_t expected[] = {__VA_ARGS__};                                         \
                assert_int_equal(depth, sizeof(expected) / sizeof(expected[0]));                   \
                assert_memory_equal(stack, expected, sizeof(expected));                            \
        } while (0)

static int set_up(void **state) {
        memset(words, 0, sizeof(words));
        unwind_forget(walker);
        depth = 0;
        return 0;
}

/* Frames at words 0, 4, 8 by sp; at 12 by fp, which is what the frame at 8 saved; the end at 16. */
static void make_stack(void) {
        from = (struct unwind_regs){.pc = AT(fake_sp), .sp = at(0), .fp = 7};
        for (uint32_t w = 0; w < 8; w += 4)
                words[w + 1] = AT(fake_sp);
        words[8] = at(14);
        words[9] = AT(fake_fp);
        words[15] = AT(fake_end);
}

static void test_return_addresses_are_validated(void **state) {
        make_stack();
        walk();
        ASSERT_STACK(AT(fake_sp), AT(fake_sp), AT(fake_sp), AT(fake_fp), AT(fake_end));
        assert_int_equal(last.end, UNWIND_END_COMPLETE);
        walk();
        assert_int_equal(last.n_new, 0);
        words[5] = AT(fake_two); /* a frame of the same size */
        words[9] = AT(fake_end);
        walk();
        ASSERT_STACK(AT(fake_sp), AT(fake_sp), AT(fake_two), AT(fake_end));
}

static void test_frame_pointers_are_validated(void **state) {
        make_stack();
        walk();
        words[8] = at(30); /* same return addresses, another frame pointer */
        words[31] = AT(fake_two) + 8;
        words[33] = AT(fake_end);
        walk();
        ASSERT_STACK(AT(fake_sp), AT(fake_sp), AT(fake_sp), AT(fake_fp), AT(fake_two) + 8,
                     AT(fake_end));
}

static void test_a_match_further_out_is_found_again(void **state) {
        make_stack();
        walk();
        words[1] = AT(fake_two); /* the frame at 4 is another function; at 8 all is as before */
        walk();
        assert_int_equal(last.n_kept, 3);
        ASSERT_STACK(AT(fake_sp), AT(fake_two), AT(fake_sp), AT(fake_fp), AT(fake_end));
}

static void test_saved_cfas_are_read_each_time(void **state) {
        from = (struct unwind_regs){.pc = AT(fake_deref), .sp = at(0), .fp = at(2)};
        words[2] = at(40); /* fp */
        words[4] = at(10); /* the CFA */
        words[9] = AT(fake_end);
        words[19] = AT(fake_two);
        words[21] = AT(fake_end);
        walk();
        ASSERT_STACK(AT(fake_deref), AT(fake_end));
        words[4] = at(20);
        walk();
        ASSERT_STACK(AT(fake_deref), AT(fake_two), AT(fake_end));
        words[4] = at(20) + 4;
        walk();
        assert_int_equal(last.end, UNWIND_END_LOST);
}

/* A handler at word 0 that returns to the trampoline; its signal frame at 4; what it interrupted. */
static void make_signal_frame(uint64_t pc, uint64_t sp) {
        from = (struct unwind_regs){.pc = AT(fake_sp), .sp = at(0), .fp = 7};
        words[1] = (uint64_t)fake_sigreturn;
        words[4 + ARCH_SIGFRAME_PC / 8] = pc;
        words[4 + ARCH_SIGFRAME_SP / 8] = sp;
        words[4 + ARCH_SIGFRAME_FP / 8] = 9;
}

static void test_signal_frames_are_read_each_time(void **state) {
        make_signal_frame(AT(fake_two) - 4, at(200));
        words[201] = AT(fake_end);
        words[301] = AT(fake_end) + 8;
        walk();
        /* an interrupted pc is shown as pc + 1 */
        ASSERT_STACK(AT(fake_sp), (uint64_t)fake_sigreturn, AT(fake_two) - 3, AT(fake_end));
        assert_int_equal(last.end, UNWIND_END_COMPLETE);
        walk();
        assert_int_equal(last.n_new, 0);
        words[4 + ARCH_SIGFRAME_SP / 8] = at(300);
        walk();
        ASSERT_STACK(AT(fake_sp), (uint64_t)fake_sigreturn, AT(fake_two) - 3, AT(fake_end) + 8);
        words[4 + ARCH_SIGFRAME_PC / 8] = (uint64_t)fake_end;
        walk();
        ASSERT_STACK(AT(fake_sp), (uint64_t)fake_sigreturn, (uint64_t)fake_end + 1);
}

/* The same (pc, sp, fp), once as an interrupted instruction, once as a return address: two rows. */
static void test_an_interrupted_pc_never_matches(void **state) {
        make_signal_frame(AT(fake_two), at(200));
        words[201] = AT(fake_end);
        walk();
        ASSERT_STACK(AT(fake_sp), (uint64_t)fake_sigreturn, AT(fake_two) + 1, AT(fake_end));
        words[201] = AT(fake_sp);
        words[205] = AT(fake_end);
        words[209] = AT(fake_end) + 4;
        from = (struct unwind_regs){.pc = AT(fake_two), .sp = at(200), .fp = 9};
        walk(); /* CFA = sp + 32 here, sp + 64 where it was interrupted */
        ASSERT_STACK(AT(fake_two), AT(fake_sp), AT(fake_end));
        make_signal_frame(AT(fake_two), at(200));
        walk();
        ASSERT_STACK(AT(fake_sp), (uint64_t)fake_sigreturn, AT(fake_two) + 1, AT(fake_sp),
                     AT(fake_end) + 4);
}

/* Even where both rows are the same: what is shown differs by one. */
static void test_an_interrupted_pc_is_shown_as_such(void **state) {
        make_signal_frame(AT(fake_sp), at(200));
        words[201] = AT(fake_end);
        walk();
        ASSERT_STACK(AT(fake_sp), (uint64_t)fake_sigreturn, AT(fake_sp) + 1, AT(fake_end));
        from = (struct unwind_regs){.pc = AT(fake_sp), .sp = at(200), .fp = 9};
        walk();
        ASSERT_STACK(AT(fake_sp), AT(fake_end));
        make_signal_frame(AT(fake_sp), at(200));
        walk();
        ASSERT_STACK(AT(fake_sp), (uint64_t)fake_sigreturn, AT(fake_sp) + 1, AT(fake_end));
}

static void test_a_return_address_of_0_is_read_each_time(void **state) {
        from = (struct unwind_regs){.pc = AT(fake_sp), .sp = at(0), .fp = 7};
        walk();
        ASSERT_STACK(AT(fake_sp));
        assert_int_equal(last.end, UNWIND_END_COMPLETE);
        words[1] = AT(fake_end);
        walk();
        ASSERT_STACK(AT(fake_sp), AT(fake_end));
}

static void test_stacks_that_lead_nowhere(void **state) {
        make_stack();
        words[8] =
                at(2); /* fp points below sp, and back into the stack: once round, then a limit */
        words[3] = AT(fake_fp);
        words[2] = at(2);
        walk();
        assert_true(last.end == UNWIND_END_CUT || last.end == UNWIND_END_LOST);
        make_stack();
        words[8] = at(14) + 4;
        walk();
        assert_int_equal(last.end, UNWIND_END_LOST);
        words[8] = 16;
        walk();
        assert_int_equal(last.end, UNWIND_END_LOST);
        words[5] = 0x1234567; /* in no object */
        walk();
        assert_int_equal(last.end, UNWIND_END_LOST);
}

/* A frame record with each return address, two words apart; the last ones given lead to code. */
static void make_records(uint32_t n) {
        from = (struct unwind_regs){.pc = MADE(0), .sp = at(0), .fp = at(2)};
        for (uint32_t i = 1; i < n; i++) {
                words[2 * i] = at(2 * i + 2);
                words[2 * i + 1] = MADE(i);
        }
        words[2 * n] = 0;
        words[2 * n + 1] = AT(fake_end);
}

static void test_made_code_is_walked_through(void **state) {
        make_records(3);
        walk();
        ASSERT_STACK(MADE(0), MADE(1), MADE(2), AT(fake_end));
        assert_int_equal(last.end, UNWIND_END_GUESS);
        walk();
        assert_int_equal(last.n_new, 0);
        assert_int_equal(last.end, UNWIND_END_GUESS);
        words[5] = MADE(7);
        walk();
        ASSERT_STACK(MADE(0), MADE(1), MADE(7), AT(fake_end));
        make_records(20);
        walk();
        assert_int_equal(depth, 21);
        assert_int_equal(stack[19], MADE(19));
}

static void test_records_that_lead_nowhere(void **state) {
        const struct {
                uint32_t word;
                uint64_t value;
        } wrong[] = {
                {4, at(4)},                  /* into itself */
                {4, at(2)},                  /* backwards */
                {4, at(8) + 4},              /* not aligned */
                {4, at(2) + (2 << 20)},      /* far away */
                {4, UINT64_MAX - 15},        /* in no memory */
                {5, 0},                      /* no return address */
                {5, 4096},                   /* none that could be one */
                {5, UINT64_C(1) << 62 | 64}, /* none of this machine */
                {9, 0},                      /* the last one does not lead to code */
        };

        for (unsigned i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
                set_up(state);
                make_records(4);
                walk();
                assert_int_equal(depth, 5);
                words[wrong[i].word] = wrong[i].value;
                walk();
                assert_int_equal(depth, 1);
                assert_int_equal(last.end, UNWIND_END_LOST);
        }
        set_up(state);
        make_records(200); /* more than are believed */
        walk();
        assert_int_equal(depth, 1);
        assert_int_equal(last.end, UNWIND_END_LOST);
}

static void test_large_frames_are_validated(void **state) {
        const size_t n_bytes = 120 << 20;
        char *memory = mmap(NULL, n_bytes, PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        uint64_t *outer, *first = (uint64_t *)memory;

        assert_true(memory != MAP_FAILED);
        from = (struct unwind_regs){.pc = AT(fake_600k), .sp = (uint64_t)memory, .fp = 7};
        first[1] = AT(fake_100m);
        outer = (uint64_t *)(memory + 614400);
        outer[1] = AT(fake_sp);
        outer = (uint64_t *)(memory + 614400 + (100 << 20));
        outer[1] = AT(fake_end);
        walk();
        ASSERT_STACK(AT(fake_600k), AT(fake_100m), AT(fake_sp), AT(fake_end));
        assert_int_equal(last.end, UNWIND_END_COMPLETE);
        walk();
        assert_int_equal(last.n_new, 0);
        assert_int_equal(last.end, UNWIND_END_COMPLETE);
        outer[1] = AT(fake_two);
        outer[4 + 1] = AT(fake_end);
        walk();
        ASSERT_STACK(AT(fake_600k), AT(fake_100m), AT(fake_sp), AT(fake_two), AT(fake_end));
        first[1] = AT(fake_end);
        walk();
        ASSERT_STACK(AT(fake_600k), AT(fake_end));
        unwind_forget(walker);
        depth = 0;
        munmap(memory, n_bytes);
}

static void test_an_end_must_be_a_start(void **state) {
        make_stack();
        words[15] = AT(fake_returns);
        walk();
        ASSERT_STACK(AT(fake_sp), AT(fake_sp), AT(fake_sp), AT(fake_fp), AT(fake_returns));
        assert_int_equal(last.end, UNWIND_END_LOST);
        words[15] = AT(fake_end);
        walk();
        assert_int_equal(last.end, UNWIND_END_COMPLETE);
        words[5] = 0; /* nothing above is a return address, so far */
        words[9] = 0;
        words[15] = 0;
        walk();
        ASSERT_STACK(AT(fake_sp), AT(fake_sp));
        assert_int_equal(last.end, UNWIND_END_COMPLETE);
        words[15] = (uint64_t)fake_called;
        walk();
        ASSERT_STACK(AT(fake_sp), AT(fake_sp));
        assert_int_equal(last.end, UNWIND_END_LOST);
        words[15] = AT(fake_end); /* code, but behind no call */
        walk();
        assert_int_equal(last.end, UNWIND_END_COMPLETE);
}

enum { GUARD_BYTES = 64 << 10 }; /* a page, however large */
static char guarded[3 * GUARD_BYTES];

/* A stack in the program's own data with a guard below: words of it point there, and are no code. */
static void test_pages_of_data_may_be_taken_away(void **state) {
        uint64_t guard = ((uint64_t)guarded + GUARD_BYTES - 1) & -(uint64_t)GUARD_BYTES;

        assert_int_equal(mprotect((void *)guard, GUARD_BYTES, PROT_NONE), 0);
        from = (struct unwind_regs){.pc = AT(fake_sp), .sp = at(0), .fp = 7};
        for (uint32_t i = 4; i < 40; i += 2) {
                words[i] = guard + 64;
                words[i + 1] = guard + GUARD_BYTES;
        }
        walk(); /* the return address is 0: is one above? */
        ASSERT_STACK(AT(fake_sp));
        assert_int_equal(last.end, UNWIND_END_COMPLETE);
        words[1] = guard + 64; /* a wrong return address */
        walk();
        assert_int_equal(last.end, UNWIND_END_LOST);
        assert_int_equal(mprotect((void *)guard, GUARD_BYTES, PROT_READ | PROT_WRITE), 0);
}

int main(void) {
        const struct unwind_env env = {
                .map_pages = map_pages,
                .find_object = (void *)_dl_find_object,
        };
        const struct CMUnitTest tests[] = {
                cmocka_unit_test_setup(test_return_addresses_are_validated, set_up),
                cmocka_unit_test_setup(test_frame_pointers_are_validated, set_up),
                cmocka_unit_test_setup(test_a_match_further_out_is_found_again, set_up),
                cmocka_unit_test_setup(test_saved_cfas_are_read_each_time, set_up),
                cmocka_unit_test_setup(test_signal_frames_are_read_each_time, set_up),
                cmocka_unit_test_setup(test_an_interrupted_pc_never_matches, set_up),
                cmocka_unit_test_setup(test_an_interrupted_pc_is_shown_as_such, set_up),
                cmocka_unit_test_setup(test_a_return_address_of_0_is_read_each_time, set_up),
                cmocka_unit_test_setup(test_stacks_that_lead_nowhere, set_up),
                cmocka_unit_test_setup(test_made_code_is_walked_through, set_up),
                cmocka_unit_test_setup(test_records_that_lead_nowhere, set_up),
                cmocka_unit_test_setup(test_large_frames_are_validated, set_up),
                cmocka_unit_test_setup(test_an_end_must_be_a_start, set_up),
                cmocka_unit_test_setup(test_pages_of_data_may_be_taken_away, set_up),
        };

        walker = map_pages(unwind_walker_size());
        if (!walker || unwind_init(&env) < 0)
                return 1;
        unwind_walker_init(walker, walker);
        return cmocka_run_group_tests(tests, NULL, NULL);
}
