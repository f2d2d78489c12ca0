/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "bill/bill_parts.h"
#include "bill/bill_words.h"

enum { MIB = 1 << 20, PAGE = 4096 };

static uint32_t name(struct resident *r, const char *text) {
        return resident_add_name(r, text);
}

static struct resident_area *area(struct resident *r, enum resident_kind kind, uint64_t begin,
                                  uint64_t size_bytes, uint64_t rss_bytes) {
        struct resident_area *a = vec_add(&r->areas);

        a->kind = kind;
        a->begin = begin;
        a->size_bytes = size_bytes;
        a->rss_bytes = a->pss_bytes = rss_bytes;
        r->rss_bytes += rss_bytes;
        r->pss_bytes += rss_bytes;
        return a;
}

static void make(struct resident *r) {
        struct resident_area *a;
        uint32_t file;

        *r = (struct resident){.page_bytes = PAGE, .has_blocks = true, .has_asked = true};
        name(r, "");
        a = area(r, RESIDENT_FILE_PRIVATE, 16 * MIB, 4 * MIB, 3 * MIB);
        a->name = file = name(r, "/usr/bin/prog");
        a->private_dirty_bytes = a->anon_bytes = MIB;
        area(r, RESIDENT_ANON, 20 * MIB, MIB, MIB / 2)->name = file; /* its zeroed data */
        area(r, RESIDENT_ANON, 21 * MIB, MIB, MIB); /* somebody's: the file does not say so */
        a = area(r, RESIDENT_BRK, 32 * MIB, 8 * MIB, 8 * MIB);
        a->heap_rss_bytes = 8 * MIB;
        area(r, RESIDENT_ANON, 64 * MIB, 16 * MIB, 10 * MIB);
        area(r, RESIDENT_ANON, 128 * MIB, 2 * MIB, 2 * MIB);
        a = area(r, RESIDENT_STACK, 256 * MIB, 8 * MIB, 64 * 1024);
        a->tid = 7;
        r->heap = (struct resident_heap){.rss_bytes = 8 * MIB,
                                         .n_blocks = 100,
                                         .asked_bytes = 3 * MIB,
                                         .resident_asked_bytes = 3 * MIB,
                                         .rounding_bytes = 1000,
                                         .header_bytes = 1600,
                                         .empty_bytes = 2 * MIB,
                                         .between_bytes = 3 * MIB - 2600};
}

static uint64_t sum_of(const struct bill *b) {
        uint64_t sum = 0;

        for (unsigned k = 0; k < BILL_N_KINDS; k++) {
                const struct bill_part *p = &b->parts[k];
                uint64_t lines = 0;

                sum += (uint64_t)p->bytes;
                for (size_t i = 0; i < p->lines.n; i++)
                        lines += p->lines.items[i].bytes;
                if (p->lines.n)
                        assert_int_equal(lines, p->bytes);
        }
        return sum;
}

static void test_parts_add_up(void **state) {
        const struct bill_range own = {64 * MIB, 80 * MIB, 5};
        struct bill_owner o = {.ranges = &own, .n_ranges = 1, .has_ranges = true};
        struct bill b = {0};
        struct resident r;

        (void)state;
        make(&r);
        bill_add(&b, &r, &o);
        bill_finish(&b);
        assert_int_equal(sum_of(&b), r.rss_bytes);
        assert_int_equal(b.resident_bytes, r.rss_bytes);
        assert_int_equal(b.parts[BILL_LIVE].bytes, 3 * MIB);
        assert_int_equal(b.parts[BILL_HEADERS].bytes, 1600);
        assert_int_equal(b.parts[BILL_MAPPED].bytes, 10 * MIB);
        assert_int_equal(b.parts[BILL_MAPPED].lines.items[0].stack, 5);
        assert_int_equal(b.parts[BILL_CHANGED].bytes, MIB + MIB / 2);
        assert_int_equal(b.parts[BILL_FILES].bytes, 2 * MIB);
        assert_int_equal(b.parts[BILL_STACKS].bytes, 64 * 1024);
        assert_int_equal(b.stack_reserved_bytes, 8 * MIB);
        assert_int_equal(b.parts[BILL_REST].bytes, 3 * MIB);
        assert_false(b.is_divided);
        bill_done(&b);
        resident_done(&r);
}

static void test_nobody_recorded(void **state) {
        struct bill_owner o = {0};
        struct bill b = {0};
        struct resident r;

        (void)state;
        make(&r);
        r.has_blocks = false;
        bill_add(&b, &r, &o);
        bill_finish(&b);
        assert_int_equal(sum_of(&b), r.rss_bytes);
        assert_int_equal(b.parts[BILL_HEAP].bytes, 8 * MIB);
        assert_int_equal(b.parts[BILL_MAPPED].bytes, 13 * MIB);
        assert_int_equal(b.parts[BILL_REST].bytes, 0);
        bill_done(&b);
        resident_done(&r);
}

