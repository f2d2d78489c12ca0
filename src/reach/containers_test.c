/* SPDX-License-Identifier: MIT */
/* Containers by their shape: each as its library makes it, and what looks like one but is not. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/testing/seed.h"
#include "reach/containers.h"
#include "reach/testing/draw.h"

enum { BASE = 0x10000, ROOT_WORDS = 64, BLOCK = BASE + 4096, MEMORY_BYTES = 65536 };

static uint64_t
        memory[MEMORY_BYTES / 8]; /* from BASE on: variables, then one block after the other */

static size_t fake_read(void *ctx, uint64_t address, void *ret, size_t n_bytes) {
        (void)ctx;
        if (address < BASE || address >= BASE + MEMORY_BYTES)
                return 0;
        n_bytes = MIN(n_bytes, (size_t)(BASE + MEMORY_BYTES - address));
        memcpy(ret, (const uint8_t *)memory + (address - BASE), n_bytes);
        return n_bytes;
}

static uint8_t *at(uint64_t address) {
        return (uint8_t *)memory + (address - BASE);
}

static void clear(void) {
        memset(memory, 0, sizeof(memory));
}

/* What is found of one block of that size; false: nothing. */
static bool find(uint64_t size_bytes, bool has_exact_sizes, enum reach_root_kind kind,
                 struct heap_container *ret) {
        const struct reach_memory m = {.read = fake_read};
        const struct reach_block blocks[] = {{.address = BLOCK, .size_bytes = size_bytes},
                                             {.address = BASE + MEMORY_BYTES - 4096,
                                              .size_bytes = 4096}};
        const struct reach_root root = {.begin = BASE, .end = BASE + ROOT_WORDS * 8, .kind = kind};
        struct reach_scanned scanned;
        struct heap_graph h = {0};
        bool is_found;

        assert_int_equal(reach_scan(&(struct reach_scan){.memory = &m,
                                                         .blocks = blocks,
                                                         .n_blocks = 2,
                                                         .roots = &root,
                                                         .n_roots = 1,
                                                         .n_threads = 1,
                                                         .wants_hints = true,
                                                         .has_exact_sizes = has_exact_sizes},
                                    &scanned),
                         0);
        assert_int_equal(containers_find(&m, blocks, 2, true, &scanned.hints, &h), 0);
        is_found = h.n_containers == 1 && h.containers[0].block == 0;
        assert_true(h.n_containers == 0 || is_found);
        if (is_found)
                *ret = h.containers[0];
        free(h.containers);
        reach_scanned_done(&scanned);
        return is_found;
}

static void check(uint64_t size_bytes, enum heap_container_kind kind, uint64_t used,
                  uint64_t room) {
        struct heap_container c;

        assert_true(find(size_bytes, true, ROOT_DATA, &c));
        assert_int_equal(c.kind, kind);
        assert_int_equal(c.used, used);
        assert_int_equal(c.room, room);
}

static void check_none(uint64_t size_bytes) {
        struct heap_container c;

        assert_false(find(size_bytes, true, ROOT_DATA, &c));
}

/* ---- hashbrown ----------------------------------------------------------------------------------------------- */

/* As hashbrown keeps them: entries, then a byte a slot, then the first group once more. How large it is. */
static uint64_t make_table(struct draw *d, unsigned log2_slots, unsigned group, bool is_old,
                           uint64_t *ret_entries) {
        uint64_t n_slots = (uint64_t)1 << log2_slots,
                 most = n_slots <= 8 ? n_slots - 1 : n_slots / 8 * 7;
        uint64_t n_full = draw_below(d, most + 1), n_deleted = draw_below(d, most - n_full + 1);
        uint64_t bytes = ALIGN_UP(draw_below(d, 24) * n_slots, (uint64_t)16), control;
        uint8_t *slots;

        clear();
        bytes = MAX(bytes, (uint64_t)16);
        control = BLOCK + bytes;
        slots = at(control);
        memset(slots, 0xff, n_slots + group);
        for (uint64_t i = 0; i < n_full + n_deleted;) {
                uint64_t slot = draw_below(d, n_slots);

                if (slots[slot] != 0xff)
                        continue;
                slots[slot] = i++ < n_full ? (uint8_t)draw_below(d, 0x80) : 0x80;
                if (n_slots < group)
                        slots[group + slot] = slots[slot];
                else if (slot < group)
                        slots[n_slots + slot] = slots[slot];
        }
        memory[5] = is_old ? n_slots - 1 : control;
        memory[6] = is_old ? control : n_slots - 1;
        memory[7] = most - n_full - n_deleted;
        memory[8] = n_full;
        *ret_entries = n_full;
        return bytes + n_slots + group;
}

