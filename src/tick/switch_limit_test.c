/* SPDX-License-Identifier: MIT */
/* However many waits there are, so many samples of them; and all of them where they are few. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tick/switch_limit.h"

enum { MS = 1000000, SECONDS = 60, WINDOW_MS = SWITCH_WINDOW_NS / MS };

/* Of so many waits a second, looked at every so many milliseconds: samples in a minute. */
static uint64_t samples_of(uint64_t waits_hz, uint64_t every_ms) {
        struct switch_limit l = {.since_ns = 1000 * (uint64_t)MS * 1000,
                                 .window_ns = SWITCH_WINDOW_NS};
        uint64_t n = 0;

        for (uint64_t ms = every_ms; ms <= SECONDS * 1000; ms += every_ms) {
                uint64_t now = l.is_off ? 0 : waits_hz * every_ms / 1000;

                n += now;
                l.n_samples += now;
                switch_limit_turns(&l, 1000 * (uint64_t)MS * 1000 + ms * MS);
        }
        return n;
}

static void few_have_all(void **state) {
        (void)state;
        for (uint64_t every_ms = 1; every_ms <= 100; every_ms *= 10) {
                assert_int_equal(samples_of(1000, every_ms), 1000 * SECONDS);
                assert_int_equal(samples_of(4000, every_ms), 4000 * SECONDS);
        }
}

static void many_have_few(void **state) {
        (void)state;
        for (uint64_t every_ms = 1; every_ms <= 20; every_ms++)
                for (uint64_t hz = 6000; hz <= 10000000; hz *= 3) {
                        uint64_t n = samples_of(hz, every_ms);
                        /* of each stretch so many, and what comes until somebody looks */
                        uint64_t most =
                                (SECONDS * 1000 / WINDOW_MS + 1) * (501 + hz * every_ms / 1000);

                        assert_true(n <= most);
                        assert_true(n >= SECONDS * 2000); /* and not much fewer than there may be */
                }
}

static void both_turns_are_told(void **state) {
        struct switch_limit l = {.since_ns = 4990 * (uint64_t)MS, .window_ns = SWITCH_WINDOW_NS};

        (void)state;
        assert_false(switch_limit_turns(&l, 5000 * (uint64_t)MS));
        l.n_samples = 700;
        assert_true(switch_limit_turns(&l, 5010 * (uint64_t)MS));
        assert_true(l.is_off);
        l.n_samples += 3; /* that were there before */
        assert_false(switch_limit_turns(&l, 5089 * (uint64_t)MS));
        assert_true(switch_limit_turns(&l, 5090 * (uint64_t)MS));
        assert_false(l.is_off);
        assert_int_equal(l.n_samples, 0);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(few_have_all),
                cmocka_unit_test(many_have_few),
                cmocka_unit_test(both_turns_are_told),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
