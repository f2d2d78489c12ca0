/* SPDX-License-Identifier: MIT */
/* Who keeps traces open, and who answers what. */
#include "answer/answerer.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>

#include "answer/answers.h"
#include "base/system_clock.h"
#include "base/vec.h"
#include "name/match.h"
#include "show/opened.h"
#include "sql/sql.h"
#include "trace/being_written.h"

struct answerer {
        struct answerer_options o;
        struct opened new, old;   /* old: only where there is one */
        _Atomic uint64_t version; /* any thread may look */
        bool is_growing;
        bool was_refreshed;
        pthread_mutex_t lock; /* of what follows, and of making queries that share the traces */
        VEC(struct asker *) askers;
        /* Wrappers of allocators, which the first who asks a trace learns for all; NULL: nobody did so far. A lock of its own:
         * it is held while somebody learns, so that the others wait and do not do the same. */
        pthread_mutex_t learning;
        struct names *known_of_new, *known_of_old;
};

/* A trace as one thread asks it. */
struct seat {
        struct query *q; /* NULL: not needed so far */
        struct names *names;
};

struct asker {
        struct answerer *of;
        struct seat new, old;
        struct seat pair[NAME_N_SIDES]; /* by the names of the first */
        query_progress_fn progress;
        void *progress_ctx;
        answer_part_fn part;
        void *part_ctx;
        uint64_t deadline_ns;
};

/* ---- traces -------------------------------------------------------------------------------------- */

/* What stands in the place of bytes is one for all that is told, and nanoseconds less bytes are nothing. */
static int refuse_other_units(const struct answerer *a, struct err *reterr) {
        if (!a->old.q || query_view(a->new.q)->meta.unit == query_view(a->old.q)->meta.unit)
                return 0;
        return err_set(reterr, -ENOTSUP,
                       "'%s' and '%s' cannot be compared: figures of one are %s, of the other %s",
                       a->o.old_path, a->o.path,
                       query_view(a->old.q)->meta.unit == TRACE_UNIT_OTHER
                               ? "of an unknown unit"
                               : query_unit_name(a->old.q),
                       query_view(a->new.q)->meta.unit == TRACE_UNIT_OTHER
                               ? "of an unknown unit"
                               : query_unit_name(a->new.q));
}

int answerer_new(const struct answerer_options *o, struct answerer **ret, struct err *reterr) {
        struct answerer *a = calloc(1, sizeof(*a));
        int r;

        if (!a)
                abort();
        a->o = *o;
        a->version = o->version ? o->version : 1;
        a->is_growing =
                trace_is_being_written(o->path); /* before it is read: then its end is not missed */
        pthread_mutex_init(&a->lock, NULL);
        pthread_mutex_init(&a->learning, NULL);
        r = opened_init(&a->new, o->path, &o->rules, reterr);
        if (r >= 0 && o->old_path)
                r = opened_init(&a->old, o->old_path, &o->rules, reterr);
        if (r >= 0)
                r = refuse_other_units(a, reterr);
        opened_end_progress(&a->new);
        opened_end_progress(&a->old);
        if (r < 0) {
                answerer_free(a);
                return r;
        }
        *ret = a;
        return 0;
}

struct answerer *answerer_free(struct answerer *a) {
        if (!a)
                return NULL;
        vec_free(&a->askers);
        opened_done(&a->new);
        opened_done(&a->old);
        names_free(a->known_of_new);
        names_free(a->known_of_old);
        pthread_mutex_destroy(&a->learning);
        pthread_mutex_destroy(&a->lock);
        free(a);
        return NULL;
}

uint64_t answerer_version(const struct answerer *a) {
        return a->version;
}

bool answerer_is_growing(const struct answerer *a) {
        return a->is_growing;
}

/* ---- askers -------------------------------------------------------------------------------------- */

static void seat_leave(struct seat *s) {
        s->q = query_free(s->q);
        s->names = names_free(s->names);
}

/* Learning looks at every call path: one does it, the others take over what it found. */
static void seat_learn(struct seat *s, struct answerer *a, const struct names *learned,
                       struct names **known) {
        pthread_mutex_lock(&a->learning);
        if (*known || learned) {
                name_learn_like(s->names, *known ? *known : learned);
        } else if (query_learn_wrappers(s->q, NULL) >= 0 &&
                   names_load(&a->o.rules, known, NULL) >= 0) {
                name_learn_like(*known, s->names);
        }
        pthread_mutex_unlock(&a->learning);
}

/* Opening a trace teaches its names; NULL: it has grown since, and is learned anew. */
static const struct names *learned_of(const struct answerer *a, const struct query *of) {
        if (of != a->new.q)
                return a->old.names;
        return a->was_refreshed ? NULL : a->new.names;
}

