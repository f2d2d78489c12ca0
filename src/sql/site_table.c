/* SPDX-License-Identifier: MIT */
/* sites: figures by call path over all of the time. window(from, to): the same between two times. Both from history. */
#include <errno.h>

#include "name/name.h"
#include "sql/all_tables.h"
#include "sql/path_text.h"
#include "sql/window_sites.h"

enum {
        SITE_STACK,
        SITE_ALLOCATIONS,
        SITE_ALLOCATED_BYTES,
        SITE_FREES,
        SITE_FREED_BYTES,
        SITE_PEAK_BLOCKS,
        SITE_PEAK_BYTES,
        SITE_START_BLOCKS,
        SITE_START_BYTES,
        SITE_END_BLOCKS,
        SITE_END_BYTES,
        SITE_TEMPORARY,
        SITE_REALLOCATIONS,
        SITE_FUNCTION,
        SITE_FILE,
        SITE_LINE,
        SITE_MODULE,
        SITE_CRATE,
        SITE_COMPONENT,
        SITE_PATH,
        SITE_NAME,
        SITE_N_COLUMNS,
        WINDOW_GROWTH_BYTES = SITE_N_COLUMNS,
        WINDOW_GROWTH_BLOCKS,
        WINDOW_FROM,
        WINDOW_TO,
        WINDOW_N_COLUMNS,
};

struct site_cursor {
        struct sql_cursor c;
        struct window_sites *rows;
        size_t i, end;            /* rows from i on */
        bool is_chain;            /* those of one text: i is one of them */
        const uint32_t *next;     /* then: which comes behind it */
        struct query_frame asker; /* of row asker_row */
        size_t asker_row;         /* + 1 */
};

static double n_sites(struct sql_space *space) {
        return space->whole ? (double)space->whole->n_sites : (double)space->view->n_stacks / 4 + 1;
}

static double n_functions(struct sql_space *space) {
        return n_sites(space) / 4 + 1;
}

static void site_settle(struct site_cursor *s) {
        s->c.is_eof = s->i >= s->end;
        if (!s->c.is_eof)
                s->c.rowid = s->rows->answer->sites[s->i].stack;
}

static int site_next(struct sql_cursor *base, struct err *reterr) {
        struct site_cursor *s = (struct site_cursor *)base;

        (void)reterr;
        if (!s->is_chain)
                s->i++;
        else
                s->i = s->next[s->i];
        site_settle(s);
        return 0;
}

/* Those that a text selects, by the index of texts; else by the range of stacks. */
static void site_choose(struct site_cursor *s, const struct sql_ask *ask) {
        const struct sql_range *stacks = &ask->ranges[SITE_STACK];
        struct window_sites *r = s->rows;
        bool by_path = ask->texts[SITE_PATH] != NULL;
        sqlite3_value *text = by_path ? ask->texts[SITE_PATH] : ask->texts[SITE_FUNCTION];

        s->end = r->answer->n_sites;
        s->i = stacks->is_set ? window_sites_at(r, stacks->low) : 0;
        s->is_chain = !stacks->is_set && text;
        if (s->is_chain) {
                const char *words = (const char *)sqlite3_value_text(text);

                s->i = by_path ? window_sites_with_path(s->c.space, r, words ? words : "")
                               : window_sites_with_function(s->c.space, r, words ? words : "");
                s->next = by_path ? r->by_path.next : r->by_function.next;
        } else if (stacks->is_set && stacks->high < INT64_MAX) {
                s->end = stacks->high < stacks->low ? s->i : window_sites_at(r, stacks->high + 1);
        }
}

static int begin_between(struct site_cursor *s, const struct sql_ask *ask, uint64_t from_ns,
                         uint64_t to_ns, struct err *reterr) {
        int r = window_sites_get(s->c.space, from_ns, to_ns, &s->rows, reterr);

        if (r < 0)
                return r;
        s->asker_row = 0;
        site_choose(s, ask);
        if (s->is_chain && !s->next)
                return err_set(reterr, -ECANCELED, "the statement was stopped");
        site_settle(s);
        return 0;
}

static int site_begin(struct sql_cursor *base, const struct sql_ask *ask, struct err *reterr) {
        return begin_between((struct site_cursor *)base, ask, 0, UINT64_MAX, reterr);
}

static int window_begin(struct sql_cursor *base, const struct sql_ask *ask, struct err *reterr) {
        uint64_t from_ns, to_ns;
        int r = space_time(base->space, ask->arguments[WINDOW_FROM], 0, &from_ns, reterr);

        if (r >= 0)
                r = space_time(base->space, ask->arguments[WINDOW_TO], UINT64_MAX, &to_ns, reterr);
        return r < 0 ? r : begin_between((struct site_cursor *)base, ask, from_ns, to_ns, reterr);
}

