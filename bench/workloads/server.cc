// SPDX-License-Identifier: MIT
// A server-like program: sessions in hash maps, strings built and dropped per request, and a slow leak.
//   server REQUESTS
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

struct Session {
        std::string user;
        std::unordered_map<std::string, std::string> attributes;
        std::vector<std::unique_ptr<std::string>> history;
};

static std::vector<char *> forgotten;

static uint32_t next_random(uint32_t &seed) {
        return seed = seed * 1664525u + 1013904223u;
}

static size_t handle(std::unordered_map<uint32_t, Session> &sessions, uint32_t &seed) {
        uint32_t id = next_random(seed) >> 20;
        Session &s = sessions[id];
        std::string body(64 + (next_random(seed) >> 26), 'x');

        s.user = "user-with-a-long-name-" + std::to_string(id);
        s.attributes["attribute-number-" + std::to_string(next_random(seed) >> 29)] = body;
        s.history.push_back(std::make_unique<std::string>(body + "/history"));
        if (s.history.size() > 8)
                s.history.clear();
        if (next_random(seed) % 1000 == 0)
                forgotten.push_back(static_cast<char *>(std::malloc(100)));
        return s.user.size() + body.size();
}

int main(int argc, char **argv) {
        std::unordered_map<uint32_t, Session> sessions;
        long requests = argc > 1 ? std::atol(argv[1]) : 500000;
        uint32_t seed = 1;
        size_t sum = 0;

        for (long i = 0; i < requests; i++)
                sum += handle(sessions, seed);
        std::printf("%zu\n", sum);
        return 0;
}
