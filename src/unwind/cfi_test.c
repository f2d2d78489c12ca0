/* SPDX-License-Identifier: MIT */
/* The CFI decoder on images written by hand, whole and damaged. */

#include "unwind/cfi.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "unwind/cfi_image.h"

static uint8_t memory[CFI_IMAGE_MAX_BYTES] __attribute__((aligned(16)));

#define FP (ARCH_REG_FP)
#define SP (ARCH_REG_SP)
#define RA (ARCH_REG_RA)
#define OFFSET(reg) (0x80 | (reg))

/* The row at `at` of a function of 64 bytes that has this program. */
static row_t row_of(const uint8_t *program, uint32_t n_program, uint64_t at) {
        struct cfi_image_builder b;
        struct cfi_image image;
        struct cfi_answer a = {0};

        image_begin(&b, memory);
        image_usual_cie(&b);
        image_fde(&b, 16, 64, program, n_program, true);
        image = image_end(&b);
        assert_int_equal(cfi_find(&image, (uint64_t)memory + 16 + at, &a), 0);
        assert_int_equal(a.fde_begin, (uint64_t)memory + 16);
        assert_int_equal(a.fde_end, (uint64_t)memory + 80);
        return a.row;
}

#define ROW_OF(at, ...) row_of((const uint8_t[]){__VA_ARGS__}, sizeof((uint8_t[]){__VA_ARGS__}), at)

/* What a function has at its first instruction. */
static row_t entry_row(void) {
        return ARCH_HAS_LR ? row_make(ROW_RA_LR, 0, 0, 0) : row_make(0, 8, -8, 0);
}

static void test_row_packs_and_unpacks(void **state) {
        static const int64_t offs[] = {0, 8, -8, 504, -4096, 524280, -524288};

        for (unsigned i = 0; i < 7; i++)
                for (unsigned k = 0; k < 7; k++) {
                        row_t row = row_make(ROW_FP_SAVED, offs[i] * 4, offs[k], offs[i]);

                        assert_int_equal(row & 0xff, ROW_VALID | ROW_FP_SAVED);
                        assert_int_equal(row_cfa_off(row), offs[i] * 4);
                        assert_int_equal(row_ra_off(row), offs[k]);
                        assert_int_equal(row_fp_off(row), offs[i]);
                }
        /* the worked example of docs/unwinding.md */
        assert_int_equal(row_make(ROW_FP_SAVED, 48, -40, -48), 0xfffd7ffec0000611);
        assert_int_equal(row_cfa_off(row_make(0, (16 << 20) - 8, 0, 0)), (16 << 20) - 8);
        assert_int_equal(row_make(0, 16, 524288, 0), ROW_NO_CFI);
        assert_int_equal(row_make(0, 16, -8, 4), ROW_NO_CFI);
}

static void test_rows_follow_the_prologue(void **state) {
        /* push fp and ra at +4, sp 32 lower; fp becomes the base at +8; all undone at +40 */
#define PROLOGUE                                                                                   \
        0x44, 0x0e, 32, OFFSET(FP), 4, OFFSET(RA), 3, 0x44, 0x0d, FP, 0x0a, 0x60, 0x0c, SP,        \
                ARCH_HAS_LR ? 0 : 8, 0xc0 | (FP & 0x3f), 0xc0 | (RA & 0x3f), 0x44, 0x0b
        assert_int_equal(ROW_OF(0, PROLOGUE), entry_row());
        assert_int_equal(ROW_OF(3, PROLOGUE), entry_row());
        assert_int_equal(ROW_OF(4, PROLOGUE), row_make(ROW_FP_SAVED, 32, -24, -32));
        assert_int_equal(ROW_OF(8, PROLOGUE), row_make(ROW_FP_SAVED | ROW_BASE_FP, 32, -24, -32));
        assert_int_equal(ROW_OF(39, PROLOGUE), row_make(ROW_FP_SAVED | ROW_BASE_FP, 32, -24, -32));
        assert_int_equal(ROW_OF(40, PROLOGUE), entry_row());
        assert_int_equal(ROW_OF(44, PROLOGUE), row_make(ROW_FP_SAVED | ROW_BASE_FP, 32, -24, -32));
        assert_int_equal(ROW_OF(63, PROLOGUE), row_make(ROW_FP_SAVED | ROW_BASE_FP, 32, -24, -32));
#undef PROLOGUE
}

