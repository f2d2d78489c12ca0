/* SPDX-License-Identifier: MIT */
/* The call paths of one side, as rows of functions that have numbers in a name_match. Names are looked at once a
 * place in the code, not once a path. Inside diff/ only. */
#pragma once

#include "base/vec.h"
#include "diff/side.h"
#include "name/match.h"

enum {
        SIDE_PATHS_MAX_FRAMES = 8192
}; /* what lies farther out is left out: no recorder writes so much */

struct side_frame {
        struct name_look look;
        uint32_t number, line;
};

struct side_paths {
        struct diff_side *side;
        struct names *names;
        struct name_match *match;
        enum name_side which;
        uint32_t *first_of;            /* location → its first frame, plus 1; 0: not seen yet */
        VEC(struct side_frame) frames; /* of one location behind each other; look.entry NULL: end */
        VEC(uint64_t) builds;          /* of modules */
        uint64_t no_build;             /* of code in none */
        /* the path loaded last */
        VEC(struct name_look) looks;
        VEC(uint32_t) numbers; /* of the functions shown, innermost first */
        VEC(struct side_frame) all;
        struct name_stack folded;
        uint32_t line; /* where the code that asked is; 0 unknown */
};

/* is_one_trace: both sides are, so places in the code are the same. */
void side_paths_init(struct side_paths *p, struct diff_side *s, struct name_match *m,
                     enum name_side which, bool is_one_trace);
void side_paths_done(struct side_paths *p);

/* Tells the match the functions of a stack; before it is solved. */
void side_paths_learn(struct side_paths *p, uint32_t stack);

/* Fills numbers and line. */
void side_paths_load(struct side_paths *p, uint32_t stack);
