/* SPDX-License-Identifier: MIT */
/* silt holders --why, and what grew between two graphs, as text. */
#include "base/units.h"
#include "keep/holder_name.h"
#include "keep/holders_write.h"

enum {
        WHY_ROWS = 30,
        MAX_GROWTH_ROWS = 12,
        WHY_CELLS = 25 /* of the columns in front of the names */
};

/* ---- why ---------------------------------------------------------------------------------------------------- */

static void print_why_row(const struct style *s, const struct holders *h,
                          const struct site_row *row) {
        struct str name = {0}, line = {0};
        struct unit_text a, b;
        uint64_t bytes = row->n_bytes, blocks = row->n_blocks;
        size_t indent;

        if (row->group == REACH_NONE) {
                str_addf(&name, "(%s more)", unit_count(&a, row->n_groups));
        } else {
                const struct site_group *g = &h->why.tree.groups[row->group];

                bytes = g->tree_bytes;
                blocks = g->tree_blocks;
                if (row->depth > 1)
                        str_add(&name, s->utf8 ? "→ " : "-> ");
                holders_add_name(h, &h->now, &h->why.tree, row->group, s->utf8, &name);
                if (g->n_blocks)
                        str_add(&name, s->utf8 ? "  ←" : "  <-");
        }
        indent = MIN(2 * (size_t)(row->depth - 1), (s->width - WHY_CELLS) / 2);
        str_pad(&line, ' ', indent);
        style_add_cut(s, &line, str_text(&name), s->width - WHY_CELLS - indent);
        fprintf(s->out, "%10s %12s  %s\n", unit_bytes(&a, bytes), unit_count(&b, blocks),
                str_text(&line));
        str_done(&name);
        str_done(&line);
}

void holders_why_text(const struct style *s, const struct holders *h) {
        const struct why *w = &h->why;
        const struct request *q = h->options->view.request;
        struct str text = {0};
        struct unit_text a, b, c, d;
        site_rows rows = {0};

        str_addf(
                &text,
                "%s in %s block%s were allocated by '%s'. Freeing them would free %s in %s block%s.",
                unit_bytes(&a, w->wanted.n_bytes), unit_count(&b, w->wanted.n_blocks),
                unit_s(w->wanted.n_blocks), h->options->why, unit_bytes(&c, w->freed.n_bytes),
                unit_count(&d, w->freed.n_blocks), unit_s(w->freed.n_blocks));
        if (w->unreachable.n_blocks)
                str_addf(&text, " Nothing leads to %s of them, %s.",
                         unit_count(&a, w->unreachable.n_blocks),
                         unit_bytes(&b, w->unreachable.n_bytes));
        style_wrap(s, str_text(&text), 0);
        str_done(&text);
        if (site_tree_rows(&w->tree, 1,
                           h->options->is_full ? UINT32_MAX : request_n_top(q, WHY_ROWS) + 1,
                           &rows) < 0)
                return;
        if (rows.n > 1)
                fprintf(s->out, "\n%s%10s %12s  %s%s\n", s->bold, "of them", "blocks",
                        "shortest path from a root", s->plain);
        for (size_t i = 1; i < rows.n; i++)
                if (!q->max_depth || rows.items[i].depth <= q->max_depth)
                        print_why_row(s, h, &rows.items[i]);
        vec_free(&rows);
}

/* ---- growth ------------------------------------------------------------------------------------------------- */

/* What several places hold together begins with these. */
static void add_row_name(const struct holders *h, const struct growth_row *row, bool utf8,
                         struct str *to) {
        const struct held_graph *g = row->after != REACH_NONE ? &h->now : &h->before;
        uint32_t group = row->after != REACH_NONE ? row->after : row->before;

        if (holder_name_add_places(g, &h->texts, group, to))
                str_add(to, utf8 ? " → " : " -> ");
        holders_add_name(h, g, &g->holders.tree, group, utf8, to);
}

