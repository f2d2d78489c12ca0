/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <string.h>

#include "base/units.h"
#include "keep/holder_name.h"
#include "keep/holders_write.h"
#include "keep/missing_blocks.h"
#include "show/stack_text.h"

enum {
        USUAL_ROWS = 24,
        UNCLEAR_SHARE = 10, /* who holds less than one of so many parts does not stand out */
        MIN_INDENT = 4,
        BYTES_CELLS =
                25, /* of the columns in front of the names: bytes and blocks, each of the others */
        OTHER_CELLS = 10,
        AGE_MIN_WIDTH = 76,  /* narrower lines have no age, */
        EACH_MIN_WIDTH = 66, /* and no size of each */
        MIN_NAME = 24,       /* cells */
        NOTABLE_SHARE = 20,  /* capacity that is not used is told if it is one of so many parts */
        MAX_ALSO = 2,
        MIN_SHARE =
                200, /* what is less than one of so many parts of all is not shown unless asked */
};

/* ---- names ------------------------------------------------------------------------------------------------- */

/* Its blocks are what its allocator knows: without call paths and ages, told apart by size. */
static bool is_unrecorded(const struct holders *h) {
        return !h->now.heap.seqs;
}

void holders_add_group(const struct holders *h, const struct site_group *x, bool utf8,
                       struct str *to) {
        holder_name_add(&h->now, &h->names, &h->texts, x, utf8, to);
}

void holders_add_name(const struct holders *h, const struct held_graph *g,
                      const struct site_tree *t, uint32_t group, bool utf8, struct str *to) {
        (void)g;
        holders_add_group(h, &t->groups[group], utf8, to);
}

bool holders_add_container(const struct holders *h, uint32_t group, struct str *to) {
        enum heap_container_kind kind;
        const struct container_sum *s =
                group_container(h->now.containers, &h->now.holders.tree, group, &kind);

        if (!s || !container_is_notable(kind, s))
                return false;
        container_add_text(to, kind, s);
        return true;
}

/* Where in its variable, or in which frame, something below a place is held: "+56", ", frame of serve"; nothing where that is unknown. */
static void add_root(const struct holders *h, const struct held_graph *g, uint32_t group, bool utf8,
                     struct str *to) {
        uint32_t root = group == REACH_NONE ? REACH_NONE : g->root_of_group[group];
        const struct reach_root *r = root == REACH_NONE ? NULL : &g->heap.roots[root];
        const struct root_place *p =
                r ? &g->places.list.items[g->places.places.of_root[root]] : NULL;
        struct query_frame frame;
        uint32_t location;

        if (!p)
                return;
        if (p->kind == ROOT_PLACE_VARIABLE && r->begin > p->begin)
                str_addf(to, "+%llu", (unsigned long long)(r->begin - p->begin));
        location = r->kind == ROOT_STACK ? root_places_frame(&g->heap, r->begin) : HEAP_NO_LOCATION;
        if (location < query_view(h->names.q)->n_locations &&
            query_location_frames(h->names.q, location, &frame, 1) > 0) {
                struct name_frame f = frame_of(&frame);

                str_add(to, ", frame of ");
                frame_add_function(to, &h->names, &f, false, false, utf8);
        }
}

/* ---- the first sentence ------------------------------------------------------------------------------------ */

static void add_blocks(const struct holders *h, uint32_t group, bool utf8, struct str *to) {
        const struct site_group *g = &h->now.holders.tree.groups[group];
        const struct container_sum *container;
        enum heap_container_kind kind;
        struct unit_text a;

        container = group_container(h->now.containers, &h->now.holders.tree, group, &kind);
        str_addf(to, "%s ", unit_count(&a, g->n_blocks));
        if (g->type)
                style_add_clean(to, h->texts.pool.items.items[g->type]);
        else if (container && container->n == g->n_blocks)
                str_add(to, container_noun(kind, g->n_blocks));
        else
                str_addf(to, "block%s", unit_s(g->n_blocks));
        if (is_unrecorded(h)) {
                str_addf(to, " of %s", h->texts.pool.items.items[g->site]);
                return;
        }
        str_add(to, " allocated by ");
        holder_name_add_site(&h->now, &h->names, &h->texts, g, utf8, to);
}

