/* SPDX-License-Identifier: MIT */
/* nodes: blocks of a graph; edges: what points to them. */
#include "sql/all_tables.h"
#include "sql/path_text.h"
#include "sql/space_graph.h"

struct node_cursor {
        struct sql_cursor c;
        struct space_graph *g;
        uint64_t i, end; /* nodes: blocks; edges: numbers of edges, or places in g->by_to */
        uint32_t from;   /* edges: the node that the one at hand comes from */
        bool is_by_to;
};

static void node_end(struct sql_cursor *base) {
        struct node_cursor *n = (struct node_cursor *)base;

        n->g = space_graph_unref(n->g);
}

/* The numbers below n that a condition leaves. */
static void narrow(const struct sql_range *r, uint64_t n, uint64_t *ret_begin, uint64_t *ret_end) {
        *ret_begin = 0;
        *ret_end = n;
        if (!r->is_set || n == 0)
                return;
        if (r->high < 0 || r->low > r->high || (r->low > 0 && (uint64_t)r->low >= n)) {
                *ret_end = 0;
                return;
        }
        *ret_begin = r->low > 0 ? (uint64_t)r->low : 0;
        *ret_end = MIN((uint64_t)r->high, n - 1) + 1;
}

/* A text that goes when the graph does, which may be before the statement ends. */
static void result_text(sqlite3_context *to, const char *text) {
        sqlite3_result_text(to, text, -1, SQLITE_TRANSIENT);
}

/* ---- nodes -------------------------------------------------------------------------------------- */

enum {
        NODE_ID,
        NODE_BYTES,
        NODE_STACK,
        NODE_FUNCTION,
        NODE_TYPE,
        NODE_CLASS,
        NODE_RETAINED,
        NODE_DOMINATOR,
        NODE_HELD_BY,
        NODE_AGE,
        NODE_ADDRESS,
        NODE_BLOCK,
        NODE_NAME,
        NODE_GRAPH,
};

static void node_settle(struct node_cursor *n) {
        n->c.is_eof = n->i >= n->end;
        n->c.rowid = (int64_t)n->i;
}

static int node_next(struct sql_cursor *base, struct err *reterr) {
        struct node_cursor *n = (struct node_cursor *)base;

        (void)reterr;
        n->i++;
        node_settle(n);
        return 0;
}

static int node_begin(struct sql_cursor *base, const struct sql_ask *ask, struct err *reterr) {
        struct node_cursor *n = (struct node_cursor *)base;
        int r = space_graph_get(base->space, ask->arguments[NODE_GRAPH], &n->g, reterr);

        if (r == 0 && sql_ask_uses(ask, NODE_AGE))
                r = space_graph_find_births(n->g, base->space, reterr);
        if (r < 0)
                return r;
        narrow(&ask->ranges[NODE_ID], n->g->all.heap.graph.n_blocks, &n->i, &n->end);
        node_settle(n);
        return 0;
}

/* Whose word, or whose words together, dominate it; NULL: a block does, or several places together, or nothing leads to it. */
static const char *node_held_by(const struct space_graph *g, uint32_t block) {
        const struct reach_graph *graph = &g->held.heap.graph;
        uint32_t above = g->held.holders.dominators.parent[block], place;

        if (above == REACH_NONE || above < graph->n_blocks || above == reach_above_all(graph))
                return NULL;
        place = above < reach_n_nodes(graph)
                        ? g->held.places.places.of_root[above - graph->n_blocks]
                        : above - reach_place_node(graph, 0);
        return g->texts.pool.items.items[g->held.places.list.items[place].name];
}

