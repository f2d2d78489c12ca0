/* SPDX-License-Identifier: MIT */
/* Call paths as groups and trees see them: frames have numbers, the same place in the code always the same one, and
 * what frames have in common (function, line, module, crate) is a key. Both are small integers, so that
 * names are looked at once a place and not once a path. Inside query/ only. */
#pragma once

#include "base/map.h"
#include "base/vec.h"
#include "name/name.h"
#include "query/query.h"

enum {
        PATH_NO_KEY = UINT32_MAX,
        PATH_MAX_FRAMES =
                8192, /* of a path; what lies farther out is left out: no recorder writes so much */
};

struct path_frame {
        uint32_t number;
        bool is_task; /* an async function, told by its innermost frame */
};

/* What makes two frames one. */
enum path_merge {
        PATH_BY_FUNCTION, /* name and module; without a name the place */
        PATH_BY_LINE,     /* function, file and line; without a line the place */
        PATH_BY_SOURCE,   /* file and line, whatever the function */
        PATH_BY_MODULE,
        PATH_BY_CRATE,
        PATH_BY_PLACE, /* each place for itself */
};

struct path_key {
        uint32_t number;  /* of the first frame seen with it */
        const char *text; /* PATH_BY_CRATE: its name */
};

struct paths {
        struct query *q;
        enum path_merge merge;
        bool is_full;
        uint32_t *key_of; /* number → key; PATH_NO_KEY while not asked for */
        VEC(struct path_key) keys;
        struct map by_hash; /* → key */
        /* the path loaded last */
        VEC(struct path_frame) all, shown; /* innermost first; shown: as folded, or all of it */
        VEC(struct name_frame) names;
        struct name_stack folded;
        uint32_t asker; /* index into all: the code that asked; UINT32_MAX: the path is empty */
};

/* is_full: nothing is folded. */
void paths_init(struct paths *p, struct query *q, enum path_merge merge, bool is_full);
void paths_done(struct paths *p);

void paths_load(struct paths *p, uint32_t stack);
uint32_t paths_key(struct paths *p, uint32_t number);

/* The frame behind a number. */
struct query_frame paths_frame(const struct query *q, uint32_t number);
/* The frame that stands for a key: what its members do not share is blank. */
struct query_frame paths_key_frame(const struct paths *p, uint32_t key);
