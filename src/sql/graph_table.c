/* SPDX-License-Identifier: MIT */
/* graphs: moments that have a reference graph; holders: who keeps memory at one of them. */
#include "keep/holder_name.h"
#include "sql/all_tables.h"
#include "sql/space_graph.h"

/* ---- graphs ------------------------------------------------------------------------------------- */

enum {
        GRAPH_ID,
        GRAPH_PROCESS,
        GRAPH_TIME,
        GRAPH_BLOCKS,
        GRAPH_BYTES,
        GRAPH_EDGES,
        GRAPH_ROOTS,
        GRAPH_UNREAD,
        GRAPH_UNSETTLED,
};

struct graph_cursor {
        struct sql_cursor c;
        size_t i, end;
        bool wants_read; /* what follows is asked for */
        uint64_t n_blocks, n_bytes, n_edges, n_roots, unread_bytes, n_unsettled;
};

static double n_graphs(struct sql_space *space) {
        return (double)query_n_graphs(space->trace.q);
}

/* What only the graph itself says. */
static int graph_read(struct graph_cursor *c, struct err *reterr) {
        struct trace_graph info;
        struct heap_graph h;
        int r = kept_graph_read(c->c.space->trace.q, c->i, &info, &h, reterr);

        if (r < 0)
                return r;
        c->n_blocks = h.graph.n_blocks;
        c->n_roots = h.graph.n_roots;
        c->n_edges = reach_n_edges(&h.graph);
        c->unread_bytes = h.unread_bytes;
        c->n_unsettled = h.n_unsettled;
        c->n_bytes = 0;
        for (uint32_t i = 0; i < h.graph.n_blocks; i++)
                c->n_bytes += h.blocks[i].size_bytes;
        heap_graph_done(&h);
        return 0;
}

/* From c->i on to one of the process that is asked about. */
static int graph_settle(struct graph_cursor *c, struct err *reterr) {
        const struct sql_space *s = c->c.space;

        while (c->i < c->end && s->process != QUERY_ALL &&
               query_graph(s->trace.q, c->i)->process != s->process)
                c->i++;
        c->c.is_eof = c->i >= c->end;
        c->c.rowid = (int64_t)c->i;
        return c->c.is_eof || !c->wants_read ? 0 : graph_read(c, reterr);
}

static int graph_next(struct sql_cursor *base, struct err *reterr) {
        struct graph_cursor *c = (struct graph_cursor *)base;

        c->i++;
        return graph_settle(c, reterr);
}

static int graph_begin(struct sql_cursor *base, const struct sql_ask *ask, struct err *reterr) {
        struct graph_cursor *c = (struct graph_cursor *)base;
        const struct sql_range *r = &ask->ranges[GRAPH_ID];

        c->i = 0;
        c->end = query_n_graphs(base->space->trace.q);
        if (r->is_set) {
                c->i = r->low > 0 ? MIN((uint64_t)r->low, (uint64_t)c->end) : 0;
                c->end = r->high < 0                                       ? 0
                         : MIN((uint64_t)r->high, UINT64_MAX - 1) < c->end ? (size_t)r->high + 1
                                                                           : c->end;
        }
        c->wants_read = false;
        for (int i = GRAPH_BLOCKS; i <= GRAPH_UNSETTLED; i++)
                c->wants_read |= sql_ask_uses(ask, i);
        return graph_settle(c, reterr);
}

static void graph_column(struct sql_cursor *base, sqlite3_context *to, int column) {
        const struct graph_cursor *c = (const struct graph_cursor *)base;
        const struct trace_graph *g = query_graph(base->space->trace.q, c->i);

        switch (column) {
        case GRAPH_ID: sqlite3_result_int64(to, (int64_t)c->i); break;
        case GRAPH_PROCESS: sqlite3_result_int64(to, g->process); break;
        case GRAPH_TIME: sql_result_count(to, g->time_ns); break;
        case GRAPH_BLOCKS: sql_result_count(to, c->n_blocks); break;
        case GRAPH_BYTES: sql_result_count(to, c->n_bytes); break;
        case GRAPH_EDGES: sql_result_count(to, c->n_edges); break;
        case GRAPH_ROOTS: sql_result_count(to, c->n_roots); break;
        case GRAPH_UNREAD: sql_result_count(to, c->unread_bytes); break;
        case GRAPH_UNSETTLED: sql_result_count(to, c->n_unsettled); break;
        default: break;
        }
}

