/* SPDX-License-Identifier: MIT */
/* Processes in the order they end, for passes over time that must know who is gone. Inside query/ only. */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct query;

struct process_ends {
        const struct query *q;
        uint32_t *order; /* processes that ended while others went on */
        size_t n, next;
};

void process_ends_init(struct process_ends *e, const struct query *q);
void process_ends_done(struct process_ends *e);

/* When the next one ends; UINT64_MAX: nobody does. */
uint64_t process_ends_next_ns(const struct process_ends *e);

/* The next one, if it ended before time_ns; TRACE_NO_PROCESS: nobody more did. */
uint32_t process_ends_take(struct process_ends *e, uint64_t time_ns);
