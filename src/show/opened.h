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
#include "base/str.h"
#include "name/name.h"
#include "query/query.h"

/* A bar on stderr, when it is a terminal and there has been nothing to see for a second. */
struct opened_progress {
        uint64_t began_ns, drawn_ns;
        bool is_terminal;
};

void opened_progress_begin(struct opened_progress *p);
/* A query_progress_fn with such a bar. */
bool opened_progress_draw(void *progress, uint64_t done, uint64_t total);
void opened_progress_end(struct opened_progress *p); /* wipes it away */

/* Looks up names of functions that a trace lacks and gives them to its query. NULL: none were; else to be given to done, after
 * the query is gone. */
struct opened_namer {
        void *(*look_up)(const char *path, struct query *q);
        void (*done)(void *looked_up);
        void (*add_options)(struct str *to); /* for another command to find the same names */
};
/* For all traces opened from now on; it must live as long. NULL: none. */
void opened_set_namer(const struct opened_namer *namer);

/* The command that a next step is, for the trace at path, and for the names found now; nothing for NULL. */
struct request_step;
void opened_add_step(const struct request_step *s, const char *path, struct str *to);

struct opened {
        struct names *names;
        void *looked_up; /* by the namer; NULL: nothing */
        bool owns_names;
        struct query *q;
        struct opened_progress progress; /* the query points to it: do not move */
};

int opened_init(struct opened *t, const char *path, const struct name_sources *rules,
                struct err *reterr);
/* Without looking up names that the trace lacks. */
int opened_init_unnamed(struct opened *t, const char *path, const struct name_sources *rules,
                        struct err *reterr);
/* A second trace whose functions are called as another's are: the names stay the caller's. */
int opened_init_beside(struct opened *t, const char *path, struct names *names, struct err *reterr);
/* Wipes the bar away; none is drawn from now on. NULL: there is none. */
/* For views without a place for it: one line on stderr, where a part of the trace is missing. */
void opened_say_damage(const struct opened *t, const char *path);
void opened_end_progress(struct opened *t);
void opened_done(struct opened *t);
