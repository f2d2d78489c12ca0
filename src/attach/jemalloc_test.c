/* SPDX-License-Identifier: MIT */
/* A jemalloc's variables and arenas made by hand, whole, broken and changing. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka.h needs the four above */
#include <cmocka.h>
#include <string.h>

#include "attach/testing/jemalloc_fake.h"
#include "base/macros.h"

static struct je_fake fake;

static bool read_fake(struct jemalloc_found *ret) {
        struct je_reader r = {.fake = &fake, .n_reads_left = 100000};

        return je_read(&r, ret);
}

static void assert_found(const struct jemalloc_found *found, const struct jemalloc_found *wanted) {
        assert_int_equal(found->held_bytes, wanted->held_bytes);
        assert_int_equal(found->used_bytes, wanted->used_bytes);
        assert_int_equal(found->n_arenas, wanted->n_arenas);
}

/* Both versions, both machines, all sizes of pages. */
static void test_whole(void **state) {
        for (unsigned i = 0; i < JE_N_CONFIGS; i++) {
                struct je_config c = je_config_at(i);
                struct jemalloc_found found, wanted = je_fill(&fake, &c);

                assert_true(read_fake(&found));
                assert_found(&found, &wanted);
                assert_true(found.used_bytes < found.held_bytes);
        }
}

/* Another pointer at the first arena, before nothing but zeros: the table is the one with more. */
static void test_other_pointer(void **state) {
        struct je_config c = je_config_at(0);
        struct jemalloc_found found, wanted = je_fill(&fake, &c);

        memset(&fake.data[JE_ARENAS_WORD], 0, sizeof(uint64_t) * (JE_OTHER_INDEX + 1));
        fake.data[JE_ARENAS_WORD] = JE_HEAP + JE_ARENA_OFF;
        assert_true(read_fake(&found)); /* one arena alone */
        assert_int_equal(found.n_arenas, 1);
        wanted = je_fill(&fake, &c);
        for (size_t i = 0; i < 5; i++) /* each is one place more to look at */
                fake.data[JE_ARENAS_WORD - 1 - i] = JE_HEAP + 64 * i;
        assert_true(read_fake(&found));
        assert_found(&found, &wanted);
}

/* What is not a jemalloc beyond doubt is none. */
static void test_not_recognised(void **state) {
        for (unsigned config = 0; config < 4; config++) {
                struct je_config c = je_config_at(config);
                uint64_t *const breaks[] = {
                        &fake.data[JE_TABLE_WORD], /* sizes */
                        &fake.data[JE_TABLE_WORD + 5],
                        &fake.data[JE_TABLE_WORD + 35 * 5],
                        &fake.data[JE_TABLE_WORD + 36], /* bytes of a slab */
                        &fake.data[JE_TABLE_WORD + 37], /* regions in it */
                        &fake.data[JE_TABLE_WORD + 38],
                        &fake.data[JE_ARENAS_WORD],
                        &fake.data[JE_ARENAS_WORD + 1],
                        &fake.data[JE_ARENAS_WORD + JE_OTHER_INDEX],
                        &fake.data[JE_ARENAS_WORD + 4094],
                        je_base(&fake, &c, 0),
                        je_base(&fake, &c, 1),
                        &fake.heaps[0][0], /* their numbers */
                        &fake.heaps[1][0],
                        je_active(&fake, &c, 0),
                        je_active(&fake, &c, 1),
                        je_bin(&fake, &c, 0, 3),     /* allocated */
                        je_bin(&fake, &c, 0, 3) + 1, /* released */
                        je_bin(&fake, &c, 0, 3) + 3, /* in use */
                        je_bin(&fake, &c, 0, 3) + 8, /* slabs */
                        je_bin(&fake, &c, 1, 9) + 3,
                        je_bin(&fake, &c, 1, 9) + 8,
                        je_bin(&fake, &c, 0, 5) + 8, /* of a class without blocks */
                        je_large(&fake, &c, 0, 0),
                        je_large(&fake, &c, 0, 0) + 1,
                        je_large(&fake, &c, 0, 0) + 5,
                        je_large(&fake, &c, 1, 4),
                        je_large(&fake, &c, 0, 195),
                };

                for (size_t i = 0; i < ARRAY_SIZE(breaks); i++)
                        for (uint64_t by = 1; by; by <<= 21) {
                                struct jemalloc_found found;

                                je_fill(&fake, &c);
                                *breaks[i] += by;
                                if (breaks[i] == &fake.heaps[0][0] && by > UINT32_MAX)
                                        continue; /* something else of its base */
                                if (breaks[i] == &fake.heaps[1][0] && by > UINT32_MAX)
                                        continue;
                                if (read_fake(&found))
                                        fail_msg("configuration %u, break %zu by %#llx", config, i,
                                                 (unsigned long long)by);
                                assert_int_equal(found.held_bytes + found.n_arenas, 0);
                        }
        }
}