static void put_words(struct node_cursor *n, sqlite3_context *to, int column) {
        static const char *const classes[N_LEAK_CLASSES] = {"reachable", "possible", "indirect",
                                                            "definite"};
        const struct space_graph *g = n->g;
        uint32_t type = g->all.heap.type_of ? g->all.heap.type_of[n->i] : 0;
        uint32_t stack = g->held.stacks[n->i];
        const char *text = NULL;

        switch (column) {
        case NODE_FUNCTION:
                if (stack != REACH_NO_SITE)
                        sql_result_name(to, path_asker(n->c.space, stack).function);
                return;
        case NODE_CLASS: sql_result_name(to, classes[g->all.classes.of_block[n->i]]); return;
        case NODE_TYPE:
                if (type && g->held.type_texts[type - 1])
                        text = g->texts.pool.items.items[g->held.type_texts[type - 1]];
                break;
        case NODE_HELD_BY: text = node_held_by(g, (uint32_t)n->i); break;
        default: break;
        }
        if (text)
                result_text(to, text);
}

static void node_column(struct sql_cursor *base, sqlite3_context *to, int column) {
        struct node_cursor *n = (struct node_cursor *)base;
        const struct space_graph *g = n->g;
        const struct heap_graph *h = &g->all.heap;
        const struct reach_dominators *d = &g->held.holders.dominators;
        uint32_t stack = g->held.stacks[n->i];

        switch (column) {
        case NODE_ID: sqlite3_result_int64(to, (int64_t)n->i); break;
        case NODE_BYTES: sql_result_count(to, h->blocks[n->i].size_bytes); break;
        case NODE_STACK:
                if (stack != REACH_NO_SITE)
                        sqlite3_result_int64(to, stack);
                break;
        case NODE_RETAINED: sql_result_count(to, d->retained_bytes[n->i]); break;
        case NODE_DOMINATOR:
                if (d->parent[n->i] < h->graph.n_blocks)
                        sqlite3_result_int64(to, d->parent[n->i]);
                break;
        case NODE_AGE:
                if (g->born_ns && g->born_ns[n->i] <= g->all.info.time_ns)
                        sql_result_count(to, g->all.info.time_ns - g->born_ns[n->i]);
                break;
        case NODE_ADDRESS: sql_result_count(to, h->blocks[n->i].address); break;
        case NODE_BLOCK:
                if (h->seqs && h->seqs[n->i] != HEAP_NO_SEQ)
                        sql_result_count(to, h->seqs[n->i]);
                break;
        case NODE_GRAPH: sqlite3_result_int64(to, (int64_t)g->graph_idx); break;
        default: put_words(n, to, column); break;
        }
}

static const struct sql_column node_columns[] = {
        [NODE_ID] = {"id", "the number of the block in its graph, by address",
                     SQL_IS_KEY | SQL_IS_RANGE | SQL_IS_SOUGHT, space_graph_n_blocks},
        [NODE_BYTES] = {"bytes", "requested"},
        [NODE_STACK] = {"stack", "the call path that allocated it; NULL: unknown"},
        [NODE_FUNCTION] = {"function", "that requested it", .type = "TEXT"},
        [NODE_TYPE] = {"type", "what it is, where a table of functions tells", .type = "TEXT"},
        [NODE_CLASS] = {"class", "reachable, definite, indirect or possible: as silt leaks has it",
                        .type = "TEXT"},
        [NODE_RETAINED] = {"retained_bytes", "its own, and of all that only it keeps"},
        [NODE_DOMINATOR] = {"dominator", "the node that alone keeps it; NULL: no block does"},
        [NODE_HELD_BY] = {"held_by", "the variable or thread that keeps it, where no block does",
                          .type = "TEXT"},
        [NODE_AGE] = {"age_ns", "when the graph was made; reads events", SQL_IS_COSTLY},
        [NODE_ADDRESS] = {"address", "of its first byte"},
        [NODE_BLOCK] = {"block", "its number in allocations; NULL: it was there before"},
        [NODE_NAME] = {"name", "the function as reports show it, or its place", .type = "TEXT"},
        [NODE_GRAPH] = {"graph", "which graph; left out: the newest",
                        SQL_IS_ARGUMENT | SQL_IS_TOLD},
};