static void test_every_way_to_advance(void **state) {
        row_t after = row_make(ROW_FP_SAVED, 32, -24, -32);

#define PUSH 0x0e, 32, OFFSET(FP), 4, OFFSET(RA), 3
        assert_int_equal(ROW_OF(19, 0x02, 20, PUSH), entry_row());
        assert_int_equal(ROW_OF(20, 0x02, 20, PUSH), after);
        assert_int_equal(ROW_OF(19, 0x03, 20, 0, PUSH), entry_row());
        assert_int_equal(ROW_OF(20, 0x03, 20, 0, PUSH), after);
        assert_int_equal(ROW_OF(19, 0x04, 20, 0, 0, 0, PUSH), entry_row());
        assert_int_equal(ROW_OF(20, 0x04, 20, 0, 0, 0, PUSH), after);
        assert_int_equal(ROW_OF(20, 0x1d, 20, 0, 0, 0, 0, 0, 0, 0, PUSH), after);
        assert_int_equal(ROW_OF(19, 0x1d, 20, 0, 0, 0, 0, 0, 0, 0, PUSH), entry_row());
#undef PUSH
}

static void test_every_way_to_save(void **state) {
        row_t saved = row_make(ROW_FP_SAVED, 32, -8, -16);

#define CFA32_RA 0x0e, 32, OFFSET(RA), 1
        assert_int_equal(ROW_OF(0, CFA32_RA, OFFSET(FP), 2), saved);
        assert_int_equal(ROW_OF(0, CFA32_RA, 0x05, FP, 2), saved);
        assert_int_equal(ROW_OF(0, CFA32_RA, 0x11, FP, 2), saved);
        assert_int_equal(ROW_OF(0, CFA32_RA, 0x11, FP, 0x7e), row_make(ROW_FP_SAVED, 32, -8, 16));
        assert_int_equal(ROW_OF(0, CFA32_RA, 0x2f, FP, 2), row_make(ROW_FP_SAVED, 32, -8, 16));
        assert_int_equal(ROW_OF(0, CFA32_RA, OFFSET(FP), 2, 0x06, FP), row_make(0, 32, -8, 0));
        assert_int_equal(ROW_OF(0, CFA32_RA, OFFSET(FP), 2, 0x08, FP), row_make(0, 32, -8, 0));
        /* other registers do not matter, args_size neither */
        assert_int_equal(ROW_OF(0, CFA32_RA, OFFSET(FP), 2, OFFSET(3), 4, 0x2e, 16), saved);
        assert_int_equal(ROW_OF(0, CFA32_RA, OFFSET(FP), 2, 0x10, 3, 1, 0x30, 0x09, 3, 4), saved);
        /* def_cfa in its signed and factored forms */
        assert_int_equal(ROW_OF(0, 0x12, FP, 0x7c, OFFSET(RA), 1, OFFSET(FP), 2),
                         row_make(ROW_FP_SAVED | ROW_BASE_FP, 32, -8, -16));
        assert_int_equal(ROW_OF(0, 0x13, 0x7c, OFFSET(RA), 1, OFFSET(FP), 2), saved);
        /* sp is the CFA, said aloud */
        assert_int_equal(ROW_OF(0, CFA32_RA, OFFSET(FP), 2, 0x14, SP, 0), saved);
        assert_int_equal(ROW_OF(0, CFA32_RA, OFFSET(FP), 2, 0x15, SP, 0), saved);
#undef CFA32_RA
}

