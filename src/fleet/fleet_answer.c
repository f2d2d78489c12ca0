/* SPDX-License-Identifier: MIT */
#include "fleet/fleet_answer.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/macros.h"
#include "base/units.h"
#include "fleet/server_link.h"

enum {
        MAX_EXCESS = 5,         /* hosts whose call path is looked for */
        MIN_REACH_S = 3 * 3600, /* periods may have been longer before */
        MAX_REACH_S = 86400,
        MAX_BACK_S = 366 * 86400, /* how long before the time looked at a process may have begun */
        NS_PER_S = 1000000000,
        PATH_DIGITS = 32,    /* of an id */
        PATHS_AT_ONCE = 100, /* asked for their frames */
};

/* ---- columns of each question ----------------------------------------------------------------------- */

static const struct fleet_column services_columns[] = {
        {"service", "service", FLEET_CELL_TEXT},       {"live_bytes", "live", FLEET_CELL_BYTES},
        {"growth_bytes", "growth", FLEET_CELL_CHANGE}, {"before_bytes", NULL, FLEET_CELL_BYTES},
        {"hosts", "hosts", FLEET_CELL_COUNT},          {"hosts_compared", NULL, FLEET_CELL_COUNT},
        {"hosts_new", "new", FLEET_CELL_COUNT},        {"hosts_gone", "gone", FLEET_CELL_COUNT},
        {"builds", "builds", FLEET_CELL_COUNT},        {"error_bytes", NULL, FLEET_CELL_REAL},
        {"last_time", NULL, FLEET_CELL_TIME},
};
static const struct fleet_column grew_columns[] = {
        {"service", "service", FLEET_CELL_TEXT},
        {"build", "build", FLEET_CELL_TEXT},
        {"growth_bytes", "growth", FLEET_CELL_CHANGE},
        {"before_bytes", "before", FLEET_CELL_BYTES},
        {"now_bytes", "now", FLEET_CELL_BYTES},
        {"hosts_grew", "hosts", FLEET_CELL_COUNT},
        {"hosts", NULL, FLEET_CELL_COUNT},
        {"error_bytes", NULL, FLEET_CELL_REAL},
        {"path", "call path", FLEET_CELL_PATH},
};
static const struct fleet_column release_columns[] = {
        {"change_bytes", "change", FLEET_CELL_CHANGE},
        {"old_bytes", "old", FLEET_CELL_BYTES},
        {"new_bytes", "new", FLEET_CELL_BYTES},
        {"error_bytes", "±", FLEET_CELL_BYTES},
        {"processes_old", "procs old", FLEET_CELL_COUNT},
        {"processes_new", "procs new", FLEET_CELL_COUNT},
        {"path", "call path", FLEET_CELL_PATH},
};
static const struct fleet_column hosts_columns[] = {
        {"service", "service", FLEET_CELL_TEXT},      {"host", "host", FLEET_CELL_TEXT},
        {"build", "build", FLEET_CELL_TEXT},          {"live_bytes", "live", FLEET_CELL_BYTES},
        {"median_bytes", "median", FLEET_CELL_BYTES}, {"spread_bytes", "spread", FLEET_CELL_BYTES},
        {"score", "spreads above", FLEET_CELL_REAL},  {"hosts", NULL, FLEET_CELL_COUNT},
        {"excess_bytes", NULL, FLEET_CELL_CHANGE},    {"path", "most of it in", FLEET_CELL_PATH},
};
static const struct fleet_column paths_columns[] = {
        {"live_bytes", "live", FLEET_CELL_BYTES},    {"growth_bytes", "growth", FLEET_CELL_CHANGE},
        {"live_blocks", "blocks", FLEET_CELL_COUNT}, {"hosts", "hosts", FLEET_CELL_COUNT},
        {"error_bytes", NULL, FLEET_CELL_REAL},      {"path", "call path", FLEET_CELL_PATH},
};

