/* SPDX-License-Identifier: MIT */
/* Patched functions do what they did: on aarch64 by running them, with every kind of instruction at the entry. What is
 * refused, and x86_64's bytes, on every machine. */
#include "patch/patch.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#include <cmocka.h>

#include "base/bytes.h"
#include "base/macros.h"

/* ---- running ----------------------------------------------------------------------------------- */

#if defined(__aarch64__)
enum { PLACE_BYTES = 1 << 16, FUNCTION_OFF = 0, DATA_OFF = 4096, ROOM_OFF = 8192 };

/* Code, data near it, and room, in one mapping that can be written and run. */
static uint8_t *place;

typedef uint64_t (*function)(uint64_t, uint64_t);

static uint64_t n_hooked, hook_argument, hook_return;
static uint64_t (*hook_moved)(uint64_t, uint64_t);

/* Nothing may come before it: what a sanitizer calls at a function's begin would take the register. */
__attribute__((no_sanitize("thread"))) static uint64_t hook(uint64_t a, uint64_t b) {
        register uint64_t argument __asm__("x17");

        __asm__ volatile("" : "=r"(argument));
        hook_argument = argument;
        n_hooked++;
        hook_return = (uint64_t)__builtin_return_address(0);
        return hook_moved(a, b) + 1000;
}

static void write_code(size_t off, const void *code, size_t n_bytes) {
        memcpy(place + off, code, n_bytes);
        __builtin___clear_cache((char *)place + off, (char *)place + off + n_bytes);
}

/* What f(a, b) gives before it is patched, through the hook, and at its moved entry. */
static void check_runs(const char *what, const uint32_t *code, size_t n, uint64_t a, uint64_t b) {
        struct patch_function f = {
                .machine = PATCH_AARCH64,
                .addr = (uint64_t)place,
                .code = place,
                .n_bytes = n * 4,
        };
        struct patch_target to = {(uint64_t)place + ROOM_OFF, (uint64_t)hook, 0x1234567890abcdef};
        function run = (function)place;
        struct patch p;
        struct err err = {0};
        uint64_t want;

        write_code(FUNCTION_OFF, code, n * 4);
        want = run(a, b);
        if (patch_make(&f, &to, &p, &err) < 0)
                fail_msg("%s: %s", what, err.text);
        assert_memory_equal(p.before, place + (p.at - f.addr), p.n_bytes);
        write_code(ROOM_OFF, p.room, p.n_room_bytes);
        write_code(p.at - f.addr, p.after, p.n_bytes);
        hook_moved = (function)p.moved_addr;
        n_hooked = 0;
        if (run(a, b) != want + 1000 || n_hooked != 1 || hook_argument != to.argument)
                fail_msg("%s: %llu, not %llu, hooked %llu times", what,
                         (unsigned long long)run(a, b), (unsigned long long)want + 1000,
                         (unsigned long long)n_hooked);
        if (hook_moved(a, b) != want)
                fail_msg("%s: the moved entry does not do what the function does", what);
}

#define CHECK(what, a, b, ...)                                                                     \
        do {                                                                                       \
                static const uint32_t code_[] = {__VA_ARGS__};                                     \
                check_runs(what, code_, ARRAY_SIZE(code_), a, b);                                  \
        } while (0)

enum { RET = 0xd65f03c0, ADD_X0_X0_X1 = 0x8b010000, MOV_X0_7 = 0xd28000e0 };

static void test_plain_entries_run(void **state) {
        CHECK("add", 30, 12, ADD_X0_X0_X1, RET);
        CHECK("stp, a frame", 30, 12, 0xa9bf7bfd, ADD_X0_X0_X1, 0xa8c17bfd, RET);
        CHECK("only ret", 30, 12, RET);
        CHECK("bti c", 30, 12, 0xd503245f, ADD_X0_X0_X1, RET);
        CHECK("paciasp", 30, 12, 0xd503233f, 0xa9bf7bfd, ADD_X0_X0_X1, 0xa8c17bfd, 0xd50323bf, RET);
        CHECK("pacibsp", 30, 12, 0xd503237f, 0xa9bf7bfd, ADD_X0_X0_X1, 0xa8c17bfd, 0xd50323ff, RET);
}

static void test_entries_that_mean_their_place_run(void **state) {
        for (size_t i = 0; i < 64; i++)
                buf_put_le64(place + DATA_OFF + i * 8, 0x8123456789abcdef + i);
        CHECK("adr x0", 1, 2, 0x10000080, RET, RET);
        CHECK("adrp x0", 1, 2, 0xb0000000, RET);
        CHECK("adrp backwards", 1, 2, 0xf0ffffe0, RET);
        CHECK("ldr x0, literal", 1, 2, 0x58008000, RET);
        CHECK("ldr w0, literal", 1, 2, 0x18008000, RET);
        CHECK("ldrsw x0, literal", 1, 2, 0x98008000, RET);
        CHECK("prfm literal", 1, 2, 0xd8008000, ADD_X0_X0_X1, RET);
        CHECK("ldr s0, literal", 1, 2, 0x1c008000, 0x1e260000, RET);
        CHECK("ldr d0, literal", 1, 2, 0x5c008000, 0x9e660000, RET);
        CHECK("ldr q0, literal", 1, 2, 0x9c008000, 0x9e660000, RET);
}

