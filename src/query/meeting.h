/* SPDX-License-Identifier: MIT */
/* Functions at which call paths meet. What a program maps itself, it maps for an allocator of its own: hundreds of call paths lead
 * to one function, which gets pages where it has none left. Which one that is, no list has to say: from the innermost frame
 * outwards, it is the last function that nearly all bytes go through; behind it the paths part.
 *
 *   mmap <- alloc_page <- pool_alloc <- { make_node, copy_node, read_token, … }        they meet at pool_alloc */
#pragma once

#include "query/query.h"

struct query_meeting {
        struct query_frame frame; /* blank: no call path is known */
        bool is_task;
        bool is_rest;   /* all that is too small to be looked at */
        bool is_alone;  /* paths do not part: frame is the code that asked */
        uint32_t stack; /* a call path with most of it */
        uint64_t n_paths;
        struct query_figures f; /* of all of them */
        /* Who called it most, and with how many bytes of the metric; blank: is_alone */
        struct query_frame caller;
        bool caller_is_task;
        int64_t caller_bytes;
};

struct query_meetings {
        struct query_meeting *items; /* largest first; together they are all of the answer */
        size_t n;
};

/* Puts the sites of an answer together, by a metric of bytes. */
struct query_meetings *query_meet(struct query *q, const struct query_answer *a,
                                  enum query_metric metric);
struct query_meetings *query_meetings_free(struct query_meetings *m); /* NULL ok; returns NULL */
DEFINE_CLEANUP(struct query_meetings, query_meetings_free)