/* Large frames: the slots are near the CFA or near the base, or the row says nothing. */
static void test_wide_rows(void **state) {
        const int64_t large[] = {600 << 10, 5 << 20, 16 << 20, 100 << 20, INT64_C(4000) << 20};
        const int64_t near[] = {0, 8, 16, 2047 * 8};

        for (unsigned i = 0; i < sizeof(large) / sizeof(large[0]); i++)
                for (unsigned k = 0; k < sizeof(near) / sizeof(near[0]); k++) {
                        const unsigned flags = ROW_FP_SAVED | (k % 2 ? ROW_BASE_FP : 0);
                        row_t low = row_make(flags, large[i], near[k] - large[i] + 8,
                                             near[k] - large[i]); /* from the base */
                        row_t mixed = row_make(flags, large[i], -8 - near[k], near[k] - large[i]);
                        struct row_offsets o = row_offsets_of(low);

                        if (k == 3) { /* ra is a word too far from the base */
                                assert_int_equal(low, ROW_NO_CFI);
                                continue;
                        }
                        assert_int_equal(o.cfa, large[i]);
                        assert_int_equal(o.ra, near[k] - large[i] + 8);
                        assert_int_equal(o.fp, near[k] - large[i]);
                        assert_int_equal(low & (ROW_BASE_FP | ROW_FP_SAVED), flags);
                        assert_true(!(mixed & ROW_UNSUPPORTED));
                        o = row_offsets_of(mixed);
                        assert_int_equal(o.cfa, large[i]);
                        assert_int_equal(o.ra, -8 - near[k]);
                        assert_int_equal(o.fp, near[k] - large[i]);
                }
        assert_true(row_is_wide(row_make(0, 16 << 20, -8, 0)));
        assert_int_equal(row_offsets_of(row_make(0, 16 << 20, -8, 0)).ra, -8);
        assert_int_equal(row_offsets_of(row_make(0, 48, -8, 0)).cfa, 48);
        assert_int_equal(row_make(0, INT64_C(4) << 30, -8, 0), ROW_NO_CFI);
        assert_int_equal(row_make(0, 64 << 20, -(32 << 20), 0), ROW_NO_CFI); /* in the middle */
        assert_int_equal(row_make(0, 16 << 20, INT64_MIN, 0), ROW_NO_CFI);
        assert_int_equal(row_make(0, 16 << 20, INT64_MAX - 7, 0), ROW_NO_CFI);
        assert_int_equal(row_make(ROW_RA_LR, 16 << 20, 0, 0), ROW_NO_CFI);
        assert_int_equal(row_make(ROW_DEREF | ROW_BASE_FP, 16 << 20, -8, 0), ROW_NO_CFI);
        /* as CFI says it: a CFA of 100 MiB */
        assert_int_equal(ROW_OF(0, 0x0e, 0x80, 0x80, 0x80, 0x32, OFFSET(RA), 1),
                         row_make(0, 100 << 20, -8, 0));
        /* no quick form */
        assert_false(quick_is(quick_from_row(row_make(0, 100 << 20, -8, 0), 8)));
}

static void test_what_a_row_cannot_say(void **state) {
        assert_int_equal(ROW_OF(0, 0x0c, 3, 16), ROW_NO_CFI);         /* CFA from x3, rbx */
        assert_int_equal(ROW_OF(0, 0x0f, 2, 0x30, 0x31), ROW_NO_CFI); /* an expression */
        assert_int_equal(ROW_OF(0, 0x09, RA, 3), ROW_NO_CFI);         /* ra in a register */
        assert_int_equal(ROW_OF(0, 0x16, FP, 1, 0x30), ROW_NO_CFI);   /* fp computed */
        assert_int_equal(ROW_OF(0, 0x14, FP, 2), ROW_NO_CFI);         /* fp = CFA - 16 */
        assert_int_equal(ROW_OF(0, 0x14, SP, 1), ROW_NO_CFI);         /* sp is not the CFA */
        assert_int_equal(ROW_OF(0, 0x0e, 36), ROW_NO_CFI);            /* not in words */
        assert_int_equal(ROW_OF(0, 0x0e, 0x80, 0x80, 0x80, 0x80, 0x10, OFFSET(RA), 1),
                         ROW_NO_CFI);                  /* 4 GiB */
        assert_int_equal(ROW_OF(0, 0x0b), ROW_NO_CFI); /* nothing remembered */
        assert_int_equal(ROW_OF(0, 0x3f), ROW_NO_CFI); /* no such instruction */
        assert_int_equal(ROW_OF(0, 0x0f, 2, 0x30, 0x31, 0x0e, 16), ROW_NO_CFI);
        /* remember_state, once more than there is room for */
        assert_int_equal(ROW_OF(0, 0x0a, 0x0a, 0x0a, 0x0a, 0x0a, 0x0a, 0x0a, 0x0a, 0x0a),
                         ROW_NO_CFI);
        /* a factor that overflows */
        assert_int_equal(ROW_OF(0, 0x05, FP, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f),
                         ROW_NO_CFI);
}

static void test_the_outermost_frame(void **state) {
        assert_int_equal(ROW_OF(0, 0x07, RA), ROW_END);
        assert_int_equal(ROW_OF(0, 0x44, 0x07, RA), entry_row());
}

static void test_realigned_stack(void **state) {
        /* CFA = M[fp - 8], fp at fp + 0; the return address is below the CFA as always */
        assert_int_equal(ROW_OF(0, OFFSET(RA), 1, 0x0f, 3, 0x70 + FP, 0x78, 0x06, 0x10, FP, 2,
                                0x70 + FP, 0),
                         row_make(ROW_DEREF | ROW_BASE_FP | ROW_FP_SAVED, -8, -8, 0));
        assert_int_equal(ROW_OF(0, OFFSET(RA), 1, 0x0f, 2, 0x70 + FP, 0x78), ROW_NO_CFI);
}

