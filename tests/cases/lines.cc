// SPDX-License-Identifier: MIT
// As lines.c, with templates, inlined functions, containers and lambdas.
#include <cstddef>
#include <vector>

static void *volatile sink;

template <class T>
struct Cache {
        std::vector<T *> entries;

        Cache() {
                entries.reserve(100); // self=1600 total=1600 allocs=2
        }

        inline void insert(const T &value) {
                entries.push_back(new T(value)); // self=30000 total=30000 allocs=200 end=30000
        }
};

struct Small {
        char bytes[100];
};
struct Large {
        char bytes[200];
};

namespace shop {
static inline char *make(size_t size) {
        return new char[size]; // self=5000 total=5000 allocs=5 end=5000
}

__attribute__((noinline)) static void run(int n) {
        auto one = [n](int i) {
                sink = make(static_cast<size_t>(1000 + i - i % n)); // total=5000 allocs=5 end=5000
        };
        for (int i = 0; i < n; i++)
                one(i); // total=5000 allocs=5 end=5000
}
} // namespace shop

int main() {
        Cache<Small> small; // total=800 allocs=1
        Cache<Large> large; // total=800 allocs=1

        for (int i = 0; i < 100; i++)
                small.insert(Small()); // total=10000 allocs=100 end=10000
        for (int i = 0; i < 100; i++)
                large.insert(Large()); // total=20000 allocs=100 end=20000
        shop::run(5);                  // total=5000 allocs=5 end=5000
        sink = &small;
        sink = &large;
        return 0;
}
