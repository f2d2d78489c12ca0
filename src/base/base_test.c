/* SPDX-License-Identifier: MIT */
/* The small parts everything stands on: numbers in bytes, numbers for people, maps, JSON. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/arena.h"
#include "base/bytes.h"
#include "base/err.h"
#include "base/json.h"
#include "base/large_pages.h"
#include "base/macros.h"
#include "base/map.h"
#include "base/str.h"
#include "base/units.h"
#include "base/visible.h"

static void varint_round_trip(void **state) {
        static const uint64_t values[] = {0,     1,          127,        128,       16383,
                                          16384, UINT32_MAX, 1ull << 63, UINT64_MAX};
        bytes_buf b = {0};
        struct bytes_reader r;

        for (size_t i = 0; i < ARRAY_SIZE(values); i++)
                buf_varint(&b, values[i]);
        r = bytes_reader_of(b.items, b.n);
        for (size_t i = 0; i < ARRAY_SIZE(values); i++)
                assert_true(bytes_varint(&r) == values[i]);
        assert_false(r.bad);
        assert_int_equal(bytes_left(&r), 0);
        assert_true(bytes_varint(&r) == 0 && r.bad);
        vec_free(&b);
}

static void varint_refuses_what_is_no_number(void **state) {
        static const uint8_t eleven[] = {0x80, 0x80, 0x80, 0x80, 0x80, 0x80,
                                         0x80, 0x80, 0x80, 0x80, 0x01};
        static const uint8_t too_large[] = {0xff, 0xff, 0xff, 0xff, 0xff,
                                            0xff, 0xff, 0xff, 0xff, 0x02};
        static const uint8_t cut[] = {0x80};
        struct bytes_reader r = bytes_reader_of(eleven, sizeof(eleven));

        bytes_varint(&r);
        assert_true(r.bad);
        r = bytes_reader_of(too_large, sizeof(too_large));
        bytes_varint(&r);
        assert_true(r.bad);
        r = bytes_reader_of(cut, sizeof(cut));
        bytes_varint(&r);
        assert_true(r.bad);
}

static void reader_stays_bad(void **state) {
        static const uint8_t three[] = {5, 1, 2};
        struct bytes_reader r = bytes_reader_of(three, sizeof(three));
        size_t len;

        assert_null(bytes_string(&r, &len)); /* says 5 bytes, has 2 */
        assert_true(r.bad);
        assert_int_equal(bytes_u8(&r), 0);
}

static void zigzag_round_trip(void **state) {
        static const int64_t values[] = {0, -1, 1, INT64_MAX, INT64_MIN};

        for (size_t i = 0; i < ARRAY_SIZE(values); i++)
                assert_true(bytes_unzigzag(bytes_zigzag(values[i])) == values[i]);
        assert_int_equal(bytes_zigzag(-1), 1);
}

static void sizes_for_people(void **state) {
        struct unit_text t;

        assert_string_equal(unit_bytes(&t, 0), "0 B");
        assert_string_equal(unit_bytes(&t, 999), "999 B");
        assert_string_equal(unit_bytes(&t, 1023), "1023 B");
        assert_string_equal(unit_bytes(&t, 1024), "1.0 KiB");
        assert_string_equal(unit_bytes(&t, 1000 * 1024 - 64), "999.9 KiB");
        assert_string_equal(unit_bytes(&t, 1000 * 1024 - 32), "1000 KiB");
        assert_string_equal(unit_bytes(&t, 1048576 - 513), "1023 KiB");
        assert_string_equal(unit_bytes(&t, 1048576 - 512), "1.0 MiB");
        assert_string_equal(unit_bytes(&t, 10 << 20), "10.0 MiB");
        assert_string_equal(unit_bytes(&t, 41200000), "39.3 MiB");
        assert_string_equal(unit_bytes(&t, UINT64_MAX), "16.0 EiB");
        assert_string_equal(unit_bytes_signed(&t, -1500), "-1.5 KiB");
        assert_string_equal(unit_bytes_signed(&t, INT64_MIN), "-8.0 EiB");
        assert_string_equal(unit_count(&t, 1234567), "1,234,567");
        assert_string_equal(unit_count(&t, 12), "12");
        assert_string_equal(unit_time(&t, 1250000000), "1250ms");
        assert_string_equal(unit_time(&t, 3000000000), "3s");
        assert_string_equal(unit_time(&t, 1000001), "1000001ns");
        assert_string_equal(unit_duration(&t, 1250000000), "1.25 s");
        assert_string_equal(unit_duration(&t, 3 * 3600000000000ull + 12 * 60000000000ull),
                            "3 h 12 min");
}