/* Slabs are full but for those that are known to be partly free, and the one that is being filled. */
static void test_slabs(void **state) {
        const struct {
                unsigned word;
                uint64_t value;
        } breaks[] = {
                {9, 0}, /* none is partly free: three should be full */
                {9, 5}, /* more are partly free than there are */
                {6, 3}, /* fewer were ever made */
        };

        for (size_t i = 0; i < ARRAY_SIZE(breaks); i++) {
                struct je_config c = je_config_at(0);
                struct jemalloc_found found;

                je_fill(&fake, &c);
                je_bin(&fake, &c, 0, 3)[breaks[i].word] = breaks[i].value;
                assert_false(read_fake(&found));
        }
}

/* An arena without any figures does not show how they lie: a jemalloc that keeps none, or that nobody has used. */
static void test_unused(void **state) {
        struct je_config c = je_config_at(0);
        struct jemalloc_found found;

        je_fill(&fake, &c);
        memset(je_bin(&fake, &c, 0, 0), 0, JE_FIGURES_WORDS * 8);
        memset(je_bin(&fake, &c, 0, 3), 0, JE_FIGURES_WORDS * 8);
        memset(je_bin(&fake, &c, 0, 20), 0, JE_FIGURES_WORDS * 8);
        memset(je_large(&fake, &c, 0, 0), 0, 48);
        *je_active(&fake, &c, 0) = 0;
        assert_false(read_fake(&found));
        memset(&fake, 0, sizeof(fake));
        assert_false(read_fake(&found));
}

/* A block is allocated between two of its figures, again and again: it is read when they fit. */
static unsigned n_busy_reads;

static void change_active(struct je_fake *f, unsigned n_reads) {
        static const struct je_config c = {.mutex_bytes = 120,
                                           .quantum_bytes = 16,
                                           .n_shards = 1,
                                           .page_bytes = 4096};

        if (n_reads == 0 || n_reads == n_busy_reads)
                *je_active(f, &c, 1) ^= 1;
}

static void test_change(void **state) {
        struct je_config c = je_config_at(0);
        struct jemalloc_found found, wanted = je_fill(&fake, &c);
        struct je_reader r = {.fake = &fake, .n_reads_left = 100000, .between = change_active};

        n_busy_reads = 20;
        assert_true(je_read(&r, &found));
        assert_found(&found, &wanted);
        assert_true(r.n_reads > n_busy_reads);
        je_fill(&fake, &c);
        n_busy_reads = 1000000; /* it never fits */
        r.n_reads = 0;
        assert_false(je_read(&r, &found));
        assert_true(r.n_reads < 1000);
}

/* The time may be over at any moment: all is told, or nothing. */
static void test_time_is_over(void **state) {
        unsigned n_found = 0;

        for (unsigned n = 0; n < 20; n++) {
                struct je_config c = je_config_at(1);
                struct jemalloc_found found, wanted = je_fill(&fake, &c);
                struct je_reader r = {.fake = &fake, .n_reads_left = n};

                if (!je_read(&r, &found))
                        continue;
                assert_found(&found, &wanted);
                n_found++;
        }
        assert_true(n_found > 0 && n_found < 20);
}

