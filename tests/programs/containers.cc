// SPDX-License-Identifier: MIT
// The containers of libstdc++, with known growth. Each part cleans up before the next.
//
// vector<int>, 1,000 push_backs: capacities 1, 2, 4 .. 1,024: 11 allocations of 4 * 2,047 = 8,188 bytes; a new buffer
//   comes before the old one goes, so only the last is temporary.                  11 allocations   temporary 1
// string, 100 characters one by one: 15 inside, then 30, 60, 120 (+1 each): 213 bytes     3 allocations   temporary 1
// map<int, int>, 100 nodes of 40 bytes: 4,000; the tree is freed node by node, the last allocated is temporary
//                                                                                 100 allocations   temporary 1
// list<int>, 50 nodes of 24: 1,200                                                 50 allocations   temporary 1
// unordered_map<int, int>, 100: 13, 29, 59, 127 buckets of 8: 1,824; 100 nodes of 16: 1,600
//   a node is allocated before the buckets it makes grow; the last allocation is the 100th node: temporary 1
//                                                                                 104 allocations
// deque<int>, 1 element: a map of 64 and a node of 512; the node last: freed first: temporary 1     2 allocations
// make_shared<int>: 24 bytes                                                        1 allocation    temporary 1
// vector<string> of 10 strings of 30 characters (31 bytes each), reserved: 320 + 310 = 630 bytes; the vector's
//   buffer 320 first, the last string is temporary                                 11 allocations   temporary 1
//   allocations 11 + 3 + 100 + 50 + 104 + 2 + 1 + 11 = 282, all freed
//   bytes 8,188 + 213 + 4,000 + 1,200 + 3,424 + 576 + 24 + 630 = 18,255   temporary 8
// Peak: vector growing: 512 and 1,024 ints at once: 6,144 in 2; the others stay below.
#include "truth.h"
#include <deque>
#include <list>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

template <class T> static void keep(const T &value) {
        __asm__ volatile("" : : "r"(&value) : "memory");
}

static void fill_sequences() {
        {
                std::vector<int> v;
                for (int i = 0; i < 1000; i++)
                        v.push_back(i);
                keep(v);
        }
        {
                std::string s;
                for (int i = 0; i < 100; i++)
                        s += 'x';
                keep(s);
        }
        {
                std::list<int> l;
                for (int i = 0; i < 50; i++)
                        l.push_back(i);
                keep(l);
        }
        {
                std::deque<int> d;
                d.push_back(1);
                keep(d);
        }
        {
                std::vector<std::string> v;
                v.reserve(10);
                for (int i = 0; i < 10; i++)
                        v.emplace_back(30, 'x');
                keep(v);
        }
}

static void fill_maps() {
        {
                std::map<int, int> m;
                for (int i = 0; i < 100; i++)
                        m[i] = i;
                keep(m);
        }
        {
                std::unordered_map<int, int> m;
                for (int i = 0; i < 100; i++)
                        m[i] = i;
                keep(m);
        }
        keep(*std::make_shared<int>(7));
}

int main(int argc, char **argv) {
        if (truth_baseline(argc, argv))
                return 0;
        fill_sequences();
        fill_maps();
        return 0;
}
