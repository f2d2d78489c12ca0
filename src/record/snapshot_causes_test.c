/* SPDX-License-Identifier: MIT */
#include "record/snapshot_causes.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "record/pressure.h"
#include "record/rooms.h"

#define S 1000000000ull
#define MIB (1ull << 20)

static struct snapshot_levels levels(const char *list) {
        struct snapshot_levels l = {0};
        struct err err = {0};

        assert_int_equal(snapshot_levels_parse(list, &l, &err), 0);
        return l;
}

static void refuse(const char *list) {
        struct snapshot_levels l = {0};
        struct err err = {0};

        assert_true(snapshot_levels_parse(list, &l, &err) < 0);
        assert_true(err.text[0] && !strchr(err.text, '\n') && l.n == 0);
}

static void test_lists(void **state) {
        struct snapshot_levels l = levels("500M,1G,90%");

        (void)state;
        assert_true(l.n == 3 && l.of[0].bytes == 500 * MIB && l.of[1].bytes == 1024 * MIB &&
                    l.of[2].bytes == 0 && l.of[2].pct == 90);
        refuse("");
        refuse("1G,");
        refuse("0");
        refuse("0%");
        refuse("101%");
        refuse("nan%");
        refuse("-1%");
        refuse("x");
        refuse("1 G");
        refuse("1G,1G");
        refuse("12345678901234567890");
        refuse("1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17");
        assert_int_equal(levels("1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16").n, 16);
}

/* All that are due, in one text. */
static const char *due(struct snapshot_causes *c, struct snapshot_sight s) {
        static char all[256];
        char one[32];

        all[0] = 0;
        while (snapshot_causes_next(c, &s, one)) {
                strcat(all, all[0] ? " " : "");
                strcat(all, one);
        }
        return all;
}

static void test_levels(void **state) {
        struct snapshot_levels l = levels("1G,500M,90%,10M");
        struct snapshot_causes c;
        struct snapshot_sight s = {.rss_bytes = 20 * MIB, .limit_bytes = 2048 * MIB};

        (void)state;
        snapshot_causes_init(&c, &l, false, false);
        assert_string_equal(due(&c, s), ""); /* 10M was passed before silt came */
        s.rss_bytes = 499 * MIB;
        assert_string_equal(due(&c, s), "");
        s.rss_bytes = 500 * MIB;
        assert_string_equal(due(&c, s), "rss-500M");
        s.rss_bytes = MIB;
        assert_string_equal(due(&c, s), "");
        s.rss_bytes = 2000 * MIB;
        assert_string_equal(due(&c, s), "rss-1G rss-90%");
        assert_string_equal(due(&c, s), "");
        snapshot_causes_init(&c, &l, false, false);
        s = (struct snapshot_sight){.rss_bytes = 0};
        assert_string_equal(due(&c, s), "");
        s.rss_bytes = UINT64_MAX; /* of an unknown limit nothing is a part */
        assert_string_equal(due(&c, s), "rss-1G rss-500M rss-10M");
}

static void test_peaks(void **state) {
        struct snapshot_levels none = {0};
        struct snapshot_causes c;
        struct snapshot_sight s = {.live_bytes = MIB - 1};
        unsigned n = 0;

        (void)state;
        snapshot_causes_init(&c, &none, true, false);
        assert_string_equal(due(&c, s), "");
        s.live_bytes = MIB;
        assert_string_equal(due(&c, s), "peak-1");
        s.live_bytes = 2 * MIB;
        assert_string_equal(due(&c, s), ""); /* too soon */
        s.now_ns = S / 10; /* memory that grows by half within a second, and goes, was not seen */
        assert_string_equal(due(&c, s), "peak-2");
        s.now_ns = 5 * S;
        s.live_bytes = (uint64_t)(2.09 * (double)MIB);
        assert_string_equal(due(&c, s), "");
        s.live_bytes = (uint64_t)(2.11 * (double)MIB);
        assert_string_equal(due(&c, s), "peak-3");
        for (double live = (double)MIB; live < 1e12;
             live *= 1.001) { /* a day of growth to a terabyte */
                s.now_ns += 10 * S;
                s.live_bytes = (uint64_t)live;
                n += due(&c, s)[0] != 0;
        }
        assert_true(n > 200 && n < 300);
}

static void test_pressure(void **state) {
        struct snapshot_levels none = {0};
        struct snapshot_causes c;
        struct snapshot_sight s = {.now_ns = S, .is_pressed = true};
        unsigned n = 0;

        (void)state;
        snapshot_causes_init(&c, &none, false, true);
        assert_string_equal(due(&c, s), "pressure-1");
        s.now_ns += 5 * S;
        assert_string_equal(due(&c, s), "");
        s.now_ns += 5 * S;
        assert_string_equal(due(&c, s), "pressure-2");
        for (; s.now_ns < 86400 * S; s.now_ns += S)
                n += due(&c, s)[0] != 0;
        assert_true(n > 50 && n <= SNAPSHOT_MAX_PRESSURE);
        snapshot_causes_init(&c, &none, false, false);
        assert_string_equal(due(&c, s), "");
}

static void test_kernel(void **state) {
        struct rooms_one one = {.group.version = 2};
        struct pressure p = {0};

        (void)state;
        for (int i = 0; i < ROOM_N_FIGURES; i++)
                one.now.of[i] = ROOM_UNKNOWN;
        one.last_read_ns = S;
        one.now.of[ROOM_N_HIGH] = 7;
        assert_false(pressure_rose(&p, &one)); /* those were before */
        one.now.of[ROOM_N_HIGH] = 8;
        assert_false(pressure_rose(&p, &one)); /* not read anew */
        one.last_read_ns = 2 * S;
        assert_true(pressure_rose(&p, &one));
        one.last_read_ns = 3 * S;
        one.now.of[ROOM_SOME_US] = 90000;
        assert_false(pressure_rose(&p, &one)); /* of a second, a part that is usual */
        one.last_read_ns = 4 * S;
        one.now.of[ROOM_SOME_US] = 200000;
        assert_true(pressure_rose(&p, &one));
        one.last_read_ns = 5 * S;
        assert_false(pressure_rose(&p, &one));

        one.group.version = 1;
        assert_false(pressure_came_near(&p, &one));
        one.now.of[ROOM_LIMIT] = 1000;
        one.now.of[ROOM_ANON] = 949;
        assert_false(pressure_came_near(&p, &one));
        one.now.of[ROOM_SHMEM] = 1;
        assert_true(pressure_came_near(&p, &one));
        assert_false(pressure_came_near(&p, &one));
        one.now.of[ROOM_ANON] = 900;
        assert_false(pressure_came_near(&p, &one));
        one.now.of[ROOM_ANON] = 100;
        assert_false(pressure_came_near(&p, &one));
        one.now.of[ROOM_ANON] = 2000;
        assert_true(pressure_came_near(&p, &one));
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_lists),  cmocka_unit_test(test_levels),
                cmocka_unit_test(test_peaks),  cmocka_unit_test(test_pressure),
                cmocka_unit_test(test_kernel),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
