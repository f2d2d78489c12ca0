/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/macros.h"
#include "reach/source_head.h"

enum { FILE_AT = 0x10000, FILE_WORDS = 64, CODE = 0x40000, CODE_BYTES = 4096, HEAP = 0x80000 };
enum { TIMEOUT = 8, GETTERS = 16, NO_DISPATCH = 24, TO_HEAP = 32 }; /* words of the file's tables */

/* Of GLib: a timeout's functions, of which only dispatch is there, and who reads plain callbacks. */
static uint64_t file[FILE_WORDS] = {
        [TIMEOUT + 2] = CODE,      [GETTERS] = CODE + 16, [GETTERS + 1] = CODE + 32,
        [GETTERS + 2] = CODE + 48, [NO_DISPATCH] = CODE,  [TO_HEAP + 2] = HEAP,
};
static uint64_t heap[64];

static size_t fake_read(void *ctx, uint64_t address, void *ret, size_t n_bytes) {
        bool is_heap = address >= HEAP;
        uint64_t begin = is_heap ? HEAP : FILE_AT,
                 end = begin + (is_heap ? sizeof(heap) : sizeof(file));

        (void)ctx;
        if (address < begin || address >= end)
                return 0;
        n_bytes = MIN(n_bytes, (size_t)(end - address));
        memcpy(ret, (const uint8_t *)(is_heap ? heap : file) + (address - begin), n_bytes);
        return n_bytes;
}

static bool fake_is_code(void *ctx, uint64_t address) {
        (void)ctx;
        return address >= CODE && address < CODE + CODE_BYTES;
}

static bool fake_is_file(void *ctx, uint64_t address) {
        (void)ctx;
        return address >= FILE_AT && address < FILE_AT + sizeof(file);
}

static const struct reach_memory memory = {.read = fake_read,
                                           .is_code = fake_is_code,
                                           .is_file = fake_is_file};

#define A_SOURCE                                                                                   \
        {                                                                                          \
                [SOURCE_DATA] = HEAP + 128, [SOURCE_GETTERS] = FILE_AT + GETTERS * 8,              \
                [SOURCE_TABLE] = FILE_AT + TIMEOUT * 8, [SOURCE_REFS] = 1,                         \
                [SOURCE_CONTEXT] = HEAP + 256, [SOURCE_FLAGS] = (uint64_t)1 << 32, [SOURCE_ID] = 7 \
        }

static void test_what_is_one(void **state) {
        static const struct {
                unsigned word;
                uint64_t value;
                bool is_one;
        } rows[] = {
                {SOURCE_ID, 0, true},      /* in no loop yet */
                {SOURCE_CONTEXT, 0, true}, /* the same */
                {SOURCE_FLAGS, 0, true},   /* removed */
                {SOURCE_FLAGS, (uint64_t)0x73 << 32 | 300,
                 true},                                   /* is being called, with a priority */
                {SOURCE_FLAGS, (uint64_t)1 << 40, false}, /* no such flag */
                {SOURCE_REFS, 0, false},                  /* nobody holds it */
                {SOURCE_REFS, HEAP + ((uint64_t)1 << 32), false},
                {SOURCE_ID, HEAP + ((uint64_t)1 << 32), false},
                {SOURCE_DATA, 0, false}, /* one without the other */
                {SOURCE_GETTERS, 0, false},
                {SOURCE_GETTERS, FILE_AT + NO_DISPATCH * 8, false}, /* not three functions */
                {SOURCE_TABLE, FILE_AT + NO_DISPATCH * 8, false},   /* nothing to call */
                {SOURCE_TABLE, FILE_AT + TO_HEAP * 8, false}, /* a pointer that is no function */
                {SOURCE_TABLE, FILE_AT + TIMEOUT * 8 + 4, false},
                {SOURCE_TABLE, FILE_AT + sizeof(file) - 8, false}, /* cut */
                {SOURCE_TABLE, HEAP, false},
                {SOURCE_TABLE, 0, false},
        };
        uint64_t words[HEAP_HEAD_WORDS] = A_SOURCE;

        (void)state;
        assert_true(source_head_is(&memory, words, SOURCE_BYTES));
        assert_false(source_head_is(&memory, words, SOURCE_BYTES - 1));
        for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
                uint64_t other[HEAP_HEAD_WORDS] = A_SOURCE;

                other[rows[i].word] = rows[i].value;
                assert_int_equal(source_head_is(&memory, other, SOURCE_BYTES), rows[i].is_one);
        }
        words[SOURCE_DATA] = words[SOURCE_GETTERS] = 0; /* no callback was set */
        assert_true(source_head_is(&memory, words, SOURCE_BYTES));
}

static void test_callbacks(void **state) {
        static const struct reach_block blocks[] = {{.address = HEAP, .size_bytes = 96},
                                                    {.address = HEAP + 128, .size_bytes = 32},
                                                    {.address = HEAP + 192, .size_bytes = 24},
                                                    {.address = HEAP + 256, .size_bytes = 96}};
        struct heap_head head = {.block = 0, .words = A_SOURCE},
                         again = {.block = 3, .words = A_SOURCE};
        heap_head_list heads = {0};

        (void)state;
        heap[16] = 1; /* references, the function, its data */
        heap[17] = CODE + 64;
        heap[18] = 42;
        heap[20] = 99; /* behind the block */
        vec_push(&heads, head);
        vec_push(&heads, again);
        source_head_add_callbacks(&memory, blocks, 4, &heads);
        assert_int_equal(heads.n, 3); /* two sources share one */
        assert_int_equal(heads.items[1].block, 1);
        assert_int_equal(heads.items[1].words[SOURCE_CALLBACK], CODE + 64);
        assert_int_equal(heads.items[1].words[4], 0);
        assert_int_equal(heads.items[2].block, 3);
        heads.n = 1;
        heap[17] = HEAP; /* a closure, or whatever: no function is there */
        source_head_add_callbacks(&memory, blocks, 4, &heads);
        assert_int_equal(heads.n, 1);
        vec_free(&heads);
}

int main(void) {
        const struct CMUnitTest tests[] = {cmocka_unit_test(test_what_is_one),
                                           cmocka_unit_test(test_callbacks)};

        return cmocka_run_group_tests(tests, NULL, NULL);
}
