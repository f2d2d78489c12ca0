/* SPDX-License-Identifier: MIT */
/* Files made by hand: the same rows, whichever tables say them, and code without any. */
#include "remote/remote_file.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "remote/testing/remote_elf.h"
#include "unwind/arch.h"

static uint8_t bytes[REMOTE_ELF_MAX_BYTES];
static const uint64_t code_at = REMOTE_ELF_VADDR + REMOTE_ELF_CODE_OFF;

static struct remote_file *make(enum remote_elf_tables tables, const uint8_t *code, size_t n_code) {
        uint8_t all[256] = {0};

        memcpy(all, code, n_code);
        return remote_file_new_from(bytes, remote_elf_make(bytes, tables, all));
}

static void check_row(struct remote_file *f, uint64_t off, int64_t cfa_off) {
        row_t row = remote_file_row(f, code_at + off, true);

        assert_false(row & (ROW_UNSUPPORTED | ROW_BASE_FP));
        assert_int_equal(row_cfa_off(row), cfa_off);
        assert_int_equal(row_ra_off(row), -8);
}

static void test_tables(void **state) {
        for (unsigned t = REMOTE_ELF_HDR; t <= REMOTE_ELF_DEFLATED; t++) {
                struct remote_file *f = make(t, (const uint8_t *)"", 0);

                assert_non_null(f);
                check_row(f, 16, REMOTE_ELF_FIRST_CFA);
                check_row(f, REMOTE_ELF_SECOND_OFF + 4, REMOTE_ELF_SECOND_CFA);
                check_row(f, REMOTE_ELF_SECOND_OFF + 4, REMOTE_ELF_SECOND_CFA); /* remembered */
                remote_file_free(f);
        }
}

static void test_headers(void **state) {
        struct remote_file *f = make(REMOTE_ELF_HDR, (const uint8_t *)"", 0);
        const uint8_t id[8] = {0x44, 0x33, 0x22, 0x11, 0x88, 0x77, 0x66, 0x55};
        uint8_t found[32];
        uint64_t bias;

        assert_int_equal(remote_file_build_id(f, found), 8);
        assert_memory_equal(found, id, 8);
        assert_true(remote_file_bias(f, 0x7f0000000000, 0, &bias));
        assert_int_equal(bias, 0x7f0000000000 - REMOTE_ELF_VADDR);
        assert_false(remote_file_bias(f, 0x7f0000000000, 1 << 20, &bias));
        assert_true(remote_file_size_bytes(f) > REMOTE_ELF_CODE_OFF + 256);
        assert_int_equal(remote_file_row(f, code_at - REMOTE_ELF_VADDR, true), ROW_NO_CFI);
        remote_file_free(f);
}

/* Cut anywhere it is no file, or one with less. */
static void test_cut(void **state) {
        size_t n = remote_elf_make(bytes, REMOTE_ELF_DEBUG, (const uint8_t[256]){0});

        for (size_t i = 0; i < n; i += 3) {
                struct remote_file *f = remote_file_new_from(bytes, i);

                if (f)
                        remote_file_row(f, code_at + 16, true);
                remote_file_free(f);
        }
        assert_null(remote_file_new_from(bytes, 100));
}

#if defined(__x86_64__)
/* What a function that keeps rbp does, instruction by instruction, and what its frame is there. */
static void test_code_alone(void **state) {
        static const uint8_t code[] = {
                0xcc,         0xcc, 0xcc, 0xcc, 0xcc, 0xcc,
                0xcc,         0xcc,                      /* behind the entry, which ends a stack */
                [192] = 0x55,                            /* push %rbp */
                0x48,         0x89, 0xe5,                /* mov %rsp, %rbp */
                0x48,         0x83, 0xec, 0x20,          /* sub $32, %rsp */
                0x90,                                    /* nop */
                0xc9,                                    /* leave */
                0xc3,                                    /* ret */
                0xff,         0x25, 0,    0,    0,    0, /* jmp *0(%rip): a stub */
                0x68,         1,    0,    0,    0,       /* push $1 */
                0xe9,         0,    0,    0,    0,       /* jmp */
        };
        static const struct {
                unsigned off;
                bool is_base_fp;
                int64_t cfa;
        } wanted[] = {{192, false, 8}, {193, false, 16}, {196, true, 16},
                      {200, true, 16}, {201, true, 16},  {202, false, 8},
                      {203, false, 8}, {209, false, 8},  {214, false, 16}};
        struct remote_file *f = make(REMOTE_ELF_NONE, code, sizeof(code));

        for (size_t i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++) {
                row_t row = remote_file_row(f, code_at + wanted[i].off, true);

                assert_false(row & ROW_UNSUPPORTED);
                assert_int_equal(!!(row & ROW_BASE_FP), wanted[i].is_base_fp);
                assert_int_equal(row_cfa_off(row), wanted[i].cfa);
                assert_int_equal(row_ra_off(row), -8);
        }
        remote_file_free(f);
}

/* How much a function takes of the stack when it begins, as far as it is told in a few instructions: nothing is read behind them. */
static void test_room(void **state) {
        static const uint8_t begin[] = {
                0x55, 0x48, 0x89, 0xe5,       /* push %rbp; mov %rsp, %rbp */
                0x41, 0x57, 0x41, 0x56, 0x53, /* push %r15; push %r14; push %rbx */
                0x48, 0x83, 0xec, 0x28,       /* sub $40, %rsp */
        };
        uint8_t code[256];
        struct remote_file *f = make(REMOTE_ELF_NONE, begin, sizeof(begin));

        (void)state;
        assert_int_equal(remote_file_room(f, code_at), 3 * 8 + 40);
        assert_int_equal(remote_file_room(f, UINT64_MAX - 1), 0);
        remote_file_free(f);
        memset(code, 0x50, sizeof(code)); /* push %rax, without end */
        memcpy(code, begin, 4);
        f = make(REMOTE_ELF_NONE, code, sizeof(code));
        assert_int_equal(remote_file_room(f, code_at), 0);
        remote_file_free(f);
}
#else
static void test_room(void **state) {
        struct remote_file *f = make(REMOTE_ELF_NONE, (const uint8_t *)"", 0);

        (void)state;
        assert_int_equal(remote_file_room(f, code_at), 0);
        remote_file_free(f);
}

static void test_code_alone(void **state) {
        static const uint32_t code[] = {
                [48] = 0xa9be7bfd, /* stp x29, x30, [sp, #-32]! */
                0x910003fd,        /* mov x29, sp */
                0xd503201f,        /* nop */
                0xa8c27bfd,        /* ldp x29, x30, [sp], #32 */
                0xd65f03c0,        /* ret */
        };
        struct remote_file *f = make(REMOTE_ELF_NONE, (const uint8_t *)code, sizeof(code));
        row_t row = remote_file_row(f, code_at + 50 * 4, true);

        assert_int_equal(remote_file_row(f, code_at + 48 * 4, true), row_make(ROW_RA_LR, 0, 0, 0));
        assert_int_equal(remote_file_row(f, code_at + 52 * 4, true), row_make(ROW_RA_LR, 0, 0, 0));
        assert_true(row & ROW_BASE_FP);
        assert_int_equal(row_cfa_off(row), 32);
        remote_file_free(f);
}
#endif

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_tables), cmocka_unit_test(test_headers),
                cmocka_unit_test(test_cut),    cmocka_unit_test(test_code_alone),
                cmocka_unit_test(test_room),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
