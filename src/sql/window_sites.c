/* SPDX-License-Identifier: MIT */
#include "sql/window_sites.h"

#include <errno.h>
#include <stdlib.h>

#include "sql/path_text.h"

enum { INDEX_STEP = 512 }; /* texts between two looks at the clock */

static void rows_free(struct window_sites *r) {
        if (!r)
                return;
        query_answer_free(r->own);
        map_done(&r->by_path.first);
        map_done(&r->by_function.first);
        free(r->by_path.next);
        free(r->by_function.next);
        free(r);
}

void window_sites_put(struct window_sites *r) {
        if (r)
                r->n_users--;
}

void window_sites_done(struct sql_space *s) {
        for (size_t i = 0; i < ARRAY_SIZE(s->windows); i++) {
                rows_free(s->windows[i]);
                s->windows[i] = NULL;
        }
}

/* A place for another window: an empty one, or that of the window that was used longest ago. NULL: all are in use. */
static struct window_sites **place_for(struct sql_space *s) {
        struct window_sites **oldest = NULL;

        for (size_t i = 0; i < ARRAY_SIZE(s->windows); i++) {
                struct window_sites *w = s->windows[i];

                if (!w)
                        return &s->windows[i];
                if (!w->n_users && (!oldest || w->last_use < (*oldest)->last_use))
                        oldest = &s->windows[i];
        }
        return oldest;
}

static int rows_fill(struct sql_space *s, struct window_sites *r, struct err *reterr) {
        struct query_scope scope = space_scope(s);
        int x;

        if (r->from_ns == 0 && r->to_ns == UINT64_MAX)
                return space_whole(s, &r->answer, reterr);
        x = space_check_window(s, r->from_ns, r->to_ns, reterr);
        scope.from_ns = r->from_ns;
        scope.to_ns = r->to_ns;
        if (x >= 0)
                x = query_ask(s->trace.q, &scope, &r->own, reterr);
        if (x < 0)
                return x;
        space_sort_sites(r->own);
        s->is_inexact |= !r->own->is_exact;
        s->is_moved |= r->own->is_moved;
        r->answer = r->own;
        return 0;
}

int window_sites_get(struct sql_space *s, uint64_t from_ns, uint64_t to_ns,
                     struct window_sites **ret, struct err *reterr) {
        struct window_sites **place, *r;
        int x;

        if (to_ns > s->view->end_ns)
                to_ns = UINT64_MAX;
        s->n_window_uses++;
        for (size_t i = 0; i < ARRAY_SIZE(s->windows); i++)
                if (s->windows[i] && s->windows[i]->from_ns == from_ns &&
                    s->windows[i]->to_ns == to_ns) {
                        *ret = s->windows[i];
                        (*ret)->n_users++;
                        (*ret)->last_use = s->n_window_uses;
                        return 0;
                }
        place = place_for(s);
        if (!place)
                return err_set(reterr, -EMFILE,
                               "the statement asks about more than %zu windows at once",
                               ARRAY_SIZE(s->windows));
        r = calloc(1, sizeof(*r));
        if (!r)
                abort();
        *r = (struct window_sites){.from_ns = from_ns,
                                   .to_ns = to_ns,
                                   .n_users = 1,
                                   .last_use = s->n_window_uses};
        x = rows_fill(s, r, reterr);
        if (x < 0) {
                rows_free(r);
                return x;
        }
        rows_free(*place);
        *place = *ret = r;
        return 0;
}

size_t window_sites_at(const struct window_sites *r, int64_t stack) {
        size_t low = 0, high = r->answer->n_sites;

        while (low < high) {
                size_t middle = low + (high - low) / 2;

                if (r->answer->sites[middle].stack < stack)
                        low = middle + 1;
                else
                        high = middle;
        }
        return low;
}

/* ---- by text ----------------------------------------------------------------------------------- */

static uint64_t hash_text(const char *text) {
        uint64_t hash = 0xcbf29ce484222325ull;

        for (; *text; text++)
                hash = (hash ^ (unsigned char)*text) * 0x100000001b3ull;
        return map_hash(hash);
}

static const char *function_of(struct sql_space *s, uint32_t stack) {
        return path_asker(s, stack).function;
}

/* False: the statement was stopped meanwhile, and there is no index. */
static bool index_make(struct sql_space *s, const struct window_sites *r, struct text_index *x,
                       const char *(*text_of)(struct sql_space *, uint32_t)) {
        size_t n = r->answer->n_sites;

        x->next = malloc((n + 1) * sizeof(uint32_t));
        if (!x->next)
                abort();
        for (size_t i = n; i-- > 0;) {
                bool added;
                uint64_t *first;

                if (i % INDEX_STEP == 0 && sql_must_stop(s->sql)) {
                        map_clear(&x->first);
                        free(x->next);
                        x->next = NULL;
                        return false;
                }
                first = map_put(&x->first, hash_text(text_of(s, r->answer->sites[i].stack)), i,
                                &added);
                x->next[i] = added ? (uint32_t)SITE_NO_ROW : (uint32_t)*first;
                *first = i;
        }
        return true;
}

static uint32_t index_find(struct sql_space *s, const struct window_sites *r, struct text_index *x,
                           const char *(*text_of)(struct sql_space *, uint32_t), const char *text) {
        uint64_t row;

        if (!x->next && !index_make(s, r, x, text_of))
                return SITE_NO_ROW;
        return map_get(&x->first, hash_text(text), &row) ? (uint32_t)row : (uint32_t)SITE_NO_ROW;
}

uint32_t window_sites_with_path(struct sql_space *s, struct window_sites *r, const char *path) {
        return index_find(s, r, &r->by_path, path_text, path);
}

uint32_t window_sites_with_function(struct sql_space *s, struct window_sites *r,
                                    const char *function) {
        return index_find(s, r, &r->by_function, function_of, function);
}
