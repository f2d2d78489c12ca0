/* SPDX-License-Identifier: MIT */
/* What a group had when the kernel killed somebody in it, by made-up readings: never what was left of it after. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "record/rooms.h"

#define MS 1000000ull
#define MIB (1ull << 20)

static struct memory_room reading(uint64_t usage_mib, uint64_t n_kills) {
        struct memory_room x;

        for (size_t i = 0; i < ROOM_N_FIGURES; i++)
                x.of[i] = ROOM_UNKNOWN;
        x.of[ROOM_LIMIT] = 120 * MIB;
        x.of[ROOM_USAGE] = usage_mib * MIB;
        x.of[ROOM_SHMEM] = usage_mib * MIB / 2;
        x.of[ROOM_N_KILLS] = n_kills;
        return x;
}

static void take(struct rooms_one *one, uint64_t usage_mib, uint64_t n_kills, uint64_t now_ms) {
        struct memory_room x = reading(usage_mib, n_kills);

        rooms_take_reading(one, &x, now_ms * MS);
}

static void expect_before(const struct rooms_one *one, uint64_t usage_mib, uint64_t now_ms) {
        struct memory_room x = rooms_before_kill(one, now_ms * MS);

        assert_int_equal(x.of[ROOM_USAGE], usage_mib * MIB);
        assert_int_equal(x.of[ROOM_SHMEM], usage_mib * MIB / 2);
}

/* All was read between the kill and the end of the process. */
static void test_read_after_the_kill(void **state) {
        struct rooms_one one = {0};

        (void)state;
        take(&one, 10, 3, 5); /* earlier kills are not of this recording */
        take(&one, 60, 3, 100);
        take(&one, 115, 3, 200);
        assert_false(rooms_is_after_kill(&one, 200 * MS));
        take(&one, 9, 4, 250);
        assert_true(rooms_is_after_kill(&one, 250 * MS));
        expect_before(&one, 115, 260);
        expect_before(&one, 115, 900); /* another one that the same kill ended */
        assert_false(rooms_is_after_kill(&one, 20000 * MS));
}

/* Only usage was, which fell. */
static void test_look_after_the_kill(void **state) {
        struct rooms_one one = {0};

        (void)state;
        take(&one, 115, 0, 200);
        one.now.of[ROOM_USAGE] = 9 * MIB;
        assert_true(rooms_is_after_kill(&one, 210 * MS));
        expect_before(&one, 115, 210);
}

/* Whatever else changes is what there was. */
static void test_without_a_kill(void **state) {
        struct rooms_one one = {0};

        (void)state;
        take(&one, 100, 1, 100);
        take(&one, 40, 1, 200);
        assert_false(rooms_is_after_kill(&one, 200 * MS));
        expect_before(&one, 40, 200);
        one.now.of[ROOM_USAGE] = 90 * MIB;
        assert_false(rooms_is_after_kill(&one, 201 * MS));
        assert_int_equal(rooms_before_kill(&one, 201 * MS).of[ROOM_USAGE], 90 * MIB);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_read_after_the_kill),
                cmocka_unit_test(test_look_after_the_kill),
                cmocka_unit_test(test_without_a_kill),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