static void add_rate(const struct holders *h, uint32_t group, struct str *to) {
        struct unit_text a;
        double per_s;

        if (!holders_rate(h, group, &per_s) || fabs(per_s) < 0.05)
                return;
        if (fabs(per_s) >= 10)
                str_addf(to, ", %s%s per second", per_s < 0 ? "-" : "+",
                         unit_count(&a, unit_nearest(fabs(per_s))));
        else
                str_addf(to, ", %+.1f per second", per_s);
}

void holders_add_first(const struct holders *h, uint32_t first, uint32_t second, bool utf8,
                       struct str *to) {
        const struct site_tree *t = &h->now.holders.tree;
        if (t->groups[first].kind == GROUP_PLACE) {
                holders_add_name(h, &h->now, t, first, utf8, to);
                add_root(h, &h->now, second, utf8, to);
        } else if (!holder_name_add_places(&h->now, &h->texts, first, to)) {
                str_add(to, "several places");
        }
}

static void add_way(const struct holders *h, const uint32_t *way, uint32_t n, bool utf8,
                    struct str *to) {
        const struct site_group *last = &h->now.holders.tree.groups[way[n - 1]];
        const char *arrow = utf8 ? " → " : " -> ";
        uint64_t age_ns = held_graph_age_ns(&h->now, way[n - 1]);
        uint32_t i = h->now.holders.tree.groups[way[0]].kind == GROUP_PLACE;
        struct unit_text a, b;

        holders_add_first(h, way[0], n > 1 ? way[1] : REACH_NONE, utf8, to);
        for (uint32_t first = i; i < n; i++) {
                str_add(to, arrow);
                if (i == first || i + 2 >= n) {
                        add_blocks(h, way[i], utf8, to);
                } else {
                        str_add(to, utf8 ? "…" : "..");
                        i = n - 3;
                }
        }
        str_addf(to, ": %s retained", unit_bytes(&a, last->outermost_weight));
        if (last->n_blocks > 1)
                str_addf(to, ", %s each", unit_bytes(&b, last->tree_bytes / last->n_blocks));
        if (age_ns)
                str_addf(to, last->n_blocks > 1 ? ", oldest %s" : ", %s old",
                         unit_duration(&a, age_ns));
        add_rate(h, way[n - 1], to);
        str_add(to, ".");
}

/* Where the way leads through several blocks of one site, most may still hang from one of them: one table of many. */
static void add_hub(const struct holders *h, const uint32_t *way, uint32_t n, bool utf8,
                    struct str *to) {
        const struct held_graph *g = &h->now;
        const struct site_group *above = n > 1 ? &g->holders.tree.groups[way[n - 2]] : NULL;
        struct unit_text a, b;

        if (g->hub == REACH_NONE || g->hub_children < 2 || !above || above->n_blocks < 2)
                return;
        str_addf(to, " %s of it hang from one block of %s",
                 unit_bytes(&a, g->holders.dominators.retained_bytes[g->hub]),
                 unit_bytes(&b, g->heap.blocks[g->hub].size_bytes));
        if (!is_unrecorded(h)) {
                str_add(to, " allocated by ");
                holders_add_name(h, g, &g->holders.tree, g->holders.tree.group_of[g->hub], utf8,
                                 to);
        }
        str_add(to, ": no other way leads there.");
}

