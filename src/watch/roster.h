/* SPDX-License-Identifier: MIT */
/* The processes there are, and which of them is to be recorded next. Knows nothing of how that is done: whoever watches tells it
 * what there is and what became of recordings, and is asked through calls.
 *
 *   roster_look(&r, now_ns, pids, n_pids);      every second or so
 *   roster_began(&r, pid, now_ns); roster_ended(&r, pid, ROSTER_REFUSED, now_ns);
 *
 * It keeps a row for each process that is there, and nothing for those that are gone: its memory is that of the machine's process
 * list, however many there ever were. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/vec.h"

#define ROSTER_MIN_AGE_NS                                                                          \
        1000000000ull /* a process that has just begun may be about to become another program */

enum {
        ROSTER_N_TURNS =
                10, /* one that is not wanted is asked about again every so many looks: it may have become another program */
        ROSTER_N_STARTING =
                2, /* at a time: a machine full of wanted processes is not entered at once */
        ROSTER_MAX_PROCESSES = 1024, /* recorded at once */
};

enum roster_state {
        ROSTER_OTHER,    /* not wanted */
        ROSTER_DUE,      /* wanted, and waits for its turn */
        ROSTER_TAKEN,    /* somebody else's recording has it, or that of its parent */
        ROSTER_STARTING, /* being entered */
        ROSTER_RECORDED,
};

/* How a recording ended. */
enum roster_end {
        ROSTER_REFUSED, /* it never began */
        ROSTER_DONE,
};

struct roster_one {
        pid_t pid;
        uint64_t began; /* ticks since boot: with the pid, which process it is */
        enum roster_state state;
        uint64_t seen_ns; /* first */
        uint64_t not_before_ns;
        uint64_t began_ns;  /* the last recording */
        uint32_t n_refused; /* in a row */
        uint32_t n_short;   /* recordings in a row that ended soon, while the process went on */
};

/* What the roster asks. */
struct roster_calls {
        void *ctx;
        bool (*identify)(void *ctx, pid_t pid, uint64_t *ret_began); /* false: it is gone */
        bool (*is_wanted)(void *ctx, pid_t pid);
        bool (*is_taken)(void *ctx, pid_t pid);                 /* it is being recorded already */
        bool (*start)(void *ctx, const struct roster_one *one); /* false: it cannot be tried now */
};

struct roster {
        const struct roster_calls *calls;
        uint32_t max_processes;
        VEC(struct roster_one) list, next; /* by pid; next: the list while it is being made */
        uint64_t n_looks;
        /* now */
        uint32_t n_starting, n_recorded, n_due, n_taken, n_refused;
        /* ever */
        uint64_t n_ever_recorded, n_ever_refused;
};

/* calls stay the caller's. */
void roster_init(struct roster *r, const struct roster_calls *calls, uint32_t max_processes);
void roster_done(struct roster *r);

/* All processes that there are, in the order of their pids. */
void roster_look(struct roster *r, uint64_t now_ns, const pid_t *pids, size_t n_pids);

/* What became of one that was started; those that are not known any more are no matter. */
void roster_began(struct roster *r, pid_t pid, uint64_t now_ns);
void roster_ended(struct roster *r, pid_t pid, enum roster_end how, uint64_t now_ns);
