/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/macros.h"
#include "symbol/generic_name.h"

static void test_names(void **state) {
        static const struct {
                const char *function, *plain;
                bool is_merged;
                const char *wanted; /* NULL: it stays */
        } rows[] = {
                {"tokio::runtime::task::raw::poll::h0123456789abcdef", "poll<a::b, c>", false,
                 "tokio::runtime::task::raw::poll<a::b, c>"},
                {"tokio::runtime::task::raw::poll", "poll<a::b, c>", true,
                 "tokio::runtime::task::raw::poll<a::b, c> [clone .merged]"},
                {"async_task::raw::RawTask<F,T,S,M>::run::h0123456789abcdef", "run<a, b, c, ()>",
                 false, "async_task::raw::RawTask::run<a, b, c, ()>"},
                {"async_task::raw::RawTask<F,T,S>::run", "run<a, b, c>", true,
                 "async_task::raw::RawTask::run<a, b, c> [clone .merged]"},
                /* the linker's name has the types */
                {"<async_task::raw::RawTask<a::b<c>, d, e, ()>>::run", "run<a::b<c>, d, e, ()>",
                 true, "async_task::raw::RawTask::run<a::b<c>, d, e, ()> [clone .merged]"},
                {"<async_task::raw::RawTask<<a as B<c>>::D, e>>::schedule", NULL, false,
                 "async_task::raw::RawTask::schedule<<a as B<c>>::D, e>"},
                {"<async_task::raw::RawTask<a::b", NULL, false, NULL},
                {"<async_task::raw::RawTask<a>>::f::<b>", NULL, false, NULL},
                {"tokio::runtime::task::raw::poll::<a::b, c>", NULL, true,
                 "tokio::runtime::task::raw::poll<a::b, c> [clone .merged]"},
                {"tokio::runtime::task::raw::poll::<a::b::{closure#0}, c>",
                 "poll<a::b::{async_fn_env#0}, c>", false,
                 "tokio::runtime::task::raw::poll<a::b::{async_fn_env#0}, c>"},
                {"tokio::runtime::task::raw::poll::<a, c>", "dealloc<b, c>", false,
                 "tokio::runtime::task::raw::poll<a, c>"},
                /* no types are known, so none is said to be one of several */
                {"tokio::runtime::task::raw::poll", NULL, true, NULL},
                {"tokio::runtime::task::raw::poll", "poll", true, NULL},
                /* of another function: DWARF tells of the one that was kept */
                {"tokio::runtime::task::raw::poll", "dealloc<a::b, c>", true, NULL},
                {"app::poll", "poll<a::b>", true, NULL},
                {"", "<", true, NULL},
        };

        (void)state;
        for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
                struct str to = {0};

                assert_int_equal(generic_name_add(rows[i].function, rows[i].plain,
                                                  rows[i].is_merged, &to),
                                 rows[i].wanted != NULL);
                assert_string_equal(str_text(&to), rows[i].wanted ? rows[i].wanted : "");
                str_done(&to);
        }
}

int main(void) {
        const struct CMUnitTest tests[] = {cmocka_unit_test(test_names)};

        return cmocka_run_group_tests(tests, NULL, NULL);
}
