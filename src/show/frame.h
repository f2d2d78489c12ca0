/* SPDX-License-Identifier: MIT */
/* Frames and places in text. Inside report/ only. */
#pragma once

#include "base/str.h"
#include "report/gather.h"

/* A stack of the trace and what of it is shown. */
struct frame_stack {
        VEC(struct name_frame) frames;
        struct name_stack shown;
};

/* Everything, innermost first; with full nothing is left out. Keeps its memory for the next. */
void frame_stack_fill(struct frame_stack *s, const struct report *r, uint32_t stack, bool full);
void frame_stack_done(struct frame_stack *s);

/* Appends what the function is called: in short, or with full as the trace has it. */
void frame_add_function(struct str *to, const struct report *r, const struct name_frame *f,
                        bool is_task, bool full, bool utf8);

/* The same in short; unnamed code of the module of the last such call, *module, which it sets, is "+0x1234" alone. */
void frame_add_next(struct str *to, const struct report *r, const struct name_frame *f,
                    bool is_task, bool utf8, const char **module);
bool frame_is_unnamed(const struct name_frame *f); /* shown as module+0x1234 */

/* Appends file:line, or the module. */
void frame_add_place(struct str *to, const struct name_frame *f, bool full);

const char *frame_base(const char *path);

/* What a frame of the trace is to name/. */
struct name_frame frame_of(const struct query_frame *f);
