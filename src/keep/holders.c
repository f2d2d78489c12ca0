/* SPDX-License-Identifier: MIT */
#include "keep/holders.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "keep/high_graph.h"
#include "keep/holders_write.h"
#include "query/path_search.h"
#include "show/opened.h"

/* Which of a site's blocks are enough of it to grow as it does. */
#define MOST_OF_SITE 0.95
/* Less time says nothing about what goes on. */
#define MIN_RATE_S 2

/* ---- why -------------------------------------------------------------------------------------------------- */

/* Anything on the call path counts, code without a name by its place. */
static int find_wanted(const struct holders *h, struct query *q, const char *pattern, bool *wanted,
                       bool *ret_any, struct err *reterr) {
        const struct reach_graph *g = &h->now.heap.graph;
        _cleanup_(path_search_freep) struct path_search *search = NULL;
        int r = path_search_new(q, pattern, &search, reterr);

        if (r < 0)
                return r;
        path_search_with_labels(search);
        for (uint32_t i = 0; i < g->n_blocks; i++) {
                if (h->now.stacks[i] == REACH_NO_SITE)
                        continue;
                r = path_search_has(search, h->now.stacks[i], reterr);
                if (r < 0)
                        return r;
                wanted[i] = r > 0;
                *ret_any |= wanted[i];
        }
        return 0;
}

/* As a regular expression; one that nothing matches is taken to the letter, for names such as operator+ and places such as app+0x1234. */
static int find_wanted_either(const struct holders *h, struct query *q, bool *wanted, bool *ret_any,
                              struct err *reterr) {
        struct str letters = {0};
        int r = find_wanted(h, q, h->options->why, wanted, ret_any, reterr);

        if (r == 0 && !*ret_any && !strstr(h->options->why, "\\E")) {
                str_addf(&letters, "\\Q%s\\E", h->options->why);
                r = find_wanted(h, q, str_text(&letters), wanted, ret_any, reterr);
        }
        str_done(&letters);
        return r;
}

static int find_why(struct holders *h, struct query *q, struct err *reterr) {
        const struct reach_graph *g = &h->now.heap.graph;
        bool *wanted = calloc(MAX(g->n_blocks, 1u), sizeof(bool)), has_any = false;
        int r = wanted ? find_wanted_either(h, q, wanted, &has_any, reterr) : -ENOMEM;

        if (r == 0 && !h->now.heap.seqs)
                r = err_set(
                        reterr, -EINVAL,
                        "--why: the process is not being recorded, so its blocks have no call paths: record it with 'silt attach'");
        if (r == 0 && !has_any)
                r = err_set(reterr, -ENOENT,
                            "--why: no live block was allocated by a function that matches '%s'",
                            h->options->why);
        if (r == 0)
                r = why_find(g, wanted, &h->now.places.places, &h->now.keys, &h->why);
        free(wanted);
        return r;
}

/* ---- growth ------------------------------------------------------------------------------------------------ */

/* What each site has more at the graph than at that time before. */
static void find_site_growth(struct holders *h, struct query *q, uint64_t from_ns,
                             struct map *growth) {
        struct query_scope scope = {.process = h->now.info.process,
                                    .from_ns = from_ns,
                                    .to_ns = h->now.info.time_ns};
        struct query_answer *a = NULL;
        struct err unsaid = {0};

        if (query_ask(q, &scope, &a, &unsaid) < 0)
                return;
        map_clear(&h->site_blocks);
        for (size_t i = 0; i < a->n_sites; i++) {
                const struct query_site *s = &a->sites[i];
                uint32_t site = site_texts_of(&h->texts, &h->names, s->stack);

                *map_put(growth, site, 0, NULL) += (uint64_t)(s->f.end_blocks - s->f.begin_blocks);
                *map_put(&h->site_blocks, site, 0, NULL) += (uint64_t)s->f.end_blocks;
        }
        query_answer_free(a);
}

