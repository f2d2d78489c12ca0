// SPDX-License-Identifier: MIT
// Requests served from an arena that is reset after each: the blocks inside are told to silt. docs/pools.md.
//   arena [REQUESTS]
#include <silt/silt.h>

#include <cstdio>
#include <cstdlib>
#include <map>
#include <memory>
#include <new>
#include <string>
#include <vector>

namespace {

class Arena {
      public:
        explicit Arena(std::size_t size_bytes)
                : memory_(new char[size_bytes]), size_bytes_(size_bytes) {}
        ~Arena() {
                reset();
        }
        Arena(const Arena &) = delete;
        Arena &operator=(const Arena &) = delete;

        void *take(std::size_t size_bytes) {
                std::size_t at = used_;

                if (size_bytes > size_bytes_ - at)
                        throw std::bad_alloc();
                used_ = (at + size_bytes + 15) / 16 * 16;
                if (used_ > size_bytes_)
                        used_ = size_bytes_;
                silt_alloc(&memory_[at], size_bytes);
                return &memory_[at];
        }

        // Single blocks are not reused, only counted.
        void give_back(void *block) {
                silt_free(block);
        }

        void reset() {
                silt_free_range(&memory_[0], &memory_[0] + size_bytes_);
                used_ = 0;
        }

      private:
        std::unique_ptr<char[]> memory_;
        std::size_t size_bytes_, used_ = 0;
};

// For containers.
template <class T>
struct InArena {
        using value_type = T;
        Arena *arena;

        explicit InArena(Arena *a) : arena(a) {}
        template <class U>
        InArena(const InArena<U> &other) : arena(other.arena) {}
        T *allocate(std::size_t n) {
                return static_cast<T *>(arena->take(n * sizeof(T)));
        }
        void deallocate(T *block, std::size_t) {
                arena->give_back(block);
        }
        template <class U>
        bool operator==(const InArena<U> &other) const {
                return arena == other.arena;
        }
        template <class U>
        bool operator!=(const InArena<U> &other) const {
                return arena != other.arena;
        }
};

using Words = std::vector<int, InArena<int>>;

std::size_t serve(Arena &arena, int request) {
        Words words{InArena<int>(&arena)};

        for (int i = 0; i < 100; i++)
                words.push_back(request + i);
        // built in the arena and never destroyed: the reset takes it
        auto *kept = new (arena.take(sizeof(Words))) Words(words);
        return kept->size();
}

} // namespace

int main(int argc, char **argv) {
        int n_requests = argc > 1 ? std::atoi(argv[1]) : 1000;
        Arena arena(64 * 1024);
        std::size_t n = 0;

        silt_thread_name("server");
        for (int i = 0; i < n_requests; i++) {
                n += serve(arena, i);
                arena.reset();
                if (i == n_requests / 10)
                        silt_mark("warm-up done");
        }
        std::printf("%zu words\n", n);
        return 0;
}
