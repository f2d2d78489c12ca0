/* SPDX-License-Identifier: MIT */
/* Who is of the recording and who was there before it, by made-up times. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "record/images.h"

/* The target is forked first; until the recorder looks at the clock a busy machine may take any time. */
static void test_slow_recorder(void **state) {
        (void)state;
        for (unsigned late_ms = 0; late_ms < 100000; late_ms += 250) {
                double now_s = 1000 + late_ms / 1e3;
                const struct images l = {.began_s = images_began_s(now_s, 1000)};

                assert_false(images_is_stranger(&l, 1000)); /* the target */
                assert_false(images_is_stranger(&l, 1000.5));
                assert_false(images_is_stranger(&l, now_s));
                assert_true(images_is_stranger(&l, 998));
        }
}

static void test_attached(void **state) {
        const struct images l = {.began_s = images_began_s(5000, 20)};

        (void)state;
        assert_false(images_is_stranger(&l, 20));
        assert_false(images_is_stranger(&l, 3000)); /* a child from before the recorder came */
        assert_true(images_is_stranger(&l, 10));
}

/* It is gone, or /proc is not there: the recorder's own time is all there is. */
static void test_unknown_target(void **state) {
        const struct images l = {.began_s = images_began_s(1000, -1)};

        (void)state;
        assert_true(images_is_stranger(&l, 900));
        assert_false(images_is_stranger(&l, 1000));
        assert_false(images_is_stranger(&l, -1)); /* nor is whoever cannot be asked */
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_slow_recorder),
                cmocka_unit_test(test_attached),
                cmocka_unit_test(test_unknown_target),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