static const struct fleet_column builds_columns[] = {
        {"service", "service", FLEET_CELL_TEXT},       {"build", "build", FLEET_CELL_TEXT},
        {"first_time", "first seen", FLEET_CELL_TIME}, {"last_time", "last seen", FLEET_CELL_TIME},
        {"hosts", "hosts", FLEET_CELL_COUNT},          {"processes", "processes", FLEET_CELL_COUNT},
        {"mean_bytes", "mean", FLEET_CELL_BYTES},      {"max_bytes", "most", FLEET_CELL_BYTES},
};

static const struct {
        const struct fleet_column *columns;
        size_t n, n_asked; /* the rest is found out otherwise */
        void (*sql)(struct str *to, const struct fleet_question *q, struct fleet_moments m);
} tables[FLEET_N_KINDS] = {
        [FLEET_SERVICES] = {services_columns, ARRAY_SIZE(services_columns),
                            ARRAY_SIZE(services_columns), fleet_sql_services},
        [FLEET_GREW] = {grew_columns, ARRAY_SIZE(grew_columns), ARRAY_SIZE(grew_columns),
                        fleet_sql_grew},
        [FLEET_RELEASE] = {release_columns, ARRAY_SIZE(release_columns),
                           ARRAY_SIZE(release_columns), NULL},
        [FLEET_HOSTS] = {hosts_columns, ARRAY_SIZE(hosts_columns), ARRAY_SIZE(hosts_columns) - 2,
                         fleet_sql_hosts},
        [FLEET_PATHS] = {paths_columns, ARRAY_SIZE(paths_columns), ARRAY_SIZE(paths_columns),
                         fleet_sql_paths},
        [FLEET_BUILDS] = {builds_columns, ARRAY_SIZE(builds_columns), ARRAY_SIZE(builds_columns),
                          fleet_sql_builds},
};

/* ---- cells ------------------------------------------------------------------------------------------ */

static const char *keep(struct fleet_answer *a, const char *text) {
        char *copy = strdup(text);

        if (!copy)
                abort();
        vec_push(&a->texts, copy);
        return copy;
}

void fleet_answer_doubt(struct fleet_answer *a, const char *fmt, ...) {
        char *text;
        va_list ap;

        va_start(ap, fmt);
        if (vasprintf(&text, fmt, ap) < 0)
                abort();
        va_end(ap);
        vec_push(&a->doubts, text);
}

static bool is_path_id(const char *text) {
        return strlen(text) == PATH_DIGITS && strspn(text, "0123456789ABCDEF") == PATH_DIGITS;
}

static void note_path(struct fleet_answer *a, const char *id) {
        for (size_t i = 0; i < a->paths.n; i++)
                if (strcmp(a->paths.items[i].id, id) == 0)
                        return;
        vec_push(&a->paths, (struct fleet_named_path){.id = strdup(id)});
        if (!a->paths.items[a->paths.n - 1].id)
                abort();
}

static int add_cell(struct fleet_answer *a, const struct server_rows *rows, size_t row,
                    size_t column, enum fleet_cell_kind kind, struct err *reterr) {
        struct fleet_cell cell = {.text = keep(a, server_rows_text(rows, row, column))};
        int r = 0;

        if (kind == FLEET_CELL_PATH && !is_path_id(cell.text))
                return err_set(
                        reterr, -EBADMSG,
                        "the server's answer is not what was asked: '%.40s' is not a call path: check that the address is ClickHouse's",
                        cell.text);
        if (kind == FLEET_CELL_PATH)
                note_path(a, cell.text);
        else if (kind != FLEET_CELL_TEXT)
                r = server_rows_double(rows, row, column, &cell.number, reterr);
        vec_push(&a->cells, cell);
        return r;
}

/* Rows of the question's table; columns that are asked later are empty. */
static int take_rows(struct fleet_answer *a, const struct server_rows *rows, size_t n_asked,
                     struct err *reterr) {
        size_t n = MIN(rows->n_rows, (size_t)a->question->n_rows);
        int r = 0;

        a->has_more = rows->n_rows > n;
        for (size_t i = 0; i < n && r >= 0; i++) {
                for (size_t c = 0; c < a->columns.n && r >= 0; c++)
                        if (c < n_asked)
                                r = add_cell(a, rows, i, c, a->columns.items[c].kind, reterr);
                        else
                                vec_push(&a->cells, (struct fleet_cell){.text = ""});
                a->n_rows++;
        }
        return r;
}

