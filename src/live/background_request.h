/* SPDX-License-Identifier: MIT */
/* What is asked of the recorder while whoever asks goes on: a thread waits for the answer, which may take long (a graph of much memory) or
 * never come (a recorder that is stopped). */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

enum background_kind {
        BACKGROUND_MARK,  /* this moment (docs/snapshots.md) */
        BACKGROUND_GRAPH, /* of a process, which stands still meanwhile (docs/holders.md) */
};

enum { BACKGROUND_NAME_BYTES = 128 };

struct background_answer {
        char name[BACKGROUND_NAME_BYTES]; /* of the mark */
        uint64_t pause_ns;                /* the process stood still */
};

struct background_request;

/* path: of the trace that is being written. pid: of a process in it; 0: of the one the recording began with. */
struct background_request *background_request_start(enum background_kind kind, const char *path,
                                                    uint32_t pid);
/* 0: it is under way. 1: done, or -errno and why it is refused; the request is gone then. */
int background_request_take(struct background_request *b, struct background_answer *ret,
                            struct err *reterr);
/* Nobody wants the answer any more. NULL ok; returns NULL */
struct background_request *background_request_drop(struct background_request *b);
uint64_t background_request_begin_ms(const struct background_request *b); /* of clock_now_ms */
