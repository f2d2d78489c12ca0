/* SPDX-License-Identifier: MIT */
/* The moments at which a trace knows what resident memory was made of, and which of them is meant. Inside bill/ only. */
#pragma once

#include "base/vec.h"
#include "bill/bill_parts.h"
#include "query/meeting.h"
#include "show/frame.h"

/* One process at one moment. */
struct bill_point {
        size_t bill_idx; /* of the trace */
        uint32_t process;
        uint64_t time_ns, rss_bytes, pss_bytes, kept_bytes;
};

struct bill_series {
        VEC(struct bill_point) points; /* by time */
        bool is_of_all;                /* of several processes */
};

/* Points of the process; QUERY_ALL: of all. Bills that cannot be read are left out. */
int bill_series_read(struct bill_series *s, struct query *q, uint32_t process, struct err *reterr);
void bill_series_done(struct bill_series *s);
bool bill_is_alive(const struct query *q, uint32_t process, uint64_t time_ns);

/* One moment: of each process that was alive then the bill nearest to it. */
struct bill_moment {
        uint64_t time_ns;        /* that was asked for, or of the bill */
        uint64_t resident_bytes; /* what they share counted once, where there are several */
        VEC(size_t) points;
};
void bill_moment_done(struct bill_moment *m);

/* Where resident memory was highest in the window. The series is not empty. False: no bill is of the window, and the moment is that of the last one
 * before it, or of the first. */
bool bill_find_highest(const struct bill_series *s, const struct query *q, uint64_t from_ns,
                       uint64_t to_ns, struct bill_moment *ret);
void bill_find_near(const struct bill_series *s, const struct query *q, uint64_t time_ns,
                    struct bill_moment *ret);

/* The bill of the trace, whose call paths are those of the trace. */
int bill_read_resident(struct query *q, size_t bill_idx, struct resident *ret, struct err *reterr);

/* Functions that asked, by their call paths: those of one function have the same number. */
struct bill_keys {
        struct frame_names frames;
        struct map of_stack, of_mapping;
        struct query_meetings
                *met; /* allocators of the program's own; NULL: not asked yet, or none */
};
uint64_t bill_key_of_stack(void *keys, uint32_t stack);
void bill_keys_done(struct bill_keys *k);

/* All parts at a moment. keys NULL: each call path is its own line. */
int bill_make(struct bill *b, struct query *q, struct bill_keys *keys, const struct bill_series *s,
              const struct bill_moment *m, struct err *reterr);
