/* SPDX-License-Identifier: MIT */
/* What a bill says first, and what its parts are called. Inside bill/ only. */
#pragma once

#include "base/str.h"
#include "bill/bill_parts.h"
#include "show/frame.h"

struct bill_options;

/* What the kernel calls memory that is shared without a file: "/dev/zero (deleted)". */
bool bill_is_dev_zero(const char *name);

/* Of the part, for people. */
const char *bill_kind_words(const struct bill *b, enum bill_kind k);

/* The function that asked, of a call path, and its line (NULL: never mind); both empty where that is unknown. */
void bill_add_function(const struct frame_names *n, uint32_t stack, bool utf8, struct str *to,
                       struct str *place);

/* The same of a line of what the program mapped: the allocator that its call paths meet in, or the function that asked. */
void bill_add_mapper(const struct frame_names *n, const struct bill_line *l, bool utf8,
                     struct str *to, struct str *place);

/* One sentence about the largest part, and what to do about it. */
void bill_add_sentence(const struct bill *b, const struct frame_names *n,
                       const struct bill_options *o, bool utf8, struct str *to);

/* The same in brief, for the middle of a sentence: "235 MiB were mapped by the program itself, nearly all through ggc_internal_alloc". */
uint64_t bill_add_largest(const struct bill *b, const struct frame_names *n, bool utf8,
                          struct str *to);
