/* SPDX-License-Identifier: MIT */
/* Figures by call path of a window, kept between the rounds of a join and between statements, and found by call path, by its text or by
 * its function. Inside sql/ only. */
#pragma once

#include "base/map.h"
#include "sql/space.h"

/* Which rows have a text: those of one hash are a chain. */
struct text_index {
        struct map first; /* hash → row */
        uint32_t *
                next; /* row → the next of the same hash; SITE_NO_ROW: the last. NULL: not made yet */
};

enum { SITE_NO_ROW = UINT32_MAX };

struct window_sites {
        uint64_t from_ns, to_ns;           /* as asked */
        const struct query_answer *answer; /* its sites by stack */
        struct query_answer *own;          /* the same, where it is to be freed */
        struct text_index by_path, by_function;
        uint64_t last_use;
        unsigned n_users;
};

/* Of [from, to), or of all of the time; to be given back. */
int window_sites_get(struct sql_space *s, uint64_t from_ns, uint64_t to_ns,
                     struct window_sites **ret, struct err *reterr);
void window_sites_put(struct window_sites *r); /* NULL ok */
void window_sites_done(struct sql_space *s);

/* The first row whose stack is that or a larger one; n_sites: none. */
size_t window_sites_at(const struct window_sites *r, int64_t stack);
/* The first row of a chain of those that may have that text, and the next one; SITE_NO_ROW: no more. Where the
 * statement was stopped meanwhile, there is no index behind it. */
uint32_t window_sites_with_path(struct sql_space *s, struct window_sites *r, const char *path);
uint32_t window_sites_with_function(struct sql_space *s, struct window_sites *r,
                                    const char *function);