/* Places that only borrow what an owner has (borrowers.h), those with most pointers first. */
static void add_also(const struct holders *h, const struct site_group *first, struct str *to) {
        const struct root_places *p = &h->now.places;
        uint32_t told[MAX_ALSO], n_told = 0;

        if (first->kind != GROUP_PLACE)
                return;
        while (n_told < MAX_ALSO) {
                uint64_t most = 0;
                uint32_t best = REACH_NONE;

                for (size_t i = 0; i < p->also.cap; i++) {
                        uint32_t owner = (uint32_t)(p->also.entries[i].key >> 32),
                                 other = (uint32_t)p->also.entries[i].key;
                        bool is_told = !(p->also.used[i / 64] >> i % 64 & 1) ||
                                       other >= p->list.n ||
                                       p->list.items[owner].name != first->site ||
                                       p->list.items[other].name == first->site;

                        for (uint32_t k = 0; k < n_told && !is_told; k++)
                                is_told = p->list.items[other].name == told[k];
                        if (is_told || p->also.entries[i].value < most ||
                            (p->also.entries[i].value == most && other > best))
                                continue;
                        most = p->also.entries[i].value;
                        best = other;
                }
                if (best == REACH_NONE)
                        break;
                told[n_told++] = p->list.items[best].name;
        }
        for (uint32_t k = 0; k < n_told; k++) {
                str_add(to, k == 0 ? " Also pointing into it, without owning it: " : " and ");
                style_add_clean(to, h->texts.pool.items.items[told[k]]);
        }
        if (n_told)
                str_add(to, ".");
}

/* How full the containers on the way are. */
static void add_containers(const struct holders *h, const uint32_t *way, uint32_t n,
                           struct str *to) {
        uint64_t least = h->now.holders.tree.groups[way[0]].tree_bytes / NOTABLE_SHARE;
        bool is_first = true;

        for (uint32_t i = 0; i < n; i++) {
                enum heap_container_kind kind;
                const struct container_sum *s =
                        group_container(h->now.containers, &h->now.holders.tree, way[i], &kind);

                if (!s || !container_is_notable(kind, s) ||
                    (kind >= CONTAINER_VECTOR && s->room - s->used < least))
                        continue;
                str_add(to, is_first ? " In it: " : "; ");
                container_add_text(to, kind, s);
                is_first = false;
        }
        if (!is_first)
                str_add(to, ".");
}

static void add_share(struct str *to, uint64_t part, uint64_t all) {
        double pct = all ? 100.0 * (double)part / (double)all : 0;

        if (part == all)
                str_add(to, "100 %");
        else if (pct < 1)
                str_add(to, "under 1 %");
        else
                str_addf(to, "%.*f %%", pct > 99 || pct < 10 ? 1 : 0, MIN(pct, 99.9));
}

static void add_end(const struct holders *h, struct str *to) {
        struct unit_text a, b;

        if (!h->peak_bytes)
                return;
        str_addf(to, "At the end %s were live; the peak was %s. ", unit_bytes(&a, h->end_bytes),
                 unit_bytes(&b, h->peak_bytes));
        str_add(to,
                h->is_high ? "This is the graph nearest to the peak. "
                           : "This is the graph at the end; --graph-every 1s takes earlier ones. ");
}

void holders_add_sentence(const struct holders *h, bool utf8, struct str *to) {
        const struct held_graph *g = &h->now;
        const struct site_tree *t = &g->holders.tree;
        uint32_t way[HOLDERS_MAX_WAY], n = holders_way(t, way, HOLDERS_MAX_WAY);
        const struct site_group *first = n ? &t->groups[way[0]] : NULL;
        struct unit_text a, b;

        missing_blocks_add(query_view(h->names.q), g->info.process, to);
        add_end(h, to);
        if (!g->heap.graph.n_blocks) {
                query_add_process_name(h->names.q, g->info.process, to);
                str_addf(to, " held no block that silt saw allocated, after %s.",
                         unit_duration(&a, g->info.time_ns));
                return;
        }
        if (!first || g->unheld_bytes > first->tree_bytes) {
                str_addf(to, "%s leads to %s of the %s that ",
                         g->unheld_bytes > g->all_bytes / 2
                                 ? "Nothing holds most of the memory: no pointer"
                                 : "No pointer",
                         unit_bytes(&a, g->unheld_bytes), unit_bytes(&b, g->all_bytes));
                query_add_process_name(h->names.q, g->info.process, to);
                str_add(to, first ? " has live. The largest holder: " : " has live.");
        } else if (first->tree_bytes < g->all_bytes / UNCLEAR_SHARE) {
                str_add(to, "No one holder stands out. The largest: ");
        }
        if (!first)
                return;
        add_way(h, way, n, utf8, to);
        str_add(to, " That is ");
        add_share(to, t->groups[way[n - 1]].outermost_weight, g->all_bytes);
        str_addf(to, " of the %s that ", unit_bytes(&a, g->all_bytes));
        query_add_process_name(h->names.q, g->info.process, to);
        if (is_unrecorded(h))
                str_add(to,
                        " holds. It is not being recorded, so these are the blocks of its malloc, without call paths.");
        else
                str_addf(to, " held after %s.", unit_duration(&b, g->info.time_ns));
        add_also(h, first, to);
        add_hub(h, way, n, utf8, to);
        add_containers(h, way, n, to);
}

