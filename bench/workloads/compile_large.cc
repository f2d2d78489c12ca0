// SPDX-License-Identifier: MIT
// A large file for a compiler: some seconds of templates.
#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <regex>
#include <sstream>
#include <string>
#include <vector>

template <int N>
struct Chain {
        std::map<std::string, std::vector<std::shared_ptr<int>>> parts;
        Chain<N - 1> rest;
        int sum() const {
                int s = rest.sum();
                for (const auto &part : parts)
                        for (const auto &p : part.second)
                                s += *p + N;
                return s;
        }
};
template <>
struct Chain<0> {
        int sum() const {
                return 0;
        }
};

int work(const std::string &text) {
        std::regex words("([a-z]+)-([0-9]+)");
        std::smatch m;
        Chain<24> chain;
        std::function<int(int)> twice = [](int x) { return 2 * x; };
        std::ostringstream out;

        if (std::regex_search(text, m, words))
                out << m.str(1) << twice(std::stoi(m.str(2)));
        std::vector<std::string> lines{text, out.str()};
        std::sort(lines.begin(), lines.end());
        return chain.sum() + static_cast<int>(lines[0].size());
}