/* The page prints the same: web/model/units_test.ts reads the same table. */
static void units_are_as_in_the_table(void **state) {
        FILE *f = fopen(UNITS_TABLE, "re");
        char line[200], kind[16], text[64];
        long long n;
        int n_lines = 0;

        assert_non_null(f);
        while (fgets(line, sizeof(line), f)) {
                struct unit_text t;

                if (line[0] == '#')
                        continue;
                assert_int_equal(sscanf(line, "%15s %lld %63[^\n]", kind, &n, text), 3);
                if (strcmp(kind, "bytes") == 0)
                        assert_string_equal(unit_bytes(&t, (uint64_t)n), text);
                else if (strcmp(kind, "signed") == 0)
                        assert_string_equal(unit_bytes_signed(&t, n), text);
                else if (strcmp(kind, "count") == 0)
                        assert_string_equal(unit_count(&t, (uint64_t)n), text);
                else
                        assert_string_equal(unit_duration(&t, (uint64_t)n), text);
                n_lines++;
        }
        fclose(f);
        assert_true(n_lines > 50);
}

static void sizes_and_times_read(void **state) {
        static const char *const no_counts[] = {"",       "K",    "1,23",   "1,2345",
                                                "1,234K", ",123", "1,,234", "-1",
                                                "1 K",    "nan",  "1e30",   "12,34,567"};
        struct err e = {0};
        uint64_t v;

        assert_int_equal(unit_parse_count("100K", &v, NULL), 0);
        assert_int_equal(v, 100000);
        assert_int_equal(unit_parse_count("1.5M", &v, NULL), 0);
        assert_int_equal(v, 1500000);
        assert_int_equal(unit_parse_count("1,234,567", &v, NULL), 0);
        assert_int_equal(v, 1234567);
        assert_int_equal(unit_parse_count("7", &v, NULL), 0);
        assert_int_equal(v, 7);
        for (size_t i = 0; i < sizeof(no_counts) / sizeof(no_counts[0]); i++)
                assert_true(unit_parse_count(no_counts[i], &v, NULL) < 0);
        assert_int_equal(unit_parse_bytes("512K", &v, NULL), 0);
        assert_int_equal(v, 512 * 1024);
        assert_int_equal(unit_parse_bytes("1M", &v, NULL), 0);
        assert_int_equal(v, 1 << 20);
        assert_int_equal(unit_parse_duration("250ms", &v, NULL), 0);
        assert_int_equal(v, 250000000);
        assert_int_equal(unit_parse_duration("5m", &v, NULL), 0);
        assert_true(v == 300000000000ull);
        assert_true(unit_parse_bytes("12Q", &v, &e) < 0);
        assert_non_null(strstr(e.text, "not a size"));
        assert_true(unit_parse_bytes("", &v, NULL) < 0);
        assert_true(unit_parse_bytes("-1", &v, NULL) < 0);
        assert_true(unit_parse_bytes("nan", &v, NULL) < 0);
        assert_true(unit_parse_bytes("0x10", &v, NULL) < 0);
        assert_true(unit_parse_duration("99999999999999d", &v, NULL) < 0);
}