/* The columns in front of the names. */
static size_t numbers_cells(const struct style *s) {
        return BYTES_CELLS + (s->width >= EACH_MIN_WIDTH ? OTHER_CELLS : 0) +
               (s->width >= AGE_MIN_WIDTH ? OTHER_CELLS : 0);
}

static size_t indent_cells(const struct style *s, uint32_t depth) {
        return MIN(2 * (size_t)depth, (s->width - numbers_cells(s)) / 2);
}

/* ---- the tree ---------------------------------------------------------------------------------------------- */

static void print_numbers(const struct style *s, uint64_t bytes, uint64_t blocks, uint64_t each,
                          uint64_t age_ns) {
        struct unit_text a, b, c, d;

        fprintf(s->out, "%10s %12s", unit_bytes(&a, bytes), unit_count(&b, blocks));
        if (s->width >= EACH_MIN_WIDTH)
                fprintf(s->out, " %9s", each ? unit_bytes(&c, each) : "");
        if (s->width >= AGE_MIN_WIDTH)
                fprintf(s->out, " %9s", age_ns ? unit_duration(&d, age_ns) : "");
        fputs("  ", s->out);
}

/* The first n_holder bytes say who holds it, and are never cut: what does not fit behind them has a line of its own. */
static void print_name(const struct style *s, uint32_t depth, struct str *name, size_t n_holder,
                       bool is_full) {
        struct str line = {0};
        size_t indent = indent_cells(s, depth), room = s->width - numbers_cells(s) - indent,
               holder = style_width_n(str_text(name), n_holder);

        str_pad(&line, ' ', indent);
        if (is_full || n_holder == name->n || style_width(str_text(name)) <= room) {
                str_add(&line, str_text(name));
        } else {
                bool is_apart = n_holder && holder + MIN_NAME > room;

                /* ": " stands behind it */
                str_addn(&line, str_text(name),
                         n_holder - (is_apart && name->bytes[n_holder - 1] == ' '));
                if (is_apart) {
                        str_add(&line, "\n");
                        str_pad(&line, ' ', numbers_cells(s) + indent + 2);
                        holder = 2;
                }
                style_add_cut(s, &line, str_text(name) + n_holder, room - holder);
        }
        fprintf(s->out, "%s\n", str_text(&line));
        str_done(&line);
        str_clear(name);
}

/* Below the name, or as far left as it takes to be whole. */
static void print_container(const struct style *s, uint32_t depth, const char *text) {
        size_t indent = numbers_cells(s) + indent_cells(s, depth) + 2, n = strlen(text);

        if (indent + n > s->width)
                indent = s->width > n ? s->width - n : 0;
        fprintf(s->out, "%*s%s\n", (int)MAX(indent, (size_t)MIN_INDENT), "", text);
}

