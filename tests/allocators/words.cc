// SPDX-License-Identifier: MIT
// words ROUNDS: much of the standard library, one thing after the other, and what came of it on stdout: always the same. Linked
// statically, it has some thousand functions that were compiled by somebody else.
#include <algorithm>
#include <bitset>
#include <charconv>
#include <chrono>
#include <complex>
#include <cstdint>
#include <cstdlib>
#include <deque>
#include <filesystem>
#include <future>
#include <iomanip>
#include <iostream>
#include <list>
#include <locale>
#include <map>
#include <memory_resource>
#include <numeric>
#include <random>
#include <regex>
#include <set>
#include <sstream>
#include <stdexcept>
#include <string>
#include <unordered_map>
#include <valarray>
#include <vector>

namespace {

std::mt19937_64 source(42);

std::string word() {
        std::string w;

        for (std::size_t n = 2 + source() % 9; n; n--)
                w += static_cast<char>('a' + source() % 26);
        return w;
}

std::string text(int n_words) {
        std::ostringstream out;

        for (int i = 0; i < n_words; i++)
                out << word() << (i % 7 == 6 ? ".\n" : " ") << source() % 1000
                    << (i % 3 ? " " : ", ");
        return out.str();
}

void match(const std::string &all) {
        std::regex number("([a-f]+[^ ]*) ([0-9]{2,3})(,|\\.)?"),
                mail("(\\w+)[.]\\n?", std::regex::icase);
        std::map<std::string, long> found;

        for (auto i = std::sregex_iterator(all.begin(), all.end(), number);
             i != std::sregex_iterator(); ++i)
                found[(*i)[1].str()] += std::stol((*i)[2].str());
        for (const auto &[name, sum] : found)
                std::cout << std::setw(12) << std::left << name << std::right << std::setw(8) << sum
                          << '\n';
        std::cout << std::regex_replace(all.substr(0, 200), mail, "<$1>") << '\n';
}

void count(const std::string &all) {
        std::unordered_map<std::string, int> counts;
        std::multiset<std::string, std::greater<>> lengths;
        std::istringstream in(all);
        std::vector<std::pair<int, std::string>> order;
        std::deque<std::string> last;
        std::list<std::string> merged;

        for (std::string w; in >> w;) {
                counts[w.substr(0, 2)]++;
                lengths.insert(w.substr(w.size() / 2));
                last.push_front(w);
                if (last.size() > 20)
                        last.pop_back();
        }
        for (const auto &[w, n] : counts)
                order.emplace_back(n, w);
        std::sort(order.begin(), order.end());
        std::stable_partition(order.begin(), order.end(),
                              [](const auto &o) { return o.first % 2; });
        for (const auto &[n, w] : order)
                std::cout << w << n << ' ';
        merged.assign(last.begin(), last.end());
        merged.sort();
        merged.merge(std::list<std::string>(lengths.rbegin(), lengths.rend()));
        merged.unique();
        std::cout << '\n' << std::accumulate(merged.begin(), merged.end(), std::string()) << '\n';
}

void numbers(int n) {
        std::normal_distribution<double> normal(3, 2);
        std::poisson_distribution<int> poisson(4);
        std::valarray<double> v(static_cast<std::size_t>(n));
        char digits[64];
        std::bitset<100> bits;

        for (auto &x : v)
                x = normal(source) + poisson(source);
        std::cout << std::scientific << std::setprecision(17) << v.sum() << ' ' << std::hexfloat
                  << v.max() << ' ' << std::defaultfloat
                  << std::pow(std::complex<double>(v[0], 1), 2.5) << '\n';
        for (int i = 0; i < n; i++) {
                auto end = std::to_chars(digits, digits + sizeof(digits),
                                         v[static_cast<std::size_t>(i)] * std::pow(10, i % 40))
                                   .ptr;
                double back = 0;

                std::from_chars(digits, end, back);
                bits[source() % 100].flip();
                std::cout << std::string(digits, end) << (back > 0 ? '+' : '-')
                          << (i % 8 == 7 ? '\n' : ' ');
        }
        std::cout << std::hex << std::showbase << bits.count() * 77 << std::dec << ' ' << bits
                  << '\n';
}

void locales() {
        std::tm moment = {};
        std::ostringstream out;
        long double money = 0;

        moment.tm_year = 126, moment.tm_mon = 6, moment.tm_mday = 14;
        out.imbue(std::locale::classic());
        out << std::put_time(&moment, "%A %d %B %Y") << ' ' << std::put_money(12345.0L) << ' '
            << std::boolalpha << true;
        std::istringstream in("2026-02-03 777");
        in >> std::get_time(&moment, "%Y-%m-%d") >> std::get_money(money);
        std::cout << out.str() << ' ' << moment.tm_mday << ' ' << money << ' '
                  << std::use_facet<std::ctype<char>>(out.getloc()).toupper('q') << '\n';
        std::wostringstream wide;
        wide << std::setw(9) << std::setfill(L'.') << 42 << L" wide " << 1.5;
        for (wchar_t c : wide.str())
                std::cout << static_cast<char>(c);
        std::cout << '\n';
}

void failures(int n) {
        int caught = 0;

        for (int i = 0; i < n; i++) {
                try {
                        switch (i % 5) {
                        case 0: std::stoi(word()); break;
                        case 1: std::vector<int>(3).at(source() % 1 + 5); break;
                        case 2: std::regex("(" + word()); break;
                        case 3: std::string("x").substr(7); break;
                        default:
                                throw std::filesystem::filesystem_error(
                                        word(), std::make_error_code(std::errc::io_error));
                        }
                } catch (const std::exception &e) {
                        std::cout << (caught++ % 6 ? "; " : "\n") << e.what();
                }
        }
        std::cout << '\n' << caught << '\n';
}

void paths() {
        for (int i = 0; i < 50; i++) {
                std::filesystem::path p = "/" + word() + "/../" + word() + "/./" + word() + ".txt";

                std::cout << p.lexically_normal() << p.stem() << p.lexically_relative("/a/b")
                          << (p / "..").parent_path() << '\n';
        }
}

void tasks() {
        std::vector<std::future<std::uint64_t>> all;
        std::byte room[4096];
        std::pmr::monotonic_buffer_resource arena(room, sizeof(room));
        std::pmr::unsynchronized_pool_resource pool(&arena);
        std::pmr::map<int, std::pmr::string> names(&pool);

        for (unsigned i = 0; i < 4; i++)
                all.push_back(std::async(std::launch::async, [i] {
                        std::mt19937 own(i);
                        std::vector<unsigned> v(500);

                        std::generate(v.begin(), v.end(), std::ref(own));
                        std::sort(v.begin(), v.end());
                        return std::accumulate(v.begin(), v.end(), std::uint64_t(0),
                                               [](auto a, auto b) { return a * 31 + b; });
                }));
        for (auto &f : all)
                std::cout << f.get() << ' ';
        for (int i = 0; i < 200; i++)
                names[static_cast<int>(source() % 300)] = word().c_str();
        for (const auto &[n, name] : names)
                std::cout << n << name;
        std::cout << '\n';
}

} // namespace

int main(int argc, char **argv) {
        for (int i = argc > 1 ? std::atoi(argv[1]) : 1; i > 0; i--) {
                std::string all = text(400);

                match(all);
                count(all);
                numbers(200);
                locales();
                failures(60);
                paths();
                tasks();
        }
        return 0;
}