static void add_growth_sentence(const struct holders *h, bool utf8, struct str *to) {
        uint32_t way[HOLDERS_MAX_WAY], n = holder_growth_way(&h->growth, way, HOLDERS_MAX_WAY);
        uint32_t at = holder_growth_place(&h->growth, way, n);
        const struct growth_row *all = &h->growth.rows[0];
        bool is_one_run = !h->options->old_path;
        double seconds =
                is_one_run ? ((double)h->now.info.time_ns - (double)h->before.info.time_ns) / 1e9
                           : 0;
        struct unit_text a, b, c;

        if (all->tree_bytes <= 0) {
                str_addf(to, "Nothing grew: what is held changed by %s",
                         unit_bytes_signed(&a, all->tree_bytes));
        } else {
                str_addf(to, "What is held grew by %s in %s%s block%s",
                         unit_bytes(&a, (uint64_t)all->tree_bytes), all->tree_blocks < 0 ? "-" : "",
                         unit_count(&b, (uint64_t)(all->tree_blocks < 0 ? -all->tree_blocks
                                                                        : all->tree_blocks)),
                         unit_s((uint64_t)all->tree_blocks));
        }
        if (is_one_run)
                str_addf(to, " between %s and %s", unit_duration(&b, h->before.info.time_ns),
                         unit_duration(&c, h->now.info.time_ns));
        if (at) {
                const struct growth_row *row = &h->growth.rows[way[at]];
                double per_s = seconds > 0 ? (double)row->n_blocks / seconds : 0;

                str_add(to, ". It grew in ");
                add_row_name(h, &h->growth.rows[way[MIN(1u, at)]], utf8, to);
                if (at > 3)
                        str_add(to, utf8 ? " → …" : " -> ..");
                if (at > 2) {
                        str_add(to, utf8 ? " → " : " -> ");
                        add_row_name(h, &h->growth.rows[way[at - 1]], utf8, to);
                }
                str_addf(to, ": %s more block%s of ", unit_count(&a, (uint64_t)row->n_blocks),
                         unit_s((uint64_t)row->n_blocks));
                add_row_name(h, row, utf8, to);
                str_addf(to, ", %s with what they hold", unit_bytes_signed(&b, row->tree_bytes));
                if (per_s >= 10)
                        str_addf(to, ", %s per second", unit_count(&c, unit_nearest(per_s)));
                else if (per_s > 0)
                        str_addf(to, ", %.1f per second", per_s);
        }
        str_add(to, ".");
}

static void print_growth_rows(const struct style *s, const struct holders *h) {
        struct unit_text a, b;
        bool *is_told = calloc(h->growth.n + 1, sizeof(bool));

        fprintf(s->out, "\n%s%10s %12s  %s%s\n", s->bold, "grew by", "blocks", "held by", s->plain);
        for (unsigned k = 0; is_told && k < MAX_GROWTH_ROWS; k++) {
                uint32_t best = REACH_NONE;
                struct str name = {0}, line = {0}, more = {0};
                int64_t least = MAX(h->growth.rows[0].tree_bytes / 100, (int64_t)1);

                for (uint32_t i = 1; i < h->growth.n; i++)
                        if (!is_told[i] && h->growth.rows[i].own_bytes >= least &&
                            (best == REACH_NONE ||
                             h->growth.rows[i].own_bytes > h->growth.rows[best].own_bytes))
                                best = i;
                if (best == REACH_NONE)
                        break;
                is_told[best] = true;
                add_row_name(h, &h->growth.rows[best], s->utf8, &name);
                for (uint32_t up = h->growth.rows[best].parent; up != REACH_NONE && up != 0;
                     up = h->growth.rows[up].parent) {
                        str_add(&name, s->utf8 ? " ← " : " < ");
                        add_row_name(h, &h->growth.rows[up], s->utf8, &name);
                }
                if (h->options->is_full)
                        str_add(&line, str_text(&name));
                else
                        style_add_cut(s, &line, str_text(&name), s->width - WHY_CELLS);
                str_addf(&more, "%s%s", h->growth.rows[best].n_blocks < 0 ? "-" : "+",
                         unit_count(&b, (uint64_t)llabs((long long)h->growth.rows[best].n_blocks)));
                fprintf(s->out, "%10s %12s  %s\n",
                        unit_bytes_signed(&a, h->growth.rows[best].own_bytes), str_text(&more),
                        str_text(&line));
                str_done(&name);
                str_done(&line);
                str_done(&more);
        }
        free(is_told);
}

void holders_growth_text(const struct style *s, const struct holders *h) {
        struct str text = {0};

        fputc('\n', s->out);
        add_growth_sentence(h, s->utf8, &text);
        style_wrap(s, str_text(&text), 0);
        str_done(&text);
        if (h->growth.rows[0].tree_bytes > 0)
                print_growth_rows(s, h);
}