static bool rate_by_graphs(const struct holders *h, uint32_t group, double *ret_per_s) {
        double s = ((double)h->now.info.time_ns - (double)h->before.info.time_ns) / 1e9;

        for (uint32_t i = 0; s > 0 && i < h->growth.n; i++)
                if (h->growth.rows[i].after == group) {
                        *ret_per_s = (double)h->growth.rows[i].n_blocks / s;
                        return true;
                }
        return false;
}

/* A site that grew only until some moment is no longer growing: both times must tell the same, about. */
static bool rate_by_site(const struct holders *h, const struct site_group *g, double *ret_per_s) {
        double s = (double)h->now.info.time_ns / 1e9, half, quarter;
        uint64_t more[2], blocks;

        if (g->kind != GROUP_BLOCKS || s < MIN_RATE_S ||
            !map_get(&h->site_growth[0], g->site, &more[0]) ||
            !map_get(&h->site_growth[1], g->site, &more[1]) ||
            !map_get(&h->site_blocks, g->site, &blocks) ||
            (double)g->n_blocks < MOST_OF_SITE * (double)blocks)
                return false;
        half = (double)(int64_t)more[0] / (s / 2);
        quarter = (double)(int64_t)more[1] / (s / 4);
        *ret_per_s = quarter;
        return half > 0 && quarter > half / 2 && quarter < half * 2;
}

bool holders_rate(const struct holders *h, uint32_t group, double *ret_per_s) {
        if (h->has_before && !h->options->old_path)
                return rate_by_graphs(h, group, ret_per_s);
        return rate_by_site(h, &h->now.holders.tree.groups[group], ret_per_s);
}

uint32_t holders_way(const struct site_tree *t, uint32_t *ret, uint32_t max) {
        uint32_t n = 0, at = t->groups[0].first_child, end = 0;

        for (; at != REACH_NONE && n < max; n++) {
                const struct site_group *g = &t->groups[at];

                ret[n] = at;
                /* where one becomes many, and the first block below a place in any case */
                if (n > 0 && g->n_blocks > 2 * t->groups[ret[n - 1]].n_blocks)
                        end = n;
                at = g->first_child != REACH_NONE &&
                                     t->groups[g->first_child].tree_bytes >= g->tree_bytes / 2
                             ? g->first_child
                             : REACH_NONE;
        }
        /* one block after the other: the last is the one that matters */
        if (n > 0 && t->groups[ret[end]].n_blocks <= 1)
                end = n - 1;
        return n ? end + 1 : 0;
}

/* ---- all of it -------------------------------------------------------------------------------------------- */

static int open_before(struct holders *h, struct query *q, struct opened *old, size_t graph_idx,
                       struct err *reterr) {
        struct frame_names names = h->names;
        size_t i;
        int r;

        if (!h->options->old_path) {
                i = held_graph_newest(q, h->now.info.process, graph_idx);
                if (i == SIZE_MAX)
                        return 0;
                r = held_graph_open(&h->before, q, &names, i, &h->texts, reterr);
        } else {
                r = opened_init_beside(old, h->options->old_path, names.names, reterr);
                if (r < 0)
                        return r;
                names.q = old->q;
                i = held_graph_newest(old->q, QUERY_ALL, SIZE_MAX);
                r = held_graph_open(&h->before, old->q, &names, i == SIZE_MAX ? 0 : i, &h->texts,
                                    reterr);
        }
        if (r < 0)
                return r;
        h->has_before = true;
        return holder_growth_find(&h->before.holders.tree, &h->now.holders.tree, &h->growth);
}

