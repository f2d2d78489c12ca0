/* SPDX-License-Identifier: MIT */
/* What is said of free memory that is kept: factors of the heap alone, remedies that can help. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "resident/fragmentation.h"

#define MIB ((uint64_t)1 << 20)

/* A process of which most is no heap. */
static struct resident resident_of(const char *allocator, uint64_t arena_begin, bool is_empty) {
        struct resident r = {.rss_bytes = 400 * MIB,
                             .page_bytes = 4096,
                             .has_blocks = true,
                             .heap = {.rss_bytes = 40 * MIB,
                                      .asked_bytes = 10 * MIB,
                                      .between_bytes = is_empty ? 0 : 30 * MIB,
                                      .empty_bytes = is_empty ? 30 * MIB : 0}};

        vec_push(&r.areas, (struct resident_area){.begin = 0x5000000,
                                                  .kind = RESIDENT_BRK,
                                                  .heap_rss_bytes = 30 * MIB});
        vec_push(&r.areas, (struct resident_area){.begin = arena_begin,
                                                  .kind = RESIDENT_ANON,
                                                  .heap_rss_bytes = 10 * MIB});
        resident_add_name(&r, "");
        vec_push(&r.allocators,
                 (struct resident_allocator){.name = resident_add_name(&r, allocator),
                                             .usable_bytes = 10 * MIB});
        return r;
}

static void check(struct resident *r, const char *function, const char *want) {
        const struct fragmentation_keys keys = {0};
        struct fragmentation f = fragmentation_of(r, &keys);
        struct str text = {0};

        fragmentation_add_words(&f, function, "", &text);
        assert_string_equal(str_text(&text), want);
        str_done(&text);
        resident_done(r);
}

/* Both kinds of what is free: one figure for all of it, and how most of it is. */
static void test_both_kinds(void **state) {
        struct resident r = resident_of("jemalloc", 0x7f0000021000, true);

        (void)state;
        r.heap.empty_bytes = 20 * MIB;
        r.heap.between_bytes = 10 * MIB;
        check(&r, "",
              "The heap is 4.0 times live: 30.0 MiB are free, 20.0 MiB of it whole pages that the allocator keeps: a shorter dirty_decay_ms or background_thread:true gives them back.");
}

static void test_arenas(void **state) {
        struct resident main_only = resident_of("glibc", 0x7f0000021000, true);
        struct resident arena = resident_of("glibc", 0x7f0000000000, true);
        struct resident other = resident_of("jemalloc", 0x7f0000000000, true);

        (void)state;
        check(&main_only, NULL,
              "The heap is 4.0 times live: 30.0 MiB are free pages that the allocator keeps: malloc_trim(0) gives them back.");
        check(&arena, NULL,
              "The heap is 4.0 times live: 30.0 MiB are free pages that the allocator keeps: malloc_trim(0) gives them back, fewer arenas (MALLOC_ARENA_MAX) keep less.");
        check(&other, NULL,
              "The heap is 4.0 times live: 30.0 MiB are free pages that the allocator keeps: a shorter dirty_decay_ms or background_thread:true gives them back.");
}

static void pin(struct resident *r, uint32_t stack) {
        vec_push(&r->pins, (struct resident_pin){.stack = stack,
                                                 .n_pages = 7000,
                                                 .n_alone = 7000,
                                                 .n_blocks = 7000,
                                                 .block_bytes = 7000 * 96,
                                                 .free_bytes = 25 * MIB});
}

static void test_blocks_of_nobody(void **state) {
        struct resident unknown = resident_of("glibc", 0x7f0000021000, false);
        struct resident known = resident_of("glibc", 0x7f0000021000, false);

        (void)state;
        pin(&unknown, 0);
        check(&unknown, NULL,
              "The heap is 4.0 times live: 30.0 MiB are free blocks between live ones; 100 % of the pinned pages hold one block each: record the program to see whose.");
        pin(&known, 1);
        check(&known, "log_line",
              "The heap is 4.0 times live: 30.0 MiB are free blocks between live ones; 100 % of the pinned pages hold one block each of log_line (96 B).");
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_both_kinds),
                cmocka_unit_test(test_arenas),
                cmocka_unit_test(test_blocks_of_nobody),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