static void test_open_table(void **state) {
        (void)state;
        for (unsigned i = 0; i < 60; i++) {
                struct draw d = draw_from(seed_of_run() * 10000 + i);
                unsigned log2_slots = 2 + (unsigned)draw_below(&d, 9);
                uint64_t n_entries,
                        size = make_table(&d, log2_slots, i % 2 ? 16 : 8, i % 3 == 0, &n_entries);
                struct heap_container c;
                uint8_t *byte;

                check(size, CONTAINER_OPEN_TABLE, n_entries, (uint64_t)1 << log2_slots);
                /* malloc made it larger, and nobody knows by how much */
                assert_true(find(ALIGN_UP(size + 8, (uint64_t)16) - 8, false, ROOT_STACK, &c));
                assert_int_equal(c.used, n_entries);
                /* any figure or control byte that is another makes it none */
                memory[7 + i % 2]++;
                check_none(size);
                memory[7 + i % 2]--;
                byte = at(memory[i % 3 ? 5 : 6]) +
                       draw_below(&d, ((uint64_t)1 << log2_slots) + (i % 2 ? 16 : 8));
                *byte ^= 0x80;
                check_none(size);
                *byte ^= 0x80;
                check(size, CONTAINER_OPEN_TABLE, n_entries, (uint64_t)1 << log2_slots);
                check_none(size + 1);
        }
}

/* ---- libstdc++ ------------------------------------------------------------------------------------------------ */

static void test_vector(void **state) {
        struct heap_container c;

        (void)state;
        clear();
        memory[2] = BLOCK;
        memory[3] = BLOCK + 320;
        memory[4] = BLOCK + 4000;
        check(4000, CONTAINER_VECTOR, 320, 4000);
        assert_true(find(4008, false, ROOT_DATA, &c));
        assert_int_equal(c.room, 4000);
        check_none(4008);
        memory[3] = BLOCK;
        check(4000, CONTAINER_VECTOR, 0, 4000);
        /* two that say different things */
        memory[12] = BLOCK;
        memory[13] = BLOCK + 8;
        memory[14] = BLOCK + 4000;
        check_none(4000);
        memory[13] = BLOCK;
        check(4000, CONTAINER_VECTOR, 0, 4000);
        memory[3] = memory[13] = BLOCK + 4001;
        check_none(4000);
}

/* A block's word counts more than a stack's, which may be old. */
static void test_stacks_are_believed_less(void **state) {
        struct heap_container c;

        (void)state;
        clear();
        memory[2] = BLOCK;
        memory[3] = BLOCK + 320;
        memory[4] = BLOCK + 4000;
        memory[MEMORY_BYTES / 8 - 9] = BLOCK;
        memory[MEMORY_BYTES / 8 - 8] = BLOCK + 640;
        memory[MEMORY_BYTES / 8 - 7] = BLOCK + 4000;
        check_none(4000);
        assert_true(find(4000, true, ROOT_STACK, &c));
        assert_int_equal(c.used, 640);
}

