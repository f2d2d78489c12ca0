// SPDX-License-Identifier: MIT
// Suspended coroutines: coroutines_lost LOST PAIRS WAITING. LOST that nobody has the handle of, PAIRS of which one awaits the other and nothing leads to either, WAITING
// that a list leads to, and as many generators. At its end all are there.
#include <coroutine>
#include <cstdlib>
#include <cstring>
#include <unistd.h>
#include <vector>

struct Task {
        struct promise_type {
                std::coroutine_handle<> continuation;

                Task get_return_object() {
                        return {std::coroutine_handle<promise_type>::from_promise(*this)};
                }
                std::suspend_never initial_suspend() noexcept {
                        return {};
                }
                std::suspend_always final_suspend() noexcept {
                        return {};
                }
                void return_void() {}
                void unhandled_exception() {}
        };
        std::coroutine_handle<promise_type> handle;

        bool await_ready() {
                return false;
        }
        void await_suspend(std::coroutine_handle<> who) {
                handle.promise().continuation = who;
        }
        void await_resume() {}
};

struct Numbers {
        struct promise_type {
                int value;

                Numbers get_return_object() {
                        return {std::coroutine_handle<promise_type>::from_promise(*this)};
                }
                std::suspend_always initial_suspend() noexcept {
                        return {};
                }
                std::suspend_always final_suspend() noexcept {
                        return {};
                }
                std::suspend_always yield_value(int n) {
                        value = n;
                        return {};
                }
                void return_void() {}
                void unhandled_exception() {}
        };
        std::coroutine_handle<promise_type> handle;
};

struct Event {
        static std::vector<std::coroutine_handle<>> waiting;

        bool await_ready() {
                return false;
        }
        void await_suspend(std::coroutine_handle<> who) {
                waiting.push_back(who);
        }
        void await_resume() {}
};
std::vector<std::coroutine_handle<>> Event::waiting;

static volatile int sum;
static std::vector<Numbers> generators;

namespace app {
Task lost(int n) {
        co_await std::suspend_always{};
        sum = sum + n;
}

Task inner(int n) {
        co_await std::suspend_always{};
        sum = sum + n;
}

Task outer(int n) {
        Task task = inner(n);
        co_await task;
        sum = sum + n;
}

Task waits(int n) {
        co_await Event{};
        sum = sum + n;
}

Numbers numbers(int n) {
        while (true)
                co_yield n++;
}
} // namespace app

__attribute__((noinline)) static void begin(char **argv) {
        for (int i = 0; i < std::atoi(argv[1]); i++)
                app::lost(i);
        for (int i = 0; i < std::atoi(argv[2]); i++)
                app::outer(i);
        for (int i = 0; i < std::atoi(argv[3]); i++) {
                app::waits(i);
                generators.push_back(app::numbers(i));
                generators.back().handle.resume();
        }
}

// What functions that returned left on the stack.
__attribute__((noinline)) static void wipe() {
        volatile char stack[65536];

        std::memset((void *)stack, 0, sizeof(stack));
}

int main(int, char **argv) {
        begin(argv);
        wipe();
        std::_Exit(sum < 0);
}
