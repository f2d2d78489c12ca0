/* SPDX-License-Identifier: MIT */
/* The call paths of a page in one file: every frame once, and each path as a list of them. Inside answer/ only. */
#pragma once

#include "base/json.h"
#include "base/macros.h"
#include "show/frame.h"

struct column_paths;

struct column_paths *column_paths_new(const struct frame_names *n);
struct column_paths *column_paths_free(struct column_paths *p); /* NULL ok; returns NULL */
DEFINE_CLEANUP(struct column_paths, column_paths_free)

/* Of samples of time: the first stack that was asked about whose frames are the same by function and line. A thread is interrupted at each
 * instruction of a function, so that stacks are many and call paths few. */
uint32_t column_paths_alike(struct column_paths *p, uint32_t stack);

/* "path_frames": for each stack its frames, innermost first, i for one that is shown and -1 - i for one that is folded away; of samples of
 * time none is. */
void column_paths_put(struct json *j, struct column_paths *p, const uint32_t *stacks,
                      size_t n_stacks, bool is_of_time);
/* Behind all paths. "frames": an array for each property, texts as indices into "names". */
void column_paths_put_frames(struct json *j, const struct column_paths *p);
