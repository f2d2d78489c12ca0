// SPDX-License-Identifier: MIT
// A program's own functions under names that begin like those of libraries: each is a place of its
// own in reports, called by core::boot.
//
//   load 400,000   pool 500,000   later 600,000   parse_video 700,000   parse 800,000
//   mi_open 900,000   g_data_load_file 1,000,000   talloc_report 1,100,000   list_resize 1,200,000
//   allocations 9 of 7,200,000, all kept
#include "truth.h"

#define OWN __attribute__((noinline))

static void *kept[9];

namespace core {
struct Engine {
        OWN static void load() {
                kept[0] = malloc(400000);
        }
};
} // namespace core

namespace alloc {
OWN void pool() {
        kept[1] = malloc(500000);
}
} // namespace alloc

namespace futures {
OWN void later() {
        kept[2] = malloc(600000);
}
} // namespace futures

namespace fmt {
OWN void parse_video() {
        kept[3] = malloc(700000);
}
namespace video {
OWN void parse() {
        kept[4] = malloc(800000);
}
} // namespace video
} // namespace fmt

extern "C" {
OWN void mi_open() {
        kept[5] = malloc(900000);
}
OWN void g_data_load_file() {
        kept[6] = malloc(1000000);
}
OWN void talloc_report() {
        kept[7] = malloc(1100000);
}
OWN void list_resize() {
        kept[8] = malloc(1200000);
}
}

namespace core {
OWN void boot() {
        Engine::load();
        alloc::pool();
        futures::later();
        fmt::parse_video();
        fmt::video::parse();
        mi_open();
        g_data_load_file();
        talloc_report();
        list_resize();
        __asm__ volatile("" : : "r"(kept) : "memory");
}
} // namespace core

int main(int argc, char **argv) {
        if (truth_baseline(argc, argv))
                return 0;
        core::boot();
        return 0;
}
