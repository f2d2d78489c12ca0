/* SPDX-License-Identifier: MIT */
/* What all of silt whatif has to tell. Inside replay/ only. */
#pragma once

#include "base/json.h"
#include "replay/recorded_heap.h"
#include "replay/recorded_ops.h"
#include "replay/replay_result.h"
#include "replay/site_estimates.h"
#include "replay/whatif.h"
#include "show/view.h"

/* One replay. */
struct whatif_row {
        const struct contender *contender;
        bool has_result, is_paced;
        char why[160]; /* it has none: "ran out of memory …" */
        struct replay_result *result;
        /* what the allocator kept resident, without what every process has */
        uint64_t peak_bytes, end_bytes;
        uint64_t n_faults, cpu_ns; /* without what the replay itself takes */
};

/* The process as it was recorded. */
struct whatif_recorded {
        const struct trace_sample *samples; /* of all processes */
        size_t n_samples;
        uint64_t peak_rss_bytes, end_rss_bytes; /* 0 unknown */
};

struct whatif {
        const struct whatif_options *options;
        struct query *q;
        struct frame_names names;
        uint32_t process;
        struct recorded_ops ops;
        bool has_replay;
        char no_replay[400];        /* why there is none */
        struct replay_result *none; /* the replay without allocator */
        VEC(struct whatif_row) rows;
        size_t reference; /* the row others are compared with, as it comes; SIZE_MAX: it has no result */
        const char *recorded_name; /* of the allocator that the program used; NULL unknown */
        bool is_recorded;          /* the reference is that one */
        bool has_other_allocators; /* the recording has blocks of several */
        struct whatif_recorded recorded;
        struct recorded_heap recorded_heap;
        uint64_t
                far_bytes; /* what the replay under the recorded allocator had then, far from that; 0: it was near, or nobody knows */
        struct site_estimates estimates;
};

/* How much less a row takes than the reference: 0.31 is 31 % less; below 0 it is more. */
double whatif_less(uint64_t bytes, uint64_t reference_bytes);
/* What the whole program would have resident at its peak: as recorded, with this heap in place of the recorded one; 0 unknown. */
uint64_t whatif_program_bytes(const struct whatif *w, const struct whatif_row *row);
/* At that moment of the replay, or the last one known before. */
uint64_t whatif_column_bytes(const struct whatif *w, const struct whatif_row *row, size_t column);

/* The one sentence. */
void whatif_add_advice(const struct whatif *w, bool utf8, struct str *to);
/* "about 12.6 MiB ±22 %"; what is exact has neither. */
void whatif_add_peak(const struct site_estimates *e, bool utf8, struct str *to);
/* What a reader must know of how far it can be trusted, a sentence each. */
void whatif_add_doubts(const struct whatif *w, struct str *to);

void whatif_print_text(FILE *out, const struct whatif *w);
void whatif_print_json(FILE *out, const struct whatif *w);
void whatif_draw(FILE *out, const struct whatif *w);
