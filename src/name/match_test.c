/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/str.h"
#include "name/match.h"
#include "name/stable.h"

/* ---- stable forms ---------------------------------------------------------------------------- */

static void check_stable(const char *function, const char *expected) {
        struct str s = {0};

        stable_add_function(&s, function);
        assert_string_equal(str_text(&s), expected);
        str_clear(&s);
        stable_add_function(&s, expected); /* nothing is left to be taken away */
        assert_string_equal(str_text(&s), expected);
        str_done(&s);
}

static void test_suffixes(void **state) {
        (void)state;
        check_stable("parse_line", "parse_line");
        check_stable("parse_line.isra.0", "parse_line");
        check_stable("parse_line.constprop.0.isra.12", "parse_line");
        check_stable("parse_line.part.0.cold", "parse_line");
        check_stable("parse_line.cold.3", "parse_line");
        check_stable("parse_line.lto_priv.0", "parse_line");
        check_stable("parse_line.llvm.12345678901234567", "parse_line");
        check_stable("parse_line.__uniq.277", "parse_line");
        check_stable("counter.1234", "counter");
        check_stable("memcpy@@GLIBC_2.14", "memcpy");
        check_stable("malloc@plt", "malloc");
        check_stable("Foo::bar(int) const [clone .isra.0]", "Foo::bar(int)const");
        check_stable("Foo::bar(int) [clone .constprop.0] [clone .cold]", "Foo::bar(int)");
        check_stable("main.parse", "main.parse"); /* no suffix of a compiler */
        check_stable(".0", ".0");                 /* nothing would be left */
        check_stable("cold", "cold");
        check_stable("partial.particle", "partial.particle");
        check_stable("", "");
}

static void test_hashes(void **state) {
        (void)state;
        check_stable("app::run::h0123456789abcdef", "app::run");
        check_stable("app::run::h0123456789abcdeg", "app::run::h0123456789abcdeg");
        check_stable("app::run::h0123456789abcdef.llvm.42", "app::run");
        check_stable("app[0123456789abcdef]::run", "app::run");
        check_stable("<app[8f3a77e1c0b2d4e6]::Order as core[1122334455667788]::fmt::Display>::fmt",
                     "<app::Order as core::fmt::Display>::fmt");
        check_stable("sum(int (&) [12])", "sum(int(&)[12])");
        check_stable("f<[u8; 4]>", "f<[u8;4]>");
}

static void test_numbers(void **state) {
        (void)state;
        check_stable("app::run::{closure#3}", "app::run::{closure}");
        check_stable("app::run::{{closure}}::{{closure}}", "app::run::{closure}::{closure}");
        check_stable("sum(int)::{lambda(int)#2}::operator()(int) const",
                     "sum(int)::{lambda(int)}::operator()(int)const");
        check_stable("sum(int)::{lambda(int)#12}::operator()(int)::{lambda()#3}::_FUN()",
                     "sum(int)::{lambda(int)}::operator()(int)::{lambda()}::_FUN()");
        check_stable("sum(int)::'lambda1'(int)::operator()(int) const",
                     "sum(int)::{lambda}(int)::operator()(int)const");
        check_stable("sum(int)::$_12::operator()(int) const",
                     "sum(int)::{lambda}::operator()(int)const");
        check_stable("std::array<int, 16ul>::at(unsigned long)",
                     "std::array<int,16ul>::at(unsigned long)");
        check_stable("f(int)::{unnamed type#1}", "f(int)::{unnamed type}");
        check_stable("operator#(int)", "operator#(int)");
}

static void test_spellings(void **state) {
        (void)state;
        check_stable("{anonymous}::f(int)", "(anonymous namespace)::f(int)");
        check_stable("(anonymous namespace)::f(int)", "(anonymous namespace)::f(int)");
        check_stable("std::vector<int, std::allocator<int> >::push_back(int const&)",
                     "std::vector<int,std::allocator<int>>::push_back(int const&)");
        check_stable("std::vector<int, std::allocator<int>>::push_back(int  const &)",
                     "std::vector<int,std::allocator<int>>::push_back(int const&)");
        check_stable("std::__cxx11::basic_string<char>::f[abi:cxx11]()",
                     "std::basic_string<char>::f()");
        check_stable("std::__1::vector<int>::f()", "std::vector<int>::f()");
        check_stable("__1::f()", "__1::f()"); /* a namespace of the program's own */
        check_stable("run<(lambda at /home/me/app (2)/a.cc:12:3)>(int)",
                     "run<(lambda)/a.cc:12:3)>(int)"); /* as good as a path with brackets gets */
        check_stable("run<(lambda at /home/me/a.cc:12:3)>(int)", "run<(lambda)>(int)");
        check_stable("run<(anonymous struct at a.h:7:1)>()", "run<(anonymous struct)>()");
        check_stable("operator new(unsigned long)", "operator new(unsigned long)");
}

