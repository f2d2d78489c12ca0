/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/macros.h"
#include "finding/wait_call.h"

#define LIBC "/lib/x86_64-linux-gnu/libc.so.6"
#define APP "/usr/bin/app"

enum { MOST = 8 };

/* A call path, innermost first, and which of its frames tells. */
static const struct {
        struct query_frame frames[MOST];
        size_t wanted;
} paths[] = {
        {{{.function = "__futex_abstimed_wait_common", .module = LIBC},
          {.function = "pthread_cond_wait", .module = LIBC},
          {.function = "wait_for_work", .module = APP}},
         1},
        {{{.function = "syscall", .module = LIBC},
          {.function = "std::sys::pal::unix::futex::futex_wait", .module = APP},
          {.function = "<std::sys::sync::condvar::futex::Condvar>::wait", .module = APP},
          {.function = "std::sync::poison::condvar::Condvar::wait", .module = APP},
          {.function = "app::worker", .module = APP},
          {.function = "std::sys::backtrace::__rust_begin_short_backtrace", .module = APP}},
         3},
        /* a thread that was made to park: what starts it is no wait */
        {{{.function = "syscall", .module = LIBC},
          {.function = "std::thread::park", .module = APP},
          {.function = "core::ops::function::FnOnce::call_once", .module = APP},
          {.function = "std::sys::backtrace::__rust_begin_short_backtrace", .module = APP}},
         1},
        /* without the C library, and with a name that the last inlined function left there */
        {{{.function = "<isize as core::cmp::PartialOrd>::le", .module = APP},
          {.function = "rustix::backend::event::syscalls::epoll_wait", .module = APP},
          {.function = "polling::epoll::Poller::wait_deadline", .module = APP},
          {.function = "async_io::reactor::ReactorLock::react", .module = APP}},
         2},
        /* people know these by name */
        {{{.function = "read", .module = LIBC},
          {.function = "std::sys::fd::unix::FileDesc::read", .module = APP},
          {.function = "app::input", .module = APP}},
         0},
        {{{.function = "app::spins", .module = APP}}, 0},
        /* down to where it begins */
        {{{.function = "poll", .module = LIBC}, {.function = "start_thread", .module = LIBC}}, 0},
        {{{.function = "", .module = LIBC}, {.function = "app_wait", .module = APP}}, 0},
};

static void test_paths(void **state) {
        struct names *names;
        struct err err = {0};

        (void)state;
        assert_true(names_load(&(struct name_sources){0}, &names, &err) >= 0);
        for (size_t i = 0; i < ARRAY_SIZE(paths); i++) {
                size_t n = 0;

                while (n < MOST && paths[i].frames[n].module)
                        n++;
                assert_int_equal(wait_call_find(names, paths[i].frames, n), paths[i].wanted);
        }
        assert_int_equal(wait_call_find(names, paths[0].frames, 0), 0);
        names_free(names);
}

int main(void) {
        const struct CMUnitTest tests[] = {cmocka_unit_test(test_paths)};

        return cmocka_run_group_tests(tests, NULL, NULL);
}
