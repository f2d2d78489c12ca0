/* SPDX-License-Identifier: MIT */
#include "long_run_names.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/arena.h"
#include "base/vec.h"
#include "trace/reader.h"
#include "trace/writer.h"

enum {
        N_FUNCTIONS = 6000,
        N_FILES = 40,
        N_LEVELS = 7,
        FUNCTION_LINES = 12,
        LEVEL_STRIDE = 0x1000000,
        FIRST_PC = 0x10000,
};

void deep_path(uint32_t site, uint64_t ret_pcs[static DEEP_FRAMES]) {
        size_t n = 0;

        for (uint32_t level = 0, at = site; level < N_LEVELS; level++, at /= 6) {
                ret_pcs[n++] = FIRST_PC + 2 * level * (uint64_t)LEVEL_STRIDE + at * 16;
                ret_pcs[n++] = FIRST_PC + (2 * level + 1) * (uint64_t)LEVEL_STRIDE + at * 16;
        }
        ret_pcs[n++] = 0x9000; /* main */
        ret_pcs[n++] = 0x6000;
        ret_pcs[n++] = 0x5000;
}

static uint64_t scramble(uint64_t x) {
        x = (x ^ (x >> 31)) * 0x9e3779b97f4a7c15ull;
        return x ^ (x >> 29);
}

struct naming {
        struct arena *arena;
        const char *names[N_FUNCTIONS];
        const char *files[N_FILES];
        VEC(struct trace_symbol) symbols;
};

static void make_names(struct naming *n, const char *folder) {
        static const char *const kinds[] = {
                "shop::cart::Basket<std::vector<shop::Item, std::allocator<shop::Item> > >::step_%u(shop::Item const&, unsigned long)",
                "void net::Session<net::Tls>::step_%u<net::Request, net::Answer>(net::Request&&, std::function<void (net::Answer)>)",
                "<server::store::Table<alloc::string::String> as server::store::Store>::step_%u",
                "std::unique_ptr<db::Row, std::default_delete<db::Row> > db::Query::step_%u(std::string_view)",
                "step_%u",
        };
        char text[256];

        for (unsigned i = 0; i < N_FUNCTIONS; i++) {
                snprintf(text, sizeof(text), kinds[i % 5], i);
                n->names[i] = arena_strdup(n->arena, text);
        }
        for (unsigned i = 0; i < N_FILES; i++) {
                snprintf(text, sizeof(text), "%s/part_%02u.cc", folder, i);
                n->files[i] = arena_strdup(n->arena, text);
        }
}

static void add_symbol(struct naming *n, uint32_t location, uint64_t hash, bool inlined) {
        unsigned function = (unsigned)(hash % N_FUNCTIONS);
        unsigned line = 1 + function / N_FILES * FUNCTION_LINES + 1 + (unsigned)(hash >> 40) % 10;

        vec_push(&n->symbols, (struct trace_symbol){.location = location,
                                                    .function = n->names[function],
                                                    .file = n->files[function % N_FILES],
                                                    .line = line,
                                                    .inlined = inlined});
}

static void name_location(struct naming *n, uint32_t location, uint64_t pc) {
        static const char *const starts[] = {"_start", "__libc_start_main_impl", "", "", "main"};
        uint64_t hash = scramble(pc);

        if (pc < FIRST_PC) {
                vec_push(&n->symbols,
                         (struct trace_symbol){.location = location,
                                               .function = starts[(pc - 0x5000) / 0x1000],
                                               .file = pc == 0x9000 ? n->files[0] : "",
                                               .line = pc == 0x9000 ? 3 : 0});
                return;
        }
        if (pc < FIRST_PC + LEVEL_STRIDE &&
            hash % 2) /* half of what asks does so through a container */
                vec_push(
                        &n->symbols,
                        (struct trace_symbol){
                                .location = location,
                                .function =
                                        "std::vector<shop::Item, std::allocator<shop::Item> >::push_back(shop::Item const&)",
                                .file = "/usr/include/c++/12/bits/stl_vector.h",
                                .line = 1280,
                                .inlined = true});
        for (unsigned i = hash % 3; i > 0; i--)
                add_symbol(n, location, scramble(hash + i), true);
        add_symbol(n, location, scramble(hash / 3), false);
}

static int write_sources(const struct naming *n) {
        for (unsigned i = 0; i < N_FILES; i++) {
                FILE *f = fopen(n->files[i], "we");

                if (!f)
                        return -errno;
                for (unsigned k = i; k < N_FUNCTIONS; k += N_FILES) {
                        fprintf(f, "void Part::step_%u(const Item &item, size_t count) {\n", k);
                        for (unsigned line = 0; line < FUNCTION_LINES - 2; line++)
                                fprintf(f, "        rows_.push_back(make_row(item, count + %u));\n",
                                        line);
                        fprintf(f, "}\n");
                }
                fclose(f);
        }
        return 0;
}

int deep_names(const char *trace, const char *folder, struct err *reterr) {
        struct trace_reader *t = NULL;
        struct naming *n = calloc(1, sizeof(*n));
        int r;

        if (!n)
                abort();
        n->arena = arena_new();
        make_names(n, folder);
        r = trace_reader_open(trace, &t, reterr);
        for (uint32_t i = 0; r >= 0 && i < trace_view(t)->n_locations; i++)
                name_location(n, i, trace_view(t)->locations[i].offset);
        trace_reader_free(t);
        if (r >= 0)
                r = trace_append_symbols(trace, n->symbols.items, n->symbols.n, reterr);
        if (r >= 0) {
                r = write_sources(n);
                if (r < 0)
                        err_set_errno(reterr, r, "%s", folder);
        }
        vec_free(&n->symbols);
        arena_free(n->arena);
        free(n);
        return r;
}
