// SPDX-License-Identifier: MIT
// Coroutines whose states are known: coroutine_frames SUSPENDED ENDED [wait]. At its end all are there; with wait it says so, and ends
// when its input does.
#include <coroutine>
#include <cstdlib>
#include <unistd.h>
#include <vector>

struct Job {
        struct promise_type {
                Job get_return_object() {
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
};

// What looks like a frame and is none: functions stand where a coroutine's are.
struct Callbacks {
        void (*first)(), (*second)();
};

static int sum;
static std::vector<Job> kept;
static std::vector<Callbacks *> others;

namespace app {
__attribute__((noinline)) Job session(int n) {
        volatile char buffer[400];
        buffer[n % 400] = 1;
        co_await std::suspend_always{};
        sum += buffer[3];
}

__attribute__((noinline)) Job request(int n) {
        if (n < 0)
                co_await std::suspend_always{};
        sum += n;
}

void callback() {
        sum++;
}
} // namespace app

int main(int n_args, char **argv) {
        for (int i = 0; i < std::atoi(argv[1]); i++)
                kept.push_back(app::session(i)); // sessions
        for (int i = 0; i < std::atoi(argv[2]); i++)
                kept.push_back(app::request(i)); // requests
        for (int i = 0; i < 100; i++)
                others.push_back(new Callbacks{i % 2 ? app::callback : nullptr, app::callback});
        char c;
        if (n_args > 3 && write(1, "ready\n", 6) == 6)
                while (read(0, &c, 1) > 0) {}
        std::_Exit(sum < 0);
}
