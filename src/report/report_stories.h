/* SPDX-License-Identifier: MIT */
/* For the seeds of report_fuzz: traces in which that happens of which a report tells seldom. `variant` chooses among ways it can go; any
 * number does. */
#pragma once

/* Many processes, some alike, each with another peak and another end; variants: who held most, who ended last and how, what was in
 * memory beside blocks. */
void story_of_family(const char *path, unsigned variant);
/* Samples of time, and blocks in odd variants. */
void story_of_time(const char *path, unsigned variant);
/* Of another tool, which does not know everything: N_SUMS_VARIANTS. */
void story_of_sums(const char *path, unsigned variant);
enum { N_SUMS_VARIANTS = 7 };
/* Killed for lack of memory. */
void story_of_kill(const char *path, unsigned variant);
enum kill_variant {
        KILL_STEADY,   /* in a group, which was growing */
        KILL_STEP,     /* all at once */
        KILL_LEVEL,    /* of others; several of them */
        KILL_RECORDER, /* not the program */
        KILL_BOTH,
        KILL_UNKNOWN,     /* it breaks off when memory is full: to be left without an index */
        KILL_UNSEEN_ROOM, /* nothing is known of the group: the process's own samples tell */
        KILL_EMPTY,       /* no block was live */
        KILL_STARVED,     /* the recorder got no look at memory in the second half */
        KILL_BURST,       /* nor while all of it was taken at once */
        N_KILL_VARIANTS,
};
/* Attached to, with many threads and mappings, and what recording took. */
void story_of_server(const char *path, unsigned variant);