static void print_row(const struct style *s, const struct holders *h, const struct site_row *row) {
        const struct site_tree *t = &h->now.holders.tree;
        uint32_t depth = row->depth - 1;
        struct str name = {0};
        struct unit_text a;
        size_t n_holder = 0;

        if (row->group == REACH_NONE) {
                print_numbers(s, row->n_bytes, row->n_blocks, 0, 0);
                str_addf(&name, "(%s more)", unit_count(&a, row->n_groups));
        } else {
                const struct site_group *g = &t->groups[row->group];
                bool is_place = g->kind == GROUP_PLACE;

                print_numbers(s, is_place ? g->tree_bytes : g->outermost_weight,
                              is_place ? g->tree_blocks : g->n_blocks,
                              is_place || !g->n_blocks ? 0 : g->tree_bytes / g->n_blocks,
                              held_graph_age_ns(&h->now, row->group));
                if (row->depth == 1 && !is_place &&
                    holder_name_add_places(&h->now, &h->texts, row->group, &name))
                        str_add(&name, ": ");
                if (row->depth == 2) {
                        struct str root = {0};

                        add_root(h, &h->now, row->group, s->utf8, &root);
                        if (root.n)
                                str_addf(&name, "%s: ",
                                         str_text(&root) +
                                                 (strncmp(str_text(&root), ", ", 2) == 0 ? 2 : 0));
                        str_done(&root);
                }
                n_holder = name.n;
                holders_add_name(h, &h->now, t, row->group, s->utf8, &name);
                if (is_place)
                        n_holder = name.n;
        }
        print_name(s, depth, &name, n_holder, h->options->is_full);
        if (row->group != REACH_NONE && holders_add_container(h, row->group, &name))
                print_container(s, depth, str_text(&name));
        str_done(&name);
}

static void print_tree(const struct style *s, const struct holders *h) {
        const struct request *q = h->options->view.request;
        const struct site_tree *t = &h->now.holders.tree;
        uint64_t least =
                h->options->is_full || q->has_top ? 1 : t->groups[0].tree_bytes / MIN_SHARE;
        site_rows rows = {0};

        if (site_tree_rows(t, least,
                           h->options->is_full ? UINT32_MAX : request_n_top(q, USUAL_ROWS) + 1,
                           &rows) < 0)
                return;
        if (rows.n > 1)
                fprintf(s->out, "\n%s%10s %12s%s%s  %s%s\n", s->bold, "retained", "blocks",
                        s->width >= EACH_MIN_WIDTH ? "      each" : "",
                        s->width >= AGE_MIN_WIDTH ? "    oldest" : "", "holder", s->plain);
        for (size_t i = 1; i < rows.n; i++)
                if ((!q->max_depth || rows.items[i].depth <= q->max_depth) &&
                    (rows.items[i].group != REACH_NONE || rows.items[i].n_bytes))
                        print_row(s, h, &rows.items[i]);
        vec_free(&rows);
}

/* ---- all of it --------------------------------------------------------------------------------------------- */

static void print_rest(const struct style *s, const struct holders *h) {
        const struct held_graph *g = &h->now;
        struct str text = {0};
        struct unit_text a, b;

        if (g->shared_bytes)
                str_addf(&text,
                         "Held from several places, by none of them alone: %s in %s block%s. ",
                         unit_bytes(&a, g->shared_bytes), unit_count(&b, g->shared_blocks),
                         unit_s(g->shared_blocks));
        if (g->unheld_bytes)
                str_addf(&text, "Held by nothing: %s in %s block%s; 'silt leaks' shows them. ",
                         unit_bytes(&a, g->unheld_bytes), unit_count(&b, g->unheld_blocks),
                         unit_s(g->unheld_blocks));
        if (g->heap.unread_bytes)
                str_addf(&text,
                         "%s could not be read: what only they point to counts as held by nothing.",
                         unit_bytes(&a, g->heap.unread_bytes));
        if (text.n) {
                fputc('\n', s->out);
                style_wrap(s, str_text(&text), 0);
        }
        str_done(&text);
}

void holders_text(FILE *out, const struct holders *h) {
        struct str text = {0};
        struct style s;

        style_init(&s, out);
        if (h->options->why) {
                holders_why_text(&s, h);
                return;
        }
        holders_add_sentence(h, s.utf8, &text);
        style_wrap(&s, str_text(&text), 0);
        if (h->has_before)
                holders_growth_text(&s, h);
        print_tree(&s, h);
        print_rest(&s, h);
        str_done(&text);
}
