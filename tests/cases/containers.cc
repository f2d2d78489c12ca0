// SPDX-License-Identifier: MIT
// Containers of libstdc++ with a known number of elements and a known capacity. Buffers that only look like one of them are here too.
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <string>
#include <unordered_map>
#include <vector>

struct Session {
        long words[4];
};

static std::vector<std::vector<int>> vectors;              // 300, 80 of 1,000 used
static std::vector<std::vector<Session *>> cleared;        // 200, 0 of 50 used
static std::vector<std::string> strings;                   // 500, 40 of 100 used
static std::unordered_map<long, long> table;               // 700 in 1,031 buckets
static std::vector<std::unordered_map<long, long>> tables; // 40, with 25 each
static std::deque<long> begins, ends; // their first and last piece begin at an element

__attribute__((noinline)) static void fill_vectors() {
        for (int i = 0; i < 300; i++) {
                vectors.emplace_back();
                vectors.back().reserve(1000);
                vectors.back().resize(80, i);
        }
        for (int i = 0; i < 200; i++) {
                cleared.emplace_back();
                cleared.back().reserve(50);
                cleared.back().push_back(nullptr);
                cleared.back().clear();
        }
}

__attribute__((noinline)) static void fill_strings() {
        for (int i = 0; i < 500; i++) {
                strings.emplace_back();
                strings.back().reserve(100);
                strings.back().assign(40, 'a');
        }
}

__attribute__((noinline)) static void fill_tables() {
        table.rehash(1000); // the next prime that it knows
        for (long i = 0; i < 700; i++)
                table[i] = i;
        for (int i = 0; i < 40; i++) {
                tables.emplace_back();
                for (long k = 0; k < 25; k++)
                        tables.back()[k] = k;
        }
}

__attribute__((noinline)) static void fill_deques() {
        for (int i = 0; i < 1000; i++)
                begins.push_back(i);
        for (int i = 0; i < 64; i++) // one piece: 512 bytes
                begins.pop_front();
        for (int i = 0; i < 64; i++)
                ends.push_back(i);
}

int main() {
        static char line[100];

        fill_vectors();
        fill_strings();
        fill_tables();
        fill_deques();
        // two FILEs with buffers of malloc's
        std::FILE *f = std::fopen("/dev/zero", "r"), *g = std::fopen("/dev/null", "w");
        if (!f || !g || std::fread(line, 1, sizeof(line), f) != sizeof(line) ||
            std::fputs("text", g) < 0)
                return 1;
        _Exit(table.bucket_count() == 1031 ? 0 : 1);
}