static const struct fleet_cell *find_cell(const struct fleet_answer *a, size_t row,
                                          const char *key) {
        for (size_t c = 0; c < a->columns.n; c++)
                if (strcmp(a->columns.items[c].key, key) == 0)
                        return &a->cells.items[row * a->columns.n + c];
        return NULL;
}

double fleet_answer_number(const struct fleet_answer *a, size_t row, const char *key) {
        const struct fleet_cell *cell = find_cell(a, row, key);

        return cell ? cell->number : 0;
}

const char *fleet_answer_text(const struct fleet_answer *a, size_t row, const char *key) {
        const struct fleet_cell *cell = find_cell(a, row, key);

        return cell ? cell->text : "";
}

/* ---- asking ----------------------------------------------------------------------------------------- */

static int ask(struct server_link *server, struct str *sql, size_t n_columns, size_t max_rows,
               struct server_rows *rows, struct err *reterr) {
        int r = server_link_ask(server, str_text(sql), n_columns, max_rows, rows, reterr);

        str_done(sql);
        return r;
}

/* One row of whole numbers. */
static int ask_numbers(struct server_link *server, struct str *sql, size_t n, double *ret,
                       struct err *reterr) {
        struct server_rows rows;
        int r = ask(server, sql, n, 1, &rows, reterr);

        if (r >= 0 && rows.n_rows != 1)
                r = err_set(
                        reterr, -EBADMSG,
                        "the server's answer is not what was asked: it is empty: check that the address is ClickHouse's");
        for (size_t i = 0; i < n && r >= 0; i++)
                r = server_rows_double(&rows, 0, i, &ret[i], reterr);
        server_rows_done(&rows);
        return r;
}

/* A clock that is ahead does not make it later for all others: the moment is at most the server's. */
static int find_moments(struct server_link *server, struct fleet_answer *a,
                        struct fleet_moments *ret, bool *ret_has_ahead, struct err *reterr) {
        double newest[5] = {0};
        int r = 0;

        for (int is_recent = 1; is_recent >= 0 && r >= 0 && newest[2] < 1; is_recent--) {
                struct str sql = {0};

                fleet_sql_newest(&sql, is_recent);
                r = ask_numbers(server, &sql, ARRAY_SIZE(newest), newest, reterr);
        }
        if (r < 0)
                return r;
        a->server_now_s = unit_nearest(newest[1]);
        a->now_s = a->question->until_s ? a->question->until_s : unit_nearest(newest[0]);
        *ret_has_ahead = newest[4] > 0;
        a->is_all_ahead = newest[2] < 1 && newest[4] > 0;
        if (newest[2] < 1)
                a->now_s = 0;
        a->before_s = a->now_s > a->question->since_s ? a->now_s - a->question->since_s : 0;
        *ret = (struct fleet_moments){.now_s = a->now_s,
                                      .before_s = a->before_s,
                                      .reach_s = MIN(MAX(3 * unit_nearest(newest[3] / 1000) +
                                                                 FLEET_SLACK_S,
                                                         (uint64_t)MIN_REACH_S),
                                                     (uint64_t)MAX_REACH_S)};
        return 0;
}

