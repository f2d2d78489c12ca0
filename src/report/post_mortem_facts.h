/* SPDX-License-Identifier: MIT */
/* The figures of a post-mortem, from the trace's own answers. Inside report/ only. */
#pragma once

#include "report/gather.h"

enum post_mortem_victim {
        VICTIM_NONE,
        VICTIM_PROCESS,  /* of the recording */
        VICTIM_RECORDER, /* silt's own: what was recorded ends there */
        VICTIM_UNKNOWN,  /* the recording breaks off when memory was full: both may be gone */
};

enum post_mortem_shape {
        SHAPE_UNKNOWN,
        SHAPE_STEADY,
        SHAPE_LEVEL,
        SHAPE_STEP, /* at once, at the very end */
};

/* What is known near the end: of the room, else of the process's own memory, else of its live blocks, which events tell to the end. */
enum post_mortem_course {
        COURSE_ROOM,
        COURSE_SAMPLES,
        COURSE_BLOCKS,
};

struct post_mortem {
        enum post_mortem_victim victim;
        uint32_t process; /* that was killed, or is told of */
        const char *
                recorder_end; /* what the note of its end says further: "; so was the program"; "" nothing */
        bool is_only;              /* it is the one process there is */
        uint64_t end_ns, alive_ns; /* when it was over; when it was last known to live */
        size_t n_others;           /* also killed */
        uint32_t others[8];

        const struct trace_room *room;      /* the last row of what ran out; NULL unknown */
        const struct trace_room *last_look; /* the last row with figures from before the kill */
        uint64_t had_bytes;                 /* by then, at most */

        uint64_t live_bytes, mapped_bytes;            /* at the end */
        uint64_t anon_bytes, shmem_bytes, sampled_ns; /* by the last sample; sampled_ns 0: none */
        uint64_t kept_bytes; /* of that in no block and no mapping of the program, by then */
        bool is_kept_known;
        uint64_t others_bytes; /* anonymous memory of the group that is of no recorded process */

        bool is_mapped; /* the largest part is memory that the program mapped itself */
        uint64_t largest_bytes, whole_bytes;    /* of the function that allocated most; of what */
        uint32_t stack;                         /* one of its call paths; 0: none */
        const char *function, *place, *held_by; /* "" unknown; of the report's arena */
        int64_t largest_gain_bytes;
        bool has_gain; /* of the largest: known */

        enum post_mortem_shape shape;
        enum post_mortem_course course; /* that shape and rate are of */
        uint64_t over_ns;  /* the time before until_ns that shape and rates are about; 0 unknown */
        uint64_t until_ns; /* when memory was full, if it waited then; else alive_ns */
        double rate;       /* bytes a second; with a shape */
        uint64_t beside_bytes; /* at most, by the end in the room and not in the course */

        const struct trace_graph *graph; /* the newest of the process; NULL: none */
        const char *graph_name;          /* "" it has none */
        const char *why_no_graph;        /* NULL unknown */
        const char *line, *reason;       /* the kernel's; NULL: it could not be read */
};

/* False: there is none. */
bool post_mortem_find(const struct report *r, bool utf8, struct post_mortem *ret);
