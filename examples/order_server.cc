// SPDX-License-Identifier: MIT
// A small order server with a slow leak, for trying silt on: two workers take requests from a
// queue, parse them, look the customer up, and answer. Three things in it are worth finding:
//   Sessions::remember    keeps a session for every request and never drops one: the leak
//   render_answer         builds its text piece by piece: temporary allocations
//   load_catalogue        allocated once and kept on purpose: large, but no leak
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

#define NOINLINE __attribute__((noinline))

namespace shop {

struct Request {
        int customer;
        std::vector<std::string> items;
};

class Catalogue {
      public:
        NOINLINE void load_catalogue(int n_products) {
                for (int i = 0; i < n_products; i++)
                        prices_.emplace("product-" + std::to_string(i) + "-of-the-catalogue",
                                        i % 97 + 1);
        }

        int price_of(const std::string &item) const {
                auto found = prices_.find(item);
                return found == prices_.end() ? 0 : found->second;
        }

      private:
        std::unordered_map<std::string, int> prices_;
};

class Sessions {
      public:
        // A session is never looked up by its number again, so nothing ever drops it.
        NOINLINE void remember(const Request &request) {
                auto session = std::make_unique<Session>();
                session->customer = request.customer;
                session->basket = request.items;
                std::lock_guard<std::mutex> lock(mutex_);
                sessions_.push_back(std::move(session));
        }

        size_t size() {
                std::lock_guard<std::mutex> lock(mutex_);
                return sessions_.size();
        }

      private:
        struct Session {
                int customer = 0;
                std::vector<std::string> basket;
                char scratch[192] = {};
        };

        std::mutex mutex_;
        std::vector<std::unique_ptr<Session>> sessions_;
};

class Queue {
      public:
        void push(Request request) {
                {
                        std::lock_guard<std::mutex> lock(mutex_);
                        waiting_.push_back(std::move(request));
                }
                ready_.notify_one();
        }

        // False when the queue was closed and is empty.
        bool pop(Request *request) {
                std::unique_lock<std::mutex> lock(mutex_);
                ready_.wait(lock, [this] { return closed_ || !waiting_.empty(); });
                if (waiting_.empty())
                        return false;
                *request = std::move(waiting_.front());
                waiting_.pop_front();
                return true;
        }

        void close() {
                {
                        std::lock_guard<std::mutex> lock(mutex_);
                        closed_ = true;
                }
                ready_.notify_all();
        }

      private:
        std::mutex mutex_;
        std::condition_variable ready_;
        std::deque<Request> waiting_;
        bool closed_ = false;
};

NOINLINE Request receive_request(int number) {
        Request request{number % 1000, {}};
        for (int i = 0; i < 3 + number % 3; i++)
                request.items.push_back("product-" + std::to_string((number * 7 + i) % 5000) +
                                        "-of-the-catalogue");
        return request;
}

NOINLINE std::string render_answer(const Request &request, const Catalogue &catalogue) {
        std::string text;
        int sum = 0;
        for (const std::string &item : request.items) {
                int price = catalogue.price_of(item);
                sum += price;
                text = text + "<li>" + item + ": " + std::to_string(price) + "</li>";
        }
        return "<ul>" + text + "</ul><p>" + std::to_string(sum) + "</p>";
}

NOINLINE void serve(Queue &queue, Sessions &sessions, const Catalogue &catalogue,
                    size_t *sent_bytes) {
        Request request;
        while (queue.pop(&request)) {
                sessions.remember(request);
                *sent_bytes += render_answer(request, catalogue).size();
        }
}

} // namespace shop

int main(int argc, char **argv) {
        using namespace shop;
        const int n_requests = argc > 1 ? std::atoi(argv[1]) : 40000;
        const int burst = 1000;
        Catalogue catalogue;
        Sessions sessions;
        Queue queue;
        size_t sent_bytes[2] = {};

        catalogue.load_catalogue(5000);
        std::thread workers[2];
        for (int i = 0; i < 2; i++)
                workers[i] =
                        std::thread([&, i] { serve(queue, sessions, catalogue, &sent_bytes[i]); });
        for (int i = 0; i < n_requests; i++) {
                queue.push(receive_request(i));
                if (i % burst == burst - 1) // customers come in waves
                        std::this_thread::sleep_for(std::chrono::milliseconds(50));
        }
        queue.close();
        for (std::thread &worker : workers)
                worker.join();

        std::printf("served %d requests, %zu bytes; %zu sessions are still kept\n", n_requests,
                    sent_bytes[0] + sent_bytes[1], sessions.size());
        std::fflush(stdout);
        std::_Exit(0); // as a server that is stopped: what it keeps, it keeps
}