/* Every block of every configuration whose tree fits, and nothing if one word of it is another. */
static void test_list(void **state) {
        unsigned n_trees = 0;

        (void)state;
        for (unsigned config = 0; config < JE_N_CONFIGS; config++) {
                struct je_config c = je_config_at(config);
                struct jemalloc_found found = je_fill(&fake, &c);
                struct je_reader r = {.fake = &fake, .n_reads_left = UINT32_MAX};
                struct heap_list list = {0};
                uint64_t bytes = 0;

                if (!je_fill_tree(&fake, &c))
                        continue;
                n_trees++;
                assert_true(je_list(&r, &list));
                for (size_t i = 0; i < list.blocks.n; i++) {
                        bytes += list.blocks.items[i].size_bytes;
                        if (i)
                                assert_true(list.blocks.items[i].address >=
                                            list.blocks.items[i - 1].address +
                                                    list.blocks.items[i - 1].size_bytes);
                }
                assert_int_equal(bytes, found.used_bytes);
                assert_int_equal(list.own.n, 1);
                assert_true(list.own.items[0].begin <= JE_EXTENTS &&
                            list.own.items[0].end > JE_EXTENTS);
                heap_list_done(&list);
        }
        assert_true(n_trees > JE_N_CONFIGS / 3);
}

static void test_list_refuses(void **state) {
        (void)state;
        for (unsigned config = 0; config < JE_N_CONFIGS; config++) {
                struct je_config c = je_config_at(config);
                uint64_t *const first = fake.extents, *const large = first + 12 * JE_EXTENT_WORDS;
                struct {
                        uint64_t *word, by;
                } const breaks[] = {
                        {&first[2 * JE_EXTENT_WORDS],
                         1 << (c.is_old ? 18 : 20)}, /* another class */
                        {&first[0], 1 << 12},        /* a slab */
                        {&first[0], 1 << 17},        /* not in use */
                        {&first[2], c.page_bytes},   /* another size */
                        {&first[8], 1},              /* a region is free */
                        {&large[1], c.page_bytes},   /* a large block elsewhere */
                        {&large[2], (uint64_t)0 - c.page_bytes},
                };

                for (size_t i = 0; i < ARRAY_SIZE(breaks); i++) {
                        struct je_reader r = {.fake = &fake, .n_reads_left = UINT32_MAX};
                        struct heap_list list = {0};

                        je_fill(&fake, &c);
                        if (!je_fill_tree(&fake, &c))
                                break;
                        *breaks[i].word += breaks[i].by;
                        if (je_list(&r, &list))
                                fail_msg("configuration %u, break %zu", config, i);
                        assert_int_equal(list.blocks.n + list.own.n, 0);
                        heap_list_done(&list);
                }
        }
}

/* A build without statistics (as of tikv-jemallocator) keeps the number of active pages alone: all blocks are told, and none if one page is too many or too few. */
static void test_list_without_figures(void **state) {
        unsigned n_trees = 0;

        (void)state;
        for (unsigned config = 0; config < JE_N_CONFIGS; config++) {
                struct je_config c = je_config_at(config);
                struct jemalloc_found wanted = je_fill(&fake, &c), found;
                struct je_reader r = {.fake = &fake, .n_reads_left = UINT32_MAX};

                if (c.is_old || !je_fill_tree(&fake, &c))
                        continue;
                n_trees++;
                je_drop_figures(&fake, &c);
                assert_false(je_read(&r, &found));
                assert_true(je_find(&r, &found));
                assert_true(found.lacks_figures);
                assert_int_equal(found.held_bytes, wanted.held_bytes);
                assert_int_equal(found.n_arenas, wanted.n_arenas);
                for (int more = -1; more <= 1; more++) {
                        struct heap_list list = {0};
                        uint64_t bytes = 0;

                        *je_active(&fake, &c, 1) += (uint64_t)(int64_t)more;
                        assert_int_equal(je_list(&r, &list), !more);
                        for (size_t i = 0; i < list.blocks.n; i++)
                                bytes += list.blocks.items[i].size_bytes;
                        assert_int_equal(bytes, more ? 0 : wanted.used_bytes);
                        *je_active(&fake, &c, 1) -= (uint64_t)(int64_t)more;
                        heap_list_done(&list);
                }
        }
        assert_true(n_trees > JE_N_CONFIGS / 6);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_list),           cmocka_unit_test(test_list_refuses),
                cmocka_unit_test(test_whole),          cmocka_unit_test(test_other_pointer),
                cmocka_unit_test(test_not_recognised), cmocka_unit_test(test_slabs),
                cmocka_unit_test(test_unused),         cmocka_unit_test(test_change),
                cmocka_unit_test(test_time_is_over),   cmocka_unit_test(test_list_without_figures),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
