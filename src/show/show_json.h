/* SPDX-License-Identifier: MIT */
/* Answers as JSON. Each function puts keys into an object that is open, and closes what it opened; figures are bytes and
 * seconds. A view is a few of these between json_object and json_end:
 *
 *   json_object(j);
 *   json_put_string(j, "schema", "silt.groups/1");
 *   show_put_answer(j, q, groups->answer, metric);
 *   show_put_groups(j, q, groups, history, n_top);
 *   json_end(j); */
#pragma once

#include "base/json.h"
#include "finding/finding.h"
#include "query/query.h"

/* ---- times ----------------------------------------------------------------------------------- */

/* Seconds; null where the source knows no times: then they are numbers of moments or events (docs/ledger.md). */
void show_put_time(struct json *j, const struct query *q, const char *key, uint64_t ns);

/* ---- call paths ------------------------------------------------------------------------------ */

/* A source of bytes that counted no blocks saw what was live, not what was allocated in between. */
bool show_knows_allocated(bool lacks_blocks, bool lacks_live);

/* "label": as reports show it, where that is not the function's whole name. */
void show_put_frame(struct json *j, const struct query *q, const struct query_frame *f,
                    bool is_task);
/* "stack": its frames, innermost first. */
void show_put_stack(struct json *j, const struct query *q, uint32_t stack);
/* "shown": which of them reports name, the code that requested the memory; nothing of an empty stack. */
void show_put_shown(struct json *j, struct query *q, uint32_t stack);
void show_put_figures(struct json *j, const char *key, const struct query_figures *f,
                      enum query_metric m);
/* An object: what a site has of the metric, and its stack. */
void show_put_site(struct json *j, const struct query *q, const struct query_site *s,
                   enum query_metric m);

/* "sites": the n_top first that have something, as they are sorted. */
void show_put_sites(struct json *j, const struct query *q, const struct query_answer *a,
                    enum query_metric m, size_t n_top);

/* ---- answers --------------------------------------------------------------------------------- */

/* "pid": null if it is unknown, as it is to most other tools, and of QUERY_ALL. */
void show_put_pid(struct json *j, const struct trace_view *v, uint32_t process);
/* "command", "pid", "window", "filter" */
void show_put_scope(struct json *j, const struct query *q, const struct query_scope *scope);
/* The scope as answered, "metric", "exact", "known_from_s" and "totals" as figures. */
void show_put_answer(struct json *j, const struct query *q, const struct query_answer *a,
                     enum query_metric m);
/* All totals there are; q NULL: without standard errors. */
void show_put_totals(struct json *j, const char *key, const struct query *q,
                     const struct query_totals *t);

/* "group_by", "groups_in_all", "groups": the n_top first that have something. With h also "at_s", the live bytes of each group
 * at these times, and "rest", those of all others; NULL: without. */
void show_put_groups(struct json *j, const struct query *q, const struct query_groups *g,
                     const struct query_history *h, size_t n_top);
/* How many groups have any of the metric. */
size_t show_count_groups(const struct query_groups *g);
bool show_groups_have_totals(enum query_by by); /* beside what they asked for themselves */
/* "kind" … "nodes": a list, parents before children, because parsers limit how deep things may nest. */
void show_put_tree(struct json *j, const struct query *q, const struct query_tree *t);
/* "exact", "blocks", "bytes", "buckets" */
void show_put_histogram(struct json *j, const struct query_histogram *h);
/* "timeline" */
void show_put_timeline(struct json *j, const struct query_column *columns, size_t n);
/* "findings" */
/* path: of the trace, for the commands of next steps; held_by: of each finding who holds its blocks, or NULL */
void show_put_findings(struct json *j, const struct query *q, const char *path,
                       const struct findings *found, char *const *held_by);

/* ---- who ran, and mapped ----------------------------------------------------------------------- */

/* "processes", each with its totals of the answer */
void show_put_processes(struct json *j, const struct query *q, const struct query_answer *a);
const char *show_ended_name(uint32_t ended); /* of enum trace_ended: "exit", "signal" … */
/* "threads" */
void show_put_threads(struct json *j, const struct query *q, const struct query_thread *threads,
                      size_t n, bool have_figures);
/* "mappings", of all and of the n_top first sites */
void show_put_mappings(struct json *j, struct query *q, const struct query_mapped *all,
                       const struct query_mapping *sites, size_t n, size_t n_top);
/* The words of a command, as an array. */
void show_put_args(struct json *j, const char *key, const char *const *args, uint32_t n);
