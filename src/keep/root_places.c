/* SPDX-License-Identifier: MIT */
#include "keep/root_places.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "keep/borrowers.h"

/* A variable as its symbol tells it: "NAME+OFFSET:SIZE" of a word. */
struct extent {
        uint64_t begin, end;
        const char *symbol;
        size_t n_name;
};

struct finder {
        struct heap_graph *h;
        const struct query *q;
        uint32_t process;
        struct site_texts *texts;
        struct root_places *ret;
        struct map thread_places; /* tid << 1 | is thread-local → place */
        struct map mapping_places;
        struct str text;
};

/* ---- variables ------------------------------------------------------------------------------------------- */

/* The place at or before an address; NULL: none. */
static const struct heap_place *place_before(const struct heap_graph *h, uint64_t address) {
        uint32_t low = 0, high = h->n_places;

        while (low < high) {
                uint32_t mid = low + (high - low) / 2;

                if (h->places[mid].address <= address)
                        low = mid + 1;
                else
                        high = mid;
        }
        return low ? &h->places[low - 1] : NULL;
}

static bool symbol_says(const char *symbol, uint64_t address, struct extent *ret) {
        const char *colon = strrchr(symbol, ':'), *plus = colon;
        uint64_t offset, size;

        while (plus && plus > symbol && *plus != '+')
                plus--;
        if (!plus || plus == symbol || sscanf(plus, "+%" SCNu64 ":%" SCNu64, &offset, &size) != 2 ||
            offset > address || offset >= size || size > UINT64_MAX - (address - offset))
                return false;
        *ret = (struct extent){address - offset, address - offset + size, symbol,
                               (size_t)(plus - symbol)};
        return true;
}

static bool extent_of(const struct finder *f, const struct heap_place *p, struct extent *ret) {
        struct query_frame frame;

        return p && p->kind == PLACE_VARIABLE && p->location < query_view(f->q)->n_locations &&
               query_location_frames(f->q, p->location, &frame, 1) > 0 && !frame.guess &&
               symbol_says(frame.function, p->address, ret);
}

/* By the word itself, or by one of the same variable before or behind it. */
static bool find_extent(const struct finder *f, uint64_t address, struct extent *ret) {
        const struct heap_place *p = place_before(f->h, address),
                                *end = f->h->places + f->h->n_places;

        if (extent_of(f, p, ret) && address < ret->end)
                return true;
        p = p ? p + 1 : f->h->places;
        return p < end && extent_of(f, p, ret) && ret->begin <= address && address < ret->end;
}

/* ---- places ---------------------------------------------------------------------------------------------- */

static uint32_t add_place(struct finder *f, enum root_place_kind kind, uint32_t owner,
                          uint64_t begin) {
        vec_push(&f->ret->list,
                 (struct root_place){.kind = kind,
                                     .name = text_pool_add(&f->texts->pool, str_text(&f->text)),
                                     .owner = owner,
                                     .begin = begin});
        return (uint32_t)f->ret->list.n - 1;
}

/* The C library's by name, other allocators by their files. */
static bool is_allocators(const char *module, const char *variable, size_t n_name) {
        static const char *const modules[] = {"libjemalloc.", "libmimalloc.", "libmimalloc-",
                                              "libtcmalloc"};
        const char *base = frame_base(module);

        if (strncmp(base, "libc.so", 7) == 0 || strncmp(base, "libc-", 5) == 0)
                return n_name == strlen("main_arena") &&
                       strncmp(variable, "main_arena", n_name) == 0;
        for (size_t i = 0; i < ARRAY_SIZE(modules); i++)
                if (strncmp(base, modules[i], strlen(modules[i])) == 0)
                        return true;
        return false;
}

static uint32_t place_of_variable(struct finder *f, const struct reach_root *r,
                                  struct extent *last) {
        const struct heap_owner *o = &f->h->owners[r->owner];
        struct extent found;

        if (f->ret->list.n && last->symbol && r->begin >= last->begin && r->begin < last->end)
                return (uint32_t)f->ret->list.n - 1;
        *last = (struct extent){0};
        str_clear(&f->text);
        if (find_extent(f, r->begin, &found)) {
                *last = found;
                str_add(&f->text, "static ");
                str_addn(&f->text, found.symbol, found.n_name);
                return add_place(f,
                                 is_allocators(o->name, found.symbol, found.n_name)
                                         ? ROOT_PLACE_ALLOCATOR
                                         : ROOT_PLACE_VARIABLE,
                                 r->owner, found.begin);
        }
        str_addf(&f->text, "a variable at %s+0x%llx", frame_base(o->name),
                 (unsigned long long)(r->begin - o->base));
        return add_place(f,
                         is_allocators(o->name, "", 0) ? ROOT_PLACE_ALLOCATOR : ROOT_PLACE_UNNAMED,
                         r->owner, r->begin);
}

static uint32_t place_of_thread(struct finder *f, const struct reach_root *r) {
        const struct heap_owner *o = &f->h->owners[r->owner];
        const struct heap_place *at = r->kind == ROOT_STACK ? place_before(f->h, r->begin) : NULL;
        bool is_local = at && at->kind == PLACE_STACK_END, is_new;
        uint64_t *place = map_put(&f->thread_places, (uint64_t)o->tid << 1 | is_local, 0, &is_new);

        if (!is_new)
                return (uint32_t)*place;
        str_clear(&f->text);
        if (is_local)
                str_add(&f->text, "thread-local data of ");
        if (o->tid == query_view(f->q)->processes[f->process].start.pid)
                str_add(&f->text, "the main thread");
        else
                str_addf(&f->text, "thread %s", o->name[0] ? o->name : "without a name");
        *place = add_place(f, is_local ? ROOT_PLACE_THREAD_LOCAL : ROOT_PLACE_THREAD, r->owner, 0);
        return (uint32_t)*place;
}

