/* SPDX-License-Identifier: MIT */
/* memory: what the system said of a process's memory. Samples of its resident memory, then bills with their parts, then what its cgroup or
 * the machine allowed and had. */
#include <string.h>

#include "bill/bill.h"
#include "bill/bill_parts.h"
#include "query/trace_origin.h"
#include "sql/all_tables.h"

enum { MEMORY_TIME, MEMORY_PROCESS, MEMORY_SOURCE, MEMORY_PART, MEMORY_BYTES };

enum memory_source { MEMORY_SAMPLE, MEMORY_BILL, MEMORY_ROOM, MEMORY_N_SOURCES };
static const char *const source_names[MEMORY_N_SOURCES] = {"sample", "bill", "room"};

enum { MEMORY_N_SAMPLE_PARTS = 3, MEMORY_MAX_PARTS = ROOM_N_FIGURES };
_Static_assert((int)MEMORY_MAX_PARTS >= (int)BILL_N_KINDS, "room for all parts of a bill");

struct memory_part {
        const char *name;
        int64_t bytes;
};

struct memory_cursor {
        struct sql_cursor c;
        const struct trace_sample *samples;
        size_t n_samples;
        bool wants[MEMORY_N_SOURCES];
        struct sql_range times, processes;
        enum memory_source source;
        size_t next; /* of its samples, bills or rooms: the next to look at */
        uint64_t time_ns;
        uint32_t process;
        struct memory_part parts[MEMORY_MAX_PARTS];
        size_t i, n;
};

static double n_memory_rows(struct sql_space *space) {
        return (double)query_n_bills(space->trace.q) * 8 + (double)space->view->n_rooms * 8 + 1000;
}

static bool is_wanted(const struct memory_cursor *m, uint64_t time_ns, uint32_t process) {
        return sql_range_has(&m->times, (int64_t)time_ns) &&
               (process == TRACE_NO_PROCESS ? !m->processes.is_set
                                            : sql_range_has(&m->processes, process));
}

static void add_part(struct memory_cursor *m, const char *name, int64_t bytes) {
        m->parts[m->n++] = (struct memory_part){name, bytes};
}

static void load_sample(struct memory_cursor *m, const struct trace_sample *s) {
        if (origin_is_import(&m->c.space->view->meta)) { /* it tells no kinds */
                add_part(m, "resident", (int64_t)(s->anon_bytes + s->file_bytes + s->shmem_bytes));
                return;
        }
        add_part(m, "anon", (int64_t)s->anon_bytes);
        add_part(m, "file", (int64_t)s->file_bytes);
        add_part(m, "shmem", (int64_t)s->shmem_bytes);
}

/* A bill that cannot be read is left out, as in all views, and doubts are told. */
static void load_bill(struct memory_cursor *m, size_t bill_idx) {
        int64_t bytes[BILL_N_KINDS];
        struct err unsaid = {0};

        if (bill_read_parts(m->c.space->trace.q, bill_idx, bytes, &unsaid) < 0) {
                m->c.space->is_inexact = true;
                return;
        }
        for (unsigned k = 0; k < BILL_N_KINDS; k++)
                if (bytes[k])
                        add_part(m, bill_kind_key((enum bill_kind)k), bytes[k]);
}

static void load_room(struct memory_cursor *m, const struct trace_room *r) {
        static const char *const names[ROOM_N_FIGURES] = {
                [ROOM_LIMIT] = "limit",
                [ROOM_USAGE] = "usage",
                [ROOM_HIGH] = "high",
                [ROOM_PEAK] = "peak",
                [ROOM_SWAP_LIMIT] = "swap-limit",
                [ROOM_SWAP] = "swap",
                [ROOM_ANON] = "anon",
                [ROOM_FILE] = "file",
                [ROOM_SHMEM] = "shmem",
                [ROOM_KERNEL] = "kernel",
                [ROOM_SILT] = "silt",
        };

        for (unsigned k = 0; k < ROOM_N_FIGURES; k++)
                if (names[k] && r->of[k] != ROOM_UNKNOWN)
                        add_part(m, names[k], (int64_t)MIN(r->of[k], (uint64_t)INT64_MAX));
}

static size_t n_of_source(const struct memory_cursor *m) {
        switch (m->source) {
        case MEMORY_SAMPLE: return m->n_samples;
        case MEMORY_BILL: return query_n_bills(m->c.space->trace.q);
        case MEMORY_ROOM: return m->c.space->view->n_rooms;
        case MEMORY_N_SOURCES: break;
        }
        return 0;
}

