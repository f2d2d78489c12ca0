/* SPDX-License-Identifier: MIT */
/* frames: functions at places in code. modules: the files of code they are in. */
#include <stdio.h>

#include "sql/all_tables.h"

enum {
        FRAME_LOCATION,
        FRAME_DEPTH,
        FRAME_FUNCTION,
        FRAME_FILE,
        FRAME_LINE,
        FRAME_MODULE,
        FRAME_ADDRESS,
        FRAME_IS_INLINED,
};

enum { FRAME_MAX_INLINED = 256 }; /* of one place; as exports have it */

struct code_cursor {
        struct sql_cursor c;
        size_t location, end;
        size_t i, n; /* frames of the location */
        struct query_frame frames[FRAME_MAX_INLINED];
};

static double n_locations(struct sql_space *space) {
        return (double)space->view->n_locations;
}

static double n_frames(struct sql_space *space) {
        return (double)MAX(space->view->n_locations, space->view->n_symbols);
}

static void frame_load(struct code_cursor *f) {
        for (f->i = f->n = 0; f->n == 0; f->location++) {
                f->c.is_eof = f->location >= f->end;
                if (f->c.is_eof)
                        return;
                f->n = MIN(query_known_frames(f->c.space->trace.q, (uint32_t)f->location, f->frames,
                                              FRAME_MAX_INLINED),
                           (size_t)FRAME_MAX_INLINED);
        }
        f->location--;
}

static int frame_next(struct sql_cursor *base, struct err *reterr) {
        struct code_cursor *f = (struct code_cursor *)base;

        (void)reterr;
        base->rowid++;
        if (++f->i < f->n)
                return 0;
        f->location++;
        frame_load(f);
        return 0;
}

static int frame_begin(struct sql_cursor *base, const struct sql_ask *ask, struct err *reterr) {
        struct code_cursor *f = (struct code_cursor *)base;

        (void)reterr;
        sql_range_clip(&ask->ranges[FRAME_LOCATION], base->space->view->n_locations, &f->location,
                       &f->end);
        frame_load(f);
        return 0;
}

static void frame_column(struct sql_cursor *base, sqlite3_context *to, int column) {
        const struct code_cursor *x = (const struct code_cursor *)base;
        const struct trace_view *v = base->space->view;
        const struct trace_location *l = &v->locations[x->location];
        const struct query_frame *f = &x->frames[x->i];

        switch (column) {
        case FRAME_LOCATION: sql_result_count(to, x->location); break;
        case FRAME_DEPTH: sql_result_count(to, x->i); break;
        case FRAME_FUNCTION: sql_result_name(to, f->function); break;
        case FRAME_FILE: sql_result_name(to, f->file); break;
        case FRAME_LINE:
                if (f->line)
                        sqlite3_result_int64(to, f->line);
                break;
        case FRAME_MODULE:
                if (l->module < v->n_modules)
                        sqlite3_result_int64(to, l->module);
                break;
        case FRAME_ADDRESS: sqlite3_result_int64(to, (int64_t)l->offset); break;
        case FRAME_IS_INLINED: sqlite3_result_int64(to, f->inlined); break;
        default: break;
        }
}

static const struct sql_column frame_columns[] = {
        [FRAME_LOCATION] = {"location", "the place in code",
                            SQL_IS_EQUAL | SQL_IS_RANGE | SQL_IS_SOUGHT, n_locations},
        [FRAME_DEPTH] = {"depth", "0 is the innermost of those inlined at the place"},
        [FRAME_FUNCTION] = {"function", "as the trace has it; empty: unknown, or a guess",
                            .type = "TEXT"},
        [FRAME_FILE] = {"file", "of source", .type = "TEXT"},
        [FRAME_LINE] = {"line", "in it"},
        [FRAME_MODULE] = {"module", "modules.id"},
        [FRAME_ADDRESS] = {"address", "in the module"},
        [FRAME_IS_INLINED] = {"is_inlined", "into the next one"},
};

const struct sql_table sql_frames = {
        .name = "frames",
        .help = "functions at places in code; several where some were inlined",
        SQL_COLUMNS(frame_columns),
        .cursor_bytes = sizeof(struct code_cursor),
        .n_rows = n_frames,
        .row_cost = 1,
        .begin = frame_begin,
        .next = frame_next,
        .column = frame_column,
};

/* ---- modules ----------------------------------------------------------------------------------- */

enum { MODULE_ID, MODULE_PATH, MODULE_BUILD_ID };

struct module_cursor {
        struct sql_cursor c;
        size_t i, end;
};

static double n_modules(struct sql_space *space) {
        return (double)space->view->n_modules;
}

static void module_settle(struct module_cursor *m) {
        m->c.rowid = (int64_t)m->i;
        m->c.is_eof = m->i >= m->end;
}

static int module_next(struct sql_cursor *base, struct err *reterr) {
        struct module_cursor *m = (struct module_cursor *)base;

        (void)reterr;
        m->i++;
        module_settle(m);
        return 0;
}

static int module_begin(struct sql_cursor *base, const struct sql_ask *ask, struct err *reterr) {
        struct module_cursor *m = (struct module_cursor *)base;

        (void)reterr;
        sql_range_clip(&ask->ranges[MODULE_ID], base->space->view->n_modules, &m->i, &m->end);
        module_settle(m);
        return 0;
}

static void module_column(struct sql_cursor *base, sqlite3_context *to, int column) {
        size_t i = ((const struct module_cursor *)base)->i;
        const struct trace_module *m = &base->space->view->modules[i];
        char build_id[2 * sizeof(m->build_id) + 1] = "";

        switch (column) {
        case MODULE_ID: sql_result_count(to, i); break;
        case MODULE_PATH: sql_result_name(to, m->path); break;
        case MODULE_BUILD_ID:
                for (uint32_t k = 0; k < m->build_id_len && k < sizeof(m->build_id); k++)
                        snprintf(build_id + 2 * k, 3, "%02x", m->build_id[k]);
                sqlite3_result_text(to, build_id, -1, SQLITE_TRANSIENT);
                break;
        default: break;
        }
}

static const struct sql_column module_columns[] = {
        [MODULE_ID] = {"id", "frames.module", SQL_IS_KEY | SQL_IS_RANGE | SQL_IS_SOUGHT},
        [MODULE_PATH] = {"path", "of the file", .type = "TEXT"},
        [MODULE_BUILD_ID] = {"build_id", "in hexadecimal; empty: it has none", .type = "TEXT"},
};

const struct sql_table sql_modules = {
        .name = "modules",
        .help = "programs and libraries",
        SQL_COLUMNS(module_columns),
        .cursor_bytes = sizeof(struct module_cursor),
        .n_rows = n_modules,
        .row_cost = 1,
        .begin = module_begin,
        .next = module_next,
        .column = module_column,
};
