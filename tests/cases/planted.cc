// SPDX-License-Identifier: MIT
// A cache without bound: a map in a static object, with 5,000 answers of 300 characters, one for each question that was ever asked.
#include <cstdlib>
#include <map>
#include <string>

namespace shop {
class Catalogue {
        std::map<std::string, std::string> answers;

      public:
        __attribute__((noinline)) const std::string &look_up(const std::string &question) {
                return answers.try_emplace(question, 300, 'a').first->second;
        }
};
static Catalogue catalogue;
} // namespace shop

int main() {
        size_t n = 0;
        for (int i = 0; i < 5000; i++)
                n += shop::catalogue.look_up("the price of article number " + std::to_string(i))
                             .size();
        _Exit(n == 5000 * 300 ? 0 : 1);
}