static void test_entries_that_branch_run(void **state) {
        CHECK("b", 1, 2, 0x14000002, RET, ADD_X0_X0_X1, RET);
        for (uint64_t a = 0; a < 3; a++) {
                CHECK("cbz", a, 2, 0xb4000060, ADD_X0_X0_X1, RET, MOV_X0_7, RET);
                CHECK("cbnz", a, 2, 0xb5000060, ADD_X0_X0_X1, RET, MOV_X0_7, RET);
                CHECK("tbz", a, 2, 0x36000060, ADD_X0_X0_X1, RET, MOV_X0_7, RET);
                CHECK("tbnz", a, 2, 0x37080060, ADD_X0_X0_X1, RET, MOV_X0_7, RET);
        }
        CHECK("b.al", 1, 2, 0x5400006e, ADD_X0_X0_X1, RET, MOV_X0_7, RET);
}

static void test_the_return_address_is_the_callers(void **state) {
        static const uint32_t code[] = {ADD_X0_X0_X1, RET};
        uint64_t here;

        check_runs("add", code, ARRAY_SIZE(code), 1, 2);
        n_hooked = 0;
        ((function)place)(1, 2);
        here = hook_return;
        assert_true(here > (uint64_t)test_the_return_address_is_the_callers &&
                    here < (uint64_t)test_the_return_address_is_the_callers + 4096);
}