static int find_ahead(struct server_link *server, struct fleet_answer *a, struct err *reterr) {
        struct server_rows rows;
        struct str sql = {0};
        struct unit_text by, n;
        double figures[2] = {0};
        int r;

        fleet_sql_ahead(&sql, a->question);
        r = ask(server, &sql, 3, 1, &rows, reterr);
        for (size_t i = 0; r >= 0 && rows.n_rows == 1 && i < ARRAY_SIZE(figures); i++)
                r = server_rows_double(&rows, 0, i, &figures[i], reterr);
        if (r >= 0 && figures[0] >= 1) {
                uint64_t n_hosts = unit_nearest(figures[0]);

                unit_duration(&by, unit_nearest(fmin(fmax(figures[1], 0), UINT32_MAX)) * NS_PER_S);
                if (n_hosts == 1)
                        fleet_answer_doubt(
                                a,
                                "The clock of host %.80s is ahead of the server's by %s: its snapshots count when the server's clock reaches their time.",
                                server_rows_text(&rows, 0, 2), by.s);
                else
                        fleet_answer_doubt(
                                a,
                                "The clocks of %s hosts are ahead of the server's, that of %.80s by %s: their snapshots count when the server's clock reaches their time.",
                                unit_count(&n, n_hosts), server_rows_text(&rows, 0, 2), by.s);
        }
        server_rows_done(&rows);
        return r;
}

/* Builds are shown by their first digits, so they may be given so. */
static int find_build(struct server_link *server, struct fleet_answer *a, struct fleet_moments m,
                      const char **build, struct err *reterr) {
        struct server_rows rows;
        struct str sql = {0};
        int r;

        if (!*build)
                return 0;
        fleet_sql_named(&sql, a->question, m, *build);
        r = ask(server, &sql, 1, 2, &rows, reterr);
        /* sorted: one that is no longer than what was given is the first */
        if (r >= 0 && rows.n_rows == 2 && strcmp(server_rows_text(&rows, 0, 0), *build) != 0)
                r = err_set(
                        reterr, -EINVAL,
                        "more than one build begins with '%.80s', as %.80s and %.80s do: give more digits",
                        *build, server_rows_text(&rows, 0, 0), server_rows_text(&rows, 1, 0));
        else if (r >= 0 && rows.n_rows > 0)
                *build = keep(a, server_rows_text(&rows, 0, 0));
        server_rows_done(&rows);
        return r;
}

static int find_builds(struct server_link *server, struct fleet_answer *a, struct fleet_moments m,
                       struct err *reterr) {
        int r = find_build(server, a, m, &a->asked.build, reterr);

        if (r >= 0)
                r = find_build(server, a, m, &a->asked.old_build, reterr);
        if (r >= 0)
                r = find_build(server, a, m, &a->asked.new_build, reterr);
        return r < 0 ? r : fleet_question_check(a->question, reterr);
}

/* ids of a->paths to what they call. */
static int find_frames(struct server_link *server, struct fleet_answer *a, struct err *reterr) {
        int r = 0;

        for (size_t at = 0; at < a->paths.n && r >= 0; at += PATHS_AT_ONCE) {
                size_t n = MIN(a->paths.n - at, (size_t)PATHS_AT_ONCE);
                struct server_rows rows;
                struct str sql = {0};

                fleet_sql_frames(&sql, &a->paths.items[at], n);
                r = ask(server, &sql, 2, n, &rows, reterr);
                for (size_t i = 0; r >= 0 && i < rows.n_rows; i++)
                        for (size_t k = at; k < at + n; k++)
                                if (!a->paths.items[k].frames &&
                                    strcmp(a->paths.items[k].id, server_rows_text(&rows, i, 0)) ==
                                            0)
                                        a->paths.items[k].frames =
                                                strdup(server_rows_text(&rows, i, 1));
                server_rows_done(&rows);
        }
        return r;
}

static int find_history(struct server_link *server, struct fleet_answer *a, struct fleet_moments m,
                        struct err *reterr) {
        uint64_t step_s = (m.now_s - m.before_s) / FLEET_N_HISTORY + 1;
        struct server_rows rows;
        struct str sql = {0};
        uint64_t part;
        double bytes;
        int r;

        fleet_sql_history(&sql, a->question, m, step_s);
        r = ask(server, &sql, 3, (size_t)FLEET_MAX_ROWS * FLEET_N_HISTORY, &rows, reterr);
        for (size_t i = 0; i < a->n_rows * FLEET_N_HISTORY; i++)
                vec_push(&a->history, -1);
        for (size_t i = 0; r >= 0 && i < rows.n_rows; i++) {
                r = server_rows_uint(&rows, i, 1, &part, reterr);
                if (r >= 0)
                        r = server_rows_double(&rows, i, 2, &bytes, reterr);
                for (size_t k = 0; r >= 0 && part < FLEET_N_HISTORY && k < a->n_rows; k++)
                        if (strcmp(fleet_answer_text(a, k, "service"),
                                   server_rows_text(&rows, i, 0)) == 0)
                                a->history.items[k * FLEET_N_HISTORY + part] = bytes;
        }
        server_rows_done(&rows);
        return r;
}