static void site_end(struct sql_cursor *base) {
        struct site_cursor *s = (struct site_cursor *)base;

        window_sites_put(s->rows);
        s->rows = NULL;
}

static void put_if(sqlite3_context *to, bool is_known, int64_t value) {
        if (is_known)
                sqlite3_result_int64(to, value);
}

static void put_figure(const struct query_figures *f, struct sql_space *space, sqlite3_context *to,
                       int column) {
        const struct trace_view *v = space->view;
        bool has_blocks = !(v->meta.flags & TRACE_LACKS_BLOCKS);
        bool has_traffic = !(v->meta.flags & TRACE_LACKS_TRAFFIC);
        bool has_peak = !(v->meta.flags & TRACE_LACKS_PEAK);
        bool has_live = !(v->meta.flags & TRACE_LACKS_LIVE);

        switch (column) {
        case SITE_ALLOCATIONS: put_if(to, has_blocks && has_traffic, (int64_t)f->n_allocs); break;
        case SITE_ALLOCATED_BYTES: put_if(to, has_traffic, (int64_t)f->alloc_bytes); break;
        case SITE_FREES:
                put_if(to, has_blocks && has_traffic && has_live, (int64_t)f->n_frees);
                break;
        case SITE_FREED_BYTES: put_if(to, has_traffic && has_live, (int64_t)f->free_bytes); break;
        case SITE_PEAK_BLOCKS: put_if(to, has_peak && has_blocks, f->peak_blocks); break;
        case SITE_PEAK_BYTES: put_if(to, has_peak, f->peak_bytes); break;
        case SITE_START_BLOCKS: put_if(to, has_blocks && has_live, f->begin_blocks); break;
        case SITE_START_BYTES: put_if(to, has_live, f->begin_bytes); break;
        case SITE_END_BLOCKS: put_if(to, has_blocks && has_live, f->end_blocks); break;
        case SITE_END_BYTES: put_if(to, has_live, f->end_bytes); break;
        case SITE_TEMPORARY: put_if(to, !f->lacks_events, (int64_t)f->n_temporary); break;
        case SITE_REALLOCATIONS:
                put_if(to, space_knows_reallocs(space), (int64_t)f->n_reallocs);
                break;
        case WINDOW_GROWTH_BYTES: put_if(to, has_live, f->end_bytes - f->begin_bytes); break;
        case WINDOW_GROWTH_BLOCKS:
                put_if(to, has_blocks && has_live, f->end_blocks - f->begin_blocks);
                break;
        default: break;
        }
}

static void put_words(struct site_cursor *s, uint32_t stack, sqlite3_context *to, int column) {
        struct query_frame *f = &s->asker;

        if (s->asker_row != s->i + 1) {
                *f = path_asker(s->c.space, stack);
                s->asker_row = s->i + 1;
        }
        switch (column) {
        case SITE_FUNCTION: sql_result_name(to, f->function); break;
        case SITE_FILE: sql_result_name(to, f->file); break;
        case SITE_LINE: put_if(to, f->line, f->line); break;
        case SITE_MODULE: sql_result_name(to, f->module); break;
        case SITE_CRATE:
                sql_result_name(to, name_crate(s->c.space->trace.names,
                                               f->function[0] && !f->guess ? f->function : "",
                                               f->module));
                break;
        default: break;
        }
}

static void site_column(struct sql_cursor *base, sqlite3_context *to, int column) {
        struct site_cursor *s = (struct site_cursor *)base;
        const struct query_site *site = &s->rows->answer->sites[s->i];

        switch (column) {
        case SITE_STACK: sqlite3_result_int64(to, site->stack); break;
        case SITE_PATH:
                sqlite3_result_text(to, path_text(base->space, site->stack), -1, SQLITE_TRANSIENT);
                break;
        case SITE_NAME:
                sqlite3_result_text(to, path_name(base->space, site->stack), -1, SQLITE_TRANSIENT);
                break;
        case SITE_FUNCTION:
        case SITE_FILE:
        case SITE_LINE:
        case SITE_MODULE:
        case SITE_CRATE: put_words(s, site->stack, to, column); break;
        case SITE_COMPONENT:
                sql_result_name(to, query_component(base->space->trace.q, site->stack));
                break;
        default: put_figure(&site->f, base->space, to, column); break;
        }
}

