/* SPDX-License-Identifier: MIT */
/* Words as tasks of the runtimes have them, taken from programs that ran, and words that no task has. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/macros.h"
#include "task/task_runtimes.h"

enum { TABLE = 0x5570 };

#define ASYNC "async_task::raw::RawTask<F,T,S,M>::schedule::h0123456789abcdef"

static const struct {
        const char *function;
        uint64_t words[8];
        int table_word;
        enum task_told told;
        enum task_state state;
        bool has_handle, is_cancelled;
} cases[] = {
        {"tokio::runtime::task::raw::poll<a::b, c>",
         {0xcc, 0, TABLE},
         2,
         TASK_TOLD_KNOWN,
         TASK_READY,
         true,
         false},
        {"tokio::runtime::task::raw::poll",
         {0x8a, 0, TABLE},
         2,
         TASK_TOLD_KNOWN,
         TASK_FINISHED,
         true,
         false},
        {"tokio::runtime::task::raw::poll",
         {0x41, 0, TABLE},
         2,
         TASK_TOLD_KNOWN,
         TASK_RUNNING,
         false,
         false},
        {"tokio::runtime::task::raw::poll",
         {0x40, 0, 0, 0, TABLE},
         4,
         TASK_TOLD_KNOWN,
         TASK_WAITING,
         false,
         false},
        {"tokio::runtime::task::raw::poll", {0x43, 0, TABLE}, 2, TASK_TOLD_BROKEN, 0, false, false},
        {"tokio::runtime::task::raw::poll", {0x40, TABLE}, 1, TASK_TOLD_UNKNOWN, 0, false, false},
        {"tokio::runtime::task::raw::pollute",
         {0x40, 0, TABLE},
         2,
         TASK_TOLD_NONE,
         0,
         false,
         false},
        /* rustc 1.95: the table first */
        {ASYNC, {TABLE, 0x10}, 0, TASK_TOLD_KNOWN, TASK_WAITING, true, false},
        {ASYNC, {TABLE, 0x14}, 0, TASK_TOLD_KNOWN, TASK_FINISHED, true, false},
        {ASYNC, {TABLE, 0x330, 1, 2}, 0, TASK_TOLD_KNOWN, TASK_WAITING, true, false},
        {ASYNC, {TABLE, 0x111}, 0, TASK_TOLD_KNOWN, TASK_READY, true, false},
        {ASYNC, {TABLE, 0x102}, 0, TASK_TOLD_KNOWN, TASK_RUNNING, false, false},
        {ASYNC, {TABLE, 0x108}, 0, TASK_TOLD_KNOWN, TASK_FINISHED, false, true},
        {ASYNC, {TABLE, 0x115}, 0, TASK_TOLD_BROKEN, 0, false, false},
        {ASYNC, {TABLE, 0}, 0, TASK_TOLD_BROKEN, 0, false, false},
        {ASYNC, {TABLE, (uint64_t)TABLE << 32}, 0, TASK_TOLD_BROKEN, 0, false, false},
        /* rustc 1.63: behind the state and who awaits it */
        {"async_task::raw::RawTask::schedule<a::b, u64, c, ()>",
         {0x110, 0, 0, TABLE},
         3,
         TASK_TOLD_KNOWN,
         TASK_WAITING,
         true,
         false},
        {"async_task::raw::RawTask<F,T,S>::schedule",
         {0x14, 7, 0, TABLE},
         3,
         TASK_TOLD_KNOWN,
         TASK_FINISHED,
         true,
         false},
        {"async_task::raw::RawTask<F,T,S>::schedule",
         {0x14, TABLE},
         1,
         TASK_TOLD_UNKNOWN,
         0,
         false,
         false},
        {"async_task::raw::RawTask<F,T,S,M>::clone_waker",
         {0x14, 7, TABLE},
         2,
         TASK_TOLD_NONE,
         0,
         false,
         false},
        {"app::session(int) [clone .resume]",
         {TABLE, TABLE},
         TASK_CODE,
         TASK_TOLD_KNOWN,
         TASK_WAITING,
         false,
         false},
        {"app::session(app::session(int)::F.Frame*) [clone .actor]",
         {TABLE, TABLE},
         TASK_CODE,
         TASK_TOLD_KNOWN,
         TASK_WAITING,
         false,
         false},
        {"app::session(int) [clone .destroy]",
         {0, TABLE},
         TASK_CODE,
         TASK_TOLD_KNOWN,
         TASK_FINISHED,
         false,
         false},
        {"app::session(int) [clone .cold]",
         {TABLE, TABLE},
         TASK_CODE,
         TASK_TOLD_NONE,
         0,
         false,
         false},
};

static void tells_states(void **state) {
        (void)state;
        for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
                const struct task_layout *layout = NULL;
                struct task_word word = {0};

                print_message("%zu: %s\n", i, cases[i].function);
                assert_int_equal(task_layout_find(cases[i].function, cases[i].words,
                                                  cases[i].table_word, &layout, &word),
                                 cases[i].told);
                if (cases[i].told != TASK_TOLD_KNOWN)
                        continue;
                assert_int_equal(word.state, cases[i].state);
                assert_int_equal(word.has_handle, cases[i].has_handle);
                assert_int_equal(word.is_cancelled, cases[i].is_cancelled);
        }
}

static void tells_types(void **state) {
        static const struct {
                const char *function, *words;
                enum task_kind kind;
        } names[] = {
                {"tokio::runtime::task::raw::poll<app::serve::{async_fn_env#0}, alloc::sync::Arc<s>>",
                 "app::serve", TASK_FUTURE},
                {"tokio::runtime::task::raw::poll<tokio::runtime::blocking::task::BlockingTask<app::main::{closure_env#2}>, n>",
                 "a closure in app::main", TASK_BLOCKING},
                {"async_task::raw::RawTask::schedule<async_executor::AsyncCallOnDrop<async_std::task::builder::SupportTaskLocals<app::serve::{async_fn_env#0}>, e::f>, u64, g, ()>",
                 "app::serve", TASK_FUTURE},
                {"async_task::raw::RawTask::schedule<core::pin::Pin<alloc::boxed::Box<async_executor::AsyncCallOnDrop<app::wait<[u64; 3]>::{async_block_env#1}, e::f<a, b>>, alloc::alloc::Global>>, u64, g, ()>",
                 "an async block in app::wait<[u64; 3]>", TASK_FUTURE},
                {"async_task::raw::RawTask::schedule<async_executor::{impl#5}::spawn::{async_block_env#0}<u64, app::serve::{async_fn_env#0}>, u64, g>",
                 "app::serve", TASK_FUTURE},
                {ASYNC, "", TASK_FUTURE},
                {"app::session(app::session(int)::F.Frame*) [clone .actor]", "app::session",
                 TASK_COROUTINE},
                {"app::session [clone .resume]", "app::session", TASK_COROUTINE},
        };

        (void)state;
        for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
                struct str type = {0}, words = {0};

                assert_int_equal(task_add_type(names[i].function, &type), names[i].kind);
                task_add_type_words(str_text(&type), &words);
                assert_string_equal(str_text(&words), names[i].words);
                str_done(&type);
                str_done(&words);
        }
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(tells_states),
                cmocka_unit_test(tells_types),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
