/* SPDX-License-Identifier: MIT */
#include "cli/sql_plan.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/macros.h"
#include "base/str.h"
#include "base/vec.h"
#include "base/visible.h"
#include "cli/sql_complete.h"
#include "sql/sql_advice.h"

struct plan_step {
        int64_t id, parent;
        char *detail;
};

struct plan {
        struct sql *sql;
        const char *statement;
        FILE *out;
        VEC(struct plan_step) steps;
};

/* "SCAN s VIRTUAL TABLE INDEX 0:1f 2 2": a table of silt's. False: it is not about one. */
static bool add_table(const struct plan *p, const char *detail, bool is_inner, struct str *to) {
        static const char marker[] = " VIRTUAL TABLE INDEX ";
        const char *name = strchr(detail, ' '), *behind = strstr(detail, marker), *plan;
        const struct sql_table_info *t;

        if (!name || !behind || behind < ++name)
                return false;
        plan = strchr(behind + strlen(marker), ':');
        t = sql_table_called(p->sql, p->statement, name, (size_t)(behind - name));
        str_add(to, is_inner ? "for each row of that: " : "");
        if (!t || !plan) {
                str_addf(to, "read %.*s", (int)(behind - name), name);
                return true;
        }
        str_addf(to, "read %s", t->name);
        if (strlen(t->name) != (size_t)(behind - name))
                str_addf(to, " (%.*s)", (int)(behind - name), name);
        sql_add_conditions(t, plan + 1, to);
        return true;
}

static void add_step(const struct plan *p, const char *detail, bool is_inner, struct str *to) {
        static const struct {
                const char *begin, *words;
                bool with_rest;
        } known[] = {
                {"USE TEMP B-TREE FOR GROUP BY", "sort the rows into groups", false},
                {"USE TEMP B-TREE FOR ORDER BY", "sort the rows", false},
                {"USE TEMP B-TREE FOR RIGHT PART OF ORDER BY", "sort rows that are equal so far",
                 false},
                {"USE TEMP B-TREE FOR LAST TERM OF ORDER BY", "sort rows that are equal so far",
                 false},
                {"USE TEMP B-TREE FOR DISTINCT", "leave out rows that were there before", false},
                {"USE TEMP B-TREE FOR ", "keep the rows for ", true},
                {"CO-ROUTINE ", "make, row by row, ", true},
                {"MATERIALIZE ", "make and keep ", true},
                {"CORRELATED SCALAR SUBQUERY ", "for each row: a value of subquery ", true},
                {"CORRELATED LIST SUBQUERY ", "for each row: the list of subquery ", true},
                {"SCALAR SUBQUERY ", "once: a value of subquery ", true},
                {"LIST SUBQUERY ", "once: the list of subquery ", true},
                {"COMPOUND QUERY", "one after the other:", false},
                {"LEFT-MOST SUBQUERY", "first:", false},
                {"UNION ALL", "then:", false},
                {"UNION USING TEMP B-TREE", "then, without rows that were there before:", false},
                {"MERGE ", "put two sorted answers together:", false},
                {"LEFT", "one:", false},
                {"RIGHT", "the other:", false},
                {"SCAN CONSTANT ROW", "one row of constants", false},
        };

        if (add_table(p, detail, is_inner, to))
                return;
        for (size_t i = 0; i < ARRAY_SIZE(known); i++) {
                size_t n = strlen(known[i].begin);

                if (strncmp(detail, known[i].begin, n) == 0) {
                        str_addf(to, "%s%s", known[i].words, known[i].with_rest ? detail + n : "");
                        return;
                }
        }
        str_add(to, is_inner ? "for each row of that: " : "");
        if (strncmp(detail, "SCAN ", 5) == 0)
                str_addf(to, "read %s", detail + 5);
        else if (strncmp(detail, "SEARCH ", 7) == 0)
                str_addf(to, "look up %s", detail + 7);
        else
                str_add(to, detail);
}

static bool is_reading(const char *detail) {
        return strncmp(detail, "SCAN ", 5) == 0 || strncmp(detail, "SEARCH ", 7) == 0;
}

/* Steps of the same parent that read are inside each other. */
static void put_steps(const struct plan *p, int64_t parent, size_t depth) {
        size_t n_reads = 0;

        for (size_t i = 0; i < p->steps.n && depth < 60; i++) {
                const struct plan_step *step = &p->steps.items[i];
                bool is_read = is_reading(step->detail);
                struct str words = {0}, clean = {0};

                if (step->parent != parent)
                        continue;
                add_step(p, step->detail, is_read && n_reads > 0, &words);
                visible_add(&clean, str_text(&words));
                fprintf(p->out, "%*s%s\n", (int)(2 * (depth + (is_read ? n_reads : 0))), "",
                        str_text(&clean));
                n_reads += is_read;
                str_done(&words);
                str_done(&clean);
                put_steps(p, step->id, depth + 1);
        }
}

static int read_steps(struct plan *p, struct err *reterr) {
        _cleanup_(sql_rows_freep) struct sql_rows *rows = NULL;
        struct str text = {0};
        int r;

        str_addf(&text, "EXPLAIN QUERY PLAN %s", p->statement);
        r = sql_prepare(p->sql, str_text(&text), &rows, NULL, reterr);
        str_done(&text);
        if (r < 0) {
                sql_advise(p->sql, p->statement, true, reterr);
                return r;
        }
        while (rows && (r = sql_next(rows, reterr)) > 0)
                vec_push(&p->steps,
                         (struct plan_step){sql_value(rows, 0).integer, sql_value(rows, 1).integer,
                                            strdup(sql_value(rows, 3).text)});
        return r;
}

int sql_plan_print(struct sql *s, const char *statement, FILE *out, struct err *reterr) {
        struct plan p = {.sql = s, .statement = statement, .out = out};
        int r = read_steps(&p, reterr);

        if (r >= 0)
                put_steps(&p, 0, 0);
        for (size_t i = 0; i < p.steps.n; i++)
                free(p.steps.items[i].detail);
        vec_free(&p.steps);
        return r;
}
