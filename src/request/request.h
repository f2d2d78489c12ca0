/* SPDX-License-Identifier: MIT */
/* What is asked of a recording, whoever asks: a command line, the query of a URL, a program.
 *
 *   struct request r = REQUEST_DEFAULT;
 *
 *   request_set(&r, "from", "@warm", &err);                  // keys are the long names of options
 *   request_set(&r, "size", "1K..1M", &err);
 *   request_check(&r, REQUEST_REPORT, &err);                 // what its keys mean together
 *   request_resolve(&r, q, REQUEST_ALL, &resolved, &err);    // once, against a trace
 *   query_ask(q, &resolved.scope, &answer, &err);
 *   request_resolved_done(&resolved);
 *   request_done(&r);
 *
 * A request belongs to no trace and owns its texts. Errors carry the key that is to blame (err.key) and do not say how it is
 * written: each who asks prints that in his own way. docs/query.md, "Requests", tells the keys and what they default to. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/macros.h"
#include "base/str.h"
#include "name/name.h"
#include "query/query.h"

enum {
        REQUEST_MAX_TOP = 1000000,
        REQUEST_MAX_DEPTH = 1000000,
        REQUEST_MAX_URL_BYTES = 65536, /* of a query, as written */
        REQUEST_MAX_PAIRS = 256,       /* in it */
};

/* A time of the recording, or a moment that has a name in it. */
struct request_time {
        bool is_set;
        uint64_t ns;
        char *name; /* without '@'; NULL: ns */
};

/* What the answer looks like; one of them. */
enum request_shape {
        REQUEST_SUMMARY,
        REQUEST_BLOCKS, /* single allocations */
        REQUEST_GROUPS,
        REQUEST_TREE,
        REQUEST_BOTTOM_UP,
        REQUEST_CALLERS,
        REQUEST_CALLEES,
        REQUEST_SIZES, /* histograms */
        REQUEST_LIFETIMES,
};

struct request {
        char *process;                    /* as query_choose_process takes it; NULL: not said */
        struct request_time from, to, at; /* window [from, to), or all up to a moment */
        bool has_metric;                  /* else request_metric() says which */
        enum query_metric metric;
        struct query_filter *filter; /* which blocks count; NULL: all */
        enum request_shape shape;
        enum query_by group_by; /* REQUEST_GROUPS */
        char *function;         /* REQUEST_CALLERS, REQUEST_CALLEES */
        bool has_top;           /* so many rows, however small they are */
        uint32_t n_top;
        double min_share_pct; /* of trees: smaller branches are put together; below 0: as suits */
        uint32_t max_depth;   /* of trees; 0: no limit */
        bool full;            /* whole stacks, long names, every row */
        bool per_second;      /* flows are divided by the length of their window */
        struct name_sources
                rules; /* how functions are called, beside what is built in; files are owned */
};
#define REQUEST_DEFAULT ((struct request){.min_share_pct = -1})
extern const struct request request_default; /* asks for nothing in particular */

void request_done(struct request *r);
/* To a time, or (UINT64_MAX) to none. */
void request_set_time(struct request_time *t, uint64_t ns);
struct request request_copy(const struct request *r); /* NULL: of the default */

/* ---- keys ------------------------------------------------------------------------------------ */

struct request_key {
        const char *name;
        bool is_flag;   /* takes no value: NULL, "" and "1" set it */
        bool is_local;  /* names files of whoever asks: not for URLs */
        bool is_filter; /* may be given several times, and all must hold */
};
const struct request_key *request_keys(size_t *ret_n);

/* On failure the request is as before. Of keys given again the last counts, but for those of filters and rules, which add up. */
int request_set(struct request *r, const char *key, const char *value, struct err *reterr);

/* Who is to answer. */
enum request_view {
        REQUEST_REPORT,
        REQUEST_FLAME,
        REQUEST_SOURCE,
        REQUEST_DIFF,
        REQUEST_EXPORT,
        REQUEST_N_VIEWS,
};
const char *request_view_name(enum request_view v); /* as the command is called */

/* Refuses what contradicts itself, and what the view would not look at. */
int request_check(const struct request *r, enum request_view view, struct err *reterr);

/* What is told of every site where the request does not say: what is alive where the window ends, if it is about that
 * moment (at, older-than), what is allocated if it is about rates, else the peak. */
enum query_metric request_metric(const struct request *r);
/* Of so many rows, where the request does not say. */
uint32_t request_n_top(const struct request *r, uint32_t usual);

/* ---- as a URL's query ------------------------------------------------------------------------ */

/* "from=5s&size=1K..1M", with or without a '?' in front: any n bytes, from anybody. Sets the keys of r one by one; on
 * failure some may be set. */
int request_parse_url(struct request *r, const char *query, size_t n, struct err *reterr);
/* The pairs of such a query, decoded, for those who have keys of their own among them. value: NULL without '='. Ends with the
 * first failure. */
typedef int (*request_url_fn)(void *ctx, const char *key, const char *value, struct err *reterr);
int request_each_url_pair(const char *query, size_t n, request_url_fn fn, void *ctx,
                          struct err *reterr);
/* Sets a key as request_parse_url does: one of them for a request. */
int request_set_from_url(void *request, const char *key, const char *value, struct err *reterr);
/* Percent-encoded, keys in the order of request_keys(); "" for the default. Parsed again it makes the same request, but for
 * rules, which it leaves out. */
void request_add_url(const struct request *r, struct str *to);
/* A value, percent-encoded. */
void request_add_encoded(struct str *to, const char *text);

/* ---- as options ------------------------------------------------------------------------------ */

/* " --process main --from 5s --size 1K..1M --tree --by growth": quoted for a shell, a blank before each. */
void request_add_options(const struct request *r, struct str *to);

/* ---- as words -------------------------------------------------------------------------------- */

/* "growth of process main from 5s to @warm, of blocks with size 1K..1M, as a tree"; "all" for the default. */
void request_add_words(const struct request *r, struct str *to);

/* ---- what it means for a trace --------------------------------------------------------------- */

/* Whom a request asks about that names no process, in a trace of several. */
enum request_whom { REQUEST_ALL, REQUEST_MAIN };

struct request_resolved {
        struct query_scope scope;    /* its filter is the next, or the request's */
        struct query_filter *filter; /* with times in place of moments; NULL: the request's does */
        enum query_metric metric;
        bool is_at; /* scope.to_ns is a moment that was asked for, and not the end */
        char note
                [400]; /* worth saying: of several moments of one name the first was taken; "" nothing */
};

/* Fills in processes, and the times of moments (@peak: of the process, or of all together; to @end is to the end, with the last
 * event). Refuses unknown names, times behind the end of the recording, and a window that ends before it begins. The request must
 * live as long as what is made of it. */
int request_resolve(const struct request *r, struct query *q, enum request_whom whom,
                    struct request_resolved *ret, struct err *reterr);
void request_resolved_done(struct request_resolved *x); /* also after a failure */

/* ---- a next step ----------------------------------------------------------------------------- */

/* What to look at next: who is to answer, and what to ask. Of it the command line makes a command, a page a link. */
struct request_step {
        enum request_view view;
        struct request request;
        bool is_window_new; /* the window is the step's own, not what was looked at: commands end with it */
};

/* "silt report x.silt --process main --callers 'f' --by end"; more: further options, each with a blank before it, or "". */
void request_add_command(const struct request_step *s, const char *path, const char *more,
                         struct str *to);