static const struct sql_column site_columns[] = {
        [SITE_STACK] = {"stack", "the call path: stacks.id",
                        SQL_IS_KEY | SQL_IS_RANGE | SQL_IS_SOUGHT},
        [SITE_ALLOCATIONS] = {"allocations", "made"},
        [SITE_ALLOCATED_BYTES] = {"allocated_bytes", "by them"},
        [SITE_FREES] = {"frees", "of its blocks"},
        [SITE_FREED_BYTES] = {"freed_bytes", "by them"},
        [SITE_PEAK_BLOCKS] = {"peak_blocks", "live when all together were most"},
        [SITE_PEAK_BYTES] = {"peak_bytes", "live when all together were most"},
        [SITE_START_BLOCKS] = {"start_blocks", "live at the start"},
        [SITE_START_BYTES] = {"start_bytes", "live at the start"},
        [SITE_END_BLOCKS] = {"end_blocks", "live at the end"},
        [SITE_END_BYTES] = {"end_bytes", "live at the end"},
        [SITE_TEMPORARY] = {"temporary", "allocations that were freed before the thread's next"},
        [SITE_REALLOCATIONS] = {"reallocations", "allocations made by realloc"},
        [SITE_FUNCTION] = {"function", "that asked", SQL_IS_EQUAL | SQL_IS_SOUGHT, n_functions,
                           "TEXT"},
        [SITE_FILE] = {"file", "of source", .type = "TEXT"},
        [SITE_LINE] = {"line", "in it"},
        [SITE_MODULE] = {"module", "the program or library", .type = "TEXT"},
        [SITE_CRATE] = {"crate", "crate, outermost namespace, or the module's file name",
                        .type = "TEXT"},
        [SITE_COMPONENT] = {"component", "the part of the program, by rules", .type = "TEXT"},
        [SITE_PATH] = {"path", "the functions of the call path in one text, to compare traces by",
                       SQL_IS_EQUAL | SQL_IS_SOUGHT, n_sites, "TEXT"},
        [SITE_NAME] = {"name", "of the function as reports show it, or its place: app+0x1234",
                       .type = "TEXT"},
        [WINDOW_GROWTH_BYTES] = {"growth_bytes", "live at the end, less those at the start"},
        [WINDOW_GROWTH_BLOCKS] = {"growth_blocks", "live at the end, less those at the start"},
        [WINDOW_FROM] = {"from", "where it begins: nanoseconds, '5s', '@NAME'; the start",
                         SQL_IS_ARGUMENT, .type = ""},
        [WINDOW_TO] = {"to", "where it ends; the end", SQL_IS_ARGUMENT, .type = ""},
};

const struct sql_table sql_sites = {
        .name = "sites",
        .is_of_memory = true,
        .help = "call paths that allocated, over the whole recording",
        .columns = site_columns,
        .n_columns = SITE_N_COLUMNS,
        .cursor_bytes = sizeof(struct site_cursor),
        .n_rows = n_sites,
        .row_cost = 2,
        .begin = site_begin,
        .next = site_next,
        .column = site_column,
        .end = site_end,
};

const struct sql_table sql_window = {
        .name = "window",
        .is_of_memory = true,
        .help = "call paths that allocated, or had blocks, between two times",
        .columns = site_columns,
        .n_columns = WINDOW_N_COLUMNS,
        .cursor_bytes = sizeof(struct site_cursor),
        .n_rows = n_sites,
        .row_cost = 4,
        .begin = window_begin,
        .next = site_next,
        .column = site_column,
        .end = site_end,
};

/* As `silt export --format sqlite` has it. */
static const struct sql_column functions_columns[] = {
        {"function", "that asked", .type = "TEXT"},
        {"module", "the program or library", .type = "TEXT"},
        {"allocations", "made"},
        {"allocated_bytes", "by them"},
        {"peak_bytes", "live when all together were most"},
        {"end_bytes", "live at the end"},
        {"end_blocks", "live at the end"},
        {"temporary", "allocations that were freed before the thread's next"},
        {"sites", "how many call paths"},
};

const struct sql_table sql_functions_view = {
        .name = "functions",
        .help = "functions that allocated, with the sums of their call paths",
        SQL_COLUMNS(functions_columns),
        .view = "SELECT function, module, sum(allocations) AS allocations, sum(allocated_bytes) AS allocated_bytes, "
                "sum(peak_bytes) AS peak_bytes, sum(end_bytes) AS end_bytes, sum(end_blocks) AS end_blocks, "
                "sum(temporary) AS temporary, count(*) AS sites FROM sites GROUP BY function, module",
};
