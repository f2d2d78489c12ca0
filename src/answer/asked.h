/* SPDX-License-Identifier: MIT */
/* What a URL's query asks: a request as the commands have it, and the keys that only answers have. Inside answer/ only. */
#pragma once

#include "base/vec.h"
#include "request/request.h"

enum {
        ASKED_MAX_COLUMNS = 4096,
        ASKED_MAX_GROUPS = 12,
        ASKED_MAX_ROWS = 200000,
        ASKED_MAX_SPARKS = 200,
        ASKED_MAX_BOXES = 200000,
        ASKED_MAX_SQL_ROWS = 10000,
        ASKED_MAX_PARAMETERS = 100,
};

enum answer_kind {
        ANSWER_TRACE,
        ANSWER_REPORT,
        ANSWER_TIMELINE,
        ANSWER_FLAME,
        ANSWER_TABLE,
        ANSWER_DETAIL,
        ANSWER_FOUND,
        ANSWER_SOURCE,
        ANSWER_HEAT,
        ANSWER_THREADS,
        ANSWER_DIFF,
        ANSWER_COLUMNS,
        ANSWER_HOLDERS,
        ANSWER_NEIGHBOURS,
        ANSWER_TASKS,
        ANSWER_BILL,
        ANSWER_HEAP,
        ANSWER_SQL,
        ANSWER_SQL_SCHEMA,
        ANSWER_N_KINDS,
};

/* Of a statement: ":name". */
struct asked_parameter {
        char *name, *value;
};

struct asked {
        enum answer_kind kind;
        struct request request;
        struct request old; /* the older side: what is said of it alone */
        bool has_old;       /* something is */
        bool is_against;    /* the older side is another trace */
        bool is_coarse, is_reversed, by_line, with_ages;
        uint32_t n_columns, n_groups, n_rows, n_sparks;
        uint32_t n_boxes;      /* 0: the usual number */
        uint32_t graph, group; /* of a holder; UINT32_MAX: none */
        char *what;
        char *search;       /* a pattern */
        char *sql, *recipe; /* one of them */
        VEC(struct asked_parameter) parameters;
};

/* Also checks what the keys mean together. asked_done() in every case. */
int asked_parse(struct asked *a, enum answer_kind kind, const char *query, size_t n,
                struct err *reterr);
void asked_done(struct asked *a);
/* The whole request of the older side, the caller's. */
struct request asked_old_request(const struct asked *a);
