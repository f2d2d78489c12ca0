/* SPDX-License-Identifier: MIT */
/* Heap profiles of addresses: what jemalloc and gperftools have in common. Call paths wait for the mappings, which come last.
 * Inside import/ only. */
#pragma once

#include "base/map.h"
#include "import/import_input.h"
#include "import/import_maps.h"
#include "import/import_trace.h"

struct heap_path {
        size_t first, n; /* of its addresses */
        uint64_t n_live, live_bytes, n_allocs, alloc_bytes;
        bool has_sums;
};

/* How counts of samples become counts of blocks. */
enum heap_scaling {
        HEAP_EXACT,
        HEAP_POISSON, /* heap_v2: a sampled block of s bytes stands for 1 / (1 - e^(-s / distance)) */
};

/* What a profile itself says of an address. */
struct heap_symbol {
        struct import_function function;
        const struct heap_symbol *outer; /* that it is inlined into; NULL: none */
};

struct heap_dump {
        enum heap_scaling scaling;
        uint64_t sample_bytes; /* mean distance of samples */
        VEC(uint64_t) addresses;
        VEC(struct heap_path) paths;
        struct heap_path head; /* sums of all, if the profile says them */
        struct import_maps maps;
        struct map symbols; /* address → struct heap_symbol of the arena, the innermost */
        struct arena *arena;
        const char *program; /* that the symbols are of; "" unknown */
        bool has_allocs;     /* what was ever allocated is known */
        bool cuts_fractions; /* as Go and its pprof do it; others round */
        bool has_live_twice; /* as allocated, too, if the profiler does not count what was freed */
        bool in_maps;
        bool is_scaled;          /* figures are estimates already */
        bool leaves_unnamed_out; /* frames that the profile does not name, where it names others */
};

void heap_dump_init(struct heap_dump *d);
void heap_dump_done(struct heap_dump *d);

/* Lines that both have: the symbols of a raw profile at the begin, the mappings at the end. 1: it was one, 0 it is another's, -errno. */
int heap_dump_take_line(struct heap_dump *d, const char *line, const struct import_input *in,
                        struct err *reterr);
/* "0x7f01 0x7f02": a new path, innermost first. */
int heap_dump_take_path(struct heap_dump *d, const char *text, const struct import_input *in,
                        struct err *reterr);
/* Of code at an address; the first one counts. */
void heap_dump_add_symbol(struct heap_dump *d, uint64_t address, const struct heap_symbol *symbol);
/* "2: 128 [0: 0]", blanks as they come; *ret_rest is behind it. */
bool heap_dump_parse_sums(const char *text, struct heap_path *p, const char **ret_rest);
enum { HEAP_MAX_INLINED = 64 };
/* What the profile itself calls the code at an address, the innermost function first: how many, 0 if it does not. */
size_t heap_dump_name_place(const struct heap_dump *d, uint64_t address,
                            struct import_function ret[HEAP_MAX_INLINED]);
int heap_dump_put(struct heap_dump *d, struct import_trace *t, const struct import_input *in,
                  struct err *reterr);
