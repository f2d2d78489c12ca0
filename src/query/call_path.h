/* SPDX-License-Identifier: MIT */
/* Call paths as groups and trees see them: frames have numbers, the same place in the code always the same one, and
 * what frames have in common (function, line, module, crate, component) is a key. Both are small integers, so that
 * names are looked at once a place and not once a path. Inside query/ only. */
#pragma once

#include "base/map.h"
#include "base/vec.h"
#include "name/name.h"
#include "query/query.h"

enum { CALL_PATH_NO_KEY = UINT32_MAX };
enum {
        CALL_PATH_MAX_FRAMES =
                8192, /* of a path; what lies farther out is left out: no recorder writes so much */
};

struct call_path_frame {
        uint32_t number;
        bool is_task; /* an async function, told by its innermost frame */
};

/* What makes two frames one. */
enum call_path_merge {
        CALL_PATH_BY_FUNCTION, /* name and module; without a name the place */
        CALL_PATH_BY_LINE, /* function, file and line; without a line the place; of time the function */
        CALL_PATH_BY_SOURCE, /* file and line, whatever the function */
        CALL_PATH_BY_MODULE,
        CALL_PATH_BY_CRATE,
        CALL_PATH_BY_COMPONENT,
        CALL_PATH_BY_PLACE, /* each place for itself */
};

struct call_path_key {
        uint32_t number;  /* of the first frame seen with it */
        const char *text; /* crates and components: its name */
};

struct call_paths {
        struct query *q;
        const struct names *names; /* that look_of is by */
        enum call_path_merge merge;
        bool is_full;
        bool is_of_time; /* of ticks: nothing is folded, and the innermost frame is where the time went */
        uint32_t *key_of;          /* number → key; CALL_PATH_NO_KEY while not asked for */
        struct name_look *look_of; /* number → what folding has to know; entry NULL likewise */
        VEC(struct call_path_key) keys;
        struct map by_hash; /* → key */
        /* the path loaded last */
        VEC(struct call_path_frame)
        all, shown; /* innermost first; shown: as folded, or all of it */
        VEC(struct name_look) looks;
        struct name_stack folded;
        uint32_t asker; /* index into all: the code that asked; UINT32_MAX: the path is empty */
        uint32_t owner; /* likewise: the code whose memory it is; another one by component only */
};

/* is_full: nothing is folded. */
void call_paths_init(struct call_paths *p, struct query *q, enum call_path_merge merge,
                     bool is_full);
void call_paths_done(struct call_paths *p);

void call_paths_load(struct call_paths *p, uint32_t stack);
uint32_t call_paths_key(struct call_paths *p, uint32_t number);

/* By component: whether the frame is of one that leaves its memory to its caller. */
bool call_paths_passes_on(struct call_paths *p, uint32_t number);

/* The frame behind a number. */
struct query_frame call_paths_frame(const struct query *q, uint32_t number);
/* The frame that stands for a key: what its members do not share is blank. */
struct query_frame call_paths_key_frame(const struct call_paths *p, uint32_t key);