/* A size that is written, and what is printed of it, are one number. */
static void sizes_round_trip(void **state) {
        static const char *const written[] = {"812", "1K", "512K", "10M", "1.5G", "3T", "1000K"};
        static const char *const printed[] = {"812 B",   "1.0 KiB", "512.0 KiB", "10.0 MiB",
                                              "1.5 GiB", "3.0 TiB", "1000 KiB"};
        struct unit_text t;
        uint64_t a, b;

        for (size_t i = 0; i < ARRAY_SIZE(written); i++) {
                assert_int_equal(unit_parse_bytes(written[i], &a, NULL), 0);
                assert_string_equal(unit_bytes(&t, a), printed[i]);
                assert_int_equal(unit_parse_bytes(t.s, &b, NULL), 0);
                assert_true(a == b);
        }
        for (a = 1; a < 1ull << 49; a += 1 + a / 7) { /* a tenth of a unit, or a thousandth */
                assert_int_equal(unit_parse_bytes(unit_bytes(&t, a), &b, NULL), 0);
                assert_true(a < 1024 ? a == b : fabs((double)a - (double)b) <= 0.05 * (double)a);
                assert_true(strlen(t.s) <= 9);
        }
        assert_true(unit_parse_bytes("1  MiB", &a, NULL) < 0);
        assert_true(unit_parse_bytes("1 MB", &a, NULL) < 0);
        assert_true(unit_parse_bytes("1 ", &a, NULL) < 0);
}

static void map_holds_what_was_put(void **state) {
        struct map m = {0};
        uint64_t v;
        bool added;

        for (uint64_t k = 0; k < 10000; k++)
                *map_put(&m, k * 0x10000, 0, NULL) = k;
        for (uint64_t k = 0; k < 10000; k++) {
                assert_true(map_get(&m, k * 0x10000, &v));
                assert_true(v == k);
        }
        assert_false(map_get(&m, 1, NULL));
        map_put(&m, 0x10000, 7, &added);
        assert_false(added);
        assert_int_equal(m.n, 10000);
        map_clear(&m);
        assert_false(map_get(&m, 0, NULL));
        map_done(&m);
}

static void json_is_well_formed(void **state) {
        _cleanup_free_ char *text = NULL;
        size_t n;
        FILE *f = open_memstream(&text, &n);
        struct json j;

        json_init(&j, f);
        json_object(&j);
        json_put_string(&j, "a\"b", "line\n\x01\xff\xc3\xa9\xed\xa0\x80");
        json_key(&j, "list");
        json_array(&j);
        json_uint(&j, 1);
        json_double(&j, 0.0 / 0.0, 1);
        json_real(&j, 0.1);
        json_real(&j, 0.1 + 0.2);
        json_real(&j, 1e300);
        json_real(&j, 1.0 / 0.0);
        json_object(&j);
        json_end(&j);
        json_end(&j);
        json_key(&j, "t");
        json_bool(&j, true);
        json_end(&j);
        fclose(f);
        assert_string_equal(
                text, "{\"a\\\"b\":\"line\\n\\u0001\\ufffd\xc3\xa9\\ufffd\\ufffd\\ufffd\","
                      "\"list\":[1,null,0.1,0.30000000000000004,1e+300,null,{}],\"t\":true}\n");
}

static void arena_keeps_its_blocks_apart(void **state) {
        struct arena *a = arena_new();
        char *small = arena_strdup(a, "abc"), *large = arena_alloc(a, 1 << 20);

        memset(large, 1, 1 << 20);
        assert_string_equal(small, "abc");
        assert_true(((uintptr_t)large & 15) == 0);
        assert_true(arena_size_bytes(a) >= (1 << 20));
        arena_free(a);
}

static void str_grows(void **state) {
        struct str s = {0};

        assert_string_equal(str_text(&s), "");
        for (int i = 0; i < 1000; i++)
                str_addf(&s, "%d,", i % 10);
        assert_int_equal(s.n, 2000);
        str_clear(&s);
        str_pad(&s, '-', 3);
        assert_string_equal(str_text(&s), "---");
        assert_int_equal(str_width("é▆x"), 3);
        assert_int_equal(str_width("数据库 カ 한"), 6 + 1 + 2 + 1 + 2);
        assert_int_equal(str_width("e\xcc\x81"), 1); /* an accent upon the letter */
        assert_int_equal(str_width("\xff"
                                   "a\x80"
                                   "b\xe6\x95"),
                         4); /* no text: a cell a byte that may begin a character */
        str_clear(&s);
        str_add_shell(&s, "a/b-1.silt");
        str_add(&s, " ");
        str_add_shell(&s, "it's $x");
        str_add(&s, " ");
        str_add_shell(&s, "");
        assert_string_equal(str_text(&s), "a/b-1.silt 'it'\\''s $x' ''");
        str_done(&s);
}

