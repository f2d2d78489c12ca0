/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/macros.h"
#include "record/limit_notes.h"
#include "record/own_pages.h"
#include "record/ranges.h"

#define MB (1024 * 1024ull)
#define FIELDS(kb) "Rss: 99999 kB\nAnonymous: " #kb " kB\nVmFlags: rd wr\n"

static struct own_pages parse(const char *text, uint32_t n_stacks) {
        struct own_pages r = {0};
        FILE *f = fmemopen((void *)text, strlen(text), "r");

        own_pages_parse(&r, f, n_stacks);
        fclose(f);
        return r;
}

static void test_ranges(void **state) {
        struct ranges r = {0}, copy = {0};

        (void)state;
        ranges_add(&r, 100, 200);
        ranges_add(&r, 300, 400);
        ranges_add(&r, 500, 600);
        ranges_add(&r, 7, 7);
        assert_int_equal(r.list.n, 3);
        assert_int_equal(ranges_overlap_bytes(&r, 0, 1000), 300);
        assert_int_equal(ranges_overlap_bytes(&r, 150, 350), 100);
        ranges_add(&r, 200, 300); /* touches both */
        assert_int_equal(r.list.n, 2);
        ranges_add(&r, 50, 550);
        assert_int_equal(r.list.n, 1);
        assert_int_equal(ranges_overlap_bytes(&r, 0, 1000), 550);
        assert_int_equal(ranges_overlap_bytes(&r, 600, 1000), 0);
        ranges_copy(&copy, &r);
        ranges_done(&r);
        assert_int_equal(ranges_overlap_bytes(&copy, 40, 60), 10);
        ranges_done(&copy);
}

static void test_too_many_ranges(void **state) {
        struct ranges r = {0};

        (void)state;
        for (uint64_t i = 0; i < 20000; i++)
                ranges_add(&r, i * 10, i * 10 + 5);
        assert_true(r.is_full);
        ranges_done(&r);
}

/* Files, stacks and small areas are explained; the heap and what is mapped are areas, of which ranges take theirs. */
static void test_areas(void **state) {
        static const char text[] =
                "00400000-00500000 rw-p 00000000 08:01 77   /bin/x y\n" FIELDS(1024) "01000000-03000000 rw-p 00000000 00:00 0    [heap]\n" FIELDS(20480) "7f0000000000-7f0000001000 ---p 00000000 00:00 0 \n" FIELDS(0) "7f0000001000-7f0000801000 rw-p 00000000 00:00 0 \n" FIELDS(
                        8192) "7f1000000000-7f1004000000 rw-p 00000000 00:00 0 \n" FIELDS(65536) "7f2000000000-7f2000080000 rw-p 00000000 00:00 0 \n" FIELDS(512) "7ffc00000000-7ffc01000000 rw-p 00000000 00:00 0  [stack]\n" FIELDS(4096);
        struct ranges mapped = {0};
        struct own_pages r = parse(text, 1);

        (void)state;
        assert_int_equal(r.anon_bytes, (1 + 20 + 8 + 64 + 4) * MB + MB / 2);
        assert_int_equal(r.small_bytes, MB / 2);
        assert_int_equal(r.areas.n, 2);
        assert_int_equal(own_pages_unmapped_bytes(&r, &mapped), 84 * MB);
        ranges_add(&mapped, 0x7f1000000000, 0x7f1000000000 + 32 * MB);
        assert_int_equal(own_pages_unmapped_bytes(&r, &mapped), 52 * MB);
        ranges_add(&mapped, 0x7f1000000000, 0x7f2000000000);
        assert_int_equal(own_pages_unmapped_bytes(&r, &mapped), 20 * MB);
        own_pages_done(&r);
        r = parse(text, 0); /* no thread has a stack there */
        assert_int_equal(r.areas.n, 3);
        own_pages_done(&r);
        ranges_done(&mapped);
}

/* Another program wrote a part of it: its names. */
static void test_hostile_smaps(void **state) {
        static const char *const texts[] = {
                "",
                "\n\n",
                "Anonymous: 5 kB\n",
                "Anonymous: 99999999999999999999999 kB\n",
                "zz-yy rw-p 0 0:0 0\nAnonymous: 4 kB\n",
                "20-10 rw-p 00000000 00:00 0\nAnonymous: 4096 kB\n",
                "10-20 rw-p 00000000 00:00 0",
        };

        (void)state;
        for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
                struct own_pages r = parse(texts[i], 3);

                assert_true(r.areas.n <= 1);
                own_pages_done(&r);
        }
}

static void test_limits(void **state) {
        struct trace_limit l = {LIMIT_UNSEEN, 7, 1000, 3, "some: words", false}, back;
        struct limits limits = {0};
        char note[64];

        (void)state;
        trace_limit_write(&l, note, sizeof(note));
        assert_string_equal(note, "limit unseen 7 1000 3: some: words");
        assert_true(trace_limit_parse(note, &back));
        assert_int_equal(back.kind, LIMIT_UNSEEN);
        assert_int_equal(back.pid, 7);
        assert_int_equal(back.bytes, 1000);
        assert_int_equal(back.count, 3);
        assert_string_equal(back.text, "some: words");
        assert_true(trace_limit_parse("limit tomorrow 0 0 0: x", &back));
        assert_int_equal(back.kind, LIMIT_OTHER);
        assert_true(trace_limit_parse("pid 9 not followed: it is static", &back));
        assert_int_equal(back.kind, LIMIT_NOT_FOLLOWED);
        assert_int_equal(back.pid, 9);
        assert_true(trace_limit_parse("not seen: 2 processes of 'x': static", &back));
        assert_true(back.kind == LIMIT_NOT_FOLLOWED && back.is_summed);
        assert_false(trace_limit_parse("attached to pid 7: blocks before are not seen", &back));
        assert_false(trace_limit_parse("limit unseen 7 x 3: y", &back));
        assert_false(trace_limit_parse("limit unseen 99999999999 1 3: y", &back));
        assert_false(trace_limit_parse("limit ", &back));
        assert_false(trace_limit_parse("mark 4: pid 5 not followed: never", &back));
        assert_false(trace_limit_parse("held: 3 ns to attach", &back));
        limits_hear(&limits, "limit unseen 1 10 0: a");
        limits_hear(&limits, "limit unseen 2 30 0: b");
        limits_hear(&limits, "limit unseen 3 20 0: c");
        limits_hear(&limits, "nothing");
        assert_int_equal(limits.of[LIMIT_UNSEEN].n, 3);
        assert_string_equal(limits.of[LIMIT_UNSEEN].text, "b");
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_ranges), cmocka_unit_test(test_too_many_ranges),
                cmocka_unit_test(test_areas),  cmocka_unit_test(test_hostile_smaps),
                cmocka_unit_test(test_limits),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