/* Where the memory of the first outliers is. */
static int find_excess(struct server_link *server, struct fleet_answer *a, struct fleet_moments m,
                       struct err *reterr) {
        int r = 0;

        for (size_t i = 0; i < MIN(a->n_rows, (size_t)MAX_EXCESS) && r >= 0; i++) {
                struct fleet_cell *own = &a->cells.items[i * a->columns.n];
                struct server_rows rows;
                struct str sql = {0};

                fleet_sql_excess(&sql, fleet_answer_text(a, i, "service"),
                                 fleet_answer_text(a, i, "host"), m);
                r = ask(server, &sql, 2, 1, &rows, reterr);
                if (r >= 0 && rows.n_rows == 1) {
                        const char *id = server_rows_text(&rows, 0, 0);

                        r = server_rows_double(&rows, 0, 1, &own[a->columns.n - 2].number, reterr);
                        if (r >= 0 && is_path_id(id)) {
                                own[a->columns.n - 1].text = keep(a, id);
                                note_path(a, id);
                        }
                }
                server_rows_done(&rows);
        }
        return r;
}

/* ---- two builds ------------------------------------------------------------------------------------- */

static double variance_of_mean(double sum, double squares, double n) {
        return n < 2 ? 0 : fmax(squares - sum * sum / n, 0) / (n - 1) / n;
}

/* Processes that have run longer hold more: both builds are looked at up to the age that both reached. */
static int find_sides(struct server_link *server, struct fleet_answer *a, struct fleet_moments m,
                      struct fleet_sides *s, struct err *reterr) {
        const struct fleet_question *q = a->question;
        double first[5], whole[6];
        struct str sql = {0};
        struct unit_text age, n;
        int r;

        fleet_sql_release_sides(&sql, q, m);
        r = ask_numbers(server, &sql, ARRAY_SIZE(first), first, reterr);
        if (r < 0)
                return r;
        for (int i = 0; i < 2; i++)
                if (first[i] < 1)
                        return err_set(
                                reterr, -ENOENT,
                                "no snapshot of build '%.80s' of '%.80s' since then: 'silt fleet builds --service %.80s' shows those there are, and --since 30d looks further back",
                                i ? q->new_build : q->old_build, q->service, q->service);
        s->ages.horizon_ms = MAX(unit_nearest(fmin(first[2], first[3])), (uint64_t)1);
        s->ages.begin_s = MAX(unit_nearest(fmax(first[4], 0)),
                              m.before_s > MAX_BACK_S ? m.before_s - MAX_BACK_S : 0);
        fleet_sql_release_total(&sql, q, m, s->ages);
        r = ask_numbers(server, &sql, ARRAY_SIZE(whole), whole, reterr);
        if (r < 0)
                return r;
        s->n_old = unit_nearest(whole[0]);
        s->n_new = unit_nearest(whole[1]);
        for (int i = 0; i < 2; i++)
                if (whole[i] < 1)
                        return err_set(
                                reterr, -ENOENT,
                                "the processes of build '%.80s' were not seen in their first %s, and those of '%.80s' not later, so they cannot be compared: wait, or compare with another build",
                                i ? q->new_build : q->old_build,
                                unit_duration(&age, s->ages.horizon_ms * 1000000),
                                i ? q->old_build : q->new_build);
        s->n_late = unit_nearest(fmax(first[0] + first[1] - whole[0] - whole[1], 0));
        s->old_mean = s->n_old ? whole[2] / whole[0] : 0;
        s->new_mean = s->n_new ? whole[3] / whole[1] : 0;
        s->error = sqrt(variance_of_mean(whole[2], whole[4], whole[0]) +
                        variance_of_mean(whole[3], whole[5], whole[1]));
        if (s->n_late)
                fleet_answer_doubt(
                        a, "%s process%s left out: the server has no snapshot of %s first %s.",
                        unit_count(&n, s->n_late), s->n_late == 1 ? " is" : "es are",
                        s->n_late == 1 ? "its" : "their",
                        unit_duration(&age, s->ages.horizon_ms * 1000000));
        return 0;
}

