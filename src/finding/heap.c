/* SPDX-License-Identifier: MIT */
/* heap: memory of a language whose garbage collector decides what is released, and when. What it takes from malloc rises and stays by
 * its nature: it is told as one heap, not as leaks of the functions that fetch it. Known by who asked. Machines that map the heap take
 * what they need for themselves from malloc: that is told as theirs. And the reserve of the C++ library, which belongs to every C++
 * program and is told nowhere. */
#include <string.h>

#include "finding/rules.h"

enum {
        HEAP_MAX_FRAMES = 6,     /* from the allocator outwards */
        HEAP_MIN_BYTES = 256000, /* with less it is not told */
        HEAP_MAX_ROWS = 16384,
        RESERVE_MIN_BYTES = 60000,
        RESERVE_MAX_BYTES = 90000,
};
#define HEAP_MIN_SHARE 0.2 /* of the peak */
#define HEAP_LONG_S 60.0   /* from which on it is said that it rises */

/* By the file that the code which asked is in, or by the function. "" matches none. */
struct collector {
        const char *name;     /* "the heap of R" */
        const char *module;   /* begin of the file's name */
        const char *function; /* begin of the function's */
        const char *ask;      /* what tells more about it */
        bool is_machine; /* the heap is mapped, this is what runs it: its tables, its compiler */
};

static const struct collector collectors[] = {
        {"R", "libR.so", "", "gc() and Rprofmem()", false},
        {"Emacs", "emacs", "", "M-x memory-report", false},
        {"Ruby", "libruby", "", "ObjectSpace", false},
        {"OCaml", "ocaml", "caml_", "Gc.print_stat", false},
        {"the Java machine", "libjvm.so", "", "jcmd PID VM.native_memory", true},
        {"V8", "", "node::NodeArrayBufferAllocator::", "node --inspect", false},
        {"V8", "", "v8::internal::", "node --inspect", true},
        {"Lua", "liblua", "luaM_", "collectgarbage('count')", false},
        {"Lua", "lua5.", "l_alloc", "collectgarbage('count')", false},
        {"Guile", "libguile", "", "(gc-stats)", false},
        {"the Boehm collector", "libgc.so", "GC_", "GC_PRINT_STATS=1", false},
        {"Erlang", "beam", "erts_", "erlang:memory()", false},
        {"Haskell", "libHSrts", "allocateMightFail", "+RTS -s", false},
        {".NET", "libcoreclr", "", "dotnet-counters", true},
        {"Mono", "libmonosgen", "", "mono --profile", true},
        {"SpiderMonkey", "libmozjs", "js::gc::", "about:memory", true},
};

static const char *base_of(const char *path) {
        const char *slash = strrchr(path, '/');

        return slash ? slash + 1 : path;
}

static bool begins(const char *text, const char *with) {
        return with[0] && strncmp(text, with, strlen(with)) == 0;
}

struct look {
        const struct collector *found;
        unsigned n;
        bool is_reserve, is_module_seen;
};

/* The C library's own frames (strdup, getline) ask for others. */
static bool is_c_library(const char *module) {
        return begins(module, "libc.so") || begins(module, "libc-2.");
}

static bool look_at_frame(void *ctx, const struct query_frame *frame) {
        const char *module = base_of(frame->module);
        struct look *l = ctx;

        if (is_c_library(module))
                return ++l->n < HEAP_MAX_FRAMES;
        if (l->n == 0 && begins(module, "libstdc++.so"))
                l->is_reserve = true;
        l->is_reserve |= strstr(frame->function, "eh_alloc.cc") ||
                         strstr(frame->function, "(anonymous namespace)::pool::pool(");
        for (size_t i = 0; i < ARRAY_SIZE(collectors) && !l->found; i++)
                if ((!l->is_module_seen && begins(module, collectors[i].module)) ||
                    begins(frame->function, collectors[i].function))
                        l->found = &collectors[i];
        l->is_module_seen = true;
        return !l->found && ++l->n < HEAP_MAX_FRAMES;
}

