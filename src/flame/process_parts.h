/* SPDX-License-Identifier: MIT */
/* What each process has of a recording of several: a row of the picture. Inside flame/ only. */
#pragma once

#include "base/arena.h"
#include "base/vec.h"
#include "flame/graph.h"

enum { FLAME_MAX_PROCESSES = 16 }; /* with a box each; all others share one */

/* One process's part of the answer; both belong to whoever asked. */
struct part {
        struct query_answer *answer;
        const char *name, *place;
        uint32_t pid; /* 0: several */
};

struct parts {
        VEC(struct part) items; /* none: there is one process, or one was asked for */
};

/* How many processes have something of an answer; 1 where one was asked for. */
size_t parts_count(const struct view *v, const struct query_answer *whole);
/* Splits what a view's scope, all processes, answered. Texts go to the arena. */
int parts_ask(struct parts *p, const struct view *v, const struct query_answer *whole,
              struct arena *arena, struct err *reterr);
void parts_done(struct parts *p);
