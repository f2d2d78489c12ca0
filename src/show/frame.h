/* SPDX-License-Identifier: MIT */
/* Functions and places in text, by the rules of names a trace was opened with. */
#pragma once

#include "base/str.h"
#include "base/vec.h"
#include "name/name.h"
#include "query/query.h"

/* Whose stacks are shown, and how functions are called. */
struct frame_names {
        const struct query *q;
        struct names *names;
        bool is_full; /* whole stacks, long names */
        bool is_of_time; /* of samples of time: the innermost frame is where it went, nothing is left out */
};

/* A stack of the trace and what of it is shown. */
struct frame_stack {
        VEC(struct name_frame) frames;
        struct name_stack shown;
};

/* Everything, innermost first; with full nothing is left out. Keeps its memory for the next. */
void frame_stack_fill(struct frame_stack *s, const struct frame_names *n, uint32_t stack,
                      bool full);
void frame_stack_done(struct frame_stack *s);

/* Appends what the function is called: in short, or with full as the trace has it. */
void frame_add_function(struct str *to, const struct frame_names *n, const struct name_frame *f,
                        bool is_task, bool full, bool utf8);

/* The same in short; unnamed code of the module of the last such call, *module, which it sets, is "+0x1234" alone. */
void frame_add_next(struct str *to, const struct frame_names *n, const struct name_frame *f,
                    bool is_task, bool utf8, const char **module);
bool frame_is_unnamed(const struct name_frame *f); /* shown as module+0x1234 */

/* Appends file:line, or the module. */
void frame_add_place(struct str *to, const struct name_frame *f, bool full);

const char *frame_base(const char *path);

/* What a frame of the trace is to name/. */
struct name_frame frame_of(const struct query_frame *f);
