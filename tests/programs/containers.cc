// SPDX-License-Identifier: MIT
// The containers of libstdc++, with known growth. Each part cleans up before the next, and the last
// block it allocated is temporary: 8 parts, 8 temporary.
//
//   vector<int>, 1,000 push_backs: capacities 1, 2, 4 .. 1,024   11 of 4 * 2,047 = 8,188
//   string, 100 characters one by one: 15 inside, then room for
//     30, 60, 120 and NUL                                         3 of 31 + 61 + 121 = 213
//   list<int>, 50 nodes of 24                                    50 of 1,200
//   deque<int>, 1 element: a map of 64 and a node of 512          2 of 576
//   vector<string>, reserved for 10 of 32, each 31 on the heap   11 of 320 + 310 = 630
//   map<int, int>, 100 nodes of 40                              100 of 4,000
//   unordered_map<int, int>, 100 nodes of 16, and buckets of 8:
//     13, 29, 59, 127                                           104 of 1,600 + 1,824 = 3,424
//   make_shared<int>: the count and the int in one block          1 of 24
//   allocations 282, all freed   bytes 18,255
// Peak: the vector growing: 512 and 1,024 ints at once, 6,144 in 2; the others stay below.
#include "truth.h"
#include <deque>
#include <list>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

template <class T>
static void keep(const T &value) {
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