/* names: of another seat; NULL: its own. */
static struct query *seat_take(struct seat *s, struct query *of, struct names *names,
                               const struct asker *k) {
        if (!s->q) {
                bool is_alone = !names;

                /* the first of them completes what all share: one at a time */
                pthread_mutex_lock(&k->of->lock);
                s->q = query_open_shared(of);
                pthread_mutex_unlock(&k->of->lock);
                if (!names && names_load(&k->of->o.rules, &s->names, NULL) >= 0)
                        names = s->names;
                if (names)
                        query_set_names(s->q, names);
                if (is_alone && s->names)
                        seat_learn(s, k->of, learned_of(k->of, of),
                                   of == k->of->new.q ? &k->of->known_of_new
                                                      : &k->of->known_of_old);
                else
                        query_learn_wrappers(s->q, NULL);
        }
        query_set_progress(s->q, k->progress, k->progress_ctx);
        query_set_deadline(s->q, k->deadline_ns);
        return s->q;
}

static void asker_leave(struct asker *k) {
        seat_leave(&k->new);
        seat_leave(&k->old);
        seat_leave(&k->pair[NAME_NEW]); /* before the names it is by */
        seat_leave(&k->pair[NAME_OLD]);
}

struct asker *asker_new(struct answerer *a) {
        struct asker *k = calloc(1, sizeof(*k));

        if (!k)
                abort();
        k->of = a;
        pthread_mutex_lock(&a->lock);
        vec_push(&a->askers, k);
        pthread_mutex_unlock(&a->lock);
        return k;
}

struct asker *asker_free(struct asker *k) {
        struct answerer *a;

        if (!k)
                return NULL;
        a = k->of;
        pthread_mutex_lock(&a->lock);
        for (size_t i = 0; i < a->askers.n; i++)
                if (a->askers.items[i] == k)
                        a->askers.items[i--] = a->askers.items[--a->askers.n];
        pthread_mutex_unlock(&a->lock);
        asker_leave(k);
        free(k);
        return NULL;
}

void asker_set_progress(struct asker *k, query_progress_fn fn, void *ctx) {
        k->progress = fn;
        k->progress_ctx = ctx;
}

void asker_set_part(struct asker *k, answer_part_fn fn, void *ctx) {
        k->part = fn;
        k->part_ctx = ctx;
}

void asker_part(struct asker *k, const char *json) {
        if (k->part)
                k->part(k->part_ctx, json);
}

void asker_set_deadline(struct asker *k, uint64_t monotonic_ns) {
        k->deadline_ns = monotonic_ns;
}

const struct answerer_options *asker_options(const struct asker *k) {
        return &k->of->o;
}

uint64_t asker_version(const struct asker *k) {
        return k->of->version;
}

bool asker_is_growing(const struct asker *k) {
        return k->of->is_growing;
}

struct query *asker_old(struct asker *k) {
        return k->of->old.q ? seat_take(&k->old, k->of->old.q, NULL, k) : NULL;
}

bool asker_pair(struct asker *k, struct query **ret_old, struct query **ret_new) {
        if (!k->of->old.q)
                return false;
        *ret_old = seat_take(&k->pair[NAME_OLD], k->of->old.q, NULL, k);
        *ret_new = seat_take(&k->pair[NAME_NEW], k->of->new.q, k->pair[NAME_OLD].names, k);
        return true;
}

struct query *asker_query(struct asker *k) {
        return seat_take(&k->new, k->of->new.q, NULL, k);
}

int asker_go_on(struct asker *k) {
        if (k->progress && !k->progress(k->progress_ctx, 0, 0))
                return -ECANCELED;
        return k->deadline_ns && clock_now_ns() > k->deadline_ns ? -ETIME : 0;
}

static bool on_sql_progress(void *ctx, uint64_t n_rows_read) {
        (void)n_rows_read;
        return asker_go_on(ctx) >= 0;
}

int asker_sql(struct asker *k, uint32_t process, struct sql **ret, struct err *reterr) {
        struct query *old = NULL, *new;
        struct sql_options o = {.process = process};
        int r;

        /* as a comparison has them where there are two, so that names of functions are equal */
        if (!asker_pair(k, &old, &new))
                new = asker_query(k);
        o.trace = (struct sql_trace){new, query_names(new), k->of->o.path};
        if (old)
                o.other = (struct sql_trace){old, query_names(old), k->of->o.old_path};
        r = sql_open(&o, ret, reterr);
        if (r >= 0)
                sql_set_progress(*ret, on_sql_progress, k);
        return r;
}

/* What was learned of a trace goes with what was read of it. */
int answerer_refresh(struct answerer *a, struct err *reterr) {
        int r;

        pthread_mutex_lock(&a->lock);
        for (size_t i = 0; i < a->askers.n; i++)
                asker_leave(a->askers.items[i]);
        pthread_mutex_unlock(&a->lock);
        a->known_of_new = names_free(a->known_of_new);
        a->is_growing = trace_is_being_written(a->o.path);
        r = query_refresh(a->new.q, reterr);
        a->was_refreshed |= r != 0;
        a->version += r > 0;
        return r;
}

