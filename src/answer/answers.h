/* SPDX-License-Identifier: MIT */
/* What the answers share. Inside answer/ only. */
#pragma once

#include "answer/answerer.h"
#include "answer/asked.h"
#include "base/json.h"
#include "show/frame.h"
#include "show/show_options.h"

enum {
        ANSWER_MAX_EVENTS = SHOW_MAX_EVENTS, /* read for what needs single blocks */
        ANSWER_USUAL_BLOCKS = 1000,          /* where the question does not say */
        ANSWER_MAX_PROCESSES = 200,
        ANSWER_MAX_THREADS = 1000,
};

/* A question about an open trace. */
struct question {
        const struct asked *asked;
        struct asker *asker;
        struct query *q;
        const struct trace_view *v;
        struct frame_names frames;
        struct show_options options; /* resolved */
        struct request_resolved resolved;
        FILE *out;
        struct json j;
};

/* What the views of commands print. */
int answer_report(struct question *k, struct err *reterr);
int answer_source(struct question *k, struct err *reterr);
int answer_flame(struct question *k, struct err *reterr);
int answer_diff(struct question *k, struct err *reterr);
int answer_holders(struct question *k, struct err *reterr);
int answer_neighbours(struct question *k, struct err *reterr);
int answer_tasks(struct question *k, struct err *reterr);
int answer_bill(struct question *k, struct err *reterr);
int answer_heap(struct question *k, struct err *reterr);
/* What is only here. */
int answer_trace(struct question *k, struct err *reterr);
int answer_timeline(struct question *k, struct err *reterr);
int answer_table(struct question *k, struct err *reterr);
int answer_found(struct question *k, struct err *reterr);
int answer_detail(struct question *k, struct err *reterr);
int answer_heat(struct question *k, struct err *reterr);
int answer_threads(struct question *k, struct err *reterr);
int answer_columns(struct question *k, struct err *reterr);
int answer_sql(struct question *k, struct err *reterr);
int answer_sql_schema(struct question *k, struct err *reterr);

/* ---- of the asker -------------------------------------------------------------------------------- */

const struct answerer_options *asker_options(const struct asker *k);
uint64_t asker_version(const struct asker *k);
bool asker_is_growing(const struct asker *k);
/* The older trace by names of its own; NULL: there is none. */
struct query *asker_old(struct asker *k);
/* Both by the same names, as a comparison needs them. False: there is no older trace. */
bool asker_pair(struct asker *k, struct query **ret_old, struct query **ret_new);

/* An engine for SQL about a process, or QUERY_ALL, told to stop when the asker is. One for each question, the caller's: its doubts are of
 * all its answers. */
struct sql;
int asker_sql(struct asker *k, uint32_t process, struct sql **ret, struct err *reterr);
/* To who waits for parts of an answer. */
void asker_part(struct asker *k, const char *json);
/* 0, or -ETIME, -ECANCELED: it was told to stop. */
int asker_go_on(struct asker *k);

/* ---- JSON ------------------------------------------------------------------------------------------ */

static inline double answer_seconds(uint64_t ns) {
        return (double)ns / 1e9;
}
static inline void answer_put_bool(struct json *j, const char *key, bool v) {
        json_key(j, key);
        json_bool(j, v);
}
static inline void answer_put_seconds(struct json *j, const char *key, uint64_t ns) {
        json_put_double(j, key, answer_seconds(ns), 6);
}
void answer_put_null(struct json *j, const char *key);
/* Appends what a group is called in one line. */
void answer_add_group(const struct question *k, enum query_by by, const struct query_group *g,
                      struct str *to);
