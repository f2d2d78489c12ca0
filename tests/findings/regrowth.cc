// SPDX-License-Identifier: MIT
// Containers of C++ that grow: vector (push_back without reserve), text (+= without reserve). Not growing: reserved (the same with
// it), reused (a vector that is cleared and keeps its room).
#include <string>
#include <vector>

#include "shape.h"

static long last, depth;
static unsigned long copied, n_growths, sum;

NAMED static void collect_rows(long) {
        std::vector<long> rows;

        while (rows.size() * sizeof(long) < (size_t)last) {
                size_t before = rows.capacity();

                rows.push_back(1);
                if (before && rows.capacity() != before) {
                        copied += before * sizeof(long);
                        n_growths++;
                }
        }
        sum += rows.size();
}

NAMED static void build_page(long) {
        std::string page;

        while (page.size() < (size_t)last) {
                size_t before = page.capacity();

                page += "<td>";
                if (before > 15 && page.capacity() != before) { // up to 15 it holds itself
                        copied += before + 1;
                        n_growths++;
                }
        }
        sum += page.size();
}

NAMED static void collect_reserved(long) {
        std::vector<long> rows;

        rows.reserve(last / sizeof(long) + 1);
        while (rows.size() * sizeof(long) < (size_t)last)
                rows.push_back(1);
        sum += rows.size();
}

static std::vector<long> *reused;

NAMED static void collect_again(long) {
        reused->clear();
        while (reused->size() * sizeof(long) < (size_t)last)
                reused->push_back(1);
        sum += reused->size();
}

int main(int argc, char **argv) {
        const char *culprit = "collect_rows";
        step_fn step = collect_rows;

        shape_start(argc, argv);
        last = param("last");
        depth = param("depth");
        reused = new std::vector<long>;
        if (shape_is("text")) {
                step = build_page;
                culprit = "build_page";
        } else if (shape_is("reserved")) {
                step = collect_reserved;
        } else if (shape_is("reused")) {
                step = collect_again;
        } else if (!shape_is("vector")) {
                return 96;
        }
        for (long i = 0; i < shape_n_steps; i++) {
                shape_step(i);
                relay(depth, step, i);
        }
        delete reused;
        tell_text("culprit", culprit);
        tell("copied", copied);
        tell("growths", n_growths);
        shape_end();
        return sum == 1;
}