#if defined(__x86_64__)
static void test_plt(void **state) {
#define PLT 0x0f, 11, 0x77, 8, 0x80, 0, 0x3f, 0x1a, 0x3b, 0x2a, 0x33, 0x24, 0x22
        /* the code area is aligned to 16 and the function begins at a multiple of it */
        assert_int_equal(ROW_OF(0, PLT), row_make(0, 8, -8, 0));
        assert_int_equal(ROW_OF(10, PLT), row_make(0, 8, -8, 0));
        assert_int_equal(ROW_OF(11, PLT), row_make(0, 16, -8, 0));
        assert_int_equal(ROW_OF(16, PLT), row_make(0, 8, -8, 0));
        assert_int_equal(ROW_OF(0, 0x2d), ROW_NO_CFI);
#undef PLT
}
#else
static void test_signed_return_address(void **state) {
        row_t saved = row_make(ROW_FP_SAVED, 32, -24, -32);

        assert_int_equal(ROW_OF(4, 0x44, 0x2d, 0x0e, 32, OFFSET(FP), 4, OFFSET(RA), 3), saved);
        assert_int_equal(ROW_OF(4, 0x44, 0x2c, 0x0e, 32, OFFSET(FP), 4, OFFSET(RA), 3), saved);
}
#endif

static void test_search_finds_the_right_function(void **state) {
        struct cfi_image_builder b;
        struct cfi_image image;
        struct cfi_answer a;

        image_begin(&b, memory);
        image_usual_cie(&b);
        for (uint8_t i = 0; i < 6; i++) {
                /* 24 bytes of code, 8 of nothing; CFA = sp + 16 * (i + 1) */
                uint8_t program[] = {0x0e, (uint8_t)(16 * (i + 1)), OFFSET(RA), 1};

                image_fde(&b, 16 + i * 32u, 24, program, sizeof(program), true);
        }
        image = image_end(&b);
        for (uint64_t off = 0; off < CFI_IMAGE_CODE_BYTES; off++) {
                int64_t i = (int64_t)(off - 16) / 32;
                bool is_covered = off >= 16 && i < 6 && (off - 16) % 32 < 24;

                assert_int_equal(cfi_find(&image, (uint64_t)memory + off, &a),
                                 is_covered ? 0 : -ENOENT);
                if (is_covered)
                        assert_int_equal(row_cfa_off(a.row), 16 * (i + 1));
        }
        image.eh_frame_hdr = 0;
        assert_int_equal(cfi_find(&image, (uint64_t)memory + 16, &a), -ENOENT);
}

static int find_with_cie(const char *letters, const void *data, uint32_t n_data, uint8_t enc,
                         row_t *ret_row) {
        struct cfi_image_builder b;
        struct cfi_image image;
        struct cfi_answer a = {0};
        int r;

        image_begin(&b, memory);
        image_cie(&b, letters, data, n_data, enc);
        image_fde(&b, 16, 64, (const uint8_t[]){0x0e, 48, OFFSET(RA), 1}, 4, letters[0] == 'z');
        image = image_end(&b);
        r = cfi_find(&image, (uint64_t)memory + 20, &a);
        *ret_row = a.row;
        return r;
}

static void test_augmentations_and_encodings(void **state) {
        row_t plain = row_make(0, 48, -8, 0), row;

        assert_int_equal(find_with_cie("", "", 0, 0x00, &row), 0);
        assert_int_equal(row, plain);
        assert_int_equal(find_with_cie("zR", "\x00", 1, 0x00, &row), 0);
        assert_int_equal(row, plain);
        assert_int_equal(find_with_cie("zR", "\x10", 1, 0x10, &row), 0);
        assert_int_equal(row, plain);
        assert_int_equal(find_with_cie("zPLR", "\x9b\1\2\3\4\x1b\x1b", 7, 0x1b, &row), 0);
        assert_int_equal(row, plain);
        assert_int_equal(find_with_cie("zRB", "\x1b", 1, 0x1b, &row), 0);
        assert_int_equal(row, plain);
        assert_int_equal(find_with_cie("zRS", "\x1b", 1, 0x1b, &row), 0);
        assert_int_equal(row, ROW_SIGNAL_FRAME);
        assert_int_equal(find_with_cie("zRq", "\x1b\x00", 2, 0x1b, &row), -EBADMSG);
        assert_int_equal(find_with_cie("eh", "", 0, 0x1b, &row), -EBADMSG);
        /* relations nobody can resolve here: text, function, indirect */
        assert_int_equal(find_with_cie("zR", "\x2b", 1, 0x1b, &row), -EBADMSG);
        assert_int_equal(find_with_cie("zR", "\x9b", 1, 0x1b, &row), -EBADMSG);
        assert_int_equal(find_with_cie("zR", "\x0d", 1, 0x1b, &row), -EBADMSG);
}

