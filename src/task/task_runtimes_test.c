/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "task/task_runtimes.h"

#define POLL "tokio::runtime::task::raw::poll"
#define REFS(n) ((uint64_t)(n) << 6)

static enum task_told find(const char *function, uint64_t state, int table_word,
                           struct task_word *ret) {
        const uint64_t words[8] = {state};
        const struct task_layout *layout = NULL;
        enum task_told told = task_layout_find(function, words, table_word, &layout, ret);

        assert_true((told == TASK_TOLD_NONE) == !layout);
        return told;
}

static void test_states(void **state) {
        static const struct {
                uint64_t word;
                struct task_word wanted;
        } rows[] = {
                {REFS(3) | 8 | 4, {TASK_READY, true, false, true}}, /* as one begins */
                {REFS(2) | 8 | 1, {TASK_RUNNING, true, false, true}},
                {REFS(2) | 4 | 1, {TASK_RUNNING, false, false, true}},
                {REFS(1), {TASK_WAITING, false, false, true}},
                {REFS(1) | 8 | 16, {TASK_WAITING, true, false, true}},
                {REFS(1) | 8 | 2, {TASK_FINISHED, true, false, true}},
                {REFS(1) | 32 | 4, {TASK_READY, false, true, true}},
        };

        (void)state;
        for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
                struct task_word got = {0};

                assert_int_equal(find(POLL, rows[i].word, 2, &got), TASK_TOLD_KNOWN);
                assert_int_equal(got.state, rows[i].wanted.state);
                assert_int_equal(got.has_handle, rows[i].wanted.has_handle);
                assert_int_equal(got.is_cancelled, rows[i].wanted.is_cancelled);
                assert_true(got.has_state);
        }
}

static void test_what_is_no_task(void **state) {
        struct task_word got;

        (void)state;
        for (int word = -1; word < 8; word++)
                assert_int_equal(find(POLL "<app::F, app::S>", REFS(1), word, &got),
                                 word == 2 || word == 4 || word == 5 ? TASK_TOLD_KNOWN
                                                                     : TASK_TOLD_UNKNOWN);
        assert_int_equal(find(POLL, 3 | REFS(1), 2, &got), TASK_TOLD_BROKEN); /* runs and is over */
        assert_int_equal(find(POLL, 4, 2, &got), TASK_TOLD_BROKEN);           /* nobody holds it */
        assert_int_equal(find(POLL, UINT64_MAX - 2, 2, &got), TASK_TOLD_BROKEN);
        assert_int_equal(find(POLL "_all", REFS(1), 2, &got), TASK_TOLD_NONE);
        assert_int_equal(find("app::poll", REFS(1), 2, &got), TASK_TOLD_NONE);
        assert_int_equal(find("", REFS(1), 2, &got), TASK_TOLD_NONE);
        assert_true(task_is_runtime(POLL "::<app::F>"));
        assert_false(task_is_runtime("app" POLL));
        assert_true(task_is_merged(POLL "<app::F, app::S> [clone .merged]"));
        assert_true(task_is_poll(POLL "<app::F, app::S> [clone .merged]"));
        assert_false(task_is_merged(POLL "<app::F, app::S>"));
}

