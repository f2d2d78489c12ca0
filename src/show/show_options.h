/* SPDX-License-Identifier: MIT */
/* What a view is asked: of which trace, process, window and blocks, and how it is to look. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "name/name.h"

struct query_filter;

/* Events read for threads' figures and for fine timelines; full reads them all. */
enum { SHOW_MAX_EVENTS = 4000000 };

struct show_options {
        const char *path;
        const char *metric; /* peak end allocated count temporary growth; NULL: peak */
        uint64_t from_ns;   /* window [from_ns, to_ns) */
        uint64_t to_ns;     /* UINT64_MAX: to the end */
        const char *from_name,
                *to_name; /* moments of the recording instead, without '@'; NULL: none */
        bool is_at;       /* to_ns is a moment asked for: it must be in the recording */
        const char *
                process; /* "all", "main", a pid or a name: query_choose_process. NULL: all, as JSON main */
        uint32_t n_top;    /* sites of each metric */
        bool is_top_given; /* so many, however small they are */
        bool json;
        bool blocks; /* single allocations instead of the summary */
        bool full;   /* whole stacks, long names, every row */
        struct query_filter
                *filter; /* which blocks count; NULL: all. Whoever parsed the options frees it */
        struct name_sources rules; /* how functions are called, beside what is built in */

        /* other views instead of the summary */
        const char *group_by; /* site function module line crate thread size process; NULL: no */
        const char *callers, *callees; /* of this function; NULL: no */
        bool tree, bottom_up;
        enum show_histogram { SHOW_NO_HISTOGRAM, SHOW_SIZES, SHOW_LIFETIMES } histogram;
        /* of trees */
        double min_share_pct; /* smaller branches are put together; below 0: as suits */
        uint32_t max_depth;   /* 0: no limit */
};
#define SHOW_OPTIONS_DEFAULT                                                                       \
        ((struct show_options){.to_ns = UINT64_MAX, .n_top = 20, .min_share_pct = -1})
