/* SPDX-License-Identifier: MIT */
/* Call paths as groups and trees see them: frames have numbers, the same place in the code always the same one, and
 * what frames have in common (function, line, module, crate) is a key. Both are small integers, so that
 * names are looked at once a place and not once a path. Inside query/ only. */
#pragma once

#include "base/map.h"
#include "base/vec.h"
#include "name/name.h"
#include "query/query.h"

enum { ROUTE_NO_KEY = UINT32_MAX };
enum {
        ROUTE_MAX_FRAMES =
                8192, /* of a path; what lies farther out is left out: no recorder writes so much */
};

struct route_frame {
        uint32_t number;
        bool is_task; /* an async function, told by its innermost frame */
};

/* What makes two frames one. */
enum route_merge {
        ROUTE_BY_FUNCTION, /* name and module; without a name the place */
        ROUTE_BY_LINE,     /* function, file and line; without a line the place */
        ROUTE_BY_SOURCE,   /* file and line, whatever the function */
        ROUTE_BY_MODULE,
        ROUTE_BY_CRATE,
        ROUTE_BY_PLACE, /* each place for itself */
};

struct route_key {
        uint32_t number;  /* of the first frame seen with it */
        const char *text; /* ROUTE_BY_CRATE: its name */
};

struct routes {
        struct query *q;
        const struct names *names; /* that look_of is by */
        enum route_merge merge;
        bool is_full;
        uint32_t *key_of;          /* number → key; ROUTE_NO_KEY while not asked for */
        struct name_look *look_of; /* number → what folding has to know; entry NULL likewise */
        VEC(struct route_key) keys;
        struct map by_hash; /* → key */
        /* the path loaded last */
        VEC(struct route_frame) all, shown; /* innermost first; shown: as folded, or all of it */
        VEC(struct name_look) looks;
        struct name_stack folded;
        uint32_t asker; /* index into all: the code that asked; UINT32_MAX: the path is empty */
};

/* is_full: nothing is folded. */
void routes_init(struct routes *p, struct query *q, enum route_merge merge, bool is_full);
void routes_done(struct routes *p);

void routes_load(struct routes *p, uint32_t stack);
uint32_t routes_key(struct routes *p, uint32_t number);

/* The frame behind a number. */
struct query_frame routes_frame(const struct query *q, uint32_t number);
/* The frame that stands for a key: what its members do not share is blank. */
struct query_frame routes_key_frame(const struct routes *p, uint32_t key);