static void test_types(void **state) {
        static const struct {
                const char *function, *type, *words;
                enum task_kind kind;
        } rows[] = {
                {POLL, "", "", TASK_FUTURE},
                {POLL "<app::serve::{async_fn_env#0}, alloc::sync::Arc<app::S>>",
                 "app::serve::{async_fn_env#0}", "app::serve", TASK_FUTURE},
                {POLL
                 "<core::future::from_generator::GenFuture<app::serve::{async_fn_env#0}>, app::S>",
                 "app::serve::{async_fn_env#0}", "app::serve", TASK_FUTURE},
                {POLL "::<app::main::{closure#0}::{closure#1}, app::S>",
                 "app::main::{closure#0}::{closure#1}", "an async block in app::main", TASK_FUTURE},
                {POLL "<app::map<alloc::vec::Vec<u8>, (u8, fn(u8) -> u8)>, app::S>",
                 "app::map<alloc::vec::Vec<u8>, (u8, fn(u8) -> u8)>",
                 "app::map<alloc::vec::Vec<u8>, (u8, fn(u8) -> u8)>", TASK_FUTURE},
                {POLL
                 "<tokio::runtime::blocking::task::BlockingTask<app::read::{closure_env#0}>, app::S>",
                 "app::read::{closure_env#0}", "a closure in app::read", TASK_BLOCKING},
                {POLL
                 "<tokio::runtime::blocking::task::BlockingTask<tokio::runtime::scheduler::multi_thread::worker::{impl#0}::launch::{closure_env#0}>, app::S>",
                 "tokio::runtime::scheduler::multi_thread::worker::{impl#0}::launch::{closure_env#0}",
                 "a closure in tokio::runtime::scheduler::multi_thread::worker::{impl#0}::launch",
                 TASK_OWN},
                {POLL "<<<<", "<<<", "<<<", TASK_FUTURE}, /* hostile names */
                {POLL "<>>>", "", "", TASK_FUTURE},
                {POLL "<)),", "))", "))", TASK_FUTURE},
        };

        (void)state;
        for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
                struct str type = {0}, words = {0};

                assert_int_equal(task_add_type(rows[i].function, &type), rows[i].kind);
                assert_string_equal(str_text(&type), rows[i].type);
                if (type.n)
                        task_add_type_words(str_text(&type), &words);
                assert_string_equal(str_text(&words), rows[i].words);
                str_done(&type);
                str_done(&words);
        }
        for (unsigned i = 0; i < N_TASK_STATES; i++)
                assert_true(task_state_name(i)[0]);
        for (unsigned i = 0; i < N_TASK_KINDS; i++)
                assert_true(task_kind_name(i)[0]);
}

/* Of tasks without a type, innermost first. */
static void test_paths(void **state) {
        static const struct {
                const char *functions[8];
                enum task_kind kind;
        } rows[] = {
                {{"__rustc::__rdl_alloc", "tokio::runtime::task::core::Cell<T,S>::new",
                  "tokio::task::spawn::spawn", "app::main", "tokio::runtime::blocking::pool::run"},
                 TASK_FUTURE},
                {{"malloc", "alloc::alloc::alloc", "tokio::runtime::blocking::pool::spawn_blocking",
                  "app::read", "tokio::runtime::builder::Builder::build"},
                 TASK_BLOCKING},
                {{"malloc", "tokio::runtime::blocking::pool::spawn_blocking",
                  "tokio::runtime::scheduler::multi_thread::worker::Launch::launch", "app::main"},
                 TASK_OWN},
                {{"malloc", "<tokio::runtime::blocking::pool::Spawner as S>::spawn",
                  "core::ops::function::FnOnce::call_once",
                  "tokio::runtime::builder::Builder::build", "app::main"},
                 TASK_OWN},
                /* the code of an async function may have no other name */
                {{"malloc", "tokio::task::spawn::spawn",
                  "<core::future::from_generator::GenFuture<T> as core::future::future::Future>::poll",
                  "tokio::runtime::scheduler::multi_thread::worker::run",
                  "tokio::runtime::blocking::pool::Spawner::spawn_thread"},
                 TASK_FUTURE},
                {{"malloc", "tokio::task::spawn::spawn",
                  "tokio::runtime::blocking::pool::Inner::run"},
                 TASK_FUTURE},
                {{"malloc"}, TASK_FUTURE},
                {{""}, TASK_FUTURE},
        };

        (void)state;
        for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
                struct task_path path = TASK_PATH_BEGIN;

                for (unsigned k = 0; k < 8 && rows[i].functions[k]; k++)
                        if (!task_path_look(&path, rows[i].functions[k]))
                                break;
                assert_int_equal(path.kind, rows[i].kind);
        }
}

int main(void) {
        const struct CMUnitTest tests[] = {cmocka_unit_test(test_states),
                                           cmocka_unit_test(test_what_is_no_task),
                                           cmocka_unit_test(test_types),
                                           cmocka_unit_test(test_paths)};

        return cmocka_run_group_tests(tests, NULL, NULL);
}
