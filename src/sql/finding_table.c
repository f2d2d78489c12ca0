/* SPDX-License-Identifier: MIT */
/* findings: what the report finds, most important first. */
#include <stdlib.h>

#include "base/str.h"
#include "finding/joined.h"
#include "finding/time_parts.h"
#include "keep/lost_sites.h"
#include "query/spent_time.h"
#include "show/opened.h"
#include "show/process_holders.h"
#include "sql/all_tables.h"

enum {
        FOUND_RANK,
        FOUND_KIND,
        FOUND_SEVERITY,
        FOUND_TEXT,
        FOUND_BYTES,
        FOUND_STACK,
        FOUND_FUNCTION,
        FOUND_PROCESS,
        FOUND_NEXT,
};

struct finding_cursor {
        struct sql_cursor c;
        size_t i;
};

static double n_findings(struct sql_space *space) {
        (void)space;
        return FINDING_MAX;
}

/* ---- finding ----------------------------------------------------------------------------------- */

static int gather_time(struct sql_space *s, const struct query_answer *a, struct time_parts *cpu,
                       struct time_parts *blocked, struct err *reterr) {
        struct query_scope scope = a->scope;
        int r;

        scope.of_time = QUERY_CPU_TIME;
        r = time_parts_gather(s->trace.q, s->trace.names, &scope, cpu, reterr);
        scope.of_time = QUERY_BLOCKED_TIME;
        return r < 0 ? r : time_parts_gather(s->trace.q, s->trace.names, &scope, blocked, reterr);
}

static int find_in(struct sql_space *s, const struct query_answer *a, const char *process,
                   struct findings **ret, struct err *reterr) {
        struct request shown = {.process = (char *)process, .min_share_pct = -1};
        struct request base = request_copy(&shown);
        const struct query_totals *t = &a->totals;
        struct lost_sites lost = {.q = s->trace.q, .process = a->scope.process};
        struct time_parts cpu = {0}, blocked = {0};
        /* of several processes once, of all of them */
        bool with_time = query_has_ticks(s->trace.q) && (!process || s->process != QUERY_ALL);
        int r = with_time ? gather_time(s, a, &cpu, &blocked, reterr) : 0;

        if (r >= 0)
                r = findings_make(
                        &(struct finding_source){
                                .q = s->trace.q,
                                .names = s->trace.names,
                                .answer = a,
                                .whole = t,
                                .complete_stacks_pct =
                                        t->n_allocs ? 100.0 * (double)t->n_complete_stacks /
                                                              (double)t->n_allocs
                                                    : 100,
                                .request = &base,
                                .lost = lost_sites_bytes,
                                .lost_ctx = &lost,
                                .cpu = with_time ? &cpu : NULL,
                                .blocked = with_time ? &blocked : NULL},
                        ret, reterr);

        lost_sites_done(&lost);
        time_parts_done(&cpu);
        time_parts_done(&blocked);
        request_done(&base);
        return r;
}

static int find_in_process(struct sql_space *s, uint32_t process, struct findings **ret,
                           struct err *reterr) {
        _cleanup_(query_answer_freep) struct query_answer *a = NULL;
        struct query_scope scope = space_scope(s);
        struct str word = {0};
        int r;

        scope.process = process;
        r = query_ask(s->trace.q, &scope, &a, reterr);
        if (r < 0)
                return r;
        query_add_process_word(s->trace.q, process, &word);
        r = find_in(s, a, str_text(&word), ret, reterr);
        str_done(&word);
        return r;
}

/* As the report does: in the sum, and in each process that holds a good part of it. */
static int find_in_all(struct sql_space *s, const struct query_answer *all, struct err *reterr) {
        uint32_t processes[HOLDERS_MAX];
        size_t n = holders_of(s->trace.q, all, processes);
        struct findings_parts crowd = {.q = s->trace.q};
        int r = find_in(s, all, NULL, &crowd.together, reterr);

        for (size_t i = 0; i < n && r >= 0; i++) {
                uint32_t p = processes[i];

                r = find_in_process(s, p, &crowd.parts[crowd.n].found, reterr);
                if (r < 0)
                        break;
                crowd.parts[crowd.n].is_heir =
                        query_own_peak_bytes(all, p) < all->processes[p].peak_bytes / 2;
                crowd.parts[crowd.n++].process = p;
        }
        if (r >= 0)
                s->findings = findings_join(&crowd);
        else
                findings_parts_done(&crowd);
        return r;
}