/* ---- what limits the figures ------------------------------------------------------------------------ */

static int find_doubts(struct server_link *server, struct fleet_answer *a, struct fleet_moments m,
                       struct err *reterr) {
        double now[8], lost[2];
        struct unit_text x, y;
        struct str sql = {0};
        int r;

        fleet_sql_doubts(&sql, a->question, m);
        r = ask_numbers(server, &sql, ARRAY_SIZE(now), now, reterr);
        if (r < 0)
                return r;
        fleet_sql_losses(&sql, a->question, m);
        r = ask_numbers(server, &sql, ARRAY_SIZE(lost), lost, reterr);
        if (r < 0)
                return r;
        a->n_hosts = unit_nearest(now[1]);
        if (now[5] > now[4])
                fleet_answer_doubt(
                        a,
                        "The server has %s rows of call paths of snapshots that had %s: they were pushed again with other limits or names, so figures of call paths are too high.",
                        unit_count(&x, unit_nearest(now[5])), unit_count(&y, unit_nearest(now[4])));
        if (now[4] > now[5])
                fleet_answer_doubt(
                        a,
                        "%s of %s rows of call paths have not arrived, so figures of call paths are too low.",
                        unit_count(&x, unit_nearest(now[4] - now[5])),
                        unit_count(&y, unit_nearest(now[4])));
        if (lost[0] > 0)
                fleet_answer_doubt(
                        a,
                        "%s snapshot%s of %s host%s did not reach the server: a spool had no room for more.",
                        unit_count(&x, unit_nearest(lost[0])), unit_s(unit_nearest(lost[0])),
                        unit_count(&y, unit_nearest(lost[1])), unit_s(unit_nearest(lost[1])));
        if (now[3] > 0)
                fleet_answer_doubt(a, "Recorders lost %s event%s, so figures are approximate.",
                                   unit_count(&x, unit_nearest(now[3])),
                                   unit_s(unit_nearest(now[3])));
        if (now[6] > 0)
                fleet_answer_doubt(
                        a, "Traces of %s of %s processes are damaged: their figures may be wrong.",
                        unit_count(&x, unit_nearest(now[6])), unit_count(&y, unit_nearest(now[0])));
        if (now[7] > 0)
                fleet_answer_doubt(
                        a,
                        "silt was attached to %s of %s processes late: what they held before is not counted.",
                        unit_count(&x, unit_nearest(now[7])), unit_count(&y, unit_nearest(now[0])));
        if (now[2] > 0)
                fleet_answer_doubt(a,
                                   "%s of %s processes are sampled: their figures are estimates.",
                                   unit_count(&x, unit_nearest(now[2])),
                                   unit_count(&y, unit_nearest(now[0])));
        return 0;
}

/* ---- questions -------------------------------------------------------------------------------------- */

static int ask_table(struct server_link *server, struct fleet_answer *a, struct fleet_moments m,
                     const struct fleet_sides *sides, struct err *reterr) {
        const struct fleet_question *q = a->question;
        struct server_rows rows;
        struct str sql = {0};
        int r;

        if (q->kind == FLEET_RELEASE)
                fleet_sql_release(&sql, q, m, sides->ages, sides->n_old, sides->n_new);
        else
                tables[q->kind].sql(&sql, q, m);
        r = ask(server, &sql, tables[q->kind].n_asked, q->n_rows + 1, &rows, reterr);
        if (r >= 0)
                r = take_rows(a, &rows, tables[q->kind].n_asked, reterr);
        server_rows_done(&rows);
        return r;
}

