/* SPDX-License-Identifier: MIT */
/* The frames of all threads of a copy (frozen.h), so that words of stacks can be named. Unwind tables are read by a process of its own, with
 * limits: files that break it cost the names of frames, and nothing else. */
#pragma once

#include "attach/frozen.h"

struct frozen_frame {
        uint64_t address; /* from here on, up to the next frame of the same stack */
        uint64_t pc;      /* an instruction of it; 0: what follows is unknown */
        uint32_t tid;
        uint32_t is_end; /* the first of the stack: nothing above it is a frame */
};

typedef VEC(struct frozen_frame) frozen_frame_list;

/* By address. Of each thread one at least; what could not be walked is unknown. */
void frozen_frames_find(const struct frozen *f, frozen_frame_list *ret);
