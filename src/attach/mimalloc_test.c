/* SPDX-License-Identifier: MIT */
/* A mimalloc's variables and segments made by hand, whole, broken and changing. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka.h needs the four above */
#include <cmocka.h>
#include <string.h>

#include "attach/testing/mimalloc_fake.h"
#include "base/macros.h"

static struct mi_fake fake;

static bool read_fake(struct mimalloc_found *ret) {
        struct mi_reader r = {.fake = &fake, .n_reads_left = 100000};

        return mi_read(&r, ret);
}

static void assert_found(const struct mimalloc_found *found, const struct mimalloc_found *wanted) {
        assert_int_equal(found->held_bytes, wanted->held_bytes);
        assert_int_equal(found->used_bytes, wanted->used_bytes);
        assert_int_equal(found->n_segments, wanted->n_segments);
}

static void test_whole(void **state) {
        for (unsigned version = 0; version < MI_N_VERSIONS; version++) {
                struct mimalloc_found found, wanted = mi_fill(&fake, version);

                assert_true(read_fake(&found));
                assert_found(&found, &wanted);
        }
}

/* What is inside a huge block is none of its segments, whatever it looks like; what has another cookie is not its own either. */
static void test_likeness(void **state) {
        struct mimalloc_found found, wanted = mi_fill(&fake, 1);

        *mi_cookie(&fake, 1, 1) ^= UINT64_C(1) << 60;
        assert_true(read_fake(&found));
        assert_int_equal(found.n_segments, wanted.n_segments - 1);
        assert_int_equal(found.used_bytes, wanted.used_bytes - 3 * 1024);
        mi_fill(&fake, 1);
        *mi_figures(&fake, 1, 0) = 600; /* a huge one whose block reaches over the next */
        mi_figures(&fake, 1, 0)[2] = 1;
        *mi_slice(&fake, 1, 0, 101) = 600 - 101;
        assert_true(read_fake(&found));
        assert_int_equal(found.n_segments, wanted.n_segments - 1);
}

/* What is not a mimalloc beyond doubt is none. */
static void test_not_recognised(void **state) {
        for (unsigned version = 0; version < MI_N_VERSIONS; version++) {
                uint64_t *const breaks[] = {
                        &fake.data[MI_QUEUES_WORD + 2], /* sizes */
                        &fake.data[MI_QUEUES_WORD + 5],
                        &fake.data[MI_QUEUES_WORD + 3 * 72 + 2],
                        &fake.data[MI_QUEUES_WORD + 3 * 75 + 3], /* the cookie */
                        mi_cookie(&fake, version, 0) - 1,        /* pages in use */
                        mi_cookie(&fake, version, 2) - 1,
                        mi_figures(&fake, version, 0),     /* slices */
                        mi_figures(&fake, version, 0) + 1, /* of its own */
                        mi_figures(&fake, version, 1) + 3, /* that it knows */
                        mi_figures(&fake, version, 2),
                        mi_slice(&fake, version, 0, 0),
                        mi_slice(&fake, version, 0, 2),
                        mi_slice(&fake, version, 0, 10),
                        mi_slice(&fake, version, 1, 1),
                        mi_slice(&fake, version, 2, 1),
                };

                for (size_t i = 0; i < ARRAY_SIZE(breaks); i++)
                        for (uint64_t by = 1; by; by <<= 21) {
                                struct mimalloc_found found;

                                mi_fill(&fake, version);
                                *breaks[i] += by;
                                if (read_fake(&found))
                                        fail_msg("version %u, break %zu by %#llx", version, i,
                                                 (unsigned long long)by);
                                assert_int_equal(found.held_bytes + found.n_segments, 0);
                        }
        }
}

/* More blocks are in use than were ever, more were than there is room for, more room than memory, more pages than are counted. */
static void test_pages(void **state) {
        for (unsigned version = 0; version < MI_N_VERSIONS; version++)
                for (unsigned i = 0; i < 5; i++) {
                        struct mimalloc_found found;
                        uint64_t *page;

                        mi_fill(&fake, version);
                        page = mi_slice(&fake, version, 0, 1);
                        if (i == 0)
                                page[version == 0 ? 3 : 4] += 2;
                        else if (i == 1)
                                page[1] += UINT64_C(5000) << 16;
                        else if (i == 2)
                                page[1] += UINT64_C(7) << 32;
                        else if (i == 3)
                                mi_cookie(&fake, version, 0)[-1]--;
                        else
                                page[version == 0 ? 3 : 5] += version == 0 ? UINT64_C(1) << 32 : 1;
                        assert_false(read_fake(&found));
                }
}

/* A slice that is taken is a page before it is counted, or is counted before; it has no blocks yet. */
static void test_between(void **state) {
        for (unsigned version = 0; version < MI_N_VERSIONS; version++)
                for (unsigned is_counted = 0; is_counted < 3; is_counted++) {
                        struct mimalloc_found found, wanted = mi_fill(&fake, version);
                        uint64_t *slice = mi_slice(&fake, version, 0, 10);

                        slice[version == 0 ? 3 : 5] = version == 0 ? UINT64_C(1) << 32 : 1;
                        mi_cookie(&fake, version, 0)[-1] += is_counted;
                        assert_int_equal(read_fake(&found), is_counted < 2);
                        if (is_counted < 2)
                                assert_found(&found, &wanted);
                }
}