static void check_module(const char *path, const char *expected) {
        struct str s = {0};

        stable_add_module(&s, path);
        assert_string_equal(str_text(&s), expected);
        str_done(&s);
}

static void test_modules(void **state) {
        (void)state;
        check_module("/usr/bin/server", "server");
        check_module("/usr/lib/libssl.so.1.1", "libssl.so");
        check_module("/usr/lib/libssl.so", "libssl.so");
        check_module("/w/target/debug/deps/app-0123456789abcdef", "app");
        check_module("/w/target/debug/deps/libx-0123456789abcdef.so", "libx.so");
        check_module("/usr/lib/libstdc++.so.6.0.30", "libstdc++.so");
        check_module("/usr/lib/ld-linux-aarch64.so.1", "ld-linux-aarch64.so");
        check_module("/usr/bin/server (deleted)", "server");
        check_module("/opt/my-app-12ab/x.sock", "x.sock");
        check_module("a-b-c", "a-b-c");
        check_module("[vdso]", "[vdso]");
        check_module("", "");
}

/* ---- matches --------------------------------------------------------------------------------- */

struct side_name {
        const char *function, *file, *module;
        uint64_t offset, build;
        bool is_program;
};

static struct names *names;

static uint32_t add(struct name_match *m, enum name_side side, const struct side_name *s) {
        const struct name_built b = {.frame = {.function = s->function,
                                               .file = s->file ? s->file : "",
                                               .module = s->module ? s->module : "/bin/app",
                                               .offset = s->offset},
                                     .build = s->build,
                                     .is_program = s->is_program};

        return name_match_add(m, side, &b);
}

enum { MAX_FUNCTIONS = 8 };

/* Lists end with a function NULL. expected: for each old one the index of the new ones it is the same as, as
 * digits, '-' for none; separated by blanks. */
static void check_match(const struct side_name *old, const struct side_name *new,
                        const char *expected) {
        struct name_match *m = name_match_new(names);
        uint32_t a[MAX_FUNCTIONS], b[MAX_FUNCTIONS];
        size_t n_old = 0, n_new = 0;
        struct str got = {0};

        for (; old[n_old].function; n_old++)
                a[n_old] = add(m, NAME_OLD, &old[n_old]);
        for (; new[n_new].function; n_new++)
                b[n_new] = add(m, NAME_NEW, &new[n_new]);
        name_match_solve(m);
        for (size_t i = 0; i < n_old; i++) {
                size_t begin = got.n;

                if (i)
                        str_add(&got, " ");
                begin = got.n;
                for (size_t k = 0; k < n_new; k++)
                        if (name_match_class(m, a[i]) == name_match_class(m, b[k]))
                                str_addf(&got, "%zu", k);
                assert_int_equal(name_match_is_common(m, name_match_class(m, a[i])), got.n > begin);
                if (got.n == begin)
                        str_add(&got, "-");
        }
        assert_string_equal(str_text(&got), expected);
        str_done(&got);
        name_match_free(m);
}

#define SIDE(...) ((const struct side_name[]){__VA_ARGS__, {0}})

static void test_same_names(void **state) {
        (void)state;
        check_match(SIDE({"f"}, {"g"}), SIDE({"g"}, {"f"}), "1 0");
        check_match(SIDE({"f"}), SIDE({"g"}), "-");
        check_match(SIDE({"f.isra.0"}), SIDE({"f.constprop.1"}), "0");
        /* static functions of one name keep apart by their file, wherever the checkout is */
        check_match(SIDE({"init", "/a/x.c"}, {"init", "/a/y.c"}),
                    SIDE({"init", "/b/y.c"}, {"init", "/b/x.c"}), "1 0");
        /* a file was renamed, or its name is not known */
        check_match(SIDE({"init", "/a/x.c"}), SIDE({"init", "/a/z.c"}), "0");
        check_match(SIDE({"init", "/a/x.c"}, {"init", "/a/y.c"}), SIDE({"init"}), "0 0");
}

