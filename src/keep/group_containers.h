/* SPDX-License-Identifier: MIT */
/* What the blocks of a group are as containers, added up: how many, how full. Inside keep/ only. */
#pragma once

#include "base/str.h"
#include "keep/site_texts.h"
#include "reach/site_tree.h"

struct container_sum {
        uint64_t n, n_bytes; /* blocks, and their sizes */
        uint64_t used, room; /* bytes, or entries and slots */
};

/* Of each group of the tree N_CONTAINER_KINDS sums, one group behind the other; NULL: no memory. Rust's vectors and strings are among the
 * others of their kind, if the group's call path says that they are some. */
struct container_sum *group_containers_find(const struct heap_graph *h, const struct site_tree *t,
                                            const struct site_texts *texts,
                                            const struct frame_names *names);

/* Those that say what the group is: most of its blocks or bytes, or what holds most of its blocks. NULL: none does. */
const struct container_sum *group_container(const struct container_sum *sums,
                                            const struct site_tree *t, uint32_t group,
                                            enum heap_container_kind *ret_kind);

const char *container_noun(enum heap_container_kind kind, uint64_t n); /* "vectors" */

/* Whether how full they are is worth a line: vectors and strings that are full are as they should be. */
bool container_is_notable(enum heap_container_kind kind, const struct container_sum *s);

/* Appends "a hash table of 1,200,000 entries, 31 % of its slots used". */
void container_add_text(struct str *to, enum heap_container_kind kind,
                        const struct container_sum *s);
