/* SPDX-License-Identifier: MIT */
/* The traces that statements of SQL are about: the one, and with --other a second one. */
#pragma once

#include "request/request.h"
#include "show/opened.h"
#include "sql/sql.h"

struct sql_traces {
        struct opened one, other;   /* queries point into them: do not move */
        struct sql_options options; /* as the engine is opened with */
        bool has_other;
};

/* The process and the rules of names are the request's. sql_traces_done in any case. */
int sql_traces_open(struct sql_traces *t, const char *path, const char *other_path,
                    const struct request *request, struct err *reterr);
void sql_traces_done(struct sql_traces *t);
