/* SPDX-License-Identifier: MIT */
/* What a process lost by a graph of its trace: loss records, without those that are suppressed, and their sums. */
#pragma once

#include "keep/kept_graph.h"
#include "keep/loss_records.h"
#include "keep/suppression.h"

typedef VEC(const char *) suppression_files;

struct kept_leaks {
        struct kept_graph graph;
        loss_record_list records;
        struct suppressions suppressions;
        struct leak_sums sums;
        bool is_at_exit; /* the program was about to end */
        bool is_told; /* by memcheck, in a trace that was imported: there is no graph, and who points to what is unknown */
        bool is_unknown[N_LEAK_CLASSES]; /* then: it did not show blocks of that class */
};

/* Without a graph, memcheck's classes do. */
bool kept_leaks_are_told(const struct query *q);

/* The newest graph of the process; QUERY_ALL: of any. path is for messages. done in any case. */
int kept_leaks_open(struct kept_leaks *l, struct query *q, const char *path, uint32_t process,
                    const suppression_files *files, struct err *reterr);
void kept_leaks_done(struct kept_leaks *l);

/* Definitely and indirectly lost. */
uint64_t kept_leaks_lost_bytes(const struct kept_leaks *l);
