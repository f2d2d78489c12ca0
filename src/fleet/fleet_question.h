/* SPDX-License-Identifier: MIT */
/* What may be asked about many machines, and the answer as a table: docs/fleet.md.
 *
 *   struct fleet_question q = FLEET_QUESTION_DEFAULT;
 *   fleet_question_take(&q, "since", "2d", &err);
 *   fleet_ask(server, &q, &answer, &err);
 *   fleet_print_text(stdout, &answer); or fleet_print_json(stdout, &answer);
 *   fleet_answer_done(&answer); */
#pragma once

#include <stdbool.h>
#include <stdio.h>

#include "base/err.h"
#include "base/str.h"
#include "base/vec.h"

struct server_link;

enum fleet_kind {
        FLEET_SERVICES, /* who holds how much, and grew by how much */
        FLEET_GREW,     /* call paths that hold more than before */
        FLEET_RELEASE,  /* two builds beside each other */
        FLEET_HOSTS,    /* those unlike others of their service */
        FLEET_PATHS,    /* call paths of one service */
        FLEET_BUILDS,   /* what ran when, and held how much */
        FLEET_SQL,      /* a statement of the user's own */
        FLEET_N_KINDS,
};

enum {
        FLEET_USUAL_ROWS = 20,
        FLEET_MAX_ROWS = 10000,
        FLEET_MAX_NAME = 1024, /* of a name that is given */
        FLEET_MAX_SQL = 8192,
        FLEET_N_HISTORY = 48, /* columns of a service's history */
};

/* Texts are the caller's. */
struct fleet_question {
        enum fleet_kind kind;
        uint64_t since_s; /* how long before is "before" */
        uint64_t until_s; /* the moment, since 1970; 0: that of the newest snapshot */
        const char *service, *host, *build; /* NULL: any */
        const char *old_build, *new_build;
        const char *sql;
        uint64_t n_rows;
};

#define FLEET_QUESTION_DEFAULT                                                                     \
        { .kind = FLEET_N_KINDS, .since_s = 86400, .n_rows = FLEET_USUAL_ROWS }

/* A key and its value, as options and URLs have them: question, since (of a URL: back), until, service, host, build, old, new, top, sql. */
int fleet_question_take(struct fleet_question *q, const char *key, const char *value,
                        struct err *reterr);
/* From the query of a URL, "question=grew&back=1d", and checked; what it points to is added to *texts, which is empty and must live as
 * long. */
int fleet_question_parse(struct fleet_question *q, const char *keys, struct str *texts,
                         struct err *reterr);
/* Whether all that the question needs is there, and nothing that it does not know. */
int fleet_question_check(const struct fleet_question *q, struct err *reterr);
const char *fleet_kind_name(enum fleet_kind kind);

/* ---- the answer ------------------------------------------------------------------------------------ */

enum fleet_cell_kind {
        FLEET_CELL_TEXT,
        FLEET_CELL_BYTES,
        FLEET_CELL_CHANGE, /* of bytes, with a sign */
        FLEET_CELL_COUNT,
        FLEET_CELL_REAL,
        FLEET_CELL_TIME, /* seconds since 1970 */
        FLEET_CELL_PATH, /* a call path: its 32 digits; frames are in paths */
};

struct fleet_column {
        const char *key;   /* of JSON */
        const char *title; /* of a table; NULL: not shown there */
        enum fleet_cell_kind kind;
};

struct fleet_named_path {
        char *id;     /* 32 digits */
        char *frames; /* one a line, innermost first; NULL: the server does not have them */
};

struct fleet_cell {
        const char *text; /* as the server wrote it */
        double number;    /* 0 of a text */
};

struct fleet_answer {
        struct fleet_question asked; /* with whole builds in the place of their first digits */
        const struct fleet_question *question; /* that one */
        struct str sentence;
        VEC(char *) doubts;       /* sentences: what limits the figures */
        uint64_t now_s, before_s; /* 0: there is nothing */
        uint64_t server_now_s;    /* its clock */
        uint64_t n_hosts;         /* at the moment, of all rows that there are */
        bool is_all_ahead; /* there are snapshots, and all are later than the server's clock */
        VEC(struct fleet_column) columns;
        VEC(struct fleet_cell) cells; /* by row */
        size_t n_rows;
        bool has_more;
        VEC(struct fleet_named_path) paths;
        VEC(double) history; /* FLEET_SERVICES: FLEET_N_HISTORY of each row; negative: unknown */
        VEC(char *) texts;   /* that cells point to */
};

/* 0 or -errno, with a sentence in reterr. fleet_answer_done() in every case. */
int fleet_ask(struct server_link *server, const struct fleet_question *q, struct fleet_answer *ret,
              struct err *reterr);
void fleet_answer_done(struct fleet_answer *a);

/* Of the path with that id, or NULL. */
const char *fleet_answer_frames(const struct fleet_answer *a, const char *id);
/* "alloc ← parse ← main", cut to so many functions. */
void fleet_add_path(const struct fleet_answer *a, const char *id, size_t n_frames, struct str *to);

void fleet_print_text(FILE *out, const struct fleet_answer *a);
void fleet_print_json(FILE *out, const struct fleet_answer *a); /* silt.fleet/1 */
void fleet_print_csv(FILE *out, const struct fleet_answer *a);  /* the rows alone */
