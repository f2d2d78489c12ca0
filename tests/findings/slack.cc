// SPDX-License-Identifier: MIT
// Room that C++ containers have and do not use: reserved (a vector's), text (a string's), arena (a pool of which little is handed
// out). Used: filled (a vector that is full).
#include <memory>
#include <string>
#include <vector>

#include "shape.h"

static long buffer_bytes, touched_pct;

class Arena {
      public:
        NAMED Arena() : bytes(new char[buffer_bytes]) {}
        void hand_out(long n) {
                for (long i = 0; i < n; i++)
                        bytes[i] = 1;
        }
        std::unique_ptr<char[]> bytes;
};

NAMED static void prepare_rows(std::vector<long> &rows) {
        rows.reserve(buffer_bytes / sizeof(long));
}

NAMED static void prepare_text(std::string &text) {
        text.reserve(buffer_bytes - 1);
}

int main(int argc, char **argv) {
        std::vector<std::vector<long>> rows;
        std::vector<std::string> texts;
        std::vector<Arena> arenas;
        const char *culprit = "prepare_rows";

        shape_start(argc, argv);
        long n = param("buffers");
        buffer_bytes = param("buffer_bytes");
        touched_pct = shape_is("filled") ? 100 : param("touched_pct");
        long used = buffer_bytes / 100 * touched_pct;
        if (shape_is("reserved") || shape_is("filled")) {
                rows.resize(n);
                for (auto &r : rows) {
                        prepare_rows(r);
                        while ((long)((r.size() + 1) * sizeof(long)) <= used)
                                r.push_back(1);
                }
        } else if (shape_is("text")) {
                texts.resize(n);
                for (auto &t : texts) {
                        prepare_text(t);
                        t.append(used, 't');
                }
                culprit = "prepare_text";
        } else if (shape_is("arena")) {
                arenas.reserve(n);
                for (long i = 0; i < n; i++) {
                        arenas.emplace_back();
                        arenas.back().hand_out(used);
                }
                culprit = "Arena::Arena";
        } else {
                return 96;
        }
        for (long i = 0; i < shape_n_steps; i++)
                shape_step(i);
        tell_text("culprit", culprit);
        tell("asked", (unsigned long)(n * buffer_bytes));
        tell("untouched", (unsigned long)(n * ((buffer_bytes - used) / 4096 * 4096)));
        rows.clear();
        texts.clear();
        arenas.clear();
        shape_end();
        return 0;
}
