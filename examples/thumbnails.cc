// SPDX-License-Identifier: MIT
// A program that is fine: tables built at start-up, a cache with a bound, a pool of buffers that are used again, work
// that is released when it is done, two threads. A profiler should say so, and nothing else.
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

#define NOINLINE __attribute__((noinline))

namespace thumbnails {

struct Image {
        std::vector<uint8_t> pixels;
};

// The last few thumbnails; the least recently used one goes when a new one comes.
class Cache {
      public:
        explicit Cache(size_t n_most) : n_most_(n_most) {}

        std::shared_ptr<Image> find(unsigned number) {
                std::lock_guard<std::mutex> lock(mutex_);
                auto found = by_number_.find(number);
                if (found == by_number_.end())
                        return nullptr;
                order_.splice(order_.begin(), order_, found->second);
                return found->second->image;
        }

        NOINLINE void put(unsigned number, std::shared_ptr<Image> image) {
                std::lock_guard<std::mutex> lock(mutex_);
                if (by_number_.count(number))
                        return;
                order_.push_front({number, std::move(image)});
                by_number_[number] = order_.begin();
                if (order_.size() > n_most_) {
                        by_number_.erase(order_.back().number);
                        order_.pop_back();
                }
        }

      private:
        struct Entry {
                unsigned number;
                std::shared_ptr<Image> image;
        };

        size_t n_most_;
        std::mutex mutex_;
        std::list<Entry> order_;
        std::unordered_map<unsigned, std::list<Entry>::iterator> by_number_;
};

static NOINLINE std::vector<double> build_gamma_table() {
        std::vector<double> table(65536);
        for (size_t i = 0; i < table.size(); i++)
                table[i] = static_cast<double>(i) / 65535.0;
        return table;
}

static NOINLINE std::shared_ptr<Image> shrink(const std::vector<uint8_t> &picture,
                                              const std::vector<double> &gamma, unsigned number) {
        auto image = std::make_shared<Image>();
        image->pixels.resize(3000 + number % 7 * 400);
        for (size_t i = 0; i < image->pixels.size(); i++)
                image->pixels[i] = static_cast<uint8_t>(
                        gamma[picture[i * 16 % picture.size()] * 257u] * 255.0);
        return image;
}

static NOINLINE void work(Cache &cache, const std::vector<double> &gamma, unsigned seed,
                          unsigned n_requests) {
        std::vector<uint8_t> picture(200000); // used again for every request
        uint32_t random = seed;

        for (unsigned i = 0; i < n_requests; i++) {
                random = random * 1664525 + 1013904223;
                unsigned number = (random >> 8) % 900;
                if (!cache.find(number)) {
                        for (size_t k = 0; k < picture.size(); k += 64)
                                picture[k] = static_cast<uint8_t>(number + k);
                        cache.put(number, shrink(picture, gamma, number));
                }
                if (i % 50 == 49)
                        std::this_thread::sleep_for(std::chrono::milliseconds(10));
        }
}

} // namespace thumbnails

int main(int argc, char **argv) {
        unsigned n_requests =
                argc > 1 ? static_cast<unsigned>(std::strtoul(argv[1], nullptr, 10)) : 10000;
        std::vector<double> gamma = thumbnails::build_gamma_table();
        thumbnails::Cache cache(300);
        std::vector<std::thread> workers;

        for (unsigned i = 0; i < 2; i++)
                workers.emplace_back([&, i] { thumbnails::work(cache, gamma, i + 1, n_requests); });
        for (std::thread &worker : workers)
                worker.join();
        std::printf("made thumbnails for %u requests\n", 2 * n_requests);
}
