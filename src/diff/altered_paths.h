/* SPDX-License-Identifier: MIT */
/* Call paths that are the same although they differ: a function was inlined without a trace, its last call became a
 * jump, a line moved. Inside diff/ only. */
#pragma once

#include "base/map.h"
#include "base/vec.h"
#include "diff/paired.h"
#include "diff/side_paths.h"

/* What a call path is found by. */
struct path_keys {
        uint64_t whole;  /* its functions, a function that calls itself once */
        uint64_t common; /* those of them that both sides have */
        uint32_t asker;  /* class of the first; PAIR_NO_CLASS: it has none */
};
struct path_keys path_keys_of(const struct side_paths *p); /* of the path loaded */

struct altered_path {
        uint32_t row, line, stack;
        uint8_t side;
        double value;
};

struct altered_paths {
        VEC(struct path_keys) keys;     /* of each row */
        VEC(struct altered_path) paths; /* as the sides have them */
        VEC(uint32_t) joined;           /* of each row: where it went; itself */
        VEC(uint32_t) buffers[NAME_N_SIDES];
};

void altered_paths_add_row(struct altered_paths *s, const struct path_keys *keys);
void altered_paths_add_path(struct altered_paths *s, uint32_t row, const struct side_paths *p,
                            uint32_t stack, double value);

/* Rows of one side alone are joined with what they are on the other, where the number of allocations and their bytes
 * agree. by_key: whole → row. */
void altered_paths_join(struct altered_paths *s, struct diff *d, struct side_paths *by_side,
                        const struct map *by_key);

/* Gives each row its id, and fills row_of. */
void altered_paths_number_rows(const struct altered_paths *s, struct diff *d);

/* For each row the stacks that stand for it: of the line that changed most. */
void altered_paths_choose_stacks(struct altered_paths *s, struct diff *d);
void altered_paths_done(struct altered_paths *s);