/* ---- answers ------------------------------------------------------------------------------------- */

static const char *const kind_names[ANSWER_N_KINDS + 1] = {
        [ANSWER_TRACE] = "trace",
        [ANSWER_REPORT] = "report",
        [ANSWER_TIMELINE] = "timeline",
        [ANSWER_FLAME] = "flame",
        [ANSWER_TABLE] = "table",
        [ANSWER_DETAIL] = "detail",
        [ANSWER_FOUND] = "found",
        [ANSWER_SOURCE] = "source",
        [ANSWER_HEAT] = "heat",
        [ANSWER_THREADS] = "threads",
        [ANSWER_DIFF] = "diff",
        [ANSWER_COLUMNS] = "columns",
        [ANSWER_HOLDERS] = "holders",
        [ANSWER_NEIGHBOURS] = "neighbours",
        [ANSWER_TASKS] = "tasks",
        [ANSWER_BILL] = "bill",
        [ANSWER_HEAP] = "heap",
        [ANSWER_SQL] = "sql",
        [ANSWER_SQL_SCHEMA] = "sql-schema",
};

static int (*const answers[ANSWER_N_KINDS])(struct question *k, struct err *reterr) = {
        [ANSWER_TRACE] = answer_trace,
        [ANSWER_REPORT] = answer_report,
        [ANSWER_TIMELINE] = answer_timeline,
        [ANSWER_FLAME] = answer_flame,
        [ANSWER_TABLE] = answer_table,
        [ANSWER_DETAIL] = answer_detail,
        [ANSWER_FOUND] = answer_found,
        [ANSWER_SOURCE] = answer_source,
        [ANSWER_HEAT] = answer_heat,
        [ANSWER_THREADS] = answer_threads,
        [ANSWER_DIFF] = answer_diff,
        [ANSWER_COLUMNS] = answer_columns,
        [ANSWER_HOLDERS] = answer_holders,
        [ANSWER_NEIGHBOURS] = answer_neighbours,
        [ANSWER_TASKS] = answer_tasks,
        [ANSWER_BILL] = answer_bill,
        [ANSWER_HEAP] = answer_heap,
        [ANSWER_SQL] = answer_sql,
        [ANSWER_SQL_SCHEMA] = answer_sql_schema,
};

const char *const *answer_names(void) {
        return kind_names;
}

/* Flame and diff resolve their sides themselves. */
static bool is_resolved_here(enum answer_kind kind) {
        return kind != ANSWER_FLAME && kind != ANSWER_DIFF;
}

static int ask(struct asker *a, struct asked *asked, FILE *out, struct err *reterr) {
        struct question k = {.asked = asked, .asker = a, .out = out};
        int r = 0;

        /* programs that read this know it so: docs/http-api.md */
        if ((asked->kind == ANSWER_REPORT || asked->kind == ANSWER_SOURCE) &&
            !asked->request.process)
                r = request_set(&asked->request, "process", "all", reterr);
        if (asked->request.shape == REQUEST_BLOCKS && !asked->request.has_top)
                asked->request.has_top = true, asked->request.n_top = ANSWER_USUAL_BLOCKS;
        k.q = seat_take(&a->new, a->of->new.q, NULL, a);
        k.v = query_view(k.q);
        k.frames = (struct frame_names){k.q, query_names(k.q), asked->request.full};
        k.options = (struct show_options){.path = a->of->o.path,
                                          .request = &asked->request,
                                          .json = true};
        json_init(&k.j, out);
        if (r >= 0 && k.v->n_processes == 0) /* as it is not when it is opened */
                r = err_set(reterr, -ENODATA, "'%s' was cut while it was open: record it again",
                            a->of->o.path);
        if (r >= 0 && is_resolved_here(asked->kind))
                r = show_resolve(&k.options, k.q, REQUEST_ALL, &k.resolved, reterr);
        if (r >= 0) {
                r = asker_go_on(a); /* a short answer never asks */
                if (r < 0)
                        err_set(reterr, r, "the answer was stopped");
        }
        if (r >= 0)
                r = answers[asked->kind](&k, reterr);
        request_resolved_done(&k.resolved);
        return r;
}

int answer(struct asker *k, const char *name, const char *query, size_t n, FILE *out,
           struct err *reterr) {
        unsigned kind = 0;
        struct asked asked;
        int r;

        while (kind_names[kind] && strcmp(kind_names[kind], name) != 0)
                kind++;
        if (!kind_names[kind])
                return err_set(reterr, -ENOENT, "'%.64s': no such answer", name);
        r = asked_parse(&asked, (enum answer_kind)kind, query, n, reterr);
        if (r >= 0)
                r = ask(k, &asked, out, reterr);
        asked_done(&asked);
        return r;
}