static void test_overloads(void **state) {
        (void)state;
        check_match(SIDE({"f(int)"}), SIDE({"f(int)"}, {"f(long)"}), "0");
        check_match(SIDE({"f(int)"}), SIDE({"f(int, bool)"}), "0"); /* a parameter was added */
        check_match(SIDE({"f(int)"}, {"f(char)"}), SIDE({"f(long)"}, {"f(int)"}), "1 0");
        check_match(SIDE({"A<int>::f()"}, {"A<long>::f()"}),
                    SIDE({"A<long>::f()"}, {"A<int>::f()"}), "1 0");
        check_match(SIDE({"A<Old>::f()"}), SIDE({"A<New>::f()"}), "0");
        /* the old way Rust writes names has no types */
        check_match(SIDE({"app::Cache<T>::insert"}),
                    SIDE({"<app::Cache<u8>>::insert"}, {"<app::Cache<u32>>::insert"}), "01");
        check_match(SIDE({"int f<int>(int)"}), SIDE({"long f<int>(int)"}), "0");
}

/* Of inlined functions some compilers say only the last part of the name. */
static void test_bare_names(void **state) {
        (void)state;
        check_match(SIDE({"shop::helper(unsigned long)"}), SIDE({"helper"}), "0");
        check_match(SIDE({"helper"}, {"shop::helper(int)"}), SIDE({"helper"}), "0 -");
        check_match(SIDE({"a::insert(int)"}), SIDE({"b::insert(int)"}), "-");
        check_match(SIDE({"insert"}), SIDE({"a::insert(int)"}, {"b::insert(int)"}), "01");
        check_match(SIDE({"f(int)::$_0::operator()(int) const"}),
                    SIDE({"f(int)::{lambda(int)#1}::operator()(int) const"}), "0");
        check_match(SIDE({"f(int)::{lambda(int)#1}::operator()(int) const"}, {"operator()"}),
                    SIDE({"operator()"}), "- 0");
}

static void test_places(void **state) {
        (void)state;
        check_match(SIDE({"f", "", "/bin/app1", .is_program = true}),
                    SIDE({"f", "", "/bin/app2", .is_program = true}), "0");
        check_match(SIDE({"f", "", "/l/liba.so.1"}, {"f", "", "/l/libb.so.1"}),
                    SIDE({"f", "", "/l/libb.so.2"}, {"f", "", "/l/liba.so.2"}), "1 0");
        /* linked in now */
        check_match(SIDE({"f", "", "/l/liba.so.1"}),
                    SIDE({"f", "", "/bin/app", .is_program = true}), "0");
}

static void test_nameless(void **state) {
        (void)state;
        /* the same build: by place */
        check_match(SIDE({"", "", "/l/a.so", 16, 7}, {"", "", "/l/a.so", 32, 7}),
                    SIDE({"", "", "/l/a.so", 32, 7}, {"", "", "/l/a.so", 16, 7}), "1 0");
        /* another build: places say nothing, so all of it is one */
        check_match(SIDE({"", "", "/l/a.so", 16, 7}, {"", "", "/l/a.so", 32, 7}),
                    SIDE({"", "", "/l/a.so", 32, 8}), "0 0");
        check_match(SIDE({"", "", "/l/a.so", 16, 7}, {"f", "", "/l/a.so", 8, 8}),
                    SIDE({"", "", "/l/a.so", 32, 7}), "- -");
        check_match(SIDE({"", "", "/l/a.so", 16}), SIDE({"", "", "/l/a.so", 32}), "0");
        check_match(SIDE({"", "", "/l/a.so", 16, 7}), SIDE({"", "", "/l/b.so", 16, 8}), "-");
        check_match(SIDE({"", "", "/l/a.so", 16, 7}), SIDE({"f", "", "/l/a.so", 16, 7}), "-");
}

static int load(void **state) {
        struct err err = {0};

        (void)state;
        return names_load(&(struct name_sources){0}, &names, &err);
}

static int unload(void **state) {
        (void)state;
        names_free(names);
        return 0;
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_suffixes),   cmocka_unit_test(test_hashes),
                cmocka_unit_test(test_numbers),    cmocka_unit_test(test_spellings),
                cmocka_unit_test(test_modules),    cmocka_unit_test(test_same_names),
                cmocka_unit_test(test_overloads),  cmocka_unit_test(test_places),
                cmocka_unit_test(test_bare_names), cmocka_unit_test(test_nameless),
        };

        return cmocka_run_group_tests(tests, load, unload);
}
