/* SPDX-License-Identifier: MIT */
/* One JSON document for a name and the query of a URL, over a trace that stays open: docs/http-api.md has the names, the keys and
 * what the documents say. There is no HTTP here.
 *
 *   answerer_new(&(struct answerer_options){.path = "server.silt"}, &a, &err);
 *   struct asker *k = asker_new(a);                          // one a thread
 *   answer(k, "report", "by=end&top=5", 12, out, &err);
 *   asker_free(k);
 *   answerer_free(a);
 *
 * Whoever asks may send anything. Figures are those of the commands for the same request. */
#pragma once

#include <stdio.h>

#include "base/err.h"
#include "base/macros.h"
#include "name/name.h"
#include "query/query.h"

struct answerer;
struct asker;
struct source_options;

struct answerer_options {
        const char *path;
        const char *old_path; /* the trace to compare with; NULL: none */
        struct name_sources rules;
        const struct source_options *source; /* where files are; NULL: where they were */
        uint64_t version; /* to begin with, where the traces were open before; 0: 1 */
};

/* Opens the trace, or both. Options and what they point to must live as long. */
int answerer_new(const struct answerer_options *o, struct answerer **ret, struct err *reterr);
struct answerer *answerer_free(struct answerer *a); /* NULL ok; returns NULL; after its askers */
DEFINE_CLEANUP(struct answerer, answerer_free)

/* Takes in what the recording has written since: 1 there is more, 0 nothing, or -errno. No asker may be answering. */
int answerer_refresh(struct answerer *a, struct err *reterr);
/* Rises when more was read. */
uint64_t answerer_version(const struct answerer *a);
/* Somebody was still writing it when it was last read. */
bool answerer_is_growing(const struct answerer *a);

/* For one thread at a time; each thread may make its own. */
struct asker *asker_new(struct answerer *a);
struct asker *asker_free(struct asker *k); /* NULL ok; returns NULL */
DEFINE_CLEANUP(struct asker, asker_free)
/* What of an answer is known before all of it is: a finding of a report. json: a value, valid during the call. fn NULL: nobody waits. */
typedef void (*answer_part_fn)(void *ctx, const char *json);
void asker_set_part(struct asker *k, answer_part_fn fn, void *ctx);
/* As query_set_progress and query_set_deadline, for the answers to come. */
void asker_set_progress(struct asker *k, query_progress_fn fn, void *ctx);
void asker_set_deadline(struct asker *k, uint64_t monotonic_ns);

/* The query it answers with, until the next refresh. */
struct query *asker_query(struct asker *k);

/* Writes one document, query being the n bytes behind a URL's '?'. When it fails, what was written is to be thrown away, and
 * reterr has the key to blame, if any. -ENOENT: there is no such answer, or nothing of that name in the trace; -ECANCELED, -ETIME:
 * it was told to stop; else the question is wrong, or the trace cannot be read (-EIO, -EBADMSG). */
int answer(struct asker *k, const char *name, const char *query, size_t n, FILE *out,
           struct err *reterr);
/* All there are, ended by NULL. */
const char *const *answer_names(void);
