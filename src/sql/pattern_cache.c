/* SPDX-License-Identifier: MIT */
#include "sql/pattern_cache.h"

#include <stdlib.h>
#include <string.h>

/* A pattern may take some seconds in all, whatever it is asked: enough for so many texts. Then it begins anew. */
enum { MATCHES_OF_A_PATTERN = 1 << 20 };

struct cached_pattern {
        struct pattern *pattern; /* of texts; NULL: paths */
        struct path_search *paths;
        uint64_t last_used;
        uint32_t n_matches;
};

struct pattern_cache {
        struct cached_pattern items[PATTERN_CACHE_MOST];
        size_t n, last; /* the one that was asked for last */
        uint64_t n_uses;
};

static void cached_done(struct cached_pattern *c) {
        pattern_free(c->pattern);
        path_search_free(c->paths);
        *c = (struct cached_pattern){0};
}

struct pattern_cache *pattern_cache_free(struct pattern_cache *c) {
        for (size_t i = 0; c && i < c->n; i++)
                cached_done(&c->items[i]);
        free(c);
        return NULL;
}

static bool is_it(const struct cached_pattern *c, const char *text, bool of_paths) {
        return of_paths ? c->paths && strcmp(path_search_text(c->paths), text) == 0
                        : c->pattern && strcmp(pattern_text(c->pattern), text) == 0;
}

/* A place for a new one: free, or that of the one that was not used for longest. */
static size_t cache_make_room(struct pattern_cache *c) {
        size_t oldest = 0;

        if (c->n < PATTERN_CACHE_MOST)
                return c->n++;
        for (size_t i = 1; i < c->n; i++)
                if (c->items[i].last_used < c->items[oldest].last_used)
                        oldest = i;
        cached_done(&c->items[oldest]);
        return oldest;
}

/* NULL: it is not there, and *ret_cache is. */
static struct cached_pattern *cache_find(struct pattern_cache **cache, const char *text,
                                         bool of_paths) {
        struct pattern_cache *c = *cache;

        if (!c)
                *cache = c = calloc(1, sizeof(*c));
        if (!c)
                abort();
        c->n_uses++;
        if (c->last >= c->n || !is_it(&c->items[c->last], text, of_paths)) {
                c->last = 0;
                while (c->last < c->n && !is_it(&c->items[c->last], text, of_paths))
                        c->last++;
        }
        if (c->last == c->n)
                return NULL;
        c->items[c->last].last_used = c->n_uses;
        return &c->items[c->last];
}

static struct cached_pattern *cache_add(struct pattern_cache *c) {
        c->last = cache_make_room(c);
        c->items[c->last].last_used = c->n_uses;
        return &c->items[c->last];
}

int pattern_cache_matches(struct pattern_cache **cache, const char *pattern, const char *text,
                          struct err *reterr) {
        struct cached_pattern *c = cache_find(cache, pattern, false);
        struct pattern *fresh;
        bool is_match;
        int r;

        if (!c || c->n_matches == MATCHES_OF_A_PATTERN) {
                r = pattern_new(pattern, &fresh, reterr);
                if (r < 0)
                        return r;
                if (!c)
                        c = cache_add(*cache);
                pattern_free(c->pattern);
                c->pattern = fresh;
                c->n_matches = 0;
        }
        c->n_matches++;
        is_match = pattern_matches(c->pattern, text);
        r = pattern_check(c->pattern, reterr);
        if (r < 0)
                cached_done(c); /* asked again, it is tried again */
        return r < 0 ? r : is_match;
}

int pattern_cache_has_frame(struct pattern_cache **cache, struct query *q, const char *pattern,
                            uint32_t stack, struct err *reterr) {
        struct cached_pattern *c = cache_find(cache, pattern, true);
        struct path_search *fresh;
        int r;

        if (!c) {
                r = path_search_new(q, pattern, &fresh, reterr);
                if (r < 0)
                        return r;
                c = cache_add(*cache);
                c->paths = fresh;
        }
        r = path_search_has(c->paths, stack, reterr);
        if (r < 0)
                cached_done(c);
        return r;
}
