/* SPDX-License-Identifier: MIT */
/* A recording while it is being written: what it holds now, and what happened in the last seconds (docs/live.md). Readers of other
 * files than the trace are not here: whoever follows never talks to the target.
 *
 *   follower_open(&(struct follower_options){.path = path, .window_ns = 10000000000}, &f, &err);
 *   while (!follower_now(f)->is_over) {
 *           sleep a while;
 *           follower_step(f, &err);                           // reads what is new
 *           query_ask(follower_query(f), &scope, &answer, &err);
 *   }
 *   follower_free(f);
 *
 * A finished trace is followed too: its first moment is its last, and is_over at once. */
#pragma once

#include "name/name.h"
#include "query/query.h"

struct follower;

struct follower_options {
        const char *path;
        struct name_sources rules;
        const char *process; /* as query_choose_process takes it; NULL: all */
        uint64_t window_ns;  /* rates and growth are of the last so long; 0: FOLLOWER_WINDOW_NS */
        /* Nothing waits for names: they are looked up in the background from the first step on, and until they are there
         * functions are shown by their address. Processes are forked there: no other thread should set its locale meanwhile. The files of the rules must live as long as the program. */
        bool names_later;
};

#define FOLLOWER_WINDOW_NS 10000000000ull

/* At the end of what was read. Figures of blocks are estimates in a recording of samples (query_sample_bytes), but for the counts. */
struct follower_now {
        uint64_t n_steps; /* that brought something new */
        uint64_t time_ns; /* of the recording: every event before it is in the figures */
        bool is_over;     /* nobody writes it any more */
        /* For so long nothing came, though somebody has it open to write; an idle program's recorder writes every second or two. */
        uint64_t silent_ns;
        uint64_t live_bytes, live_blocks, peak_bytes, peak_ns;
        bool has_rss;
        uint64_t rss_bytes; /* of the processes alive, as the last look at them found it */
        uint64_t n_allocs, alloc_bytes, n_frees, n_failed, n_lost; /* since it began */
        /* Of the window, which is shorter in the beginning. Of a recording of totals (query_totals.lacks_events) they mean nothing,
         * and of what it lacks otherwise nor does the rest. */
        uint64_t window_ns;
        double allocs_per_s, alloc_bytes_per_s, growth_bytes_per_s;
};

/* -ENODATA: the program has not begun; try again. -ENOTSUP: a profile of something else than memory. */
int follower_open(const struct follower_options *o, struct follower **ret, struct err *reterr);
struct follower *follower_free(struct follower *f); /* NULL ok; returns NULL */
DEFINE_CLEANUP(struct follower, follower_free)

/* Takes in what was written since: 1 there is more, 0 nothing, or -errno. Answers of its query are not valid any
 * more. */
int follower_step(struct follower *f, struct err *reterr);
const struct follower_now *follower_now(const struct follower *f);
bool follower_is_naming(const struct follower *f); /* in the background: look again soon */

/* Other figures from now on, of what was read already: of this process (NULL: all), and of a window so long (0: as usual). */
int follower_look_at(struct follower *f, const char *process, uint64_t window_ns,
                     struct err *reterr);

/* For more than that. Both are others after a step; scopes are of the process followed. */
struct query *follower_query(const struct follower *f);
struct names *follower_names(const struct follower *f);
struct query_scope follower_window(const struct follower *f);

/* Names of code that has none yet, without waiting until they are due. What was asked before is not valid any more. */
int follower_look_up_names(struct follower *f, struct err *reterr);
