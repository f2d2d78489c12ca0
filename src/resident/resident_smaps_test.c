/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/macros.h"
#include "resident/resident_smaps.h"

#define KB 1024ull
#define MB (1024 * KB)
#define FIELDS(rss, dirty)                                                                         \
        "Size: 4 kB\nRss: " #rss " kB\nPss: " #rss " kB\nPrivate_Dirty: " #dirty                   \
        " kB\nAnonymous: " #dirty " kB\nSwap: 4 kB\nVmFlags: rd wr mr\n"

static struct resident parse(const char *text, const struct smaps_context *c) {
        struct resident r = {.page_bytes = 4096};
        FILE *f = fmemopen((void *)text, strlen(text), "r");

        resident_add_name(&r, "");
        assert_true(resident_smaps(&r, f, c));
        fclose(f);
        return r;
}

static const struct resident_area *area_at(const struct resident *r, uint64_t begin) {
        for (size_t i = 0; i < r->areas.n; i++)
                if (r->areas.items[i].begin == begin)
                        return &r->areas.items[i];
        fail_msg("no area at %llx", (unsigned long long)begin);
        return NULL;
}

/* Each kind, and what lies side by side and is alike as one. */
static void test_kinds(void **state) {
        static const char text[] =
                "00400000-00500000 r-xp 00000000 08:01 77   /bin/x y\n" FIELDS(512, 0)     /**/
                "00500000-00501000 rw-p 00100000 08:01 77   /bin/x y\n" FIELDS(4, 4)       /**/
                "01000000-03000000 rw-p 00000000 00:00 0    [heap]\n" FIELDS(20480, 20480) /**/
                "7f0000000000-7f0000100000 rw-s 00000000 00:01 5 /memfd:a b (deleted)\n" FIELDS(
                        100, 0)                                                                /**/
                "7f0000100000-7f0000200000 rw-s 00000000 00:1b 6 /srv/x\n" FIELDS(8, 0)        /**/
                "7f0000200000-7f0000300000 rw-s 00000000 08:01 9 /srv/db\n" FIELDS(12, 0)      /**/
                "7f0000300000-7f0000400000 rw-p 00000000 00:00 0 \n" FIELDS(16, 16)            /**/
                "7f0000400000-7f0000500000 r--p 00000000 00:00 0 \n" FIELDS(32, 32)            /**/
                "7f0000500000-7f0000600000 rw-p 00000000 00:00 0 [anon:pool]\n" FIELDS(64, 64) /**/
                "7f0000600000-7f0000700000 rw-s 00000000 00:01 11 /memfd:silt (deleted)\n" FIELDS(
                        40, 0) /**/
                "7f0000700000-7f0000800000 r-xp 00000000 08:01 12 /usr/lib/silt/libsilt.so\n" FIELDS(
                        44, 0) /**/
                "7f0000800000-7f0000a00000 rw-p 00000000 00:0f 13 /anon_hugepage (deleted)\n"
                "Rss: 0 kB\nPrivate_Hugetlb: 2048 kB\nVmFlags: rd wr ht\n"
                "7ffc00000000-7ffc01000000 rw-p 00000000 00:00 0  [stack]\n" FIELDS(128, 128) /**/
                "7ffc01000000-7ffc01002000 r-xp 00000000 00:00 0  [vdso]\n" FIELDS(4, 0);
        struct smaps_context c = {.pagemap_fd = -1};
        struct thread_stack main_thread = {42, 0x7ffc00fff000};
        struct resident r;

        (void)state;
        vec_push(&c.memory_devices, 0x1b);
        vec_push(&c.stacks.list, main_thread);
        r = parse(text, &c);
        assert_int_equal(area_at(&r, 0x400000)->kind, RESIDENT_FILE_PRIVATE);
        assert_int_equal(area_at(&r, 0x400000)->rss_bytes, 516 * KB);
        assert_int_equal(area_at(&r, 0x400000)->private_dirty_bytes, 4 * KB);
        assert_int_equal(area_at(&r, 0x400000)->size_bytes, MB + 4 * KB);
        assert_string_equal(resident_name(&r, area_at(&r, 0x400000)->name), "/bin/x y");
        assert_int_equal(area_at(&r, 0x1000000)->kind, RESIDENT_BRK);
        assert_int_equal(area_at(&r, 0x7f0000000000)->kind, RESIDENT_SHARED);
        assert_int_equal(area_at(&r, 0x7f0000100000)->kind, RESIDENT_SHARED);
        assert_int_equal(area_at(&r, 0x7f0000200000)->kind, RESIDENT_FILE_SHARED);
        assert_int_equal(area_at(&r, 0x7f0000300000)->kind, RESIDENT_ANON);
        assert_int_equal(area_at(&r, 0x7f0000300000)->size_bytes, 2 * MB);
        assert_int_equal(area_at(&r, 0x7f0000300000)->rss_bytes, 48 * KB);
        assert_int_equal(area_at(&r, 0x7f0000500000)->kind, RESIDENT_ANON);
        assert_int_equal(area_at(&r, 0x7f0000600000)->kind, RESIDENT_RUNTIME);
        assert_int_equal(area_at(&r, 0x7f0000700000)->kind, RESIDENT_RUNTIME);
        assert_int_equal(area_at(&r, 0x7f0000800000)->kind, RESIDENT_HUGETLB);
        assert_int_equal(area_at(&r, 0x7f0000800000)->huge_bytes, 2 * MB);
        assert_int_equal(area_at(&r, 0x7ffc00000000)->kind, RESIDENT_STACK);
        assert_int_equal(area_at(&r, 0x7ffc00000000)->tid, 42);
        assert_int_equal(area_at(&r, 0x7ffc01000000)->kind, RESIDENT_KERNEL);
        assert_int_equal(r.rss_bytes, (516 + 20480 + 100 + 8 + 12 + 48 + 64 + 84 + 132) * KB);
        assert_int_equal(r.swap_bytes, 13 * 4 * KB);
        resident_done(&r);
        smaps_context_done(&c);
}

