/* SPDX-License-Identifier: MIT */
/* trace: facts about the recording, one a row. notes: remarks of the recorder. */
#include "base/str.h"
#include "sql/all_tables.h"

struct row_cursor {
        struct sql_cursor c;
        size_t i, end;
};

static void row_settle(struct row_cursor *r) {
        r->c.rowid = (int64_t)r->i;
        r->c.is_eof = r->i >= r->end;
}

static int row_next(struct sql_cursor *base, struct err *reterr) {
        struct row_cursor *r = (struct row_cursor *)base;

        (void)reterr;
        r->i++;
        row_settle(r);
        return 0;
}

/* ---- trace ------------------------------------------------------------------------------------- */

enum { FACT_KEY, FACT_VALUE };

enum fact {
        FACT_SCHEMA,
        FACT_COMMAND,
        FACT_STARTED,
        FACT_FROM,
        FACT_TO,
        FACT_UNIT,
        FACT_SAMPLE_BYTES,
        FACT_HAS_BLOCKS,
        FACT_HAS_TIMES,
        FACT_N,
};

static const char *const fact_keys[FACT_N] = {
        [FACT_SCHEMA] = "schema",
        [FACT_COMMAND] = "command",
        [FACT_STARTED] = "started_unix_ns",
        [FACT_FROM] = "from_ns",
        [FACT_TO] = "to_ns",
        [FACT_UNIT] = "unit",
        [FACT_SAMPLE_BYTES] = "sample_bytes",
        [FACT_HAS_BLOCKS] = "has_blocks",
        [FACT_HAS_TIMES] = "has_times",
};

static double n_facts(struct sql_space *space) {
        (void)space;
        return FACT_N;
}

static int fact_begin(struct sql_cursor *base, const struct sql_ask *ask, struct err *reterr) {
        struct row_cursor *r = (struct row_cursor *)base;

        (void)ask, (void)reterr;
        r->i = 0;
        r->end = FACT_N;
        row_settle(r);
        return 0;
}

static void put_command(const struct trace_meta *m, sqlite3_context *to) {
        struct str command = {0};

        for (uint32_t i = 0; i < m->n_args; i++) {
                str_add(&command, i ? " " : "");
                str_add_shell(&command, m->args[i]);
        }
        sqlite3_result_text(to, str_text(&command), -1, SQLITE_TRANSIENT);
        str_done(&command);
}

static void put_fact(const struct sql_space *s, enum fact fact, sqlite3_context *to) {
        const struct trace_view *v = s->view;

        switch (fact) {
        case FACT_SCHEMA: sql_result_name(to, "silt.sqlite/1"); break;
        case FACT_COMMAND: put_command(&v->meta, to); break;
        case FACT_STARTED: sqlite3_result_int64(to, (int64_t)v->meta.started_unix_ns); break;
        case FACT_FROM: sqlite3_result_int64(to, 0); break;
        case FACT_TO: sqlite3_result_int64(to, (int64_t)v->end_ns); break;
        case FACT_UNIT: sql_result_name(to, query_unit_name(s->trace.q)); break;
        case FACT_SAMPLE_BYTES:
                sqlite3_result_int64(to, (int64_t)query_estimate_bytes(s->trace.q));
                break;
        case FACT_HAS_BLOCKS: sqlite3_result_int(to, !(v->meta.flags & TRACE_IS_TOTALS)); break;
        case FACT_HAS_TIMES: sqlite3_result_int(to, !(v->meta.flags & TRACE_LACKS_TIME)); break;
        case FACT_N: break;
        }
}

static void fact_column(struct sql_cursor *base, sqlite3_context *to, int column) {
        size_t i = ((const struct row_cursor *)base)->i;

        if (column == FACT_KEY)
                sql_result_name(to, fact_keys[i]);
        else
                put_fact(base->space, (enum fact)i, to);
}

static const struct sql_column fact_columns[] = {
        [FACT_KEY] = {"key", "which fact", .type = "TEXT"},
        [FACT_VALUE] = {"value", "a text or a number", .type = ""},
};

const struct sql_table sql_trace = {
        .name = "trace",
        .help = "facts about the recording",
        SQL_COLUMNS(fact_columns),
        .cursor_bytes = sizeof(struct row_cursor),
        .n_rows = n_facts,
        .row_cost = 1,
        .begin = fact_begin,
        .next = row_next,
        .column = fact_column,
};

/* ---- notes ------------------------------------------------------------------------------------- */

enum { NOTE_TIME, NOTE_TEXT };

static double n_notes(struct sql_space *space) {
        return (double)space->view->n_notes;
}

static int note_begin(struct sql_cursor *base, const struct sql_ask *ask, struct err *reterr) {
        struct row_cursor *r = (struct row_cursor *)base;

        (void)ask, (void)reterr;
        r->i = 0;
        r->end = base->space->view->n_notes;
        row_settle(r);
        return 0;
}

static void note_column(struct sql_cursor *base, sqlite3_context *to, int column) {
        size_t i = ((const struct row_cursor *)base)->i;
        const struct trace_note *n = &base->space->view->notes[i];

        if (column == NOTE_TIME)
                sqlite3_result_int64(to, (int64_t)n->time_ns);
        else
                sql_result_name(to, n->text);
}

static const struct sql_column note_columns[] = {
        [NOTE_TIME] = {"time_ns", "when"},
        [NOTE_TEXT] = {"text", "what", .type = "TEXT"},
};

const struct sql_table sql_notes = {
        .name = "notes",
        .help = "remarks of the recorder",
        SQL_COLUMNS(note_columns),
        .cursor_bytes = sizeof(struct row_cursor),
        .n_rows = n_notes,
        .row_cost = 1,
        .begin = note_begin,
        .next = row_next,
        .column = note_column,
};
