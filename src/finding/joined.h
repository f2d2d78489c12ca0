/* SPDX-License-Identifier: MIT */
/* Findings of several processes put together: each says in which process it is, most important first. */
#pragma once

#include "base/str.h"
#include "finding/finding.h"

enum { FINDINGS_MAX_PARTS = 4 };

struct findings_parts {
        const struct query *q;
        struct findings *together; /* of the sum of all processes */
        struct {
                uint32_t process;
                bool is_heir; /* most of what it holds was its parent's */
                struct findings *found;
        } parts[FINDINGS_MAX_PARTS]; /* of those that hold most, the largest first */
        size_t n;
};

/* The text of a finding with the process that it is in, where there are others. */
void findings_add_text(const struct query *q, uint32_t process, const char *text, struct str *to);

/* Takes over what the parts has. */
struct findings *findings_join(struct findings_parts *c);
void findings_parts_done(struct findings_parts *c);