static const struct sql_column graph_columns[] = {
        [GRAPH_ID] = {"id", "as nodes, edges and holders take it",
                      SQL_IS_KEY | SQL_IS_RANGE | SQL_IS_SOUGHT, n_graphs},
        [GRAPH_PROCESS] = {"process", "whose memory it is"},
        [GRAPH_TIME] = {"time_ns", "when it was made"},
        [GRAPH_BLOCKS] = {"blocks", "that were live"},
        [GRAPH_BYTES] = {"bytes", "of them"},
        [GRAPH_EDGES] = {"edges", "pointers to them"},
        [GRAPH_ROOTS] = {"roots", "words outside of blocks that point to one"},
        [GRAPH_UNREAD] = {"unread_bytes", "of memory that could not be read"},
        [GRAPH_UNSETTLED] = {"unsettled_blocks",
                             "that were being allocated or freed at that moment, at most"},
};

const struct sql_table sql_graphs = {
        .name = "graphs",
        .help = "moments that have a reference graph",
        SQL_COLUMNS(graph_columns),
        .cursor_bytes = sizeof(struct graph_cursor),
        .n_rows = n_graphs,
        .row_cost = 1000,
        .begin = graph_begin,
        .next = graph_next,
        .column = graph_column,
};

/* ---- holders ------------------------------------------------------------------------------------ */

enum {
        HOLDER_ID,
        HOLDER_PARENT,
        HOLDER_NAME,
        HOLDER_KIND,
        HOLDER_RETAINED_BYTES,
        HOLDER_RETAINED_BLOCKS,
        HOLDER_OWN_BYTES,
        HOLDER_OWN_BLOCKS,
        HOLDER_TREE_BYTES,
        HOLDER_TREE_BLOCKS,
        HOLDER_STACK,
        HOLDER_TYPE,
        HOLDER_AGE,
        HOLDER_GRAPH,
};

struct holder_cursor {
        struct sql_cursor c;
        struct space_graph *g;
        uint32_t i, end;
};

static void holder_end(struct sql_cursor *base) {
        struct holder_cursor *h = (struct holder_cursor *)base;

        h->g = space_graph_unref(h->g);
}

static double n_groups(struct sql_space *space) {
        return space_graph_n_blocks(space) / 50 + 1;
}

static void holder_settle(struct holder_cursor *h) {
        h->c.is_eof = h->i >= h->end;
        h->c.rowid = h->i;
}

static int holder_next(struct sql_cursor *base, struct err *reterr) {
        struct holder_cursor *h = (struct holder_cursor *)base;

        (void)reterr;
        h->i++;
        holder_settle(h);
        return 0;
}

static int holder_begin(struct sql_cursor *base, const struct sql_ask *ask, struct err *reterr) {
        struct holder_cursor *h = (struct holder_cursor *)base;
        const struct sql_range *range = &ask->ranges[HOLDER_ID];
        int r = space_graph_get(base->space, ask->arguments[HOLDER_GRAPH], &h->g, reterr);

        if (r == 0 && sql_ask_uses(ask, HOLDER_KIND))
                r = space_graph_find_places(h->g, reterr);
        if (r == 0 && sql_ask_uses(ask, HOLDER_RETAINED_BLOCKS))
                r = space_graph_find_retained_blocks(h->g, reterr);
        if (r < 0)
                return r;
        h->i = 1; /* the first is all that is held: a holder of nobody's */
        h->end = h->g->held.holders.tree.n;
        if (range->is_set) {
                h->i = range->low > 1 ? (uint32_t)MIN(range->low, (int64_t)h->end) : 1;
                h->end = range->high < 0 ? 0 : (uint32_t)MIN(range->high, (int64_t)h->end - 1) + 1;
        }
        holder_settle(h);
        return 0;
}

static void put_name(const struct holder_cursor *h, const struct site_group *x,
                     sqlite3_context *to) {
        const struct sql_space *s = h->c.space;
        const struct frame_names names = {s->trace.q, s->trace.names, false};
        struct str text = {0};

        holder_name_add(&h->g->held, &names, &h->g->texts, x, true, &text);
        sqlite3_result_text(to, str_text(&text), -1, SQLITE_TRANSIENT);
        str_done(&text);
}