static int ask_known(struct server_link *server, struct fleet_answer *a, struct err *reterr) {
        enum fleet_kind kind = a->question->kind;
        struct fleet_sides sides = {0};
        struct fleet_moments m = {0};
        bool has_ahead = false;
        int r = find_moments(server, a, &m, &has_ahead, reterr);

        if (r >= 0 && has_ahead)
                r = find_ahead(server, a, reterr);
        if (r >= 0 && a->now_s)
                r = find_builds(server, a, m, reterr);
        if (r < 0)
                return r;
        for (size_t i = 0; i < tables[kind].n; i++)
                vec_push(&a->columns, tables[kind].columns[i]);
        if (a->now_s) {
                if (kind == FLEET_RELEASE)
                        r = find_sides(server, a, m, &sides, reterr);
                if (r >= 0)
                        r = ask_table(server, a, m, &sides, reterr);
                if (r >= 0 && kind == FLEET_SERVICES)
                        r = find_history(server, a, m, reterr);
                if (r >= 0 && kind == FLEET_HOSTS)
                        r = find_excess(server, a, m, reterr);
                if (r >= 0)
                        r = find_frames(server, a, reterr);
                if (r >= 0)
                        r = find_doubts(server, a, m, reterr);
        }
        if (r >= 0)
                fleet_say(a, &sides);
        return r;
}

/* Names, then rows. */
static int ask_own(struct server_link *server, struct fleet_answer *a, struct err *reterr) {
        size_t max_rows = a->question->n_rows;
        struct server_rows rows;
        struct unit_text n;
        int r = server_link_ask_own(server, a->question->sql, FLEET_MAX_ROWS + 1, &rows, reterr);

        for (size_t c = 0; r >= 0 && c < rows.n_columns; c++)
                vec_push(&a->columns,
                         (struct fleet_column){.key = keep(a, server_rows_text(&rows, 0, c)),
                                               .title = keep(a, server_rows_text(&rows, 0, c))});
        for (size_t i = 1; r >= 0 && i < rows.n_rows && a->n_rows < max_rows; i++, a->n_rows++)
                for (size_t c = 0; c < rows.n_columns; c++)
                        vec_push(&a->cells,
                                 (struct fleet_cell){
                                         .text = server_rows_is_null(&rows, i, c)
                                                         ? NULL
                                                         : keep(a, server_rows_text(&rows, i, c))});
        if (r >= 0) {
                a->has_more = rows.n_rows > a->n_rows + 1;
                str_addf(&a->sentence, "%s%s row%s.", a->has_more ? "The first " : "",
                         unit_count(&n, a->n_rows), unit_s(a->n_rows));
        }
        server_rows_done(&rows);
        return r;
}

int fleet_ask(struct server_link *server, const struct fleet_question *q, struct fleet_answer *ret,
              struct err *reterr) {
        int r;

        *ret = (struct fleet_answer){.asked = *q};
        ret->question = &ret->asked;
        r = fleet_question_check(q, reterr);
        if (r < 0)
                return r;
        return q->kind == FLEET_SQL ? ask_own(server, ret, reterr) : ask_known(server, ret, reterr);
}

void fleet_answer_done(struct fleet_answer *a) {
        str_done(&a->sentence);
        for (size_t i = 0; i < a->doubts.n; i++)
                free(a->doubts.items[i]);
        for (size_t i = 0; i < a->paths.n; i++) {
                free(a->paths.items[i].id);
                free(a->paths.items[i].frames);
        }
        for (size_t i = 0; i < a->texts.n; i++)
                free(a->texts.items[i]);
        vec_free(&a->doubts);
        vec_free(&a->paths);
        vec_free(&a->texts);
        vec_free(&a->columns);
        vec_free(&a->cells);
        vec_free(&a->history);
}

const char *fleet_answer_frames(const struct fleet_answer *a, const char *id) {
        for (size_t i = 0; i < a->paths.n; i++)
                if (strcmp(a->paths.items[i].id, id) == 0)
                        return a->paths.items[i].frames;
        return NULL;
}
