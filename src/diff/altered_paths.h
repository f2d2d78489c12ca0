/* SPDX-License-Identifier: MIT */
/* Call paths that are the same although they differ: a function was inlined without a trace, its last call became a
 * jump, a line moved. Inside diff/ only. */
#pragma once

#include "base/map.h"
#include "base/vec.h"
#include "diff/paired.h"
#include "diff/side_paths.h"

/* What a call path is found by. */
struct seam_keys {
        uint64_t whole;  /* its functions, a function that calls itself once */
        uint64_t common; /* those of them that both sides have */
        uint32_t asker;  /* class of the first; PAIR_NO_CLASS: it has none */
};
struct seam_keys seam_keys_of(const struct lane *p); /* of the path loaded */

struct seam_path {
        uint32_t row, line, stack;
        uint8_t side;
        double value;
};

struct seams {
        VEC(struct seam_keys) keys;  /* of each row */
        VEC(struct seam_path) paths; /* as the sides have them */
        VEC(uint32_t) joined;        /* of each row: where it went; itself */
        VEC(uint32_t) buffers[NAME_N_SIDES];
};

void seams_add_row(struct seams *s, const struct seam_keys *keys);
void seams_add_path(struct seams *s, uint32_t row, const struct lane *p, uint32_t stack,
                    double value);

/* Rows of one side alone are joined with what they are on the other, where the number of allocations and their bytes
 * agree. by_key: whole → row. */
void seams_join(struct seams *s, struct diff *d, struct lane *lanes, const struct map *by_key);

/* Gives each row its id, and fills row_of. */
void seams_number_rows(const struct seams *s, struct diff *d);

/* For each row the stacks that stand for it: of the line that changed most. */
void seams_choose_stacks(struct seams *s, struct diff *d);
void seams_done(struct seams *s);
