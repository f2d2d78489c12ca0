/* SPDX-License-Identifier: MIT */
/* Stacks with names: functions that recur, inlined ones, allocators at the inner end, code without names, the same
 * name in two modules. */
#include "query/testing/fabric_core.h"

static const char *const functions[] = {
        "main",
        "shop::Cart::add(int)",
        "shop::Cart::total() const",
        "void shop::visit<shop::Cart>(shop::Cart&)",
        "walk",
        "walk", /* twice as often */
        "helper",
        "net::Session::read(char*, unsigned long)",
        "app::proto::encode",
        "std::vector<int, std::allocator<int> >::push_back(int&&)",
        "std::allocator<char>::allocate(unsigned long)",
        "operator new(unsigned long)",
        "__libc_start_main",
        "start_thread",
};

/* The last is none. */
static const char *const begins[] = {"+1000", "+10f0", "+1x"};

static const char *const files[] = {"", "/src/cart.cc", "/src/net.cc", "walk.c"};

enum {
        N_FUNCTIONS = sizeof(functions) / sizeof(functions[0]),
        N_FILES = 4,
        N_MODULES = 3,
        N_BEGINS = 3
};

static void name_location(struct fabric *f, uint32_t location) {
        unsigned n = fabric_draw(f, 6) == 0 ? 0 : 1 + (unsigned)fabric_draw(f, 3);

        if (n == 1 && fabric_draw(f, 4) == 0) { /* no name, but the function's begin */
                vec_push(&f->symbols, (struct trace_symbol){.location = location,
                                                            .function = begins[location % N_BEGINS],
                                                            .file = "",
                                                            .guess = true});
                return;
        }
        for (unsigned i = 0; i < n; i++)
                vec_push(&f->symbols,
                         (struct trace_symbol){.location = location,
                                               .function = functions[fabric_draw(f, N_FUNCTIONS)],
                                               .file = files[fabric_draw(f, N_FILES)],
                                               .line = (uint32_t)fabric_draw(f, 4),
                                               .inlined = i + 1 < n,
                                               .guess = n == 1 && fabric_draw(f, 8) == 0});
}

void fabric_add_named_stacks(struct fabric *f) {
        static const char *const paths[N_MODULES] = {"/usr/bin/shop", "/usr/lib/libnet.so.1", ""};
        unsigned n_locations = f->o.n_stacks * 2 / 3 + 1;
        uint32_t modules[N_MODULES], locations[256];

        for (unsigned i = 0; i < N_MODULES; i++) {
                struct trace_module m = {.path = paths[i], .size_bytes = 1 << 20};

                modules[i] = fabric_add_module(f, &m);
        }
        for (unsigned i = 0; i < n_locations; i++) {
                struct trace_location l = {modules[fabric_draw(f, N_MODULES)], 4096 + 16 * i};

                locations[i] = fabric_add_location(f, &l);
                name_location(f, locations[i]);
        }
        /* the caller of stack i is one before it, so (caller, location) is new while locations are */
        for (unsigned i = 0; i < f->o.n_stacks; i++)
                f->stacks[i] =
                        fabric_add_stack(f,
                                         i < n_locations ? i ? f->stacks[fabric_draw(f, i)] : 0
                                                         : f->stacks[i - 1 - fabric_draw(f, 2)],
                                         locations[i % n_locations]);
}