static void put_stack(const struct holder_cursor *h, const struct site_group *x,
                      sqlite3_context *to) {
        uint32_t stack = x->kind == GROUP_BLOCKS && x->site != REACH_NO_SITE
                                 ? site_texts_stack(&h->g->texts, x->site)
                                 : REACH_NO_SITE;

        if (stack != REACH_NO_SITE)
                sqlite3_result_int64(to, stack);
}

static void holder_column(struct sql_cursor *base, sqlite3_context *to, int column) {
        const struct holder_cursor *h = (const struct holder_cursor *)base;
        const struct site_group *x = &h->g->held.holders.tree.groups[h->i];
        uint64_t age_ns;

        switch (column) {
        case HOLDER_ID: sqlite3_result_int64(to, h->i); break;
        case HOLDER_PARENT:
                if (x->parent != 0)
                        sqlite3_result_int64(to, x->parent);
                break;
        case HOLDER_NAME: put_name(h, x, to); break;
        case HOLDER_KIND:
                sql_result_name(to, holder_name_kind(x, h->g->place_of_group[h->i]));
                break;
        case HOLDER_RETAINED_BYTES: sql_result_count(to, x->outermost_weight); break;
        case HOLDER_RETAINED_BLOCKS: sql_result_count(to, h->g->retained_blocks[h->i]); break;
        case HOLDER_OWN_BYTES: sql_result_count(to, x->own_bytes); break;
        case HOLDER_OWN_BLOCKS: sql_result_count(to, x->n_blocks); break;
        case HOLDER_TREE_BYTES: sql_result_count(to, x->tree_bytes); break;
        case HOLDER_TREE_BLOCKS: sql_result_count(to, x->tree_blocks); break;
        case HOLDER_STACK: put_stack(h, x, to); break;
        case HOLDER_TYPE:
                if (x->kind == GROUP_BLOCKS && x->type)
                        sqlite3_result_text(to, h->g->texts.pool.items.items[x->type], -1,
                                            SQLITE_TRANSIENT);
                break;
        case HOLDER_AGE:
                age_ns = held_graph_age_ns(&h->g->held, h->i);
                if (age_ns)
                        sql_result_count(to, age_ns);
                break;
        case HOLDER_GRAPH: sqlite3_result_int64(to, (int64_t)h->g->graph_idx); break;
        default: break;
        }
}

static const struct sql_column holder_columns[] = {
        [HOLDER_ID] = {"id", "its number in the graph, as silt holders --json has it",
                       SQL_IS_KEY | SQL_IS_RANGE | SQL_IS_SOUGHT, n_groups},
        [HOLDER_PARENT] =
                {"parent",
                 "who keeps it; NULL: nobody does, it is the program's own, or several keep it together"},
        [HOLDER_NAME] = {"name", "a variable or thread, or who allocated the blocks",
                         .type = "TEXT"},
        [HOLDER_KIND] = {"kind", "variable, thread, thread-local, mapping, allocator or blocks",
                         .type = "TEXT"},
        [HOLDER_RETAINED_BYTES] = {"retained_bytes", "that would go with it"},
        [HOLDER_RETAINED_BLOCKS] = {"retained_blocks", "that would go with it"},
        [HOLDER_OWN_BYTES] = {"own_bytes", "of its own blocks"},
        [HOLDER_OWN_BLOCKS] = {"own_blocks", "its own"},
        [HOLDER_TREE_BYTES] = {"tree_bytes", "of its own blocks and of those below it"},
        [HOLDER_TREE_BLOCKS] = {"tree_blocks", "its own and those below it"},
        [HOLDER_STACK] = {"stack", "a call path that allocated such blocks"},
        [HOLDER_TYPE] = {"type", "what the blocks are, where a table of functions tells",
                         .type = "TEXT"},
        [HOLDER_AGE] = {"age_ns", "of its first block; NULL: unknown, or it is small"},
        [HOLDER_GRAPH] = {"graph", "which graph; left out: the newest",
                          SQL_IS_ARGUMENT | SQL_IS_TOLD},
};

const struct sql_table sql_holders = {
        .name = "holders",
        .help = "who keeps memory in the newest graph, or in holders(graph)",
        SQL_COLUMNS(holder_columns),
        .cursor_bytes = sizeof(struct holder_cursor),
        .n_rows = n_groups,
        .row_cost = 2,
        .begin = holder_begin,
        .next = holder_next,
        .column = holder_column,
        .end = holder_end,
};