static uint32_t place_of_mapping(struct finder *f, const struct reach_root *r) {
        const struct heap_owner *o = &f->h->owners[r->owner];
        bool is_new;
        uint64_t *place = map_put(&f->mapping_places, r->owner, 0, &is_new);

        if (!is_new)
                return (uint32_t)*place;
        str_clear(&f->text);
        if (o->name[0] == '/')
                str_addf(&f->text, "the mapping of %s", frame_base(o->name));
        else if (o->name[0])
                str_addf(&f->text, "the mapping %s", o->name);
        else
                str_addf(&f->text, "the mapping at 0x%llx", (unsigned long long)o->base);
        *place = add_place(f, ROOT_PLACE_MAPPING, r->owner, o->base);
        return (uint32_t)*place;
}

static void place_roots(struct finder *f, uint32_t *of_root) {
        struct extent last = {0};

        for (uint32_t i = 0; i < f->h->graph.n_roots; i++) {
                const struct reach_root *r = &f->h->roots[i];

                switch (r->kind) {
                case ROOT_DATA: of_root[i] = place_of_variable(f, r, &last); break;
                case ROOT_STACK:
                case ROOT_REGISTERS: of_root[i] = place_of_thread(f, r); break;
                case ROOT_MAPPING: of_root[i] = place_of_mapping(f, r); break;
                }
                if (r->kind != ROOT_DATA)
                        last = (struct extent){0};
        }
}

/* ---- the order of roots ---------------------------------------------------------------------------------- */

struct ordered {
        uint32_t place, root;
};

static int by_place(const void *a, const void *b) {
        const struct ordered *x = a, *y = b;

        if (x->place != y->place)
                return x->place < y->place ? -1 : 1;
        return x->root < y->root ? -1 : x->root > y->root;
}

/* A thread's registers come behind all stacks: roots of one place are made neighbours, with their edges. Those that only borrow have none
 * from now on. */
static int sort_roots(struct heap_graph *h, uint32_t *of_root, const bool *counts) {
        struct reach_graph *g = &h->graph;
        uint64_t begin = g->first[g->n_blocks], n_edges = reach_n_edges(g) - begin;
        struct ordered *order = malloc(MAX(g->n_roots, 1u) * sizeof(*order));
        struct reach_root *roots = malloc(MAX(g->n_roots, 1u) * sizeof(*roots));
        reach_edge *edges = malloc(MAX(n_edges, (uint64_t)1) * sizeof(*edges));
        uint64_t *first = malloc(((size_t)g->n_roots + 1) * sizeof(*first));
        int r = order && roots && edges && first ? 0 : -ENOMEM;
        uint64_t at = 0;

        for (uint32_t i = 0; r == 0 && i < g->n_roots; i++)
                order[i] = (struct ordered){of_root[i], i};
        if (r == 0 && g->n_roots)
                qsort(order, g->n_roots, sizeof(*order), by_place);
        for (uint32_t i = 0; r == 0 && i < g->n_roots; i++) {
                uint32_t from = order[i].root;

                of_root[i] = order[i].place;
                roots[i] = h->roots[from];
                first[i] = begin + at;
                for (uint64_t e = g->first[g->n_blocks + from];
                     counts[from] && e < g->first[g->n_blocks + from + 1]; e++)
                        edges[at++] = g->edges[e];
        }
        if (r == 0 && g->n_roots) {
                memcpy(h->roots, roots, g->n_roots * sizeof(*roots));
                memcpy(&g->first[g->n_blocks], first, g->n_roots * sizeof(*first));
                memcpy(&g->edges[begin], edges, at * sizeof(*edges));
                g->first[g->n_blocks + g->n_roots] = begin + at;
        }
        free(order);
        free(roots);
        free(edges);
        free(first);
        return r;
}

int root_places_find(struct heap_graph *h, const struct query *q, uint32_t process,
                     struct site_texts *texts, struct root_places *ret) {
        struct finder f = {.h = h, .q = q, .process = process, .texts = texts, .ret = ret};
        uint32_t *of_root = malloc(MAX(h->graph.n_roots, 1u) * sizeof(*of_root));
        struct borrowers borrowers = {0};
        int r = of_root ? 0 : -ENOMEM;

        *ret = (struct root_places){0};
        if (r == 0) {
                place_roots(&f, of_root);
                r = borrowers_find(&h->graph, ret->list.items, of_root, &borrowers);
        }
        if (r == 0) {
                borrowers_drop_edges(&borrowers, of_root, &h->graph);
                r = sort_roots(h, of_root, borrowers.counts);
        }
        ret->also = borrowers.also;
        borrowers.also = (struct map){0};
        borrowers_done(&borrowers);
        ret->places = (struct reach_places){.of_root = of_root, .n = (uint32_t)ret->list.n};
        map_done(&f.thread_places);
        map_done(&f.mapping_places);
        str_done(&f.text);
        return r;
}

void root_places_done(struct root_places *p) {
        free((uint32_t *)p->places.of_root);
        map_done(&p->also);
        vec_free(&p->list);
        *p = (struct root_places){0};
}

uint32_t root_places_frame(const struct heap_graph *h, uint64_t address) {
        const struct heap_place *p = place_before(h, address);

        return p && p->kind == PLACE_FRAME ? p->location : HEAP_NO_LOCATION;
}
