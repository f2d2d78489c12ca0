/* SPDX-License-Identifier: MIT */
/* Limits: what kept a recording from seeing all. Each is a note of its own form, "limit KIND PID BYTES COUNT: sentence", so that
 * every reader can put it first, and one that knows no limits still shows it. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Worst first: the order in which they are told. */
enum trace_limit_kind {
        LIMIT_UNHOOKED,     /* an allocator is at work that is not hooked, or not all of it */
        LIMIT_UNSEEN,       /* resident memory that nothing explains */
        LIMIT_LOST,         /* events, or a ring */
        LIMIT_DAMAGED,      /* parts of the file are missing */
        LIMIT_NOT_FOLLOWED, /* processes */
        LIMIT_UNPAIRED,     /* releases without allocation, and the other way round */
        LIMIT_UNREAD,       /* files that were not looked at for allocators */
        LIMIT_STACKS,       /* most call paths are cut short */
        LIMIT_UNCOUNTED,    /* what a recording of samples does not follow */
        LIMIT_IMPORTED,     /* another tool recorded it, and did not know all */
        LIMIT_OTHER,        /* of a newer silt */
        LIMIT_N_KINDS,
};

struct trace_limit {
        enum trace_limit_kind kind;
        uint32_t pid; /* 0: no one process */
        /* 0: not known. Of what was imported count is a step of the source's clock, in nanoseconds. */
        uint64_t bytes, count;
        const char *text; /* the sentence, inside the note's */
        bool is_summed;   /* a part of what a sentence of its own adds up: processes not seen */
};

const char *trace_limit_name(enum trace_limit_kind kind);

/* False: the note is none. */
bool trace_limit_parse(const char *note, struct trace_limit *ret);

/* Its note, cut off where there is no room. */
void trace_limit_write(const struct trace_limit *l, char *ret, size_t cap);
