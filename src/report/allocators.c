/* SPDX-License-Identifier: MIT */
#include "report/allocators.h"

#include <stdlib.h>
#include <string.h>

typedef VEC(struct trace_allocator) allocator_vec;

static int by_allocs(const void *a, const void *b) {
        const struct trace_allocator *x = a, *y = b;

        if (x->n_allocs != y->n_allocs)
                return x->n_allocs < y->n_allocs ? 1 : -1;
        return strcmp(x->name, y->name);
}

static bool is_same(const struct trace_allocator *a, const struct trace_allocator *b) {
        return !strcmp(a->name, b->name) && !strcmp(a->module, b->module);
}

/* Of the processes in question, over all of the recording, most allocations first. */
static allocator_vec allocators_add_up(const struct report *r) {
        allocator_vec sums = {0};

        for (size_t i = 0; i < r->v->n_allocators; i++) {
                const struct trace_allocator *a = &r->v->allocators[i];
                size_t k = 0;

                if (r->scope.process != QUERY_ALL && r->scope.process != a->process)
                        continue;
                while (k < sums.n && !is_same(&sums.items[k], a))
                        k++;
                if (k == sums.n) {
                        vec_push(&sums, *a);
                        continue;
                }
                sums.items[k].n_allocs += a->n_allocs;
                sums.items[k].alloc_bytes += a->alloc_bytes;
        }
        if (sums.n)
                qsort(sums.items, sums.n, sizeof(sums.items[0]), by_allocs);
        return sums;
}

/* Nothing but the C library's goes without saying. */
static bool is_worth_telling(const allocator_vec *sums) {
        return sums->n > 1 || (sums->n == 1 && strcmp(sums->items[0].name, "glibc") != 0);
}

static double share_pct(uint64_t part, uint64_t all) {
        return all ? 100.0 * (double)part / (double)all : 0;
}

static const char *file_name(const char *path) {
        const char *slash = strrchr(path, '/');

        return slash ? slash + 1 : path;
}

bool allocators_tell(const struct report *r, struct str *to) {
        allocator_vec sums = allocators_add_up(r);
        uint64_t n_allocs = 0, alloc_bytes = 0;

        for (size_t i = 0; is_worth_telling(&sums) && i < sums.n; i++) {
                n_allocs += sums.items[i].n_allocs;
                alloc_bytes += sums.items[i].alloc_bytes;
        }
        for (size_t i = 0; n_allocs && i < sums.n; i++) {
                const struct trace_allocator *a = &sums.items[i];

                str_addf(to, "%s%s%s%s", i ? "; " : "", a->name, a->version[0] ? " " : "",
                         a->version);
                if (a->module[0])
                        str_addf(to, " in %s", file_name(a->module));
                str_addf(to, ": %.1f %%%s and %.1f %%%s", share_pct(a->n_allocs, n_allocs),
                         i ? "" : " of the allocations", share_pct(a->alloc_bytes, alloc_bytes),
                         i ? "" : " of the bytes");
        }
        vec_free(&sums);
        return n_allocs > 0;
}

void allocators_put(struct json *j, const struct report *r) {
        allocator_vec sums = allocators_add_up(r);

        json_key(j, "allocators");
        json_array(j);
        for (size_t i = 0; is_worth_telling(&sums) && i < sums.n; i++) {
                json_object(j);
                json_put_string(j, "name", sums.items[i].name);
                json_put_string(j, "version", sums.items[i].version);
                json_put_string(j, "module", sums.items[i].module);
                json_put_uint(j, "allocations", sums.items[i].n_allocs);
                json_put_uint(j, "bytes", sums.items[i].alloc_bytes);
                json_end(j);
        }
        json_end(j);
        vec_free(&sums);
}