#define GUARD(begin, end) begin "-" end " ---p 00000000 00:00 0 \n" FIELDS(0, 0)
#define ANON(begin, end) begin "-" end " rw-p 00000000 00:00 0 \n" FIELDS(8, 8)

/* By its pointer; by its size; and neither an arena nor memory without a guard. */
static void test_stacks(void **state) {
        static const char text[] = GUARD("7f0000000000", "7f0000001000")
                ANON("7f0000001000", "7f0000041000")  /* its pointer is there */
                GUARD("7f0000100000", "7f0000101000") /* as large */
                ANON("7f0000101000", "7f0000141000")  /**/
                GUARD("7f0000200000", "7f0000201000") /* larger */
                ANON("7f0000201000", "7f0000251000")  /**/
                ANON("7f0000300000", "7f0000341000"); /* a pointer, but no guard */
        struct smaps_context c = {.pagemap_fd = -1};
        struct thread_stack threads[] = {{7, 0x7f0000020000}, {9, 0x7f0000320000}};
        struct resident r;

        (void)state;
        vec_push(&c.stacks.list, threads[0]);
        vec_push(&c.stacks.list, threads[1]);
        r = parse(text, &c);
        assert_int_equal(area_at(&r, 0x7f0000001000)->kind, RESIDENT_STACK);
        assert_int_equal(area_at(&r, 0x7f0000001000)->tid, 7);
        assert_int_equal(area_at(&r, 0x7f0000101000)->kind, RESIDENT_STACK);
        assert_int_equal(area_at(&r, 0x7f0000101000)->tid, 0);
        assert_int_equal(area_at(&r, 0x7f0000300000)->kind, RESIDENT_ANON);
        for (size_t i = 0; i < r.areas.n; i++)
                assert_true(r.areas.items[i].begin != 0x7f0000201000 ||
                            r.areas.items[i].kind == RESIDENT_ANON);
        resident_done(&r);
        smaps_context_done(&c);
}

