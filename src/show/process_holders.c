/* SPDX-License-Identifier: MIT */
#include "show/process_holders.h"

#include <stdlib.h>

#include "base/map.h"
#include "base/str.h"
#include "base/units.h"
#include "base/vec.h"
#include "show/style.h"

enum { HOLDER_MIN_SHARE = 100 }; /* of the peak of all: one in so many */

struct group {
        struct holder holder;
        uint64_t bytes; /* to sort by */
};

struct groups {
        struct map by_name;
        VEC(struct group) of;
};

static uint64_t hash_of(const struct query *q, uint32_t process) {
        uint64_t hash = 14695981039346656037ull;

        for (const char *c = query_process_name(q, process); *c; c++)
                hash = (hash ^ (unsigned char)*c) * 1099511628211ull;
        return hash;
}

/* parent: of those alike, or TRACE_NO_PROCESS whatever parents they have. */
static void groups_add(struct groups *g, const struct query *q, uint32_t process, uint32_t parent,
                       uint64_t bytes) {
        uint64_t key = hash_of(q, process) ^ map_hash(parent);
        bool added;
        uint64_t *idx = map_put(&g->by_name, key, g->of.n, &added);
        struct holder *h = &(added ? vec_add(&g->of) : &g->of.items[*idx])->holder;

        if (bytes > h->largest_bytes || added) {
                h->process = process;
                h->largest_bytes = bytes;
        }
        h->bytes += bytes;
        h->n++;
}

static int larger_first(const void *a, const void *b) {
        const struct group *x = a, *y = b;

        if (x->bytes != y->bytes)
                return x->bytes > y->bytes ? -1 : 1;
        return x->holder.process < y->holder.process   ? -1
               : x->holder.process > y->holder.process ? 1
                                                       : 0;
}

static void groups_sort(struct groups *g) {
        if (g->of.n)
                qsort(g->of.items, g->of.n, sizeof(g->of.items[0]), larger_first);
}

static void groups_done(struct groups *g) {
        map_done(&g->by_name);
        vec_free(&g->of);
}

bool holder_find(const struct query *q, const struct query_answer *all, struct holder *ret) {
        struct groups g = {0};
        bool is_found;

        for (uint32_t i = 0; all->held_bytes && i < all->n_processes; i++)
                if (all->held_bytes[i] > 0)
                        groups_add(&g, q, i, TRACE_NO_PROCESS, (uint64_t)all->held_bytes[i]);
        for (size_t i = 0; i < g.of.n; i++)
                g.of.items[i].bytes = g.of.items[i].holder.bytes;
        groups_sort(&g);
        is_found = g.of.n > 0;
        if (is_found)
                *ret = g.of.items[0].holder;
        if (is_found && ret->largest_bytes > ret->bytes / 5 * 3) { /* its like are not the point */
                ret->n = 1;
                ret->bytes = ret->largest_bytes;
        }
        groups_done(&g);
        return is_found;
}

uint32_t holder_process(const struct query *q, const struct query_answer *a) {
        struct holder h;

        if (a && a->scope.process != QUERY_ALL)
                return a->scope.process;
        return a && holder_find(q, a, &h) ? h.process : query_main_process(q);
}

bool holder_add_crowd(const struct query *q, const struct query_answer *a, struct str *to) {
        size_t n = query_n_pids(q), n_others;
        struct str name = {0};
        struct unit_text t;
        struct holder h;

        if (!a || a->scope.process != QUERY_ALL || n < 2)
                return false;
        if (!holder_find(q, a, &h)) {
                str_addf(to, "%s processes", unit_count(&t, n));
                return true;
        }
        n_others = n - MIN(n, h.n);
        query_add_process_name(q, h.process, &name);
        if (h.n > 1)
                str_addf(to, "%s processes named ", unit_count(&t, h.n));
        style_add_clean(to, str_text(&name));
        if (h.n == 1)
                str_addf(to, " (pid %u)", query_view(q)->processes[h.process].start.pid);
        if (n_others)
                str_addf(to, " and %s other%s%s", unit_count(&t, n_others),
                         h.n == 1 ? " process" : "",
                         n_others == 1 ? ""
                         : h.n == 1    ? "es"
                                       : "s");
        str_done(&name);
        return true;
}

size_t holders_of(const struct query *q, const struct query_answer *all, uint32_t *ret) {
        uint64_t least = all->totals.peak_bytes / HOLDER_MIN_SHARE;
        struct groups g = {0};
        size_t n = 0;

        for (uint32_t i = 0; i < all->n_processes; i++) {
                uint64_t bytes = query_own_peak_bytes(all, i);

                if (bytes > least)
                        groups_add(&g, q, i, query_view(q)->processes[i].start.parent, bytes);
        }
        for (size_t i = 0; i < g.of.n; i++)
                g.of.items[i].bytes = g.of.items[i].holder.largest_bytes;
        groups_sort(&g);
        while (n < g.of.n && n < HOLDERS_MAX) {
                ret[n] = g.of.items[n].holder.process;
                n++;
        }
        groups_done(&g);
        return n;
}