const struct sql_table sql_nodes = {
        .name = "nodes",
        .help = "blocks of the newest graph, or of nodes(graph)",
        SQL_COLUMNS(node_columns),
        .cursor_bytes = sizeof(struct node_cursor),
        .n_rows = space_graph_n_blocks,
        .row_cost = 1,
        .begin = node_begin,
        .next = node_next,
        .column = node_column,
        .end = node_end,
};

/* ---- edges -------------------------------------------------------------------------------------- */

enum {
        EDGE_FROM,
        EDGE_ROOT,
        EDGE_ROOT_KIND,
        EDGE_TO,
        EDGE_KIND,
        EDGE_IS_INTERIOR,
        EDGE_IS_BORROWED,
        EDGE_GRAPH,
};

static double n_edges(struct sql_space *space) {
        return 3 * space_graph_n_blocks(space);
}

static uint64_t edge_number(const struct node_cursor *n) {
        return n->is_by_to ? n->g->by_to[n->i] : n->i;
}

/* The node that an edge comes from: the last that begins at or before it, behind those without edges. */
static uint32_t edge_source(const struct reach_graph *graph, uint64_t edge) {
        uint32_t low = 0, high = reach_n_nodes(graph);

        while (low + 1 < high) {
                uint32_t mid = low + (high - low) / 2;

                if (graph->first[mid] <= edge)
                        low = mid;
                else
                        high = mid;
        }
        return low;
}

static void edge_settle(struct node_cursor *n) {
        const struct reach_graph *graph = &n->g->all.heap.graph;

        n->c.is_eof = n->i >= n->end;
        if (n->c.is_eof)
                return;
        n->c.rowid = (int64_t)edge_number(n);
        if (n->is_by_to)
                n->from = edge_source(graph, edge_number(n));
        else
                while (graph->first[n->from + 1] <= n->i)
                        n->from++;
}

static int edge_next(struct sql_cursor *base, struct err *reterr) {
        struct node_cursor *n = (struct node_cursor *)base;

        (void)reterr;
        n->i++;
        edge_settle(n);
        return 0;
}

static int edge_begin(struct sql_cursor *base, const struct sql_ask *ask, struct err *reterr) {
        struct node_cursor *n = (struct node_cursor *)base;
        const struct reach_graph *graph;
        uint64_t from_begin, from_end, to_begin, to_end;
        int r = space_graph_get(base->space, ask->arguments[EDGE_GRAPH], &n->g, reterr);

        if (r < 0)
                return r;
        graph = &n->g->all.heap.graph;
        narrow(&ask->ranges[EDGE_FROM], graph->n_blocks, &from_begin, &from_end);
        narrow(&ask->ranges[EDGE_TO], graph->n_blocks, &to_begin, &to_end);
        n->is_by_to = ask->ranges[EDGE_TO].is_set &&
                      (!ask->ranges[EDGE_FROM].is_set ||
                       to_end - MIN(to_begin, to_end) < from_end - MIN(from_begin, from_end));
        if (n->is_by_to) {
                r = space_graph_index_to(n->g, reterr);
                if (r < 0)
                        return r;
                n->i = n->g->first_to[MIN(to_begin, to_end)];
                n->end = n->g->first_to[to_end];
        } else if (ask->ranges[EDGE_FROM].is_set) {
                n->i = graph->first[MIN(from_begin, from_end)];
                n->end = graph->first[from_end];
        } else {
                n->i = 0;
                n->end = reach_n_edges(graph);
        }
        n->from = n->is_by_to || n->i >= n->end ? 0 : edge_source(graph, n->i);
        edge_settle(n);
        return 0;
}

