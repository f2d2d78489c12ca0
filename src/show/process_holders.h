/* SPDX-License-Identifier: MIT */
/* Of several processes, those that hold the memory. */
#pragma once

#include "finding/joined.h"
#include "query/query.h"

enum { HOLDERS_MAX = FINDINGS_MAX_PARTS };

/* Who holds most of what all held together at the peak: one process, or several of the same name. */
struct holder {
        uint32_t process; /* the largest of them */
        size_t n;         /* how many they are */
        uint64_t bytes, largest_bytes;
};

/* False: nobody held anything, or the answer is not of all processes. */
bool holder_find(const struct query *q, const struct query_answer *all, struct holder *ret);

/* The one that holds most; NULL or of one process: the one asked about, or the main one. */
uint32_t holder_process(const struct query *q, const struct query_answer *a);
/* "python3 (pid 812) and 2 other processes", for an answer of several processes; else nothing, and false. */
bool holder_add_crowd(const struct query *q, const struct query_answer *a, struct str *to);

/* Fills in processes that are worth a look, the one that held most first: of those with the same name and parent the largest,
 * and none that never held a noticeable part. Returns how many, at most HOLDERS_MAX. */
size_t holders_of(const struct query *q, const struct query_answer *all, uint32_t *ret);
