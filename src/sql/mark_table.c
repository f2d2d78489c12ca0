/* SPDX-License-Identifier: MIT */
/* marks: snapshots, and marks that processes made. */
#include "sql/all_tables.h"

enum { MARK_TIME, MARK_NAME, MARK_KIND, MARK_PID };

struct mark_cursor {
        struct sql_cursor c;
        size_t i; /* of the notes: the next to look at */
        struct query_moment now;
};

static double n_marks(struct sql_space *space) {
        return (double)space->view->n_notes;
}

static int mark_next(struct sql_cursor *base, struct err *reterr) {
        struct mark_cursor *m = (struct mark_cursor *)base;

        (void)reterr;
        while (m->i < base->space->view->n_notes)
                if (query_moment_of(&base->space->view->notes[m->i++], &m->now)) {
                        base->rowid = (int64_t)m->i;
                        return 0;
                }
        base->is_eof = true;
        return 0;
}

static int mark_begin(struct sql_cursor *base, const struct sql_ask *ask, struct err *reterr) {
        (void)ask;
        ((struct mark_cursor *)base)->i = 0;
        return mark_next(base, reterr);
}

static void mark_column(struct sql_cursor *base, sqlite3_context *to, int column) {
        const struct query_moment *m = &((struct mark_cursor *)base)->now;

        switch (column) {
        case MARK_TIME: sql_result_count(to, m->time_ns); break;
        case MARK_NAME: sql_result_name(to, m->name); break;
        case MARK_KIND: sql_result_name(to, m->is_snapshot ? "snapshot" : "mark"); break;
        case MARK_PID:
                if (!m->is_snapshot)
                        sql_result_count(to, m->pid);
                break;
        default: break;
        }
}

static const struct sql_column mark_columns[] = {
        [MARK_TIME] = {"time_ns", "when"},
        [MARK_NAME] = {"name", "as it was given", .type = "TEXT"},
        [MARK_KIND] = {"kind", "snapshot, or mark: made by the program itself", .type = "TEXT"},
        [MARK_PID] = {"pid", "that made the mark"},
};

const struct sql_table sql_marks = {
        .name = "marks",
        .help = "moments with a name: snapshots, and marks of the program",
        SQL_COLUMNS(mark_columns),
        .cursor_bytes = sizeof(struct mark_cursor),
        .n_rows = n_marks,
        .row_cost = 1,
        .begin = mark_begin,
        .next = mark_next,
        .column = mark_column,
};
