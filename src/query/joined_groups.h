/* SPDX-License-Identifier: MIT */
/* Groups of several metrics side by side: what a function allocated, and the time it took. */
#pragma once

#include "query/query.h"

struct query_joined {
        size_t n, n_of;
        const struct query_group *
                *rows; /* [row * n_of + i]: of the i-th groups; NULL: it has none there */
};

/* Groups by the same (function, line, module, crate, component, thread, process), all of one query. Rows of the first come first and
 * in their order, then those that only the second has, and so on. `of[i]` may be NULL. They are pointed to: keep them. Code without a
 * name, and blocks without a call path, are not the same in two. */
struct query_joined *query_join_groups(const struct query_groups *const *of, size_t n_of);
struct query_joined *query_joined_free(struct query_joined *j); /* NULL ok; returns NULL */
DEFINE_CLEANUP(struct query_joined, query_joined_free)
