/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "reach/testing/draw.h"
#include "reach/vtable.h"

enum { CONSTANTS = 0x10000, CONSTANT_WORDS = 512, CODE = 0x40000, CODE_BYTES = 4096 };

static uint64_t constants[CONSTANT_WORDS];

static size_t fake_read(void *ctx, uint64_t address, void *ret, size_t n_bytes) {
        uint64_t end = CONSTANTS + sizeof(constants);

        (void)ctx;
        if (address < CONSTANTS || address >= end)
                return 0;
        n_bytes = MIN(n_bytes, (size_t)(end - address));
        memcpy(ret, (const uint8_t *)constants + (address - CONSTANTS), n_bytes);
        return n_bytes;
}

static bool fake_is_constant(void *ctx, uint64_t address) {
        (void)ctx;
        return address >= CONSTANTS && address < CONSTANTS + sizeof(constants);
}

static bool fake_is_code(void *ctx, uint64_t address) {
        (void)ctx;
        return address >= CODE && address < CODE + CODE_BYTES;
}

static const struct reach_memory memory = {.read = fake_read,
                                           .is_constant = fake_is_constant,
                                           .is_code = fake_is_code};

static uint64_t at(unsigned word) {
        return CONSTANTS + word * sizeof(uint64_t);
}

static void put_class(const char *name) {
        memset(constants, 0, sizeof(constants));
        constants[8] = 0;       /* the object begins here */
        constants[9] = at(20);  /* typeinfo */
        constants[10] = CODE;   /* the functions */
        constants[20] = at(40); /* the typeinfo's own table */
        constants[21] = at(50); /* its name */
        memcpy(&constants[50], name, strlen(name) + 1);
}

static void test_class(void **state) {
        struct vtable v;

        (void)state;
        put_class("N3app7SessionE");
        assert_true(vtable_read(&memory, at(10), &v));
        assert_int_equal(v.kind, VTABLE_CXX);
        assert_string_equal(v.name, "N3app7SessionE");
        put_class("*N12_GLOBAL__N_16HiddenE");
        constants[10] = 0; /* an abstract class's destructor */
        constants[8] = (uint64_t)-24;
        assert_true(vtable_read(&memory, at(10), &v));
        assert_string_equal(v.name, "N12_GLOBAL__N_16HiddenE");
        constants[8] = 24; /* no part of an object begins before it */
        assert_false(vtable_read(&memory, at(10), &v) && v.kind == VTABLE_CXX);
        put_class("not a type");
        assert_false(vtable_read(&memory, at(10), &v) && v.kind == VTABLE_CXX);
        put_class("");
        assert_false(vtable_read(&memory, at(10), &v) && v.kind == VTABLE_CXX);
        put_class("1A");
        constants[21] = at(CONSTANT_WORDS); /* a name that cannot be read */
        assert_false(vtable_read(&memory, at(10), &v) && v.kind == VTABLE_CXX);
}

static void test_dyn(void **state) {
        struct vtable v;

        (void)state;
        memset(constants, 0, sizeof(constants));
        memcpy(&constants[10], (uint64_t[]){CODE + 16, 48, 8, CODE + 32}, 4 * sizeof(uint64_t));
        assert_true(vtable_read(&memory, at(10), &v));
        assert_int_equal(v.kind, VTABLE_RUST);
        assert_int_equal(v.function, CODE + 16);
        constants[10] = 0; /* nothing to drop */
        assert_true(vtable_read(&memory, at(10), &v));
        assert_int_equal(v.function, CODE + 32);
        constants[12] = 24; /* no power of two */
        assert_false(vtable_read(&memory, at(10), &v));
        constants[12] = 32; /* the size is no multiple of it */
        assert_false(vtable_read(&memory, at(10), &v));
        memset(&constants[10], 0, 4 * sizeof(uint64_t));
        assert_false(vtable_read(&memory, at(10), &v));
}

static void test_functions(void **state) {
        struct vtable v;

        (void)state;
        memset(constants, 0, sizeof(constants));
        memcpy(&constants[10], (uint64_t[]){CODE, CODE + 1, CODE + 2}, 3 * sizeof(uint64_t));
        assert_true(vtable_read(&memory, at(10), &v));
        assert_int_equal(v.kind, VTABLE_OTHER);
        assert_int_equal(v.function, CODE);
        assert_false(vtable_read(&memory, at(10) + 4, &v));
        assert_false(vtable_read(&memory, CODE, &v));                   /* code is no constant */
        assert_false(vtable_read(&memory, at(CONSTANT_WORDS - 1), &v)); /* not all can be read */
        assert_false(vtable_read(&memory, at(0), &v));
        constants[11] = 1;
        assert_false(vtable_read(&memory, at(10), &v));
}

static void test_all_functions(void **state) {
        uint64_t functions[VTABLE_MAX_FUNCTIONS];

        (void)state;
        memset(constants, 0, sizeof(constants));
        for (unsigned i = 0; i < 20; i++)
                constants[10 + i] = CODE + i;
        assert_int_equal(vtable_functions(&memory, at(10), functions), VTABLE_MAX_FUNCTIONS);
        assert_int_equal(functions[VTABLE_MAX_FUNCTIONS - 1], CODE + VTABLE_MAX_FUNCTIONS - 1);
        constants[15] = 64; /* a size ends it */
        assert_int_equal(vtable_functions(&memory, at(10), functions), 5);
        constants[CONSTANT_WORDS - 1] = CODE; /* the memory ends */
        assert_int_equal(vtable_functions(&memory, at(CONSTANT_WORDS - 1), functions), 1);
        assert_int_equal(vtable_functions(&memory, at(0), functions), 0);
}

/* Whatever is there: a name is text, a function is code. */
static void test_random(void **state) {
        struct draw c = draw_from(7);
        unsigned n_found = 0;

        (void)state;
        for (unsigned round = 0; round < 20000; round++) {
                struct vtable v;

                for (unsigned i = 0; i < CONSTANT_WORDS; i++) {
                        uint64_t choice = draw_below(&c, 6);

                        constants[i] = choice == 0   ? 0
                                       : choice == 1 ? CODE + draw_below(&c, CODE_BYTES)
                                       : choice == 2 ? at((unsigned)draw_below(&c, CONSTANT_WORDS))
                                       : choice == 3 ? 8 * draw_below(&c, 64)
                                       : choice == 4 ? 0x4141414141414141u >> draw_below(&c, 64)
                                                     : draw_below(&c, UINT64_MAX);
                }
                if (!vtable_read(&memory, at((unsigned)draw_below(&c, CONSTANT_WORDS)), &v))
                        continue;
                n_found++;
                assert_true((v.kind == VTABLE_CXX) == (v.name[0] != '\0'));
                assert_true(v.function ? fake_is_code(NULL, v.function) : v.kind == VTABLE_CXX);
                assert_int_equal(
                        strspn(v.name,
                               "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.$"),
                        strlen(v.name));
        }
        assert_in_range(n_found, 100, UINT32_MAX);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_class),     cmocka_unit_test(test_dyn),
                cmocka_unit_test(test_functions), cmocka_unit_test(test_all_functions),
                cmocka_unit_test(test_random),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