/* By what is reserved behind them; nothing else that only begins where one could. */
/* With 39 bits of addresses what Go chooses, 0x4000000000, is not low. */
static void test_arenas_narrow(void **state) {
        static const char text[] = ANON("4000000000", "4000400000") /* Go's */
                GUARD("4000400000", "4004000000")                   /**/
                ANON("7f84000000", "7f84200000")                    /* glibc's */
                GUARD("7f84200000", "7f88000000")                   /**/
                ANON("7fc0000000", "7fc0100000");
        struct smaps_context c = {.pagemap_fd = -1};
        struct resident r = parse(text, &c);

        (void)state;
        assert_int_equal(r.arenas.n, 1);
        assert_int_equal(r.arenas.items[0], 0x7f84000000);
        resident_done(&r);
        smaps_context_done(&c);
}

static void test_arenas(void **state) {
        static const char text[] = ANON("c000000000", "c000400000")  /* Go's heap has the shape */
                GUARD("c000400000", "c004000000")                    /**/
                ANON("7e0000000000", "7e0002000000")                 /* nothing reserved */
                ANON("7e0010000000", "7e0014000000")                 /* all of 64 MiB */
                GUARD("7e0014000000", "7e0014001000")                /**/
                "7e0020000000-7e0022000000 rwxp 00000000 00:00 0 \n" /* code */
                FIELDS(8, 8) GUARD("7e0022000000", "7e0024000000")   /**/
                ANON("7effff000000", "7f0000100000")                 /* joined with what is below */
                GUARD("7f0000100000", "7f0004000000")                /**/
                ANON("7f0004000000", "7f0008100000")  /* one that is full, and the next */
                GUARD("7f0008100000", "7f000c001000") /* a stack's guard above */
                ANON("7f000c001000", "7f000c100000");
        struct smaps_context c = {.pagemap_fd = -1};
        struct resident r = parse(text, &c);

        (void)state;
        assert_int_equal(r.arenas.n, 3);
        assert_int_equal(r.arenas.items[0], 0x7f0000000000);
        assert_int_equal(r.arenas.items[1], 0x7f0004000000);
        assert_int_equal(r.arenas.items[2], 0x7f0008000000);
        resident_done(&r);
        smaps_context_done(&c);
}

/* What is given to a thread lies above its guard, and something else may follow without a gap; an older C library takes the guard from it. */
static void test_given_stacks(void **state) {
        static const char now[] = GUARD("7f0000000000", "7f0000001000")
                ANON("7f0000001000", "7f0000041000") /* as much as is given */
                GUARD("7f0000100000", "7f0000101000")
                        ANON("7f0000101000", "7f0000151000"); /* and more behind it */
        static const char then[] = GUARD("7f0000000000", "7f0000001000")
                ANON("7f0000001000", "7f0000040000") /* with the guard */
                GUARD("7f0000100000", "7f0000101000") ANON("7f0000101000", "7f0000151000");
        struct smaps_context c = {.pagemap_fd = -1, .stacks.stack_bytes = 256 * KB};
        struct thread_stack threads[] = {{7, 0x7f0000020000}, {9, 0x7f0000120000}};

        (void)state;
        vec_push(&c.stacks.list, threads[0]);
        vec_push(&c.stacks.list, threads[1]);
        for (int is_old = 0; is_old < 2; is_old++) {
                struct resident r = parse(is_old ? then : now, &c);

                assert_int_equal(area_at(&r, 0x7f0000001000)->tid, 7);
                assert_int_equal(area_at(&r, 0x7f0000001000)->size_bytes,
                                 is_old ? 252 * KB : 256 * KB);
                resident_done(&r);
        }
        smaps_context_done(&c);
}

