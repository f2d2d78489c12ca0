/* SPDX-License-Identifier: MIT */
/* A recording cut into columns, with the call paths they are about: silt.columns/1. */
#include <errno.h>

#include "answer/answers.h"
#include "answer/column_paths.h"
#include "answer/columns.h"
#include "query/spent_time.h"

/* Which of the figures mean nothing, for their source did not know them. */
static void put_unknown(struct json *j, uint32_t flags) {
        static const struct {
                const char *figure;
                uint32_t lacks;
        } figures[] = {
                {"count", TRACE_LACKS_TRAFFIC | TRACE_LACKS_BLOCKS},
                {"allocated_bytes", TRACE_LACKS_TRAFFIC | TRACE_LACKS_BLOCKS},
                {"frees", TRACE_LACKS_TRAFFIC | TRACE_LACKS_BLOCKS | TRACE_LACKS_LIVE},
                {"bytes_freed", TRACE_LACKS_TRAFFIC | TRACE_LACKS_BLOCKS | TRACE_LACKS_LIVE},
                {"temporary", TRACE_IS_TOTALS},
                {"reallocations", TRACE_IS_TOTALS},
                {"peak_bytes", TRACE_LACKS_PEAK},
                {"peak_blocks", TRACE_LACKS_BLOCKS | TRACE_LACKS_PEAK},
                {"begin_blocks", TRACE_LACKS_BLOCKS | TRACE_LACKS_LIVE},
                {"end_blocks", TRACE_LACKS_BLOCKS | TRACE_LACKS_LIVE},
                {"begin_bytes", TRACE_LACKS_LIVE},
                {"end_bytes", TRACE_LACKS_LIVE},
        };

        json_key(j, "unknown");
        json_array(j);
        for (size_t i = 0; i < ARRAY_SIZE(figures); i++)
                if (figures[i].lacks & flags)
                        json_string(j, figures[i].figure);
        json_end(j);
}

static uint32_t alike(void *ctx, uint32_t stack) {
        return column_paths_alike(ctx, stack);
}

/* Conditions on single blocks leave time out; then `why` is a text. */
static int make_time(struct question *k, enum query_time of, struct columns *c, struct err *why,
                     struct err *reterr) {
        _cleanup_(column_paths_freep) struct column_paths *paths = column_paths_new(&k->frames);
        const struct columns_options o = {COLUMNS_N_COLUMNS, k->asked->n_rows, alike, paths};
        struct query_scope scope = k->resolved.scope;
        struct err e = {0};
        int r;

        scope.of_time = of;
        scope.of_mappings = false;
        r = columns_make(c, k->q, &scope, &o, &e);
        if (r < 0)
                *(r == -EINVAL ? why : reterr) = e;
        return r == -EINVAL ? 0 : r;
}

static void put_time(struct question *k, const char *key, const struct columns *c,
                     struct column_paths *paths) {
        json_key(&k->j, key);
        json_object(&k->j);
        columns_put_time(&k->j, c);
        column_paths_put(&k->j, paths, c->paths.items, c->paths.n, true);
        json_end(&k->j);
}

/* null: nobody looked, or it cannot be told of what is chosen. */
static int put_times(struct question *k, struct column_paths *paths, struct err *reterr) {
        struct columns cpu = {0}, blocked = {0};
        struct err why = {0};
        int r = 0;

        if (query_has_ticks(k->q)) {
                r = make_time(k, QUERY_CPU_TIME, &cpu, &why, reterr);
                if (r >= 0 && !why.text[0])
                        r = make_time(k, QUERY_BLOCKED_TIME, &blocked, &why, reterr);
        }
        json_key(&k->j, "time");
        if (r >= 0 && query_has_ticks(k->q) && !why.text[0]) {
                json_object(&k->j);
                put_time(k, "cpu", &cpu, paths);
                put_time(k, "blocked", &blocked, paths);
                json_end(&k->j);
        } else {
                json_null(&k->j);
        }
        if (why.text[0])
                json_put_string(&k->j, "without_time", why.text);
        columns_done(&cpu);
        columns_done(&blocked);
        return r;
}

int answer_columns(struct question *k, struct err *reterr) {
        _cleanup_(column_paths_freep) struct column_paths *paths = column_paths_new(&k->frames);
        const struct columns_options o = {COLUMNS_N_COLUMNS, k->asked->n_rows, NULL, NULL};
        struct query_scope scope = k->resolved.scope;
        struct columns c;
        int r;

        scope.of_time = QUERY_NO_TIME;
        r = columns_make(&c, k->q, &scope, &o, reterr);
        if (r >= 0) {
                json_object(&k->j);
                json_put_string(&k->j, "schema", "silt.columns/1");
                columns_put(&k->j, &c, k->v->end_ns);
                put_unknown(&k->j, k->v->meta.flags);
                column_paths_put(&k->j, paths, c.paths.items, c.paths.n, false);
                r = put_times(k, paths, reterr);
                column_paths_put_frames(&k->j, paths);
                json_end(&k->j);
        }
        columns_done(&c);
        return r;
}
