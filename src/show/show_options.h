/* SPDX-License-Identifier: MIT */
/* What a view is to show: of which trace, and what is asked of it. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "finding/finding.h"
#include "request/request.h"

enum {
        SHOW_MAX_EVENTS =
                4000000, /* read for threads' figures and for fine timelines; full reads them all */
        SHOW_USUAL_TOP = 20, /* sites of each metric, where the request does not say */
};

struct show_options {
        const char *path;
        const struct request *request; /* what is asked; it must live as long as the options */
        bool json;
        size_t width;  /* of the text, in cells; 0: as the terminal or COLUMNS says */
        bool is_brief; /* of a summary as JSON: without what takes long, which is null or empty */
        const struct request_resolved
                *resolved; /* what that means for the trace, once it is open */
        finding_fn
                found; /* called with each finding of a summary when it is found; NULL: nobody waits */
        void *found_ctx;
};
#define SHOW_OPTIONS_DEFAULT ((struct show_options){.request = &request_default})

/* Rows of each table. */
static inline uint32_t show_n_top(const struct show_options *o) {
        return request_n_top(o->request, SHOW_USUAL_TOP);
}

/* Resolves the request of the options against the trace that was opened, and sets o->resolved to *ret. A note goes to reterr, with
 * code 0. */
int show_resolve(struct show_options *o, struct query *q, enum request_whom whom,
                 struct request_resolved *ret, struct err *reterr);