/* The process mapped memory while the kernel wrote: what was written last counts, nothing twice. */
static void test_told_twice(void **state) {
        static const char text[] =
                "7f0000000000-7f0000100000 rw-p 00000000 00:00 0 \n" FIELDS(900, 900)          /**/
                "7f0000200000-7f0000300000 rw-p 00000000 00:00 0 [anon:a]\n" FIELDS(100, 100)  /**/
                "7f0000300000-7f0000400000 rw-p 00000000 00:00 0 [anon:b]\n" FIELDS(200, 200)  /**/
                "7f0000080000-7f0000500000 rw-p 00000000 00:00 0 [anon:c]\n" FIELDS(1600, 600) /**/
                "7f0000600000-7f0000700000 rw-p 00000000 00:00 0 \n" FIELDS(8, 8);
        struct smaps_context c = {.pagemap_fd = -1};
        struct resident r = parse(text, &c);

        (void)state;
        assert_int_equal(r.areas.n, 3);
        assert_int_equal(r.areas.items[0].size_bytes, 512 * KB);
        assert_int_equal(r.areas.items[0].rss_bytes, 512 * KB);
        assert_int_equal(r.areas.items[1].begin, 0x7f0000080000);
        assert_int_equal(r.areas.items[1].rss_bytes, 1600 * KB);
        assert_int_equal(r.rss_bytes, (512 + 1600 + 8) * KB);
        resident_done(&r);
        smaps_context_done(&c);
}

/* Nothing of it may be believed. */
static void test_hostile(void **state) {
        static const char *const texts[] = {
                "Rss: 4 kB\n",
                "zz-yy rw-p\nRss: 1 kB\n",
                "2000-1000 rw-p 0 0:0 0\nRss: 5 kB\n",
                "",
                "\n\n\n",
                "1000-2000",
        };
        static const char large[] =
                "1000-2000 rw-p 0 0:0 0 \nRss: 99999999999999999999999 kB\nRss: 18446744073709551615 kB\nSwap: -1 kB\nPss:\n";
        struct smaps_context c = {.pagemap_fd = -1};
        struct resident r = {0};
        FILE *f;

        (void)state;
        for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
                r = (struct resident){.page_bytes = 4096};
                f = fmemopen((void *)texts[i], strlen(texts[i]) + 1, "r");
                assert_false(resident_smaps(&r, f, &c));
                fclose(f);
                resident_done(&r);
        }
        r = parse(large, &c);
        assert_int_equal(r.areas.n, 1);
        assert_true(r.rss_bytes < UINT64_MAX / 1024);
        resident_done(&r);
        resident_status(&r, "\nVmPTE:   12 kB\nVmLck:\t 4 kB\nHugetlbPages: 2048 kB\n");
        assert_int_equal(r.page_table_bytes, 12 * KB);
        assert_int_equal(r.locked_bytes, 4 * KB);
        assert_int_equal(r.hugetlb_bytes, 2 * MB);
}

/* More areas than are kept: the heaviest stay, the sums stay the same. */
static void test_cap(void **state) {
        struct resident r = {.page_bytes = 4096};
        uint64_t rss = 0;

        (void)state;
        for (uint64_t i = 1; i <= 3ull * RESIDENT_MAX_AREAS; i++)
                vec_push(&r.areas, (struct resident_area){.begin = i << 20,
                                                          .size_bytes = 4096 * 100,
                                                          .kind = i % 3 ? RESIDENT_ANON
                                                                        : RESIDENT_FILE_PRIVATE,
                                                          .rss_bytes = 4096 * (i % 50)});
        for (size_t i = 0; i < r.areas.n; i++)
                rss += r.areas.items[i].rss_bytes;
        resident_cap_areas(&r);
        assert_true(r.areas.n <= RESIDENT_MAX_AREAS);
        assert_int_equal(r.areas.items[0].begin, 0);
        assert_int_equal(r.areas.items[1].begin, 0);
        assert_int_not_equal(r.areas.items[2].begin, 0);
        for (size_t i = 0; i < r.areas.n; i++) {
                assert_true(i < 2 || r.areas.items[i].rss_bytes >= 4096ull * 33);
                rss -= r.areas.items[i].rss_bytes;
        }
        assert_int_equal(rss, 0);
        resident_done(&r);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_kinds),        cmocka_unit_test(test_stacks),
                cmocka_unit_test(test_arenas),       cmocka_unit_test(test_arenas_narrow),
                cmocka_unit_test(test_given_stacks), cmocka_unit_test(test_told_twice),
                cmocka_unit_test(test_hostile),      cmocka_unit_test(test_cap),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
