/* SPDX-License-Identifier: MIT */
/* A call path as text profiles tell it, frame by frame. Inside import/ only.
 *
 *   import_frames_clear(&f);
 *   import_frames_add_text(&f, "0x1091AA: outer (leaky.c:7)");   // innermost first
 *   import_frames_stack(&f, t, &stack, &err); */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/map.h"
#include "base/vec.h"
#include "import/import_trace.h"

struct import_frame {
        uint64_t address; /* of the call, inside its instruction; 0 unknown */
        const char *module;
        struct import_function function;
        bool is_inlined; /* into the next one, as its tool says */
};

struct import_frames {
        VEC(struct import_frame) list;
        VEC(struct import_function) chain; /* of one address, while a stack is made */
        struct arena *arena;               /* texts of the list; dropped by clear */
        /* Of valgrind: addresses are those in memory, and nothing says where files of code were. Only of a program that is not position
         * independent they are those of its file. */
        bool are_of_memory;
        struct map is_fixed; /* then: hash of module → whether it is such a program */
};

void import_frames_init(struct import_frames *f);
void import_frames_done(struct import_frames *f);
void import_frames_clear(struct import_frames *f);
/* Texts are copied; NULL is "". */
void import_frames_add(struct import_frames *f, const struct import_frame *frame);
/* A frame as valgrind and dhat-rs write it: "0x1091AA: outer (leaky.c:7)", "0x1: ??? (in /lib/x.so)", "main (a.rs:3:9)". False: it is
 * not one. */
bool import_frames_add_text(struct import_frames *f, const char *text);
/* Neighbours with the same address, and those that say so, are one place: what was inlined into what. */
int import_frames_stack(struct import_frames *f, struct import_trace *t, uint32_t *ret_stack,
                        struct err *reterr);