static void test_no_vector(void **state) {
        (void)state;
        /* a FILE: pointers into its buffer on all sides */
        clear();
        for (int i = 1; i < 9; i++)
                memory[i] = BLOCK;
        memory[6] = memory[8] = BLOCK + 4096;
        check_none(4096);
        /* a deque: where its first element is, the piece's begin and end, the word that has the piece */
        clear();
        memory[20] = BLOCK;
        memory[2] = memory[3] = BLOCK;
        memory[4] = BLOCK + 512;
        memory[5] = BASE + 20 * 8;
        check_none(512);
        memory[5] = 0;
        check(512, CONTAINER_VECTOR, 0, 512);
}

static void test_string(void **state) {
        struct heap_container c;

        (void)state;
        clear();
        memory[2] = BLOCK;
        memory[3] = 20;
        memory[4] = 30;
        memset(at(BLOCK), 'a', 20);
        check(31, CONTAINER_STRING, 20, 30);
        assert_true(find(40, false, ROOT_DATA, &c));
        check_none(32);
        *at(BLOCK + 20) = 'a';
        check_none(31);
        /* Rust's strings, one behind the other: room, text, length */
        clear();
        memset(at(BLOCK), 'a', 20);
        memory[1] = 26;
        memory[4] = 25;
        memory[2] = BLOCK;
        memory[3] = 20;
        check(26, CONTAINER_RUST, 20, 26);
        assert_false(find(40, false, ROOT_DATA, &c));
}

/* Room, pointer, length. */
static void test_rust(void **state) {
        struct heap_container c;

        (void)state;
        clear();
        memory[1] = 1000;
        memory[2] = BLOCK;
        memory[3] = 80;
        check(4000, CONTAINER_RUST, 320, 4000);
        check_none(4001);
        assert_false(find(4008, false, ROOT_DATA, &c));
        memory[3] = 1001;
        check_none(4000);
        /* older: a length, then pointer, room and length of the next */
        memory[3] = 1000;
        memory[4] = 80;
        check_none(4000);
        /* what C++ says counts more */
        memory[3] = 80;
        memory[12] = BLOCK;
        memory[13] = BLOCK + 8;
        memory[14] = BLOCK + 4000;
        check(4000, CONTAINER_VECTOR, 8, 4000);
}

static void test_chained_table(void **state) {
        (void)state;
        clear();
        memory[2] = BLOCK;
        memory[3] = 13;
        memory[4] = BASE + MEMORY_BYTES - 4096;
        memory[5] = 2;
        memory[6] = 0xdead00003f800000; /* what pads the 1.0 is anything */
        memory[7] = 13;
        memory[512 + 4] = BASE + 4 * 8;
        memory[512 + 9] = BASE + MEMORY_BYTES - 4096;
        check(13 * 8, CONTAINER_CHAINED_TABLE, 2, 13);
        memory[512 + 4] += 8;
        check_none(13 * 8);
        memory[512 + 4] -= 8;
        memory[6] = 0;
        check_none(13 * 8);
        memory[6] = 0x3f800000;
        memory[5] = 0;
        check_none(13 * 8);
}

/* Words by chance, many of which point to a block. */
static void test_by_chance(void **state) {
        (void)state;
        for (unsigned i = 0; i < 60; i++) {
                struct draw d = draw_from(seed_of_run() * 10000 + i);
                uint64_t size = 16 + draw_below(&d, 4000);
                struct heap_container c;

                clear();
                for (unsigned k = 0; k < MEMORY_BYTES / 8; k++)
                        memory[k] = draw_below(&d, 2) ? BLOCK + draw_below(&d, size + 1) / 8 * 8
                                                      : draw_below(&d, size);
                if (find(size, i % 2, ROOT_DATA, &c))
                        assert_true(c.kind >= CONTAINER_VECTOR);
        }
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_open_table),
                cmocka_unit_test(test_vector),
                cmocka_unit_test(test_stacks_are_believed_less),
                cmocka_unit_test(test_no_vector),
                cmocka_unit_test(test_string),
                cmocka_unit_test(test_rust),
                cmocka_unit_test(test_chained_table),
                cmocka_unit_test(test_by_chance),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