/* The next of the source: its parts, none where it is not wanted. */
static void load_next(struct memory_cursor *m) {
        const struct trace_room *room;
        const struct trace_bill *bill;
        size_t i = m->next++;

        switch (m->source) {
        case MEMORY_SAMPLE:
                m->time_ns = m->samples[i].time_ns;
                m->process = m->samples[i].process;
                if (is_wanted(m, m->time_ns, m->process))
                        load_sample(m, &m->samples[i]);
                break;
        case MEMORY_BILL:
                bill = query_bill(m->c.space->trace.q, i);
                m->time_ns = bill->time_ns;
                m->process = bill->process;
                if (is_wanted(m, m->time_ns, m->process))
                        load_bill(m, i);
                break;
        case MEMORY_ROOM:
                room = &m->c.space->view->rooms[i];
                m->time_ns = room->time_ns;
                m->process = room->process;
                if (is_wanted(m, m->time_ns, m->process))
                        load_room(m, room);
                break;
        case MEMORY_N_SOURCES: break;
        }
}

static int memory_settle(struct memory_cursor *m, struct err *reterr) {
        while (m->i >= m->n && m->source < MEMORY_N_SOURCES) {
                size_t n = n_of_source(m);
                int r;

                m->i = m->n = 0;
                if (!m->wants[m->source] || m->next >= n) {
                        m->source++;
                        m->next = 0;
                        continue;
                }
                r = query_tell_progress(m->c.space->trace.q, m->next, n, reterr);
                if (r < 0)
                        return r;
                load_next(m);
        }
        m->c.is_eof = m->source == MEMORY_N_SOURCES;
        return 0;
}

static int memory_next(struct sql_cursor *base, struct err *reterr) {
        struct memory_cursor *m = (struct memory_cursor *)base;

        base->rowid++;
        m->i++;
        return memory_settle(m, reterr);
}

static int memory_begin(struct sql_cursor *base, const struct sql_ask *ask, struct err *reterr) {
        struct memory_cursor *m = (struct memory_cursor *)base;
        const char *source = ask->texts[MEMORY_SOURCE]
                                     ? (const char *)sqlite3_value_text(ask->texts[MEMORY_SOURCE])
                                     : NULL;
        int r = query_samples(base->space->trace.q, &m->samples, &m->n_samples, reterr);

        if (r < 0)
                return r;
        for (unsigned k = 0; k < MEMORY_N_SOURCES; k++)
                m->wants[k] = !source || strcmp(source, source_names[k]) == 0;
        m->times = ask->ranges[MEMORY_TIME];
        m->processes = ask->ranges[MEMORY_PROCESS];
        m->source = MEMORY_SAMPLE;
        m->next = m->i = m->n = 0;
        return memory_settle(m, reterr);
}

static void memory_column(struct sql_cursor *base, sqlite3_context *to, int column) {
        const struct memory_cursor *m = (const struct memory_cursor *)base;

        switch (column) {
        case MEMORY_TIME: sql_result_count(to, m->time_ns); break;
        case MEMORY_PROCESS:
                if (m->process != TRACE_NO_PROCESS)
                        sqlite3_result_int64(to, m->process);
                break;
        case MEMORY_SOURCE: sql_result_name(to, source_names[m->source]); break;
        case MEMORY_PART: sql_result_name(to, m->parts[m->i].name); break;
        case MEMORY_BYTES: sqlite3_result_int64(to, m->parts[m->i].bytes); break;
        default: break;
        }
}

static double n_sources(struct sql_space *space) {
        (void)space;
        return MEMORY_N_SOURCES;
}

static double n_process_values(struct sql_space *space) {
        return (double)space->view->n_processes;
}

static const struct sql_column memory_columns[] = {
        [MEMORY_TIME] = {"time_ns", "when", SQL_IS_RANGE | SQL_IS_SOUGHT},
        [MEMORY_PROCESS] = {"process",
                            "processes.id; NULL: all that are in the cgroup, or on the machine",
                            SQL_IS_EQUAL | SQL_IS_SOUGHT, n_process_values},
        [MEMORY_SOURCE] =
                {"source",
                 "sample: resident memory; bill: its parts; room: the cgroup, or the machine",
                 SQL_IS_EQUAL | SQL_IS_SOUGHT, n_sources, "TEXT"},
        [MEMORY_PART] = {"part", "of samples anon, file, shmem; of bills live, empty, stacks …",
                         .type = "TEXT"},
        [MEMORY_BYTES] = {"bytes", "how much"},
};

const struct sql_table sql_memory = {
        .name = "memory",
        .help = "what the system said of a process's memory, part by part",
        SQL_COLUMNS(memory_columns),
        .cursor_bytes = sizeof(struct memory_cursor),
        .n_rows = n_memory_rows,
        .row_cost = 5,
        .begin = memory_begin,
        .next = memory_next,
        .column = memory_column,
};