/* Of two that share half of each page of the heap, both together have it once. */
static void test_shared_pages_count_once(void **state) {
        struct bill_owner o = {.has_ranges = true, .is_shared_once = true};
        struct bill b = {0};
        struct resident r;

        (void)state;
        make(&r);
        for (size_t i = 0; i < r.areas.n; i++)
                r.areas.items[i].pss_bytes = r.areas.items[i].rss_bytes / 2;
        r.pss_bytes = r.rss_bytes / 2;
        bill_add(&b, &r, &o);
        r.process = 1;
        bill_add(&b, &r, &o);
        bill_finish(&b);
        assert_int_equal(sum_of(&b), r.rss_bytes);
        assert_int_equal(b.resident_bytes, r.rss_bytes);
        assert_int_equal(b.heap_bytes, 8 * MIB);
        assert_int_equal(b.parts[BILL_LIVE].bytes, 3 * MIB);
        assert_int_equal(b.processes.n, 2);
        bill_done(&b);
        resident_done(&r);
}

/* Where areas are not cut at ranges, each gets its share, and it is said. */
static void test_divided(void **state) {
        const struct bill_range own[] = {{64 * MIB, 68 * MIB, 5}, {72 * MIB, 80 * MIB, 6}};
        struct bill_owner o = {.ranges = own, .n_ranges = 2, .has_ranges = true};
        struct bill b = {0};
        struct resident r;

        (void)state;
        make(&r);
        bill_add(&b, &r, &o);
        bill_finish(&b);
        assert_int_equal(sum_of(&b), r.rss_bytes);
        assert_true(b.is_divided);
        assert_int_equal(b.parts[BILL_MAPPED].lines.n, 2);
        assert_int_equal(b.parts[BILL_MAPPED].lines.items[0].stack, 6);
        assert_int_equal(b.parts[BILL_MAPPED].lines.items[0].bytes, 5 * MIB);
        assert_int_equal(b.parts[BILL_MAPPED].bytes, 7 * MIB + MIB / 2);
        bill_done(&b);
        resident_done(&r);
}

/* The kernel's sum is read apart from the mappings: what lies between them is told, with its sign. */
static void test_remainder(void **state) {
        struct bill_owner o = {.has_ranges = true};
        struct bill b = {0};
        struct resident r;

        (void)state;
        make(&r);
        r.rss_bytes -= 3 * MIB;
        bill_add(&b, &r, &o);
        bill_finish(&b);
        assert_int_equal(b.parts[BILL_REST].bytes, 13 * MIB - 3 * MIB);
        assert_int_equal(sum_of(&b), r.rss_bytes);
        bill_done(&b);
        resident_done(&r);
}

static uint64_t written_of(uint64_t pss, uint64_t anon, uint64_t dirty, bool is_shared_once) {
        struct bill_owner o = {.is_shared_once = is_shared_once};
        struct resident r = {.page_bytes = PAGE};
        struct bill b = {0};
        struct resident_area *a;
        uint64_t written;

        name(&r, "");
        a = area(&r, RESIDENT_FILE_PRIVATE, 16 * MIB, 4 * MIB, 3 * MIB);
        a->name = name(&r, "/usr/bin/prog");
        a->pss_bytes = r.pss_bytes = pss;
        a->anon_bytes = anon;
        a->private_dirty_bytes = dirty;
        bill_add(&b, &r, &o);
        bill_finish(&b);
        assert_int_equal(sum_of(&b), is_shared_once ? pss : 3 * MIB);
        written = (uint64_t)b.parts[BILL_CHANGED].bytes;
        bill_done(&b);
        resident_done(&r);
        return written;
}

static void test_what_was_written_to(void **state) {
        (void)state;
        assert_int_equal(written_of(3 * MIB, MIB, MIB, false), MIB);
        /* children that were forked share all of it: the kernel calls nothing private */
        assert_int_equal(written_of(MIB, 2 * MIB, 0, false), 2 * MIB);
        assert_int_equal(written_of(3 * MIB / 2, 2 * MIB, 0, true), MIB);
        /* one MiB of two is its alone; of the rest, half is the file's */
        assert_int_equal(written_of(2 * MIB, 2 * MIB, MIB, true), MIB + MIB / 2);
        /* pages of a file that is not on disk yet are dirty, and nobody wrote to the mapping */
        assert_int_equal(written_of(3 * MIB, 0, 3 * MIB, false), 0);
}

/* 3 MiB of it unchanged and 2 MiB written to are 5 MiB of one file, more than the 4 of another. */
static void test_largest_file(void **state) {
        const struct frame_names none = {0};
        struct bill_owner o = {0};
        struct resident r = {.page_bytes = PAGE};
        struct str text = {0};
        struct bill b = {0};
        struct resident_area *a;

        (void)state;
        name(&r, "");
        a = area(&r, RESIDENT_FILE_PRIVATE, 16 * MIB, 8 * MIB, 5 * MIB);
        a->name = name(&r, "/data/table.bin");
        a->anon_bytes = a->private_dirty_bytes = 2 * MIB;
        a = area(&r, RESIDENT_FILE_PRIVATE, 32 * MIB, 8 * MIB, 4 * MIB);
        a->name = name(&r, "/usr/lib/libc.so.6");
        bill_add(&b, &r, &o);
        bill_finish(&b);
        bill_add_largest(&b, &none, true, &text);
        assert_string_equal(str_text(&text),
                            "9.0 MiB are code, data and files, 5.0 MiB of it table.bin");
        str_done(&text);
        bill_done(&b);
        resident_done(&r);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_parts_add_up),
                cmocka_unit_test(test_nobody_recorded),
                cmocka_unit_test(test_shared_pages_count_once),
                cmocka_unit_test(test_divided),
                cmocka_unit_test(test_remainder),
                cmocka_unit_test(test_what_was_written_to),
                cmocka_unit_test(test_largest_file),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
