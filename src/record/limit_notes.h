/* SPDX-License-Identifier: MIT */
/* What keeps a recording from seeing all: kept in the trace as notes (trace/limit.h), and here until the supervisor has said it. */
#pragma once

#include <stdint.h>

#include "trace/limit.h"

struct control_message;
struct image;
struct pipeline_totals;
struct recorder;

enum {
        LIMITS_TEXT_BYTES = 320,
        LIMITS_MAX_EXES = 256, /* programs that are told of once; of others each time */
};

struct limits {
        struct {
                uint32_t n;
                uint64_t bytes; /* of the largest, whose text this is */
                char text[LIMITS_TEXT_BYTES];
        } of[LIMIT_N_KINDS];
};

/* A note was made: if it tells of a limit, the closing words tell of it too. */
void limits_hear(struct limits *l, const char *note);

/* Of a process that was just sampled: what is known is told, as neither it nor the recorder may come to an end, and its memory is
 * looked at closely if need be. */
void limits_look(struct recorder *r, struct image *one, uint64_t now_ns);

/* pipeline_calls.on_mapping: what a program maps itself is seen, whatever it keeps there. */
void limits_take_mapping(void *recorder, uint32_t process_idx, uint64_t begin, uint64_t end);

/* All that is known of an image when it is over. */
void limits_judge(struct recorder *r, struct image *one, const struct pipeline_totals *totals);

/* The worst of each kind, for the supervisor. */
void limits_tell(const struct limits *l, struct control_message *m);
