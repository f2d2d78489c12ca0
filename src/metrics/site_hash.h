/* SPDX-License-Identifier: MIT */
/* A number for a call path that is the same in every run: of the names of the functions that people are shown of it, not of addresses.
 * Inside metrics/ only. */
#pragma once

#include "show/frame.h"

enum { SITE_HASH_TEXT = 17 };

/* 16 hexadecimal digits. Code without a name goes by its file and its place in it: the same while the build is. */
void site_hash(const struct frame_stack *s, struct names *names, char ret[SITE_HASH_TEXT]);
