/* SPDX-License-Identifier: MIT */
/* Layouts of allocators: those that are built in, and files that are none. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka.h needs the four above */
#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "attach/layouts.h"
#include "base/macros.h"

static const char good[] =
        "# a version of tomorrow\nallocator mimalloc-map\nversion 3.9\nslice_bits 16\n\nmap_bits 13\n"
        "page_bytes 128\nfree_off 8\nused_off 16\nn_ever_off 18\nn_room_off 20\nfreed_off 24\n"
        "freed_by_others_off 32\nsize_off 40\nfirst_off 48\n";

static void test_known(void **state) {
        const struct layouts *l = layouts_known();

        (void)state;
        assert_true(l->n_jemalloc >= 2 && l->n_mimalloc >= 3 && l->n_mimalloc_map >= 1);
        assert_string_equal(l->jemalloc[0].version, "5.2.1");
        assert_int_equal(l->jemalloc[0].large_off, 768);
        assert_int_equal(l->mimalloc_map[0].first_off, 48);
        assert_ptr_equal(l, layouts_known());
}

static void test_one_more(void **state) {
        struct layouts l = {0};

        (void)state;
        assert_true(layouts_add(&l, good));
        assert_int_equal(l.n_mimalloc_map, 1);
        assert_string_equal(l.mimalloc_map[0].version, "3.9");
        assert_int_equal(l.mimalloc_map[0].page_bytes, 128);
        assert_int_equal(l.mimalloc_map[0].free_offs[2], 32);
        for (unsigned i = 0; i < 2 * LAYOUTS_MAX; i++)
                layouts_add(&l, good);
        assert_int_equal(l.n_mimalloc_map, LAYOUTS_MAX);
}

/* Each with one line exchanged. */
static void test_refuses(void **state) {
        static const char *const breaks[][2] = {
                {"allocator mimalloc-map", "allocator malloc"},
                {"allocator mimalloc-map\n", ""},
                {"version 3.9\n", ""},
                {"used_off 16\n", ""},
                {"used_off 16", "used_off"},
                {"used_off 16", "used_off 16x"},
                {"used_off 16", "used_off -16"},
                {"used_off 16", "used_off 15"},  /* not aligned */
                {"used_off 16", "used_off 128"}, /* behind the end */
                {"used_off 16", "unused_off 16"},
                {"free_off 8", "free_off 124"},
                {"free_off 8", "free_off 8\nfree_off 8"},
                {"slice_bits 16", "slice_bits 99999999999999999999"},
                {"page_bytes 128", "page_bytes 100000"},
        };

        (void)state;
        for (size_t i = 0; i < ARRAY_SIZE(breaks); i++) {
                const char *at = strstr(good, breaks[i][0]);
                struct layouts l = {0};
                char text[512];

                assert_non_null(at);
                snprintf(text, sizeof(text), "%.*s%s%s", (int)(at - good), good, breaks[i][1],
                         at + strlen(breaks[i][0]));
                if (layouts_add(&l, text))
                        fail_msg("break %zu", i);
                assert_int_equal(l.n_mimalloc_map, 0);
        }
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_known),
                cmocka_unit_test(test_one_more),
                cmocka_unit_test(test_refuses),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
