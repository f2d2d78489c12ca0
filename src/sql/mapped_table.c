/* SPDX-License-Identifier: MIT */
/* mappings: call paths that mapped memory themselves. */
#include <errno.h>
#include <stdlib.h>

#include "query/trace_origin.h"
#include "sql/all_tables.h"
#include "sql/path_text.h"

enum {
        MAPPED_STACK,
        MAPPED_CALLS,
        MAPPED_BYTES,
        MAPPED_PEAK,
        MAPPED_END,
        MAPPED_RESERVED,
        MAPPED_FUNCTION,
        MAPPED_PATH,
};

struct mapped_cursor {
        struct sql_cursor c;
        size_t i, end;
};

static double n_mappers(struct sql_space *space) {
        return space->mappings ? (double)space->n_mappings : 20;
}

static int stack_compare(const void *a, const void *b) {
        const struct query_mapping *x = a, *y = b;

        return (x->stack > y->stack) - (x->stack < y->stack);
}

/* Once, by stack. */
static int read_mappings(struct sql_space *s, struct err *reterr) {
        struct query_scope scope = space_scope(s);
        struct query_mapped together;
        int r;

        if (s->mappings)
                return 0;
        if (origin_is_import(&s->view->meta))
                return err_set(reterr, -ENODATA,
                               "%s does not tell what the program mapped: it is a profile of "
                               "another tool",
                               s->trace.path);
        r = query_mappings(s->trace.q, &scope, &s->mappings, &s->n_mappings, &together, reterr);
        if (r >= 0 && s->n_mappings > 1)
                qsort(s->mappings, s->n_mappings, sizeof(s->mappings[0]), stack_compare);
        return r;
}

static size_t first_from(const struct sql_space *s, int64_t stack) {
        size_t low = 0, high = s->n_mappings;

        while (low < high) {
                size_t middle = low + (high - low) / 2;

                if (s->mappings[middle].stack < stack)
                        low = middle + 1;
                else
                        high = middle;
        }
        return low;
}

static void mapped_settle(struct mapped_cursor *m) {
        m->c.is_eof = m->i >= m->end;
        m->c.rowid = m->c.is_eof ? 0 : m->c.space->mappings[m->i].stack;
}

static int mapped_next(struct sql_cursor *base, struct err *reterr) {
        struct mapped_cursor *m = (struct mapped_cursor *)base;

        (void)reterr;
        m->i++;
        mapped_settle(m);
        return 0;
}

static int mapped_begin(struct sql_cursor *base, const struct sql_ask *ask, struct err *reterr) {
        struct mapped_cursor *m = (struct mapped_cursor *)base;
        const struct sql_range *stacks = &ask->ranges[MAPPED_STACK];
        int r = read_mappings(base->space, reterr);

        if (r < 0)
                return r;
        m->i = stacks->is_set ? first_from(base->space, stacks->low) : 0;
        m->end = base->space->n_mappings;
        if (stacks->is_set && stacks->high < INT64_MAX)
                m->end = stacks->high < stacks->low ? m->i
                                                    : first_from(base->space, stacks->high + 1);
        mapped_settle(m);
        return 0;
}

static void mapped_column(struct sql_cursor *base, sqlite3_context *to, int column) {
        struct sql_space *s = base->space;
        const struct query_mapping *x = &s->mappings[((const struct mapped_cursor *)base)->i];

        switch (column) {
        case MAPPED_STACK: sqlite3_result_int64(to, x->stack); break;
        case MAPPED_CALLS: sql_result_count(to, x->n_calls); break;
        case MAPPED_BYTES: sql_result_count(to, x->mapped_bytes); break;
        case MAPPED_PEAK: sql_result_count(to, x->peak_bytes); break;
        case MAPPED_END: sql_result_count(to, x->end_bytes); break;
        case MAPPED_RESERVED: sql_result_count(to, x->reserved_bytes); break;
        case MAPPED_FUNCTION: sql_result_name(to, path_asker(s, x->stack).function); break;
        case MAPPED_PATH:
                sqlite3_result_text(to, path_text(s, x->stack), -1, SQLITE_TRANSIENT);
                break;
        default: break;
        }
}

static const struct sql_column mapped_columns[] = {
        [MAPPED_STACK] = {"stack", "the call path: stacks.id",
                          SQL_IS_KEY | SQL_IS_RANGE | SQL_IS_SOUGHT},
        [MAPPED_CALLS] = {"calls", "of mmap and the like"},
        [MAPPED_BYTES] = {"mapped_bytes", "by them"},
        [MAPPED_PEAK] = {"peak_bytes", "mapped by it at once, at most"},
        [MAPPED_END] = {"end_bytes", "still mapped at the end"},
        [MAPPED_RESERVED] = {"reserved_bytes",
                             "at most, of what may not be touched: addresses, no memory"},
        [MAPPED_FUNCTION] = {"function", "that asked", .type = "TEXT"},
        [MAPPED_PATH] = {"path", "the functions of the call path in one text", .type = "TEXT"},
};

const struct sql_table sql_mappings = {
        .name = "mappings",
        .is_of_memory = true,
        .help = "call paths that mapped memory themselves",
        SQL_COLUMNS(mapped_columns),
        .cursor_bytes = sizeof(struct mapped_cursor),
        .n_rows = n_mappers,
        .row_cost = 2,
        .begin = mapped_begin,
        .next = mapped_next,
        .column = mapped_column,
};
