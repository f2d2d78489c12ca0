/* SPDX-License-Identifier: MIT */
/* The call paths of a page in one file: every frame once, and each path as a list of them. Inside answer/ only. */
#pragma once

#include "base/json.h"
#include "show/frame.h"

/* "frames": an array for each property, texts as indices into "names"; "path_frames": for each stack its frames, innermost first,
 * i for one that is shown and -1 - i for one that is folded away. */
void column_paths_put(struct json *j, const struct frame_names *n, const uint32_t *stacks,
                      size_t n_stacks);
