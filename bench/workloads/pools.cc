// SPDX-License-Identifier: MIT
// A program with `operator new` and `delete` of its own: nodes of a syntax tree come from a pool of their class, all else from global ones
// that it replaces, which count. It parses expressions, folds them, prints them and drops them.
//   pools EXPRESSIONS
// Prints a sum and the number of nodes; on standard error how often the global ones were called, by whoever is in the process.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <new>
#include <string>
#include <vector>

static uint64_t n_new, n_delete, n_new_bytes;

void *operator new(size_t size_bytes) {
        void *p = std::malloc(size_bytes ? size_bytes : 1);

        if (!p)
                throw std::bad_alloc();
        n_new++;
        n_new_bytes += size_bytes;
        return p;
}

void operator delete(void *p) noexcept {
        n_delete += p != nullptr;
        std::free(p);
}

void operator delete(void *p, size_t) noexcept {
        operator delete(p);
}

// Objects of one class, from chunks that go back when the last pool user is gone.
template <typename T>
class Pool {
        union Place {
                Place *next;
                alignas(T) char object[sizeof(T)];
        };
        static constexpr size_t n_per_chunk = 64;
        Place *idle = nullptr;
        std::vector<std::unique_ptr<Place[]>> chunks;

      public:
        uint64_t n_given = 0, n_taken = 0;

        void *give() {
                if (!idle) {
                        chunks.push_back(std::make_unique<Place[]>(n_per_chunk));
                        for (size_t i = 0; i < n_per_chunk; i++) {
                                chunks.back()[i].next = idle;
                                idle = &chunks.back()[i];
                        }
                }
                Place *place = idle;
                idle = place->next;
                n_given++;
                return place;
        }

        void take(void *p) {
                Place *place = static_cast<Place *>(p);
                place->next = idle;
                idle = place;
                n_taken++;
        }

        void shrink() {
                if (n_given == n_taken) {
                        idle = nullptr;
                        chunks.clear();
                }
        }
};

struct Node {
        char kind;
        int64_t value;
        std::string text; // longer than what fits into the string itself
        std::vector<Node *> parts;

        static Pool<Node> pool;

        static void *operator new(size_t) {
                return pool.give();
        }
        static void operator delete(void *p) {
                pool.take(p);
        }

        Node(char k, int64_t v) : kind(k), value(v), text("a node of the kind named ") {
                text += k;
        }
        ~Node() {
                for (Node *part : parts)
                        delete part;
        }
};

Pool<Node> Node::pool;

static uint32_t next_random(uint32_t &seed) {
        return (seed = seed * 1664525u + 1013904223u) >> 8;
}

static Node *parse(uint32_t &seed, int depth) {
        uint32_t r = next_random(seed);
        Node *n = new Node(depth == 0 || r % 5 == 0 ? 'n' : r % 2 ? '+' : '*', r % 97);

        if (n->kind != 'n')
                for (uint32_t i = 0; i < 2 + r / 7 % 3; i++)
                        n->parts.push_back(parse(seed, depth - 1));
        return n;
}

static int64_t fold(const Node &n) {
        int64_t v = n.value;

        for (const Node *part : n.parts)
                v = n.kind == '+' ? (v + fold(*part)) % 1000003 : v * fold(*part) % 1000003;
        return v;
}

static std::string print(const Node &n) {
        std::string s = std::to_string(n.value);

        for (const Node *part : n.parts)
                s += n.kind + print(*part);
        return n.parts.empty() ? s : '(' + s + ')';
}

int main(int argc, char **argv) {
        long n_expressions = argc > 1 ? std::atol(argv[1]) : 10000;
        uint32_t seed = 1;
        uint64_t sum = 0;
        {
                std::vector<std::unique_ptr<Node>> kept(256);

                for (long i = 0; i < n_expressions; i++) {
                        std::unique_ptr<Node> n(parse(seed, 4));
                        sum += static_cast<uint64_t>(fold(*n)) + print(*n).size();
                        kept[next_random(seed) % kept.size()] = std::move(n);
                }
        }
        Node::pool.shrink();
        std::printf("%llu, %llu nodes\n", (unsigned long long)sum,
                    (unsigned long long)Node::pool.n_given);
        std::fprintf(stderr, "new %llu, delete %llu, %llu bytes\n", (unsigned long long)n_new,
                     (unsigned long long)n_delete, (unsigned long long)n_new_bytes);
        return Node::pool.n_taken == Node::pool.n_given ? 0 : 1;
}