static int setup(void **state) {
        place = mmap(NULL, PLACE_BYTES, PROT_READ | PROT_WRITE | PROT_EXEC,
                     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        return place == MAP_FAILED ? -1 : 0;
}
#endif

/* ---- refusing ---------------------------------------------------------------------------------- */

static int make(enum patch_machine machine, const void *code, size_t n_bytes, size_t padding_bytes,
                struct patch *ret) {
        struct patch_function f = {machine, 0x400000, code, n_bytes, padding_bytes};
        struct patch_target to = {0x500000, 0x7f0000000000, 0x1122334455667788};
        struct err err = {0};
        int r = patch_make(&f, &to, ret, &err);

        assert_true(r == 0 || err.text[0]);
        return r;
}

static void test_what_cannot_be_patched_is_refused(void **state) {
        static const uint32_t loop[] = {0xd1000400, 0xb5ffffe0, 0xd65f03c0};
        static const uint32_t only_bti[] = {0xd503245f};
        static const uint8_t ret_only[] = {0xc3};
        static const uint8_t jrcxz[] = {0xe3, 0x02, 0x90, 0x90, 0x90, 0x90, 0xc3};
        static const uint8_t back[] = {0x48, 0x83, 0xe8, 0x01, 0x48, 0x85, 0xc0, 0x75, 0xf7, 0xc3};
        static const uint8_t into[] = {0x31, 0xc0, 0x48, 0xff, 0xc0, 0x48,
                                       0x39, 0xf8, 0x75, 0xf8, 0xc3};
        static const uint8_t bad[] = {0x48, 0x89, 0xf8, 0x90, 0x90, 0x06, 0x06, 0xc3};
        struct patch_function far = {PATCH_AARCH64, 0x400000, (const uint8_t *)only_bti, 4, 0};
        struct patch_target to = {0x40000000, 0, 0};
        struct patch p;

        assert_int_equal(make(PATCH_AARCH64, loop, sizeof(loop), 0, &p), -ENOTSUP);
        assert_int_equal(make(PATCH_AARCH64, only_bti, sizeof(only_bti), 0, &p), -ENOTSUP);
        assert_int_equal(make(PATCH_X86_64, ret_only, sizeof(ret_only), 0, &p), -ENOTSUP);
        assert_int_equal(make(PATCH_X86_64, jrcxz, sizeof(jrcxz), 0, &p), -ENOTSUP);
        assert_int_equal(make(PATCH_X86_64, back, sizeof(back), 0, &p), -ENOTSUP);
        assert_int_equal(make(PATCH_X86_64, into, sizeof(into), 0, &p), -ENOTSUP);
        assert_int_equal(make(PATCH_X86_64, bad, sizeof(bad), 0, &p), -ENOTSUP);
        assert_int_equal(patch_make(&far, &to, &p, NULL), -EFAULT);
}

/* A function that begins with a call has nothing to return to but that call's place. */
static void test_a_call_returns_into_the_function(void **state) {
        static const uint32_t code[] = {0x94000002, 0xd65f03c0, 0xd65f03c0};
        const uint8_t *moved;
        struct patch p;

        assert_int_equal(make(PATCH_AARCH64, code, sizeof(code), 0, &p), 0);
        moved = p.room + (p.moved_addr - p.room_addr);
        assert_int_equal(bytes_le32(moved) & 0xff00001f, 0x5800001e); /* ldr x30, literal */
        assert_int_equal(bytes_le64(moved + (bytes_le32(moved) >> 5 & 0x7ffff) * 4), 0x400004);
        assert_int_equal(bytes_le32(moved + 4) >> 26, 5); /* b, to where the call goes */
        assert_int_equal(p.moved_addr + 4 +
                                 (uint64_t)((int64_t)((uint64_t)bytes_le32(moved + 4) << 38) >> 36),
                         0x400008);
}

/* ---- x86_64: bytes ----------------------------------------------------------------------------- */

static int32_t distance_at(const uint8_t *code) {
        return (int32_t)bytes_le32(code);
}

static void test_x86_64_bytes(void **state) {
        static const uint8_t plain[] = {0xf3, 0x0f, 0x1e, 0xfa, 0x55, 0x48,
                                        0x89, 0xe5, 0x41, 0x57, 0xc3};
        static const uint8_t rip[] = {0x48, 0x8b, 0x05, 0x10, 0, 0, 0, 0xc3};
        static const uint8_t call[] = {0x48, 0x83, 0xec, 0x08, 0xe8, 0x10, 0, 0, 0, 0xc3};
        static const uint8_t jump[] = {0xeb, 0x06, 0xcc, 0xcc, 0xcc};
        static const uint8_t branch[] = {0x85, 0xff, 0x74, 0x06, 0x90, 0xc3,
                                         0x90, 0x90, 0x90, 0x90, 0xc3};
        const uint8_t *moved;
        struct patch p;

        /* push rbp; mov rbp, rsp; push r15 behind endbr64: six bytes, the branch and a no-op */
        assert_int_equal(make(PATCH_X86_64, plain, sizeof(plain), 0, &p), 0);
        assert_int_equal(p.at, 0x400004);
        assert_int_equal(p.n_bytes, 6);
        assert_int_equal(p.after[0], 0xe9);
        assert_int_equal(distance_at(p.after + 1), 0x500000 - 0x400009);
        assert_int_equal(p.after[5], 0x90);
        moved = p.room + (p.moved_addr - p.room_addr);
        assert_memory_equal(moved, plain + 4, 6);
        assert_int_equal(moved[6], 0xe9);
        assert_int_equal(p.moved_addr + 11 + (uint64_t)(int64_t)distance_at(moved + 7), 0x40000a);
        /* push [argument]; jmp [hook] */
        assert_int_equal(bytes_le64(p.room + 6 + distance_at(p.room + 2)), 0x1122334455667788);
        assert_int_equal(bytes_le64(p.room + 12 + distance_at(p.room + 8)), 0x7f0000000000);

        /* mov rax, [rip + 0x10] still reads 0x400017 */
        assert_int_equal(make(PATCH_X86_64, rip, sizeof(rip), 0, &p), 0);
        moved = p.room + (p.moved_addr - p.room_addr);
        assert_int_equal(p.moved_addr + 7 + (uint64_t)(int64_t)distance_at(moved + 3), 0x400017);

        /* sub rsp, 8; call 0x400019: returns to 0x400009, in the function */
        assert_int_equal(make(PATCH_X86_64, call, sizeof(call), 0, &p), 0);
        moved = p.room + (p.moved_addr - p.room_addr);
        assert_int_equal(moved[4], 0xff);
        assert_int_equal(moved[5], 0x35);
        assert_int_equal(bytes_le64(moved + 10 + distance_at(moved + 6)), 0x400009);
        assert_int_equal(moved[10], 0xe9);
        assert_int_equal(p.moved_addr + 15 + (uint64_t)(int64_t)distance_at(moved + 11), 0x400019);

        /* two bytes and the padding behind them */
        assert_int_equal(make(PATCH_X86_64, jump, 2, 3, &p), 0);
        moved = p.room + (p.moved_addr - p.room_addr);
        assert_int_equal(moved[0], 0xe9);
        assert_int_equal(p.moved_addr + 5 + (uint64_t)(int64_t)distance_at(moved + 1), 0x400008);

        /* test edi, edi; je 0x40000a; nop: the short branch becomes a long one */
        assert_int_equal(make(PATCH_X86_64, branch, sizeof(branch), 0, &p), 0);
        moved = p.room + (p.moved_addr - p.room_addr);
        assert_int_equal(moved[2], 0x0f);
        assert_int_equal(moved[3], 0x84);
        assert_int_equal(p.moved_addr + 8 + (uint64_t)(int64_t)distance_at(moved + 4), 0x40000a);
}

int main(void) {
        const struct CMUnitTest tests[] = {
#if defined(__aarch64__)
                cmocka_unit_test_setup(test_plain_entries_run, setup),
                cmocka_unit_test_setup(test_entries_that_mean_their_place_run, setup),
                cmocka_unit_test_setup(test_entries_that_branch_run, setup),
                cmocka_unit_test_setup(test_the_return_address_is_the_callers, setup),
#endif
                cmocka_unit_test(test_what_cannot_be_patched_is_refused),
                cmocka_unit_test(test_a_call_returns_into_the_function),
                cmocka_unit_test(test_x86_64_bytes),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
