/* SPDX-License-Identifier: MIT */
/* Patterns of paths, all tried at once: `std::**`, `g_*alloc`, `**::{closure}`. The parts of all
 * patterns form a tree; a path walks it part by part and is on several branches at a time, so the
 * cost is that of the path, not of the number of patterns. Inside name/ only. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/map.h"
#include "base/vec.h"

enum { PATTERN_NO_NODE = UINT32_MAX };
enum {
        PATTERN_ROOT = 0,
        PATTERN_MAX_PARTS = 64,
};

struct pattern_node {
        const char *part; /* not NUL-terminated */
        size_t part_n;
        uint32_t any;        /* the `**` behind this node; 0: none */
        uint32_t first_glob; /* children with a `*` in their part; 0: none */
        uint32_t next_glob;  /* of the same parent */
        bool is_any;
        uint32_t value; /* the owner's; 0: no pattern ends here */
};

struct patterns {
        VEC(struct pattern_node) nodes;
        struct map children; /* hash of parent and part -> node, for parts without a `*` */
        /* of a match that is under way */
        VEC(uint64_t) stamps; /* by node: the step that entered it last */
        VEC(uint32_t) now;
        VEC(uint32_t) next;
        uint64_t stamp;
};

void patterns_init(struct patterns *p);
void patterns_done(struct patterns *p);

/* The node at which the pattern ends, made when it is new; NULL or why it is no pattern. text must
 * outlive the patterns. */
const char *patterns_add(struct patterns *p, const char *text, size_t n, uint32_t *ret_node);

/* Calls fn with the node of every pattern with a value that fits the whole path. */
typedef void (*pattern_fn)(void *ctx, uint32_t node);
void patterns_match(struct patterns *p, const char *path, pattern_fn fn, void *ctx);

/* One step down from node: the child whose part is exactly this, else one with a `*` that fits;
 * PATTERN_NO_NODE: there is none, or node is no node. */
uint32_t patterns_step(const struct patterns *p, uint32_t node, const char *part, size_t n);

/* Whether text fits a glob, in which `*` stands for any characters. */
bool pattern_glob_fits(const char *glob, size_t glob_n, const char *text, size_t text_n);
