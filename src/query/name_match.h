/* SPDX-License-Identifier: MIT */
/* Frames whose name a pattern matches: each text of a trace is searched once. Inside query/ only.
 *
 *   struct name_match m = name_match_begin(q, FILTER_FUNCTION, pattern);
 *   if (name_match_location(&m, location)) …
 *   name_match_done(&m); */
#pragma once

#include "base/map.h"
#include "query/filter.h"

struct name_match {
        struct query *q;
        enum filter_name name;
        struct pattern *pattern; /* NULL of FILTER_SITE, which has no names */
        bool wants_places;       /* the pattern looks like one of code without a name: app+0x1234 */
        bool with_labels;        /* a function is also what people are shown: its short form */
        /* the trace holds each text once, so its address stands for it: → whether it matches */
        struct map known;
};

struct name_match name_match_begin(struct query *q, enum filter_name name, struct pattern *pattern);
void name_match_done(struct name_match *m);

bool name_match_frame(struct name_match *m, const struct query_frame *f);
/* Whether a frame of the location does. */
bool name_match_location(struct name_match *m, uint32_t location);