static void put_root(const struct node_cursor *n, sqlite3_context *to, int column) {
        static const char *const kinds[] = {
                [ROOT_PLACE_VARIABLE] = "variable", [ROOT_PLACE_UNNAMED] = "variable",
                [ROOT_PLACE_THREAD] = "thread",     [ROOT_PLACE_THREAD_LOCAL] = "thread-local",
                [ROOT_PLACE_MAPPING] = "mapping",   [ROOT_PLACE_ALLOCATOR] = "allocator",
        };
        uint32_t n_blocks = n->g->all.heap.graph.n_blocks, root;
        const struct root_place *p;

        if (n->from < n_blocks)
                return;
        root = n->from - n_blocks;
        p = &n->g->held.places.list.items[n->g->place_of_root[root]];
        if (column == EDGE_ROOT)
                result_text(to, n->g->texts.pool.items.items[p->name]);
        else if (column == EDGE_ROOT_KIND)
                sql_result_name(to, kinds[p->kind]);
        else
                sqlite3_result_int(to, n->g->is_borrower[root]);
}

static void edge_column(struct sql_cursor *base, sqlite3_context *to, int column) {
        /* as memcheck calls its rules */
        static const char *const kinds[N_REACH_EDGE_KINDS] = {
                [EDGE_START] = "start",
                [EDGE_INTERIOR] = "interior",
                [EDGE_STDSTRING] = "stdstring",
                [EDGE_LENGTH64] = "length64",
                [EDGE_NEWARRAY] = "newarray",
                [EDGE_MULTIPLE_INHERITANCE] = "multipleinheritance",
                [EDGE_HASH_TABLE] = "hashtable",
        };
        const struct node_cursor *n = (const struct node_cursor *)base;
        const struct reach_graph *graph = &n->g->all.heap.graph;
        reach_edge e = graph->edges[edge_number(n)];

        switch (column) {
        case EDGE_FROM:
                if (n->from < graph->n_blocks)
                        sqlite3_result_int64(to, n->from);
                break;
        case EDGE_TO: sqlite3_result_int64(to, reach_edge_block(e)); break;
        case EDGE_KIND: sql_result_name(to, kinds[reach_edge_kind(e)]); break;
        case EDGE_IS_INTERIOR: sqlite3_result_int(to, reach_edge_kind(e) != EDGE_START); break;
        case EDGE_GRAPH: sqlite3_result_int64(to, (int64_t)n->g->graph_idx); break;
        default: put_root(n, to, column); break;
        }
}

static const struct sql_column edge_columns[] = {
        [EDGE_FROM] = {"from_node", "the block that the pointer is in; NULL: a root",
                       SQL_IS_RANGE | SQL_IS_SOUGHT, space_graph_n_blocks},
        [EDGE_ROOT] = {"root", "the variable, thread or mapping that it is in; NULL: a block",
                       .type = "TEXT"},
        [EDGE_ROOT_KIND] = {"root_kind", "variable, thread, thread-local, mapping or allocator",
                            .type = "TEXT"},
        [EDGE_TO] = {"to_node", "the block it points to", SQL_IS_RANGE | SQL_IS_SOUGHT,
                     space_graph_n_blocks},
        [EDGE_KIND] = {"kind", "start, interior, or the rule by which it is as good as start",
                       .type = "TEXT"},
        [EDGE_IS_INTERIOR] = {"is_interior", "it does not point to the block's first byte"},
        [EDGE_IS_BORROWED] =
                {"is_borrowed",
                 "the root only borrows: others hold what it points to; NULL: a block"},
        [EDGE_GRAPH] = {"graph", "which graph; left out: the newest",
                        SQL_IS_ARGUMENT | SQL_IS_TOLD},
};

const struct sql_table sql_edges = {
        .name = "edges",
        .help = "pointers to blocks of the newest graph, or of edges(graph)",
        SQL_COLUMNS(edge_columns),
        .cursor_bytes = sizeof(struct node_cursor),
        .n_rows = n_edges,
        .row_cost = 1,
        .begin = edge_begin,
        .next = edge_next,
        .column = edge_column,
        .end = node_end,
};