/* One block, made before the program began and never released. */
static bool is_reserve(const struct query_figures *x, const struct look *l) {
        return l->is_reserve && x->n_allocs == 1 && x->n_frees == 0 &&
               x->alloc_bytes >= RESERVE_MIN_BYTES && x->alloc_bytes <= RESERVE_MAX_BYTES;
}

struct heap {
        struct course c;
        double peak_bytes, end_bytes, peak_blocks;
        uint32_t row; /* its largest */
};

static void heap_take(struct heap *h, struct facts *f, uint32_t row) {
        const struct query_figures *x = &f->rows[row].self;

        if (!h->c.bytes) {
                h->c = course_new(f->arena, f->n_columns);
                h->row = row;
        }
        if (row < f->n_told) {
                struct course c = facts_course(f, row);

                course_add(&h->c, &c, f->n_columns);
        }
        h->peak_bytes += (double)x->peak_bytes;
        h->peak_blocks += (double)x->peak_blocks;
        h->end_bytes += (double)MAX(x->end_bytes, 0);
        if (x->peak_bytes > f->rows[h->row].self.peak_bytes)
                h->row = row;
}

static bool is_rising(struct facts *f, const struct heap *h, struct growth *ret) {
        if (f->totals->lacks_time)
                return false;
        growth_of(f, &h->c, NULL, ret);
        return ret->is_rising && !ret->is_released && ret->end_s - ret->begin_s >= HEAP_LONG_S;
}

static void heap_tell(struct facts *f, const struct collector *c, const struct heap *h) {
        struct unit_text most, end;
        struct growth g;
        struct finding *x;
        bool rises = is_rising(f, h, &g);

        x = found(f, "heap", h->peak_bytes, h->row, QUERY_PEAK);
        x->is_open = rises;
        x->function = "";
        x->text = say(
                f,
                c->is_machine
                        ? "What %s allocates for itself: %s at the peak, %s at the end%s. It has tables of the garbage collector and of the compiler, not the objects of the program, which are in mappings: use %s to see what it is for."
                        : "The heap of %s: %s at the peak, %s at the end%s. Its garbage collector decides what to free, so the functions that allocate it do not leak it: use %s to see what it holds.",
                c->name, unit_bytes(&most, x->bytes), unit_bytes(&end, unit_nearest(h->end_bytes)),
                rises ? say(f, ", growing by %s", say_rate(f, g.trend.slope)) : "", c->ask);
        x->next = next_view(f, REQUEST_TREE, QUERY_PEAK);
        found_number(x, "end_bytes", h->end_bytes);
        found_number(x, "blocks", h->peak_blocks);
        found_number(x, "share_of_peak_pct",
                     share_pct(h->peak_bytes, (double)f->totals->peak_bytes));
        if (rises)
                found_number(x, "bytes_per_s", g.trend.slope);
}

void find_heaps(struct facts *f) {
        struct heap heaps[ARRAY_SIZE(collectors)] = {0};

        for (size_t row = 0; row < f->n_rows && row < HEAP_MAX_ROWS; row++) {
                struct look l = {0};
                size_t first;

                query_each_frame(f->q, f->rows[row].stack, look_at_frame, &l);
                if (is_reserve(&f->rows[row].self, &l)) {
                        f->is_claimed[row] = true;
                        f->reserve_end_bytes += (double)f->rows[row].self.end_bytes;
                }
                if (!l.found)
                        continue;
                f->collected_end_bytes += (double)MAX(f->rows[row].self.end_bytes, 0);
                for (first = 0; strcmp(collectors[first].name, l.found->name) != 0 ||
                                collectors[first].is_machine != l.found->is_machine;
                     first++)
                        ;
                heap_take(&heaps[first], f, (uint32_t)row);
                f->is_claimed[row] = f->is_collected[row] = true;
        }
        for (size_t i = 0; i < ARRAY_SIZE(collectors); i++)
                if (heaps[i].peak_bytes >= HEAP_MIN_BYTES &&
                    heaps[i].peak_bytes >= HEAP_MIN_SHARE * (double)f->totals->peak_bytes)
                        heap_tell(f, &collectors[i], &heaps[i]);
}
