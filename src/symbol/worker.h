/* SPDX-License-Identifier: MIT */
/* The processes that look names up, and what they say on their pipes. Inside symbol/ only.
 *
 * The parent opens the trace and makes one job of each module. Workers are forked from it and take job after
 * job from a board in shared memory, where each also writes which one it is at: when it dies, the parent knows
 * of what. Everything else goes through the worker's pipe:
 *
 *   'S' u32 location, u32 line, u8 flags, two strings    one symbol: function, file
 *   'R' u32 job, u8 naming, u8 cached, two strings       those were all of this job: file, text
 *   'E'                                                  there are no more jobs
 * Integers little endian; a string is u32 length and bytes. A worker has read hostile files: the parent checks
 * what it says. */
#pragma once

#include <stdatomic.h>

#include "base/bytes.h"
#include "base/macros.h"
#include "symbol/symbol.h"

enum {
        WORKER_MAX = 8, /* at once */
        WORKER_EXIT_MEMORY =
                1, /* exit status when memory is out; libdw ends the process with the same */
        WORKER_EXIT_DEAF = 4, /* nobody listens */
};
#define WORKER_NO_MODULE UINT32_MAX /* the job of all locations in no file */
enum worker_kind { WORKER_SYMBOL = 'S', WORKER_RESULT = 'R', WORKER_END = 'E' };
enum worker_flags { WORKER_INLINED = 1, WORKER_GUESS = 2 };

struct worker_place {
        uint64_t address; /* of the byte before the return address: inside the call */
        uint32_t location;
};

struct worker_job {
        uint32_t module;
        const struct worker_place *places; /* by address; NULL with WORKER_NO_MODULE */
        size_t n_places;
};

/* Shared between the processes. Relaxed throughout: jobs were written before the forks, and the parent reads a
 * seat only to judge a worker that is dead or late. */
struct worker_board {
        _Atomic uint32_t next_job;
        struct {
                _Atomic uint32_t job_plus_1; /* 0: at none */
                _Atomic uint64_t since_ns;   /* CLOCK_MONOTONIC */
        } seats[WORKER_MAX];
};

struct worker_orders {
        struct trace_reader *reader; /* each process has a copy of its own */
        const struct trace_view *view;
        const struct symbol_options *options;
        const struct worker_job *jobs;
        uint32_t n_jobs;
        struct worker_board *board;
};

/* Limits itself, does jobs until there are none, writes to fd and ends the process. */
void worker_main(const struct worker_orders *orders, unsigned seat, int fd)
        __attribute__((noreturn));