/* An image that ends where readable memory ends. Wherever it is cut, nothing beyond is read. */
static void test_truncation_at_every_byte(void **state) {
        size_t page = (size_t)sysconf(_SC_PAGESIZE);
        uint8_t *pages =
                mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        struct cfi_image_builder b;
        struct cfi_image image;
        struct cfi_answer a;
        unsigned n_found = 0;

        assert_true(pages != MAP_FAILED);
        assert_int_equal(mprotect(pages + page, page, PROT_NONE), 0);
        for (uint32_t size = CFI_IMAGE_CODE_BYTES; size < 1024; size++) {
                image_begin(&b, pages);
                image_usual_cie(&b);
                image_fde(&b, 16, 64, (const uint8_t[]){0x44, 0x0e, 48, OFFSET(RA), 1}, 5, true);
                image = image_end(&b);
                if (size > b.size)
                        break;
                /* pointers are relative, so the image may move; only its end is cut off */
                memmove(pages + page - size, pages, size);
                image.eh_frame_hdr += page - size;
                image.ranges[0] = (struct cfi_range){(uint64_t)pages + page - size,
                                                     (uint64_t)pages + page, false};
                for (uint64_t at = 0; at < 96; at += 5)
                        n_found += cfi_find(&image, image.ranges[0].begin + at, &a) == 0;
        }
        /* the last one was whole */
        assert_true(n_found > 0);
        munmap(pages, 2 * page);
}

/* Every byte of an image set to every value: an answer, never a crash or a loop. */
static void test_damage_at_every_byte(void **state) {
        struct cfi_image_builder b;
        struct cfi_image image;
        struct cfi_answer a;

        image_begin(&b, memory);
        image_usual_cie(&b);
        image_fde(&b, 16, 64, (const uint8_t[]){0x44, 0x0e, 48, OFFSET(RA), 1}, 5, true);
        image = image_end(&b);
        for (uint32_t i = CFI_IMAGE_CODE_BYTES; i < b.size; i++) {
                uint8_t good = memory[i];

                for (unsigned v = 0; v < 256; v++) {
                        memory[i] = (uint8_t)v;
                        if (cfi_find(&image, (uint64_t)memory + 30, &a) == 0)
                                assert_true(a.row & ROW_VALID);
                }
                memory[i] = good;
        }
}

static void test_endless_programs_are_refused(void **state) {
        static uint8_t big[CFI_PROGRAM_MAX_BYTES + 4096];
        struct cfi_image_builder b;
        struct cfi_image image;
        struct cfi_answer a;
        static uint8_t nops[CFI_PROGRAM_MAX_BYTES];

        image_begin(&b, big);
        image_usual_cie(&b);
        image_fde(&b, 16, 64, nops, sizeof(nops), true);
        image = image_end(&b);
        assert_int_equal(cfi_find(&image, (uint64_t)big + 20, &a), 0);
        assert_int_equal(a.row, ROW_NO_CFI);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_row_packs_and_unpacks),
                cmocka_unit_test(test_rows_follow_the_prologue),
                cmocka_unit_test(test_every_way_to_advance),
                cmocka_unit_test(test_every_way_to_save),
                cmocka_unit_test(test_wide_rows),
                cmocka_unit_test(test_what_a_row_cannot_say),
                cmocka_unit_test(test_the_outermost_frame),
                cmocka_unit_test(test_realigned_stack),
#if defined(__x86_64__)
                cmocka_unit_test(test_plt),
#else
                cmocka_unit_test(test_signed_return_address),
#endif
                cmocka_unit_test(test_search_finds_the_right_function),
                cmocka_unit_test(test_augmentations_and_encodings),
                cmocka_unit_test(test_truncation_at_every_byte),
                cmocka_unit_test(test_damage_at_every_byte),
                cmocka_unit_test(test_endless_programs_are_refused),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
