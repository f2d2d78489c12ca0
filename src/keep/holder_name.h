/* SPDX-License-Identifier: MIT */
/* Who a group of a tree of holders is, in words. */
#pragma once

#include "keep/held_graph.h"

/* Appends it: "static server", "app::Session by accept_one (server.cc:31)". Of another tree of the same graph too. */
void holder_name_add(const struct held_graph *g, const struct frame_names *names,
                     const struct site_texts *texts, const struct site_group *x, bool utf8,
                     struct str *to);
/* The same of blocks without their type: "accept_one (server.cc:31)". */
void holder_name_add_site(const struct held_graph *g, const struct frame_names *names,
                          const struct site_texts *texts, const struct site_group *x, bool utf8,
                          struct str *to);

/* Appends what leads to a group that several places hold: "static a and static b". False: it is none. */
bool holder_name_add_places(const struct held_graph *g, const struct site_texts *texts,
                            uint32_t group, struct str *to);

/* The place that has this number of a name (site_group.site of GROUP_PLACE); NULL: none. */
const struct root_place *holder_name_place(const struct held_graph *g, uint32_t name);
/* "all", "blocks"; of a place "variable", "thread", "thread-local", "mapping", "allocator". p is the group's place, or NULL. */
const char *holder_name_kind(const struct site_group *x, const struct root_place *p);