/* A segment that is given back after it was seen is none. */
static void give_back(struct mi_fake *f, unsigned n_reads) {
        if (n_reads == 4)
                memset(f->segments[1], 0, sizeof(f->segments[1]));
}

static void test_given_back(void **state) {
        struct mimalloc_found found, wanted = mi_fill(&fake, 0);
        struct mi_reader r = {.fake = &fake, .n_reads_left = 100000, .between = give_back};

        mi_cookie(&fake, 0, 1)[-1]++; /* in the middle of something */
        assert_true(mi_read(&r, &found));
        assert_int_equal(found.n_segments, wanted.n_segments - 1);
        assert_int_equal(found.used_bytes, wanted.used_bytes - 3 * 1024);
}

/* Nobody has asked it for anything yet, or nothing is left. */
static void test_empty(void **state) {
        struct mimalloc_found found;

        mi_fill(&fake, 0);
        memset(fake.segments, 0, sizeof(fake.segments));
        assert_false(read_fake(&found));
        memset(&fake, 0, sizeof(fake));
        assert_false(read_fake(&found));
}

/* A page is made between two of a segment's figures: it is read when they fit. */
static unsigned n_busy_reads;

static void change_pages(struct mi_fake *f, unsigned n_reads) {
        if (n_reads == 0 || n_reads == n_busy_reads)
                mi_cookie(f, 0, 1)[-1] ^= 64;
}

static void test_change(void **state) {
        struct mimalloc_found found, wanted = mi_fill(&fake, 0);
        struct mi_reader r = {.fake = &fake, .n_reads_left = 100000, .between = change_pages};

        n_busy_reads = 20;
        assert_true(mi_read(&r, &found));
        assert_found(&found, &wanted);
        assert_true(r.n_reads > n_busy_reads);
        mi_fill(&fake, 0);
        n_busy_reads = 1000000; /* it never fits */
        r.n_reads = 0;
        assert_false(mi_read(&r, &found));
        assert_true(r.n_reads < 200);
}

/* The time may be over at any moment: nothing is told that is not. */
static void test_time_is_over(void **state) {
        unsigned n_found = 0;

        for (unsigned n = 0; n < 20; n++) {
                struct mimalloc_found found, wanted = mi_fill(&fake, 2);
                struct mi_reader r = {.fake = &fake, .n_reads_left = n};

                if (!mi_read(&r, &found))
                        continue;
                assert_found(&found, &wanted);
                n_found++;
        }
        assert_true(n_found > 0 && n_found < 20);
}

/* Every block of every version, and nothing if one list does not add up. */
static void test_list(void **state) {
        (void)state;
        for (unsigned version = 0; version < MI_N_VERSIONS; version++) {
                struct mimalloc_found found = mi_fill(&fake, version);
                struct mi_reader r = {.fake = &fake, .n_reads_left = UINT32_MAX};
                struct heap_list list = {0};
                uint64_t bytes = 0;

                assert_true(mi_list(&r, &list));
                for (size_t i = 0; i < list.blocks.n; i++)
                        bytes += list.blocks.items[i].size_bytes;
                assert_int_equal(bytes, found.used_bytes - 64); /* a block that was given back */
                assert_int_equal(list.blocks.n, 699 + 90 + 1 + 3 + 1);
                assert_int_equal(list.own.n, MI_N_SEGMENTS);
                heap_list_done(&list);
        }
}

/* How many blocks a page has room for. */
static void put_room(unsigned segment, unsigned slice, uint64_t n_room) {
        uint64_t *word = mi_slice(&fake, 0, segment, slice) + 1;

        *word = (*word & ~(UINT64_C(0xffff) << 32)) | n_room << 32;
}

static void put_rooms_by_size(void) {
        put_room(0, 1, 65536 / 64 - 3);
        put_room(0, 100, 65536 / 16 - 3);
        put_room(1, 1, 65536 / 1024);
}

/* Of another version: where the first block of a page is depends on its size. */
static void test_list_by_size(void **state) {
        struct mi_reader r = {.fake = &fake, .n_reads_left = UINT32_MAX};
        struct heap_list list = {0};

        (void)state;
        mi_fill(&fake, 0);
        mi_slice(&fake, 0, 0, 1)[2] -= 384 - 3 * 64;
        mi_slice(&fake, 0, 0, 100)[2] -= 384 - 3 * 16;
        mi_slice(&fake, 0, 1, 1)[2] -= 384; /* blocks of 1,024 bytes */
        put_rooms_by_size();
        assert_true(mi_list(&r, &list));
        assert_int_equal(list.blocks.n, 699 + 90 + 1 + 3 + 1);
        for (size_t i = 0; i < list.blocks.n; i++)
                if (list.blocks.items[i].size_bytes == 64)
                        assert_int_equal(list.blocks.items[i].address % 64, 0);
                else if (list.blocks.items[i].size_bytes == 1024)
                        assert_int_equal(list.blocks.items[i].address % 1024, 0);
        heap_list_done(&list);
}

