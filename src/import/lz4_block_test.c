/* SPDX-License-Identifier: MIT */
#include "import/lz4_block.h"

#include <lz4.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/testing/seed.h"

enum { N = 1 << 14, N_CASES = 400 };

/* Bytes that repeat more or less: of few letters, some stretches copied from before. */
static void draw(uint8_t *to, size_t n, unsigned n_letters) {
        for (size_t i = 0; i < n;) {
                size_t some = (size_t)rand() % 40 + 1;

                if (i > 100 && rand() % 2)
                        for (size_t from = i - (size_t)rand() % 100 - 1; some-- && i < n;)
                                to[i++] = to[from++];
                else
                        while (some-- && i < n)
                                to[i++] = (uint8_t)(rand() % (int)n_letters);
        }
}

/* What liblz4 packs is unpacked as liblz4 does, into exactly the room it needs. */
static void test_as_liblz4(void **state) {
        uint8_t *plain = malloc(N), *packed = malloc((size_t)LZ4_compressBound(N)),
                *out = malloc(N + 1);

        (void)state;
        srand(seed_of_run());
        for (int i = 0; i < N_CASES; i++) {
                size_t n = (size_t)rand() % N + 1;
                int n_packed;

                draw(plain, n, i % 2 ? 4 : 256);
                n_packed = LZ4_compress_default((char *)plain, (char *)packed, (int)n,
                                                LZ4_compressBound(N));
                assert_int_equal(lz4_block_unpack(packed, (size_t)n_packed, out, n), n);
                assert_memory_equal(out, plain, n);
                assert_int_equal(lz4_block_unpack(packed, (size_t)n_packed, out, n - 1), -1);
                for (int cut = 0; cut < 20; cut++) /* never more than there is room for */
                        assert_true(lz4_block_unpack(packed, (size_t)(rand() % n_packed), out, n) <=
                                    (ssize_t)n);
        }
        free(plain);
        free(packed);
        free(out);
}

/* A block that ends in a match, which liblz4 refuses: "ab" and then twelve times what is two bytes before. */
static void test_ends_in_a_match(void **state) {
        const uint8_t packed[] = {0x28, 'a', 'b', 2, 0};
        uint8_t out[16];

        (void)state;
        assert_true(LZ4_decompress_safe((const char *)packed, (char *)out, sizeof(packed), 14) < 0);
        assert_int_equal(lz4_block_unpack(packed, sizeof(packed), out, sizeof(out)), 14);
        assert_memory_equal(out, "ababababababab", 14);
}

static void test_refused(void **state) {
        static const struct {
                uint8_t bytes[8];
                size_t n;
        } blocks[] = {
                {{0x10}, 1},                      /* a literal that is not there */
                {{0xf0, 255, 255}, 3},            /* a length without an end */
                {{0x10, 'a', 1}, 3},              /* half a distance */
                {{0x10, 'a', 0, 0}, 4},           /* no distance */
                {{0x10, 'a', 2, 0}, 4},           /* before the first byte */
                {{0x1f, 'a', 1, 0}, 4},           /* a long match without its length */
                {{0x1f, 'a', 1, 0, 255, 255}, 6}, /* one without an end */
                {{0x1f, 'a', 1, 0, 200}, 5},      /* more than there is room for */
        };
        uint8_t out[64];

        (void)state;
        for (size_t i = 0; i < sizeof(blocks) / sizeof(blocks[0]); i++)
                assert_int_equal(lz4_block_unpack(blocks[i].bytes, blocks[i].n, out, sizeof(out)),
                                 -1);
        assert_int_equal(lz4_block_unpack(NULL, 0, out, sizeof(out)), 0);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_as_liblz4),
                cmocka_unit_test(test_ends_in_a_match),
                cmocka_unit_test(test_refused),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
