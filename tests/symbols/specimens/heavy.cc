// SPDX-License-Identifier: MIT
// C++ for the names test: templates in templates, lambdas, exceptions, local classes, anonymous namespaces, overloaded
// operators, virtual functions with thunks, variadic templates. Built in many ways, never judged by what it prints.
#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <numeric>
#include <set>
#include <sstream>
#include <stdexcept>
#include <string>
#include <tuple>
#include <unordered_map>
#include <variant>
#include <vector>

namespace {
volatile int sink;

struct Hidden {
        int value;
        bool operator<(const Hidden &other) const {
                return value < other.value;
        }
};

template <typename F>
int apply_twice(F &&f, int x) {
        return f(f(x));
}
} // namespace

namespace shop {
struct Visitor;

struct Item {
        virtual ~Item() = default;
        virtual int price() const = 0;
};

struct Named {
        virtual ~Named() = default;
        virtual std::string name() const = 0;
        std::string label;
};

template <int Cents>
struct Fixed : Item, Named {
        int price() const override {
                return Cents + static_cast<int>(label.size());
        }
        std::string name() const override {
                return label + std::to_string(Cents);
        }
};

template <typename... T>
struct Basket {
        std::tuple<T...> items;

        template <typename Op>
        int total(Op op) const {
                return std::apply([&](const auto &...item) { return (op(item) + ... + 0); }, items);
        }
};

class Till {
      public:
        explicit Till(int cash) : cash_(cash) {}

        Till &operator+=(int x) {
                if (x < 0)
                        throw std::invalid_argument("negative: " + std::to_string(x));
                cash_ += x;
                log_.push_back(x);
                return *this;
        }

        template <typename Key>
        std::map<Key, std::vector<int>> by(std::function<Key(int)> key) const {
                std::map<Key, std::vector<int>> groups;

                for (int x : log_)
                        groups[key(x)].push_back(x);
                return groups;
        }

      private:
        int cash_;
        std::vector<int> log_;
};
} // namespace shop

using Value = std::variant<int, std::string, std::vector<double>>;

static std::string show(const Value &v) {
        return std::visit(
                [](const auto &x) -> std::string {
                        using T = std::decay_t<decltype(x)>;

                        if constexpr (std::is_same_v<T, int>)
                                return std::to_string(x);
                        else if constexpr (std::is_same_v<T, std::string>)
                                return x;
                        else {
                                std::ostringstream out;

                                for (double d : x)
                                        out << d << ' ';
                                return out.str();
                        }
                },
                v);
}

__attribute__((noinline)) int local_class(int n) {
        struct Counter {
                std::vector<std::unique_ptr<int>> kept;
                int operator()(int x) {
                        kept.push_back(std::make_unique<int>(x));
                        return static_cast<int>(kept.size()) + *kept.back();
                }
        } counter;
        std::vector<int> v(static_cast<size_t>(n));

        std::iota(v.begin(), v.end(), 1);
        std::transform(v.begin(), v.end(), v.begin(), std::ref(counter));
        std::sort(v.begin(), v.end(), [n](int a, int b) { return a % n < b % n; });
        return v.front();
}

__attribute__((noinline)) int risky(shop::Till &till, int x) {
        try {
                till += x;
                return 1;
        } catch (const std::invalid_argument &e) {
                sink = static_cast<int>(std::string(e.what()).size());
                return -1;
        } catch (...) {
                throw;
        }
}

template <typename K, typename V>
std::unordered_map<V, std::vector<K>> inverted(const std::unordered_map<K, V> &m) {
        std::unordered_map<V, std::vector<K>> out;

        for (const auto &[k, v] : m)
                out[v].push_back(k);
        return out;
}

// The function behind the pointer stands in DWARF inside the one that declares the lambda.
template <typename F>
void once(std::once_flag &flag, F &&f) {
        std::call_once(flag, [&] { sink = f(static_cast<int>(sink)) + 1; });
}

__attribute__((noinline)) int only_once(int x) {
        static std::once_flag flag;

        once(flag, [x](int y) { return static_cast<int>(std::to_string(x + y).size()); });
        return sink;
}

int main(int argc, char **argv) {
        shop::Till till(argc);
        shop::Basket<shop::Fixed<10>, shop::Fixed<250>, shop::Fixed<3>> basket;
        std::unordered_map<std::string, int> ages;
        std::set<Hidden> hidden;
        int sum = 0;

        for (int i = -3; i < 20; i++)
                sum += risky(till, i * argc);
        for (auto &[key, group] :
             till.by<std::string>([](int x) { return std::string(x % 2 ? "odd" : "even"); }))
                sum += static_cast<int>(key.size() + group.size());
        sum += basket.total([](const auto &item) {
                return item.price() + static_cast<int>(item.name().size());
        });
        for (int i = 0; i < argc; i++)
                ages[argv[i]] = hidden.insert(Hidden{i}).first->value;
        for (const auto &[age, names] : inverted(ages))
                sum += age + static_cast<int>(names.size());
        sum += apply_twice([&](int x) { return apply_twice([&](int y) { return y + sink; }, x); },
                           sum);
        sum += local_class(argc + 5) + only_once(argc);
        sum += static_cast<int>(show(Value{sum}).size() + show(Value{std::string("x")}).size() +
                                show(Value{std::vector<double>{1.5, 2.5}}).size());
        return sum == 42;
}
