/* SPDX-License-Identifier: MIT */
/* The conditions of a filter, as pick.c and query_filter_add see them. Inside query/ only. */
#pragma once

#include "base/str.h"
#include "base/vec.h"
#include "query/query.h"
#include "query/search_pattern.h"

enum filter_name { FILTER_FUNCTION, FILTER_MODULE, FILTER_FILE, FILTER_ASKED_BY, FILTER_SITE };

/* On the call path: some frame (asked-by: the one that asked) has a name that matches; site: it is shown as one of these. */
struct filter_path {
        enum filter_name name;
        bool is_negated;
        struct pattern *pattern; /* NULL: stacks */
        VEC(uint64_t) stacks;
};

/* A set of numbers, or a pattern for names. */
struct filter_who {
        VEC(uint64_t) ids;
        struct pattern *pattern; /* NULL: ids */
};

struct filter_range {
        uint64_t min, max; /* what max means depends on the condition */
};

struct filter_word {
        char *kind, *value;
};

struct query_filter {
        VEC(struct filter_path) paths;
        VEC(struct filter_who) threads, processes; /* processes have no patterns */
        VEC(struct filter_range) sizes;            /* [min, max] bytes */
        VEC(struct filter_range) lifetimes;        /* [min, max) ns */
        VEC(struct filter_range) allocated;        /* [min, max) ns */
        VEC(uint64_t) alive_at_ns, freed_before_ns;
        VEC(struct filter_word) words; /* as they were added; texts are owned */
        struct query *q;               /* where moments are looked up; NULL: they are left open */
        struct query_scope scope;      /* likewise: whose peak, and where ages count from */
        bool has_names;                /* some time is a moment, or an age, that was left open */
        bool is_by_age;
        struct str text;
        uint64_t serial; /* changes with the filter and is never used again */
};
