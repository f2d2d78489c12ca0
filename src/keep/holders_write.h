/* SPDX-License-Identifier: MIT */
/* The answer of silt holders, gathered, and its two forms. Inside keep/ only. */
#pragma once

#include "keep/held_graph.h"
#include "keep/holders.h"
#include "reach/holder_growth.h"
#include "reach/why.h"
#include "show/style.h"

struct holders {
        const struct holders_options *options;
        struct frame_names names; /* of the newer graph's trace */
        struct site_texts texts;
        struct held_graph now, before;
        size_t graph_idx; /* of now, in its trace */
        bool has_before;
        /* the program let most go before it ended: what was live then, the most that was, and whether this graph is near that */
        uint64_t end_bytes, peak_bytes;
        bool is_high;
        struct holder_growth growth; /* if has_before */
        struct why why;              /* if options->why */
        struct map site_growth
                [2]; /* site → blocks more in the second half of the time until the graph; in its last quarter */
        struct map site_blocks; /* site → live blocks then */
};

enum { HOLDERS_MAX_WAY = 64 };

/* From what holds most on down to where it becomes many: groups, a place first, or blocks that several places hold; how many. 0: nothing
 * is held. */
uint32_t holders_way(const struct site_tree *t, uint32_t *ret, uint32_t max);

/* Blocks more per second of a group, by the graph before or by its site's history. False: unknown. */
bool holders_rate(const struct holders *h, uint32_t group, double *ret_per_s);

/* Appends who a group is: "static server+56", "set_value (db.c:31)". */
void holders_add_name(const struct holders *h, const struct held_graph *g,
                      const struct site_tree *t, uint32_t group, bool utf8, struct str *to);

/* The same of anything that has a kind, a site and a type. */
void holders_add_group(const struct holders *h, const struct site_group *x, bool utf8,
                       struct str *to);

/* Appends what a group's blocks are as containers: "a hash table of 600 entries, 59 % of its slots used". False: nothing that is worth a
 * line. */
bool holders_add_container(const struct holders *h, uint32_t group, struct str *to);

/* What the answer begins with: who holds most, and how. */
void holders_add_sentence(const struct holders *h, bool utf8, struct str *to);

/* Appends what a way begins with: a place and where in it, or the nearest of those that hold the blocks that it begins with. second: the
 * group below it; REACH_NONE: none. */
void holders_add_first(const struct holders *h, uint32_t first, uint32_t second, bool utf8,
                       struct str *to);

/* Of a place its name, of blocks where they were allocated. */
struct json;
void holders_put_identity(struct json *j, const struct holders *h, const struct held_graph *g,
                          const struct site_group *x);

/* One graph alone, and the ways that options->why asks for. holders_done() in any case. */
int holders_open_one(struct holders *h, struct query *q, size_t graph_idx, struct err *reterr);
void holders_done(struct holders *h);

void holders_text(FILE *out, const struct holders *h);
void holders_why_text(const struct style *s, const struct holders *h);
void holders_growth_text(const struct style *s, const struct holders *h);
void holders_json(FILE *out, const struct holders *h);
