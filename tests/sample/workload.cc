// SPDX-License-Identifier: MIT
// Every form of new and delete, the same at each run. SCALE.
#include <cstdlib>
#include <map>
#include <new>
#include <string>
#include <vector>

struct alignas(64) Wide {
        char bytes[192];
};

static void *volatile sink;

static void forms(unsigned i) {
        int *one = new int(3), *many = new int[i % 100 + 1];
        char *quiet = new (std::nothrow) char[i % 50 + 1];
        Wide *wide = new Wide, *wides = new Wide[2];

        sink = one;
        sink = many;
        sink = quiet;
        sink = wide;
        sink = wides;
        delete one;
        delete[] many;
        delete[] quiet;
        delete wide;
        delete[] wides;
        if (i % 100 == 0)
                try {
                        sink = ::operator new(SIZE_MAX / 2);
                } catch (const std::bad_alloc &) {}
}

int main(int argc, char **argv) {
        unsigned n = argc > 1 ? atoi(argv[1]) : 0;
        std::map<std::string, std::vector<int>> words;

        for (unsigned i = 0; i < n; i++) {
                forms(i);
                words["a string that is too long for the short form " + std::to_string(i % 1000)]
                        .push_back(i);
        }
        return 0;
}