/* The one page with a free block has it where both rules have one, the others are full. */
static void put_rules_that_meet(void) {
        mi_fill(&fake, 0);
        mi_slice(&fake, 0, 0, 1)[2] -= UINT64_C(690) * 64;
        mi_slice(&fake, 0, 0, 100)[2] = 0;
        mi_slice(&fake, 0, 1, 1)[1] -= 1 << 16;
        mi_slice(&fake, 0, 1, 1)[2] = 0;
}

static bool has_block(const struct heap_list *list, uint64_t address) {
        for (size_t i = 0; i < list->blocks.n; i++)
                if (list->blocks.items[i].address == address)
                        return true;
        return false;
}

static void test_list_rules_meet(void **state) {
        const uint64_t page = MI_FIRST + 65536, other = page + MI_SEGMENT_BYTES;

        (void)state;
        for (unsigned by_size = 0; by_size < 2; by_size++) {
                struct mi_reader r = {.fake = &fake, .n_reads_left = UINT32_MAX};
                struct heap_list list = {0};
                uint64_t last = page + (by_size ? 192 : 384) + UINT64_C(700) * 64;

                put_rules_that_meet();
                if (by_size)
                        put_rooms_by_size();
                assert_true(mi_list(&r, &list));
                assert_int_equal(list.blocks.n, 699 + 90 + 1 + 3 + 1);
                assert_true(has_block(&list, last) && !has_block(&list, last + 64));
                assert_int_equal(has_block(&list, other), by_size);
                assert_int_equal(has_block(&list, other + 384), !by_size);
                heap_list_done(&list);
        }
}

/* By size, a page of 96-byte blocks begins with one of them, which need not be at a multiple of 96. */
static void test_list_by_size_odd(void **state) {
        const uint64_t page = MI_FIRST + MI_SEGMENT_BYTES + 65536;
        struct mi_reader r = {.fake = &fake, .n_reads_left = UINT32_MAX};
        struct heap_list list = {0};

        (void)state;
        put_rules_that_meet();
        put_rooms_by_size();
        mi_slice(&fake, 0, 1, 1)[1] += 1 << 16;
        mi_slice(&fake, 0, 1, 1)[2] = page + UINT64_C(4) * 96;
        mi_slice(&fake, 0, 1, 1)[3] = 3 | UINT64_C(96) << 32;
        put_room(1, 1, 65536 / 96 - 1);
        assert_int_not_equal(page % 96, 0);
        assert_true(mi_list(&r, &list));
        for (uint64_t i = 0; i < 5; i++)
                assert_int_equal(has_block(&list, page + i * 96), i >= 1 && i <= 3);
        heap_list_done(&list);
}

/* Room that no rule has, or one rule in this page and another in that. */
static void test_list_room_refuses(void **state) {
        (void)state;
        for (unsigned i = 0; i < 2; i++) {
                struct mi_reader r = {.fake = &fake, .n_reads_left = UINT32_MAX};
                struct heap_list list = {0};

                put_rules_that_meet();
                if (i == 0)
                        put_room(0, 1, 65536 / 64 - 5);
                else
                        put_room(1, 1, 65536 / 1024);
                assert_false(mi_list(&r, &list));
                assert_int_equal(list.blocks.n + list.own.n, 0);
                heap_list_done(&list);
        }
}

static void test_list_refuses(void **state) {
        (void)state;
        for (unsigned version = 0; version < MI_N_VERSIONS; version++) {
                uint64_t *const slice = mi_slice(&fake, version, 1, 1);
                const struct {
                        uint64_t *word, value;
                } breaks[] = {
                        {&slice[2], 0},                      /* nothing is free */
                        {&slice[2], MI_FIRST},               /* what is free is elsewhere */
                        {&slice[version == 0 ? 4 : 3], 512}, /* so is what was given back */
                        {&slice[version == 0 ? 5 : 7], 512},
                };

                for (size_t i = 0; i < ARRAY_SIZE(breaks); i++) {
                        struct mi_reader r = {.fake = &fake, .n_reads_left = UINT32_MAX};
                        struct heap_list list = {0};

                        mi_fill(&fake, version);
                        *breaks[i].word = breaks[i].value;
                        if (mi_list(&r, &list))
                                fail_msg("version %u, break %zu", version, i);
                        assert_int_equal(list.blocks.n + list.own.n, 0);
                        heap_list_done(&list);
                }
        }
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_list),
                cmocka_unit_test(test_list_refuses),
                cmocka_unit_test(test_list_by_size),
                cmocka_unit_test(test_whole),
                cmocka_unit_test(test_list_rules_meet),
                cmocka_unit_test(test_list_by_size_odd),
                cmocka_unit_test(test_list_room_refuses),
                cmocka_unit_test(test_likeness),
                cmocka_unit_test(test_not_recognised),
                cmocka_unit_test(test_pages),
                cmocka_unit_test(test_between),
                cmocka_unit_test(test_given_back),
                cmocka_unit_test(test_empty),
                cmocka_unit_test(test_change),
                cmocka_unit_test(test_time_is_over),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
