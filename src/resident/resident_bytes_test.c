/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "resident/resident_bytes.h"
#include "resident/testing/drawn_resident.h"

/* What is read is what was written: rows, names, sums. */
static void test_round_trip(void **state) {
        (void)state;
        for (uint64_t seed = 1; seed < 200; seed++) {
                bytes_buf once = {0}, twice = {0};
                struct resident r, again;
                struct err e = {0};

                drawn_resident(&r, seed);
                resident_encode(&r, &once);
                assert_int_equal(resident_decode(&again, once.items, once.n, &e), 0);
                assert_int_equal(again.areas.n, r.areas.n);
                assert_memory_equal(&again.heap, &r.heap, sizeof(r.heap));
                assert_memory_equal(&again.cgroup, &r.cgroup, sizeof(r.cgroup));
                assert_int_equal(again.cells.n, r.cells.n);
                if (r.cells.n)
                        assert_memory_equal(again.cells.items, r.cells.items,
                                            r.cells.n * sizeof(r.cells.items[0]));
                for (size_t i = 0; i < r.areas.n; i++) {
                        assert_int_equal(again.areas.items[i].begin, r.areas.items[i].begin);
                        assert_int_equal(again.areas.items[i].rss_bytes,
                                         r.areas.items[i].rss_bytes);
                        assert_int_equal(again.areas.items[i].tid, r.areas.items[i].tid);
                        assert_string_equal(resident_name(&again, again.areas.items[i].name),
                                            resident_name(&r, r.areas.items[i].name));
                }
                assert_int_equal(again.rss_bytes, r.rss_bytes);
                assert_true(again.has_blocks && again.has_asked && !again.is_sampled);
                resident_encode(&again, &twice);
                assert_int_equal(once.n, twice.n);
                assert_memory_equal(once.items, twice.items, once.n);
                vec_free(&once);
                vec_free(&twice);
                resident_done(&r);
                resident_done(&again);
        }
}

/* A byte less, a byte more, another byte: refused, or it adds up all the same. */
static void test_damage(void **state) {
        bytes_buf b = {0};
        struct resident r, again;
        struct err e = {0};

        (void)state;
        drawn_resident(&r, 7);
        resident_encode(&r, &b);
        for (size_t n = 0; n < b.n; n++)
                assert_int_equal(resident_decode(&again, b.items, n, &e), -EBADMSG);
        for (size_t i = 0; i < b.n; i++) {
                b.items[i] ^= 0x41;
                if (resident_decode(&again, b.items, b.n, &e) == 0) {
                        uint64_t rss = 0;

                        for (size_t k = 0; k < again.areas.n; k++)
                                rss += again.areas.items[k].rss_bytes;
                        assert_int_equal(rss, again.rss_bytes);
                        resident_done(&again);
                }
                b.items[i] ^= 0x41;
        }
        buf_u8(&b, 0);
        assert_int_equal(resident_decode(&again, b.items, b.n, &e), -EBADMSG);
        vec_free(&b);
        b = (bytes_buf){0};
        r.heap.between_bytes++;
        resident_encode(&r, &b);
        assert_int_equal(resident_decode(&again, b.items, b.n, &e), -EBADMSG);
        assert_non_null(strstr(e.text, "do not add up"));
        vec_free(&b);
        resident_done(&r);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_round_trip),
                cmocka_unit_test(test_damage),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
