// SPDX-License-Identifier: MIT
// Spikes in C++: copy (a map copied to be sorted), rows (all of an answer in a vector of strings). No spike: streamed (one row after
// the other).
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "shape.h"

static long spike_bytes, block_bytes, depth;
static unsigned long sum;

class Table {
      public:
        NAMED std::vector<std::string> rows(long n) const {
                std::vector<std::string> all;

                all.reserve(n);
                for (long i = 0; i < n; i++)
                        all.emplace_back(block_bytes - 1, 'r');
                return all;
        }
        NAMED std::unique_ptr<std::vector<long>> snapshot() const {
                return std::make_unique<std::vector<long>>(spike_bytes / sizeof(long), 3);
        }
};

int main(int argc, char **argv) {
        Table table;
        std::vector<std::string> rows, base;
        std::unique_ptr<std::vector<long>> copy;

        shape_start(argc, argv);
        long base_bytes = param("base_bytes");
        spike_bytes = param("spike_bytes");
        block_bytes = param("block_bytes");
        depth = param("depth");
        long from = shape_n_steps * param("from_pct") / 100;
        long to = from + 1 + shape_n_steps * param("length_pct") / 100;
        for (long left = base_bytes; left > 0; left -= (long)base.back().size())
                base.emplace_back(between(256, 6000), 'b');
        for (long i = 0; i < shape_n_steps; i++) {
                shape_step(i);
                base[chance(base.size())] = std::string(between(256, 6000), 'c');
                if (shape_is("streamed"))
                        sum += table.rows(1).size();
                else if (i == from && shape_is("copy"))
                        copy = table.snapshot();
                else if (i == from && shape_is("rows"))
                        rows = table.rows(spike_bytes / block_bytes);
                if (i == to) {
                        copy.reset();
                        rows = std::vector<std::string>();
                }
        }
        base = std::vector<std::string>();
        tell_text("culprit", shape_is("copy") ? "Table::snapshot" : "Table::rows");
        long n = spike_bytes / block_bytes;

        /* with the vector itself, and with the strings in it */
        tell("spike_bytes", shape_is("copy")
                                    ? spike_bytes / sizeof(long) * sizeof(long) + sizeof(*copy)
                                    : n * (block_bytes + sizeof(std::string)));
        tell("spike_blocks", shape_is("copy") ? 2 : n + 1);
        shape_end();
        return sum == 1;
}
