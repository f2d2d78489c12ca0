// SPDX-License-Identifier: MIT
// C++20 coroutines: frames on the heap, resumed from different places and from another thread.
//
// The compiler decides the size of a frame; the promise's operator new passes it on and the program
// tells it as `frame`.
//   1,000 generators in turn: each yields 3 times and owns 15 bytes, allocated when it first runs
//   and freed when it is destroyed: per generator frame, 15; freed 15, frame: the 15 are temporary.
//   One more is made in main, resumed and destroyed in a second thread: the frame is allocated by
//   main and freed by the thread, the 15 are the thread's (temporary).
//   std::thread keeps its function, its argument and a vtable in a block of 24; a TLS table of D.
//   allocations +2,000 + 2 + 1 + 1   frees +2,003   bytes +1,001 * (frame + 15) + 24 + D
//   temporary +1,001   end +D in +1   peak: +frame + 15 + 24 + D in +4
#include "truth.h"
#include <coroutine>
#include <new>
#include <thread>

static size_t frame_bytes;

struct Generator {
        struct promise_type {
                int value = 0;
                Generator get_return_object() {
                        return {std::coroutine_handle<promise_type>::from_promise(*this)};
                }
                std::suspend_always initial_suspend() noexcept {
                        return {};
                }
                std::suspend_always final_suspend() noexcept {
                        return {};
                }
                std::suspend_always yield_value(int v) {
                        value = v;
                        return {};
                }
                void return_void() {}
                void unhandled_exception() {
                        _exit(97);
                }
                static void *operator new(size_t size) {
                        frame_bytes = size;
                        return ::operator new(size);
                }
                static void operator delete(void *frame) {
                        ::operator delete(frame);
                }
        };
        std::coroutine_handle<promise_type> handle;
};

struct Owner {
        void *block = malloc(15);
        ~Owner() {
                free(block);
        }
};

static Generator count() {
        Owner owner;
        for (int i = 1; i <= 3; i++)
                co_yield i;
}

static void drain(void *frame) {
        auto handle = std::coroutine_handle<Generator::promise_type>::from_address(frame);
        int sum = 0;

        for (int i = 0; i < 3; i++) {
                handle.resume();
                sum += handle.promise().value;
        }
        MUST(sum == 6 && !handle.done());
        handle.destroy();
}

int main(int argc, char **argv) {
        if (truth_baseline(argc, argv))
                return 0;
        for (int i = 0; i < 1000; i++)
                drain(count().handle.address());
        std::thread thread(drain, count().handle.address());
        thread.join();
        truth_say("frame", frame_bytes);
        truth_say("dtv", truth_dtv_bytes());
        return 0;
}
