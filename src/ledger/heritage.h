/* SPDX-License-Identifier: MIT */
/* Blocks that outlive the process that allocated them, because a child inherited them. In the sum of the recording a block
 * counts once: in its allocator while that lives; then in those who inherited it, by call path as much as any one
 * of them still has. What passes on to an heir counts as its own from then on: its row's n_inherited_frees says how much.
 *
 *   at the end of a process: each of its heirs that has more of a call path than the heirs count together takes the rest
 *   when an heir releases:   copies that count elsewhere first; another heir that still has the block takes it over */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct figures;
struct sites;

/* Whether the end of a process may pass something on. */
bool heritage_is_due(const struct sites *s, const struct figures *f);

/* The process is over and counts nothing any more. */
void heritage_pass_on(struct sites *s, struct figures *f, uint64_t now_ns);

/* A process whose parent is over began. */
void heritage_begin(struct sites *s, struct figures *f, uint64_t now_ns);

/* It released n_blocks that it inherited, whose site here is idx. */
void heritage_release(struct sites *s, struct figures *f, uint32_t idx, uint32_t n_blocks,
                      uint64_t bytes, uint64_t now_ns);
