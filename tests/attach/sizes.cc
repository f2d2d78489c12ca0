// SPDX-License-Identifier: MIT
// sizes PAIRS: a service without a mistake in it. Half of its threads make requests of random sizes, the others take them, keep a cache and
// release what they took, with the sizes that were asked for (sized delete). It goes on until it is killed.
#include <unistd.h>

#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

struct Request {
        std::string path;
        std::vector<int> body;
        std::map<std::string, std::string> headers;
};

static std::mutex mutex;
static std::condition_variable there;
static std::deque<std::unique_ptr<Request>> queue;

static void make(unsigned seed) {
        for (;;) {
                auto r = std::make_unique<Request>();

                r->path = std::string(rand_r(&seed) % 200 + 1, 'x');
                r->body.resize(rand_r(&seed) % 500 + 1);
                for (unsigned n = rand_r(&seed) % 6; n > 0; n--)
                        r->headers["header" + std::to_string(rand_r(&seed) % 1000)] =
                                std::string(rand_r(&seed) % 60, 'v');
                {
                        std::lock_guard<std::mutex> lock(mutex);
                        if (queue.size() < 1000)
                                queue.push_back(std::move(r));
                }
                there.notify_one();
                if (rand_r(&seed) % 64 == 0)
                        usleep(200);
        }
}

static void take() {
        std::unordered_map<std::string, std::vector<int>> cache;

        for (;;) {
                std::unique_ptr<Request> r;
                {
                        std::unique_lock<std::mutex> lock(mutex);
                        there.wait(lock, [] { return !queue.empty(); });
                        r = std::move(queue.front());
                        queue.pop_front();
                }
                cache[r->path.substr(0, 20)] = r->body;
                if (cache.size() > 200)
                        cache.erase(cache.begin());
        }
}

int main(int argc, char **argv) {
        std::vector<std::thread> threads;

        for (int i = 0; i < (argc > 1 ? atoi(argv[1]) : 2); i++) {
                threads.emplace_back(make, i + 1);
                threads.emplace_back(take);
        }
        printf("ready %d\n", getpid());
        fflush(stdout);
        for (auto &t : threads)
                t.join();
}
