// SPDX-License-Identifier: MIT
// A cache without bound: 20,000 entries in a global map, each with a text of 200 characters, made by sessions that nobody ends.
#include <memory>
#include <string>
#include <unordered_map>

struct Session {
        std::string name;
        explicit Session(std::string n) : name(std::move(n)) {}
        virtual ~Session() = default;
};

static std::unordered_map<int, std::unique_ptr<Session>> sessions;

__attribute__((noinline)) static void open_session(int id) {
        sessions[id] = std::make_unique<Session>(std::string(200, 'a'));
}

int main() {
        for (int i = 0; i < 20000; i++)
                open_session(i);
        _Exit(sessions.size() == 20000 ? 0 : 1);
}
