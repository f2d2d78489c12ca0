/* SPDX-License-Identifier: MIT */
/* Opens a trace for a command that shows it: rules of names, the file, and a bar while an answer takes long.
 *
 *   struct opened t;
 *   r = opened_init(&t, path, &rules, reterr);       // ask t.q; functions are called as t.names says
 *   opened_end_progress(&t);                         // before the first byte of the product
 *   opened_done(&t);                                 // also after a failure */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "name/name.h"
#include "query/query.h"

/* A bar on stderr, when it is a terminal and there has been nothing to see for a second. */
struct opened_progress {
        uint64_t began_ns, drawn_ns;
        bool is_terminal;
};

struct opened {
        struct names *names;
        bool owns_names;
        struct query *q;
        struct opened_progress progress; /* the query points to it: do not move */
};

int opened_init(struct opened *t, const char *path, const struct name_sources *rules,
                struct err *reterr);
/* A second trace whose functions are called as another's are: the names stay the caller's. */
int opened_init_beside(struct opened *t, const char *path, struct names *names, struct err *reterr);
void opened_end_progress(struct opened *t); /* wipes the bar away; none is drawn from now on */
void opened_done(struct opened *t);
