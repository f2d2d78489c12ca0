/* SPDX-License-Identifier: MIT */
/* The files an answer rests on: every path that was tried while a module was looked up, with what stood there. An
 * answer that was kept holds as long as all of them are as they were; a debug file that has appeared since is
 * one of the paths that were tried in vain. Inside symbol/ only. */
#pragma once

#include <stdbool.h>

#include "base/arena.h"
#include "base/vec.h"

typedef VEC(const char *)
        source_list; /* "inode size mtime ctime path", or "- path" where nothing stood */

/* From now on sources_note adds to the list, in this process; NULL: to none. */
void sources_collect(source_list *list, struct arena *arena);

/* To be called with each path before it is opened. */
void sources_note(const char *path);

/* A whole tree was searched in vain: what may appear in it has no path yet, so that nothing tells when the answer is out of date. */
void sources_note_unlisted(void);
bool sources_are_listed(void); /* of what is being collected: that never happened */

/* What was noted is still so. */
bool sources_hold(const char *const *sources, size_t n);