static int find(struct sql_space *s, struct err *reterr) {
        const struct query_answer *whole;
        int r;

        if (s->findings)
                return 0;
        if (s->process != QUERY_ALL && s->view->n_processes > 1)
                return find_in_process(s, s->process, &s->findings, reterr);
        r = space_whole(s, &whole, reterr);
        if (r < 0)
                return r;
        return s->view->n_processes > 1 ? find_in_all(s, whole, reterr)
                                        : find_in(s, whole, NULL, &s->findings, reterr);
}

/* ---- rows -------------------------------------------------------------------------------------- */

static void finding_settle(struct finding_cursor *f) {
        f->c.rowid = (int64_t)f->i + 1;
        f->c.is_eof = f->i >= f->c.space->findings->n;
}

static int finding_next(struct sql_cursor *base, struct err *reterr) {
        struct finding_cursor *f = (struct finding_cursor *)base;

        (void)reterr;
        f->i++;
        finding_settle(f);
        return 0;
}

static int finding_begin(struct sql_cursor *base, const struct sql_ask *ask, struct err *reterr) {
        struct finding_cursor *f = (struct finding_cursor *)base;
        int r;

        (void)ask;
        sql_begin_own_work(base->space->sql);
        r = find(base->space, reterr);
        sql_end_own_work(base->space->sql);
        if (r < 0)
                return r;
        f->i = 0;
        finding_settle(f);
        return 0;
}

static void put_next(const struct sql_space *s, const struct finding *f, sqlite3_context *to) {
        struct str next = {0};

        opened_add_step(f->next, s->trace.path, &next);
        if (next.n)
                sqlite3_result_text(to, str_text(&next), -1, SQLITE_TRANSIENT);
        str_done(&next);
}

static void finding_column(struct sql_cursor *base, sqlite3_context *to, int column) {
        size_t i = ((const struct finding_cursor *)base)->i;
        const struct sql_space *s = base->space;
        const struct finding *f = &s->findings->items[i];

        switch (column) {
        case FOUND_RANK: sql_result_count(to, i + 1); break;
        case FOUND_KIND: sql_result_name(to, f->kind); break;
        case FOUND_SEVERITY: sql_result_name(to, finding_severity_name(f->severity)); break;
        case FOUND_TEXT: sql_result_name(to, f->text); break;
        case FOUND_BYTES: sql_result_count(to, f->bytes); break;
        case FOUND_STACK:
                if (f->has_site)
                        sqlite3_result_int64(to, f->site.stack);
                break;
        case FOUND_FUNCTION: sql_result_name(to, f->function[0] ? f->function : NULL); break;
        case FOUND_PROCESS:
                if (f->process != QUERY_ALL)
                        sqlite3_result_int64(to, f->process);
                break;
        case FOUND_NEXT: put_next(s, f, to); break;
        default: break;
        }
}

static const struct sql_column finding_columns[] = {
        [FOUND_RANK] = {"rank", "1 is the most important"},
        [FOUND_KIND] = {"kind", "growing, leak, temporary and so on", .type = "TEXT"},
        [FOUND_SEVERITY] = {"severity", "problem, worth-knowing, note", .type = "TEXT"},
        [FOUND_TEXT] = {"text", "in words", .type = "TEXT"},
        [FOUND_BYTES] = {"bytes", "that it is about"},
        [FOUND_STACK] = {"stack", "the largest call path that it is about: stacks.id"},
        [FOUND_FUNCTION] = {"function", "to be looked at", .type = "TEXT"},
        [FOUND_PROCESS] = {"process", "of several the one it is in: processes.id"},
        [FOUND_NEXT] = {"next", "the command to run next", .type = "TEXT"},
};

const struct sql_table sql_findings = {
        .name = "findings",
        .help = "what the report finds, most important first",
        SQL_COLUMNS(finding_columns),
        .cursor_bytes = sizeof(struct finding_cursor),
        .n_rows = n_findings,
        .row_cost = 1000,
        .begin = finding_begin,
        .next = finding_next,
        .column = finding_column,
};
