/* SPDX-License-Identifier: MIT */
/* From an answer to sentences: what in it harms, what causes it, with which figures, and where to look next; most important
 * first. Silent where there is no evidence. docs/findings.md tells every kind, its rule and its limits.
 *
 *   struct findings *f;
 *
 *   findings_make(&(struct finding_source){.q = q, .answer = answer, …}, &f, &err);
 *   for (size_t i = 0; i < f->n; i++)
 *           puts(f->items[i].text);
 *   findings_free(f); */
#pragma once

#include "base/err.h"
#include "base/macros.h"
#include "query/query.h"
#include "request/request.h"

enum {
        FINDING_MAX = 7,      /* about memory; notes about the recording come on top, */
        FINDING_MAX_TIME = 5, /* and those about time */
        FINDING_MAX_NUMBERS = 14,
        FINDING_MAX_PARTS = 4,
};

enum finding_severity {
        FINDING_PROBLEM,       /* harms, or will */
        FINDING_WORTH_KNOWING, /* may be made better */
        FINDING_NOTE,          /* true, and no reason to act */
};
const char *finding_severity_name(enum finding_severity s); /* "problem", "worth-knowing", "note" */

/* A figure the finding rests on. */
struct finding_number {
        const char *name; /* with its unit: rise_bytes */
        double value;
};

/* What the next step of a finding shows first: by a metric, all call paths through a function, and what that is a part of. */
struct finding_shows {
        const char *function; /* as --callers takes it; NULL: it is another step */
        enum query_metric by;
        bool is_known;
        int64_t value;
        uint64_t whole;
        bool is_growth;   /* the text tells the share too */
        bool is_windowed; /* by a window of its own: */
        uint64_t from_ns, to_ns;
        uint64_t since_ns; /* when that begins, where the text should say so; 0: not */
};

struct finding {
        const char *
                kind; /* lost-tasks kept-tasks greedy-task full-channel stuck-tasks left-tasks growing leak large-site short-peak regrowth slack fragmentation temporary freed-elsewhere heap mapped peak-site left-at-end; about time: hot-function
                           * lock-waiting allocator-time page-faults system-calls kernel-time waiting cpu-wanted
                           * silt-time; notes:
                           * lost killed wrong-size unknown-frees failed incomplete-stacks unseen */
        const char *text;                /* one sentence, or two */
        const struct request_step *next; /* what to look at next; NULL: nothing */
        struct finding_shows shows;
        const char *function; /* that is to be looked at, as people see it; "" none */
        uint64_t bytes;
        uint64_t time_ns; /* of those about time (docs/cpu.md), whose bytes are 0 */
        bool is_time;
        uint32_t process; /* of several (finding/joined.h) the one it is in; else QUERY_ALL */
        bool is_note;  /* about the recording or single mistakes: never in the place of a culprit */
        bool has_site; /* false: about no one site */
        struct query_site site;   /* the largest of those it is about */
        enum query_metric metric; /* that `site` is told by */
        bool follows; /* another one tells what caused it: it comes behind those that hold memory */
        bool leads;   /* it is about so much more than all others that it comes before them */
        bool is_open; /* no alarm, and nothing to be calm about either */
        bool is_brief; /* growing, leak: the run is too short to tell a leak from what a program builds */
        bool is_too_short; /* growing: and the text says so */
        uint64_t
                lost_bytes; /* then: nothing points to so many any more, which settles it; 0: nobody knows */
        bool is_certain; /* leak: nothing pointed to the blocks, so that it matters however small it is */
        enum finding_severity severity;
        struct finding_number numbers[FINDING_MAX_NUMBERS];
        size_t n_numbers;
};

/* What was left at the end, told as a finding or not; with what grows or was left behind it is all. */
struct finding_left {
        uint64_t start_up_bytes, steady_bytes;
        uint64_t rising_bytes; /* never freed, and still growing in the last third of the time */
        uint64_t later_bytes;
        uint64_t collected_bytes; /* in heaps of garbage collectors */
        bool is_unknown;          /* the source names no call sites: nothing tells these apart */
};

/* How all live bytes together rise, in whatever rhythm. */
struct finding_growth {
        double bytes_per_s; /* in the mean; 0: they do not */
        double since_s;     /* of the recording */
        bool is_uneven;     /* in bursts, or with pauses */
        double risen_bytes; /* by functions that rise themselves: several that are filled in turn only look so together */
        /* What is never freed and still grows late, without the marks of growth: whether it goes on, the recording does not tell. */
        double open_bytes, open_bytes_per_s, open_since_s;
};

struct findings {
        struct finding *items; /* the most severe first */
        size_t n;
        double whole_bytes; /* all that the program had: blocks at their peak, and what it mapped */
        struct finding_left left;
        struct finding_growth growth;
        struct arena *arena;     /* everything in it */
        struct findings **parts; /* those it was put together of: their texts are in use */
        size_t n_parts;
        struct request_step **steps; /* that items point to */
        size_t n_steps;
};

typedef void (*finding_fn)(void *ctx, const struct finding *x); /* x is valid during the call */

/* Bytes of a call path's blocks to which no pointer led any more, by the newest reference graph; 0 where no graph says so. */
typedef uint64_t (*finding_lost_fn)(void *ctx, uint32_t stack);

struct finding_source {
        struct query *q;
        struct names *names;
        const struct query_answer *answer; /* what to look into */
        const struct query_totals *whole;  /* of the process, over all of the recording */
        double complete_stacks_pct;        /* 100 where nothing is known */
        const struct request
                *request; /* process, window and filter of the answer; NULL: none of them */
        bool is_windowed;
        finding_lost_fn
                lost; /* called where it would settle what time does not; NULL: there is no graph */
        void *lost_ctx;
        /* Where the time of the same process and window went; NULL: nothing is told about it */
        const struct time_parts *cpu, *blocked;
        /* Called with each finding when it is found; NULL: nobody waits. The last may come much later: only then is it known which matter
         * most, and in which order. */
        finding_fn found;
        void *found_ctx;
};

/* Not where nothing but who holds how much is told. */
bool finding_is_worry(const struct finding *x);

int findings_make(const struct finding_source *source, struct findings **ret, struct err *reterr);
struct findings *findings_free(struct findings *f); /* NULL ok; returns NULL */
DEFINE_CLEANUP(struct findings, findings_free)
