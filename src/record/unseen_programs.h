/* SPDX-License-Identifier: MIT */
/* Programs that descendants ran and silt could not enter: which, how many processes of each, and why. A few by name, which is
 * as many as people read; the others are counted. */
#pragma once

#include <stdint.h>

struct control_message;
struct recorder;

enum { UNSEEN_MAX_PROGRAMS = 64, UNSEEN_PATH_BYTES = 204 };

struct unseen_program {
        char path[UNSEEN_PATH_BYTES];
        unsigned why; /* enum wire_unseen */
        uint64_t n, n_noted;
};

struct unseen {
        struct unseen_program programs[UNSEEN_MAX_PROGRAMS + 1]; /* the last: all others */
        uint32_t n_programs;
        uint64_t n; /* processes, of all programs */
};

/* Called by the pipeline (on_unseen); why may have WIRE_UNSEEN_NOT. */
void unseen_on_program(void *recorder, uint32_t process_idx, uint32_t pid, unsigned why,
                       const char *path);

/* Notes of all that have none yet: at the end. */
void unseen_note_rest(struct recorder *r);

/* For the closing words: how many, and the program with most of them: "'busybox': it is a static executable". */
void unseen_tell(const struct unseen *u, struct control_message *m);