static int times_asked;

static int ask(int value) {
        times_asked++;
        return value;
}

/* In memory that others write a second look may find something else. */
static void min_and_max_look_once(void **state) {
        times_asked = 0;
        assert_int_equal(MIN(ask(3), ask(5)), 3);
        assert_int_equal(MAX(ask(3), ask(5)), 5);
        assert_int_equal(times_asked, 4);
        assert_int_equal(MIN(MAX(1u, 7u), MIN((size_t)9, 8u)), 7);
        assert_true(MIN(-1, 5u) == 5); /* as C compares them */
}

static void visible_is(const char *text, const char *shown) {
        struct str s = {0};

        visible_add(&s, text);
        assert_string_equal(str_text(&s), shown);
        str_done(&s);
}

/* What turns text around, hides or steers a terminal is written as an escape, and in an error as a question mark. */
static void text_hides_nothing(void **state) {
        struct err e = {0};

        (void)state;
        visible_is("", "");
        visible_is("caf\xc3\xa9 \xe5\x90\x8d \xf0\x9f\x98\x80",
                   "caf\xc3\xa9 \xe5\x90\x8d \xf0\x9f\x98\x80");
        visible_is("a\nb\x1b[31m\x7f", "a\\x0ab\\x1b[31m\\x7f");
        visible_is("a\xe2\x80\xae"
                   "b\xe2\x81\xa9\xe2\x80\x8b",
                   "a\\u{202e}b\\u{2069}\\u{200b}");
        visible_is("\xc2\x9b\xff\xc3", "\\u{9b}\\xff\\xc3");
        visible_is("\xed\xa0\x80\xc0\x8a", "\\xed\\xa0\\x80\\xc0\\x8a");
        err_set(&e, -1, "'%s' is not a name",
                "a\n\xe2\x80\xae"
                "b\xc3\xa9");
        assert_string_equal(e.text, "'a??b\xc3\xa9' is not a name");
}

/* Small, just below a large page, and several of them: zeroed each time, though memory of the last is used again. */
static void test_large(void **unused) {
        static const size_t sizes[] = {1, 4096, (2 << 20) - 1, 2 << 20, (5 << 20) + 8};

        (void)unused;
        for (size_t round = 0; round < 3; round++)
                for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
                        uint8_t *p = large_calloc(sizes[i]);

                        assert_int_equal((uintptr_t)p % 64, 0);
                        for (size_t k = 0; k < sizes[i]; k += 509)
                                assert_int_equal(p[k], 0);
                        memset(p, 0xa5, sizes[i]);
                        large_free(p, sizes[i]);
                }
        large_free(NULL, 1);
        large_free(NULL, 4 << 20);
}

int main(void) {
        static const struct CMUnitTest tests[] = {
                cmocka_unit_test(varint_round_trip),
                cmocka_unit_test(varint_refuses_what_is_no_number),
                cmocka_unit_test(reader_stays_bad),
                cmocka_unit_test(zigzag_round_trip),
                cmocka_unit_test(sizes_for_people),
                cmocka_unit_test(units_are_as_in_the_table),
                cmocka_unit_test(sizes_and_times_read),
                cmocka_unit_test(sizes_round_trip),
                cmocka_unit_test(map_holds_what_was_put),
                cmocka_unit_test(json_is_well_formed),
                cmocka_unit_test(arena_keeps_its_blocks_apart),
                cmocka_unit_test(str_grows),
                cmocka_unit_test(text_hides_nothing),
                cmocka_unit_test(min_and_max_look_once),
                cmocka_unit_test(test_large),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
