// SPDX-License-Identifier: MIT
// Every form of new and delete, the same at each run. SCALE [refused]: what is too large for the little memory that is left.
#include <cstdio>
#include <cstdlib>
#include <map>
#include <new>
#include <string>
#include <sys/resource.h>
#include <unistd.h>
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

// The handler gives back what it has, once; empty objects are blocks too.
static void refused(unsigned i) {
        static void *reserve;

        reserve = malloc(100);
        std::set_new_handler([] {
                if (!reserve)
                        throw std::bad_alloc();
                free(reserve);
                reserve = nullptr;
        });
        try {
                sink = new char[32 << 20];
        } catch (const std::bad_alloc &) {}
        try {
                sink = ::operator new(32 << 20);
        } catch (const std::bad_alloc &) {}
        sink = new (std::nothrow) char[32 << 20];
        sink = malloc(32 << 20);
        sink = new char[i % 10];
        delete[] static_cast<char *>(sink);
}

static void limit_memory() {
        FILE *f = fopen("/proc/self/statm", "r");
        struct rlimit limit;
        long n_pages = 0;

        if (!f || fscanf(f, "%ld", &n_pages) != 1)
                abort();
        fclose(f);
        getrlimit(RLIMIT_AS, &limit);
        limit.rlim_cur = n_pages * sysconf(_SC_PAGESIZE) + (16 << 20);
        setrlimit(RLIMIT_AS, &limit);
}

int main(int argc, char **argv) {
        unsigned n = argc > 1 ? atoi(argv[1]) : 0;
        std::map<std::string, std::vector<int>> words;

        if (argc > 2) {
                limit_memory();
                for (unsigned i = 0; i < n; i++)
                        refused(i);
                return 0;
        }
        for (unsigned i = 0; i < n; i++) {
                forms(i);
                words["a string that is too long for the short form " + std::to_string(i % 1000)]
                        .push_back(i);
        }
        return 0;
}
