// SPDX-License-Identifier: MIT
// Ownership that goes from thread to thread in C++: jobs (unique_ptr in a queue), futures (results of short threads). It stays in:
// local (every thread has its own jobs).
#include <condition_variable>
#include <deque>
#include <future>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "shape.h"

static long size, per_step, depth;
static unsigned long n_blocks, n_elsewhere;

struct Job {
        explicit Job(size_t n) : body(n) {}
        std::vector<char> body;
};

class Queue {
      public:
        void put(std::unique_ptr<Job> job) {
                std::unique_lock<std::mutex> held(lock);

                changed.wait(held, [this] { return waiting.size() < 50; });
                waiting.push_back(std::move(job));
                changed.notify_all();
        }
        std::unique_ptr<Job> take() {
                std::unique_lock<std::mutex> held(lock);

                changed.wait(held, [this] { return !waiting.empty(); });
                std::unique_ptr<Job> job = std::move(waiting.front());

                waiting.pop_front();
                changed.notify_all();
                return job;
        }

      private:
        std::mutex lock;
        std::condition_variable changed;
        std::deque<std::unique_ptr<Job>> waiting;
};

static Queue queue;

NAMED static void submit_job(long) {
        for (long k = 0; k < per_step; k++) {
                queue.put(std::make_unique<Job>(size));
                n_blocks += 2;
                n_elsewhere += 2;
        }
}

NAMED static std::vector<char> compute_part() {
        return std::vector<char>(size, 1);
}

static void run_jobs() {
        std::thread worker([] {
                while (queue.take())
                        ;
        });

        for (long i = 0; i < shape_n_steps; i++) {
                shape_step(i);
                relay(depth, submit_job, i);
        }
        queue.put(nullptr);
        worker.join();
}

// A thread computes 200 parts; main takes them and releases them.
static void run_futures() {
        for (long i = 0; i < shape_n_steps; i++) {
                std::vector<std::vector<char>> parts(200);
                std::thread worker([&parts] {
                        for (auto &part : parts)
                                part = compute_part();
                });

                worker.join();
                n_blocks += 200;
                n_elsewhere += 200;
                shape_step(i);
        }
}

static void run_local() {
        std::vector<std::thread> workers;

        for (int w = 0; w < 3; w++)
                workers.emplace_back([] {
                        std::deque<std::unique_ptr<Job>> own;

                        for (long i = 0; i < shape_n_steps; i++) {
                                pace(i);
                                for (long k = 0; k < per_step; k++) {
                                        own.push_back(std::make_unique<Job>(size));
                                        if (own.size() > 10)
                                                own.pop_front();
                                }
                        }
                });
        for (auto &w : workers)
                w.join();
}

int main(int argc, char **argv) {
        shape_start(argc, argv);
        size = param("size");
        per_step = param("per_step");
        depth = param("depth");
        if (shape_is("jobs"))
                run_jobs();
        else if (shape_is("futures"))
                run_futures();
        else if (shape_is("local"))
                run_local();
        else
                return 96;
        tell_text("culprit", shape_is("futures") ? "compute_part" : "submit_job");
        tell("blocks", n_blocks);
        tell("elsewhere", n_elsewhere);
        shape_end();
        return 0;
}
