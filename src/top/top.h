/* SPDX-License-Identifier: MIT */
/* silt top: a program as it goes on, on a terminal, or as frames for logs and programs (docs/live.md). */
#pragma once

#include <stdio.h>

#include "live/follower.h"
#include "top/top_model.h"

struct top_options {
        const char *who;                /* a pid, or the path of a trace */
        struct follower_options follow; /* without the path */
        struct model_ask ask;
        uint64_t every_ns; /* between two frames */
        uint64_t n_frames; /* then it ends; 0: when the recording does */
        bool is_batch;     /* frames one below the other, for logs */
        bool is_json;      /* a document each */
};

int top_run(FILE *out, const struct top_options *o, struct err *reterr);
