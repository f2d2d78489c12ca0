/* SPDX-License-Identifier: MIT */
#include "keep/hidden_pointers.h"

#include "base/map.h"

enum { MIN_IN_USE = 8 }; /* fewer say nothing about their call path */

struct lost_site {
        uint64_t lost, pointed_to, end_blocks, n_frees;
};

typedef VEC(struct lost_site) lost_sites;

static void find_lost(const struct kept_leaks *l, struct map *of_stack, lost_sites *ret) {
        for (size_t i = 0; i < l->records.n; i++) {
                const struct loss_record *r = &l->records.items[i];
                uint64_t *at;

                if (r->stack == REACH_NO_SITE)
                        continue;
                at = map_put(of_stack, r->stack, ret->n, NULL);
                if (*at == ret->n)
                        vec_push(ret, (struct lost_site){0});
                if (r->class == LEAK_DEFINITE || r->class == LEAK_INDIRECT)
                        ret->items[*at].lost += r->is_suppressed ? 0 : r->blocks;
                else
                        ret->items[*at].pointed_to += r->blocks;
        }
}

void hidden_pointers_find(const struct kept_leaks *l, struct query *q,
                          const struct query_answer *until, struct hidden_pointers *ret) {
        struct query_scope after = {.process = l->graph.info.process,
                                    .from_ns = l->graph.info.time_ns,
                                    .to_ns = UINT64_MAX};
        struct query_answer *later = NULL;
        struct err unsaid = {0};
        struct map of_stack = {0};
        lost_sites sites = {0};
        uint64_t at;

        *ret = (struct hidden_pointers){0};
        if (l->is_at_exit || query_sample_bytes(q) || !l->graph.heap.seqs ||
            query_ask(q, &after, &later, &unsaid) < 0)
                return;
        find_lost(l, &of_stack, &sites);
        for (size_t i = 0; i < later->n_sites; i++)
                if (map_get(&of_stack, later->sites[i].stack, &at))
                        sites.items[at].end_blocks += (uint64_t)later->sites[i].f.end_blocks;
        for (size_t i = 0; i < until->n_sites; i++)
                if (map_get(&of_stack, until->sites[i].stack, &at))
                        sites.items[at].n_frees += until->sites[i].f.n_frees;
        for (size_t i = 0; i < sites.n; i++) {
                const struct lost_site *s = &sites.items[i];
                uint64_t n_freed = s->lost > s->end_blocks ? s->lost - s->end_blocks : 0;

                ret->n_freed_later += n_freed;
                if (!s->pointed_to && s->n_frees && s->lost >= MIN_IN_USE)
                        ret->n_in_use += s->lost - n_freed;
        }
        vec_free(&sites);
        map_done(&of_stack);
        query_answer_free(later);
}
