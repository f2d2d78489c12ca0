// SPDX-License-Identifier: MIT
// Temporaries of C++: concat (a string built for a comparison), copies (a vector passed by value), wrapped (a function object
// that does not fit into itself). Not temporary: moved (the same strings, kept for a while).
#include <functional>
#include <string>
#include <vector>

#include "shape.h"

static long size, per_step, depth;
static unsigned long n_temporary, sum;

// One allocation: the sum is built in the copy of its left side, which has room.
NAMED static bool is_known(const char *name) {
        std::string key;

        key.reserve(size);
        key.append("user/");
        key.append(name);
        n_temporary++;
        return key.size() > 1000;
}

NAMED static double average(std::vector<double> values) {
        double all = 0;

        for (double v : values)
                all += v;
        return all / (double)values.size();
}

static std::vector<double> *values;

// The copy is made by the caller.
NAMED static void report_average() {
        sum += (unsigned long)average(*values);
        n_temporary++;
}

NAMED static unsigned long apply(const std::function<unsigned long(unsigned long)> &f) {
        return f(1);
}

NAMED static void schedule(unsigned long n) {
        unsigned long a = n, b = n + 1, c = n + 2, d = n + 3;

        sum += apply([a, b, c, d](unsigned long x) { return x + a + b + c + d; });
        n_temporary++;
}

static std::vector<std::string> kept(32);

NAMED static void remember(unsigned long n) {
        kept[n % kept.size()] = std::string(size, 'k');
}

static void step(long i) {
        for (long k = 0; k < per_step; k++) {
                if (shape_is("concat"))
                        sum += is_known("somebody with a name");
                else if (shape_is("copies"))
                        report_average();
                else if (shape_is("wrapped"))
                        schedule((unsigned long)i);
                else if (shape_is("moved"))
                        remember((unsigned long)(i * per_step + k));
                else
                        _exit(96);
        }
}

int main(int argc, char **argv) {
        shape_start(argc, argv);
        size = param("size");
        per_step = param("per_step");
        depth = param("depth");
        values = new std::vector<double>(size, 1.5);
        for (long i = 0; i < shape_n_steps; i++) {
                shape_step(i);
                relay(depth, step, i);
        }
        delete values;
        tell_text("culprit", shape_is("concat")   ? "is_known"
                             : shape_is("copies") ? "report_average"
                                                  : "schedule");
        tell("temporary", n_temporary);
        shape_end();
        return sum == 1;
}
