/* SPDX-License-Identifier: MIT */
/* Which functions of two recordings are the same one, when the program was built anew in between: by another compiler,
 * with other options, in another directory, from changed sources. docs/diff.md tells the rules.
 *
 *   struct name_match *m = name_match_new(names);
 *   a = name_match_add(m, NAME_OLD, &(struct name_built){frame_of_old});
 *   b = name_match_add(m, NAME_NEW, &(struct name_built){frame_of_new});
 *   name_match_solve(m);
 *   if (name_match_class(m, a) == name_match_class(m, b)) …       // the same function
 *
 * The strictest likeness first: name, file and module; then without the file, without parameters, without template
 * arguments, without the module. What found its like takes no part in what is looser. */
#pragma once

#include "base/macros.h"
#include "name/name.h"

enum name_side { NAME_OLD, NAME_NEW, NAME_N_SIDES };

/* A frame, and of which build. */
struct name_built {
        struct name_frame frame;
        uint64_t
                build; /* tells builds of its module apart, such as a hash of the build-id; 0 unknown */
        bool is_program; /* the module is the program itself, whatever its file is called */
};

struct name_match;

struct name_match *name_match_new(struct names *n); /* n must live as long */
struct name_match *name_match_free(struct name_match *m);
DEFINE_CLEANUP(struct name_match, name_match_free)

/* The number of the frame's function on this side; texts are not kept. A guessed name counts as none. */
uint32_t name_match_add(struct name_match *m, enum name_side side, const struct name_built *b);

/* After the last add. */
void name_match_solve(struct name_match *m);

/* Of a number: functions that are the same have the same class. Classes count from 0. */
uint32_t name_match_class(const struct name_match *m, uint32_t number);
size_t name_match_n_classes(const struct name_match *m);
/* Whether both sides have it. */
bool name_match_is_common(const struct name_match *m, uint32_t class_number);
