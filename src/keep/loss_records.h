/* SPDX-License-Identifier: MIT */
/* Blocks of one class and one call path: memcheck's loss records. */
#pragma once

#include "base/vec.h"
#include "keep/kept_graph.h"

struct loss_record {
        uint32_t stack; /* REACH_NO_SITE: unknown */
        enum leak_class class;
        uint64_t blocks, bytes;
        uint64_t indirect_blocks, indirect_bytes; /* definitely lost: what is lost with them */
        bool is_suppressed;
};

typedef VEC(struct loss_record) loss_record_list;

/* The smallest first, as memcheck prints them: the largest stands next to the prompt. */
void loss_records_find(const struct kept_graph *g, loss_record_list *ret);

void loss_records_sort(loss_record_list *records);

/* Suppressed ones are in no class, as with memcheck; what is lost with one counts by its own record. */
struct leak_sums {
        uint64_t blocks[N_LEAK_CLASSES], bytes[N_LEAK_CLASSES];
        uint64_t suppressed_blocks, suppressed_bytes;
};

struct leak_sums loss_records_sum(const loss_record_list *records);
