/* SPDX-License-Identifier: MIT */
/* One replay: starts silt-replay, sends it the operations, takes what it says. Inside replay/ only. */
#pragma once

#include <sys/types.h>

#include "replay/contender.h"
#include "replay/recorded_ops.h"
#include "replay/replay_result.h"

struct replay_options {
        const struct contender
                *contender; /* NULL: without an allocator, to see what the replay itself takes */
        bool is_paced;
        const char *program; /* silt-replay */
};

/* The silt-replay that belongs to this executable: beside it, or in ../lib/silt. */
int replay_find_program(char *ret_path, size_t cap, struct err *reterr);

/* Runs it to its end. -ECHILD: this replay came to no result, and reterr says in a few words why ("ran out of memory at …"); others may. */
int replay_run(struct recorded_ops *ops, const struct replay_options *o, struct replay_result *ret,
               struct err *reterr);
