/* SPDX-License-Identifier: MIT */
/* Times that options give as moments of a recording, @NAME: what they are in the trace that is asked. */
#pragma once

#include "base/err.h"
#include "query/query.h"
#include "show/show_options.h"

/* A window as options say it. */
struct times_window {
        const char *from_name, *to_name; /* NULL: from_ns, to_ns */
        uint64_t from_ns, to_ns;
        bool is_at;      /* to_ns is a moment asked for */
        bool is_at_peak; /* and it is the peak; times_find fills it in */
};

/* Fills in the times of moments (@peak: of the process, or of QUERY_ALL; to @end is to the end, with the last event); refuses unknown names and a window that ends before it begins. Of several moments of one name
 * the first is taken, and reterr says so with code 0. */
int times_find(struct query *q, uint32_t process, struct times_window *w, struct err *reterr);

/* The scope that options with times ask for. */
int times_scope(struct query *q, const struct show_options *o, struct query_scope *ret,
                struct err *reterr);

/* Options with times in place of names. */
struct times_options {
        struct show_options o;
        struct query_filter *filter; /* NULL: the one of the options did */
};
int times_options_init(struct times_options *t, const struct show_options *o, struct query *q,
                       struct err *reterr);
void times_options_done(struct times_options *t); /* also after a failure */
