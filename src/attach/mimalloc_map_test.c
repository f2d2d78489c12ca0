/* SPDX-License-Identifier: MIT */
/* A mimalloc 3's map and pages made by hand, whole and broken. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka.h needs the four above */
#include <cmocka.h>

#include "attach/testing/mimalloc_map_fake.h"
#include "base/macros.h"

static struct mm_fake fake;

static void test_whole(void **state) {
        struct heap_list list = {0};
        uint64_t bytes = 0, free_bytes = 0;

        (void)state;
        mm_fill(&fake);
        assert_true(mm_list(&fake, &list));
        for (size_t i = 0; i < list.blocks.n; i++)
                bytes += list.blocks.items[i].size_bytes;
        for (size_t i = 0; i < list.frees.n; i++)
                free_bytes += list.frees.items[i].size_bytes;
        assert_int_equal(list.blocks.n, MM_N_BLOCKS);
        assert_int_equal(bytes, MM_N_BYTES);
        assert_int_equal(free_bytes, 6 * 64);
        assert_int_equal(list.own.n, 1);
        assert_int_equal(list.own.items[0].begin, MM_META);
        assert_int_equal(list.own.items[0].end, MM_META + sizeof(fake.pages));
        heap_list_done(&list);
}

/* What was there before stays, and nothing is added. */
static void test_refuses(void **state) {
        const struct {
                uint64_t *word, by;
        } breaks[] = {
                {&mm_page(&fake, 0)[2], 1},                       /* one more in use */
                {&mm_page(&fake, 0)[2], 1 << 16},                 /* one more was ever used */
                {&mm_page(&fake, 1)[2], (uint64_t)0 - (1 << 16)}, /* fewer were than are */
                {&mm_page(&fake, 2)[2], (uint64_t)0 - (UINT64_C(1) << 32)}, /* no room */
                {&mm_page(&fake, 0)[1], 8},                 /* a list leads into a block */
                {&mm_page(&fake, 0)[1], 64 * 64},           /* behind the last */
                {&mm_page(&fake, 0)[4], 64 * 8},            /* to one that is on another list */
                {&fake.blocks[8 * 4], MM_AREA + 3 * 64},    /* round in a circle */
                {&mm_page(&fake, 0)[5], 8},                 /* other sizes */
                {&mm_page(&fake, 2)[5], UINT64_C(1) << 30}, /* larger than memory */
                {&mm_page(&fake, 1)[6], 1 << 16},           /* not where the map says */
                {&mm_page(&fake, 4)[6], UINT64_C(1) << 40},
                {&fake.parts[20], 8}, /* no page's */
                {&fake.parts[30], 8},
                {&fake.parts[0], 8}, /* the map leads elsewhere */
                {&fake.map_entry, UINT64_C(1) << 40},
                {&fake.other_entry, UINT64_C(1) << 40}, /* a part that is not there */
                {&fake.data[5], 8},
        };

        (void)state;
        for (size_t i = 0; i < ARRAY_SIZE(breaks); i++) {
                struct heap_list list = {0};

                vec_push(&list.blocks, (struct heap_block){1, 2});
                mm_fill(&fake);
                *breaks[i].word += breaks[i].by;
                if (mm_list(&fake, &list))
                        fail_msg("break %zu", i);
                assert_int_equal(list.blocks.n, 1);
                assert_int_equal(list.own.n + list.frees.n, 0);
                heap_list_done(&list);
        }
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_whole),
                cmocka_unit_test(test_refuses),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
