// SPDX-License-Identifier: MIT
// busy ROUNDS: two threads that never wait, each in a handful of functions of very different weight.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <string>
#include <thread>
#include <vector>

#define APART __attribute__((noinline))

struct Random {
        uint64_t state;
        uint64_t next() {
                state = state * 6364136223846793005ull + 1442695040888963407ull;
                return state >> 33;
        }
};

APART static uint64_t sort_words(Random &random) {
        std::vector<std::string> words;

        for (int i = 0; i < 4000; i++)
                words.push_back("word-" + std::to_string(random.next()));
        std::sort(words.begin(), words.end());
        return words[0].size();
}

APART static uint64_t fill_map(Random &random) {
        std::map<uint64_t, uint64_t> numbers;

        for (int i = 0; i < 6000; i++)
                numbers[random.next() % 5000] += 1;
        return numbers.size();
}

APART static uint64_t multiply(Random &random) {
        static thread_local double a[96][96], b[96][96], c[96][96];

        for (auto &row : a)
                for (double &x : row)
                        x = b[0][0] + (double)(random.next() % 10);
        for (int i = 0; i < 96; i++)
                for (int j = 0; j < 96; j++) {
                        double sum = 0;
                        for (int k = 0; k < 96; k++)
                                sum += a[i][k] * b[k][j] + 1;
                        c[i][j] = sum;
                }
        b[0][0] = 1;
        return (uint64_t)c[5][7];
}

APART static uint64_t descend(Random &random, int depth) {
        return depth ? descend(random, depth - 1) + 1 : multiply(random);
}

static void work(uint64_t seed, long rounds, uint64_t *result) {
        Random random{seed};

        for (long i = 0; i < rounds; i++)
                *result += sort_words(random) + fill_map(random) +
                           descend(random, (int)(random.next() % 40));
}

int main(int argc, char **argv) {
        long rounds = argc > 1 ? atol(argv[1]) : 500;
        uint64_t results[2] = {};
        std::thread one(work, 1, rounds, &results[0]), two(work, 2, rounds, &results[1]);

        one.join();
        two.join();
        printf("%llu\n", (unsigned long long)(results[0] + results[1]));
}