/* What is left at the end does not say who held the most. */
static int prefer_high(struct holders *h, struct query *q, struct err *reterr) {
        uint32_t process = h->now.info.process;
        uint64_t peak_bytes;
        size_t high;

        if (!high_graph_is_exit(q, h->graph_idx))
                return 0;
        peak_bytes = high_graph_peak_bytes(q, process, h->now.info.time_ns);
        if (!high_graph_matters(h->now.all_bytes, peak_bytes))
                return 0;
        h->end_bytes = h->now.all_bytes;
        h->peak_bytes = peak_bytes;
        high = high_graph_find(q, process);
        if (high == SIZE_MAX)
                return 0;
        h->is_high = true;
        h->graph_idx = high;
        held_graph_done(&h->now);
        return held_graph_open(&h->now, q, &h->names, high, &h->texts, reterr);
}

static int gather(struct holders *h, struct query *q, struct opened *old, struct err *reterr) {
        uint32_t process = h->options->view.resolved->scope.process;
        size_t i = held_graph_newest(q, process, SIZE_MAX);
        int r;

        if (i == SIZE_MAX && query_n_graphs(q))
                return err_set(
                        reterr, -ENOENT,
                        "the trace has no graph of that process: take one with 'silt snapshot PID --graph', or record with --graph-every 1m");
        h->graph_idx = i == SIZE_MAX ? 0 : i;
        r = held_graph_open(&h->now, q, &h->names, h->graph_idx, &h->texts, reterr);
        if (r == 0 && !h->options->old_path)
                r = prefer_high(h, q, reterr);
        if (r == 0 && (h->options->old_path || !h->is_high))
                r = open_before(h, q, old, i, reterr);
        if (r < 0)
                return r;
        find_site_growth(h, q, h->now.info.time_ns / 2, &h->site_growth[0]);
        find_site_growth(h, q, h->now.info.time_ns / 4 * 3, &h->site_growth[1]);
        return h->options->why ? find_why(h, q, reterr) : 0;
}

int holders_open_one(struct holders *h, struct query *q, size_t graph_idx, struct err *reterr) {
        int r;

        site_texts_init(&h->texts);
        h->texts.has_lines = true;
        h->graph_idx = graph_idx;
        r = held_graph_open(&h->now, q, &h->names, graph_idx, &h->texts, reterr);
        return r == 0 && h->options->why ? find_why(h, q, reterr) : r;
}

void holders_done(struct holders *h) {
        map_done(&h->site_growth[0]);
        map_done(&h->site_growth[1]);
        map_done(&h->site_blocks);
        why_done(&h->why);
        holder_growth_done(&h->growth);
        held_graph_done(&h->now);
        held_graph_done(&h->before);
        site_texts_done(&h->texts);
}

int holders_print(FILE *out, const struct holders_options *options, struct err *reterr) {
        struct holders_options o = *options;
        struct request_resolved resolved = {0};
        struct opened now, old = {0};
        struct holders h = {.options = &o};
        int r = opened_init(&now, o.view.path, &o.view.request->rules, reterr);

        site_texts_init(&h.texts);
        h.texts.has_lines = !o.old_path;
        if (r >= 0)
                r = show_resolve(&o.view, now.q, REQUEST_ALL, &resolved, reterr);
        h.names = (struct frame_names){.q = now.q, .names = now.names, .is_full = o.is_full};
        if (r >= 0)
                r = gather(&h, now.q, &old, reterr);
        opened_end_progress(&now);
        if (r >= 0 && o.view.json)
                holders_json(out, &h);
        else if (r >= 0)
                holders_text(out, &h);
        holders_done(&h);
        request_resolved_done(&resolved);
        if (o.old_path)
                opened_done(&old);
        opened_done(&now);
        return r;
}

int holders_write(FILE *out, struct query *q, struct names *names, const struct holders_options *o,
                  struct err *reterr) {
        struct holders h = {.options = o, .names = {.q = q, .names = names, .is_full = o->is_full}};
        int r;

        site_texts_init(&h.texts);
        h.texts.has_lines = true;
        r = gather(&h, q, NULL, reterr);
        if (r >= 0)
                holders_json(out, &h);
        holders_done(&h);
        return r;
}
