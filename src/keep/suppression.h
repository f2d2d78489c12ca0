/* SPDX-License-Identifier: MIT */
/* Leaks that nobody wants to hear of: valgrind's suppression files and LSan's (docs/leaks.md).
 *
 *  - valgrind: entries in braces; those of Memcheck:Leak count, others are passed over. match-leak-kinds, fun:, obj:, src: and "..." are understood.
 *  - LSan: a line "leak:PATTERN" each, for a function, file or module anywhere on the call path.
 *
 * Which of the two a file is, its first line that says anything tells. Trusts nothing: a file that is neither is refused with its line. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/vec.h"
#include "reach/leak_classes.h"

enum suppression_frame_kind {
        SUPPRESSION_FUNCTION,
        SUPPRESSION_OBJECT,
        SUPPRESSION_SOURCE,
        SUPPRESSION_ANY_FRAMES, /* "...": none or more */
        SUPPRESSION_ANYTHING,   /* LSan: function, file or module */
};

struct suppression_frame {
        enum suppression_frame_kind kind;
        char *pattern; /* with * and ?; owned. NULL: any */
        /* of a function that the entry names as the linker does: as traces have it, "List::add(int)"; owned. NULL: none */
        char *readable;
        bool is_scope; /* readable names what the function is in, or the function without its parameters */
};

struct suppression {
        char *name;       /* owned */
        unsigned classes; /* bits of enum leak_class that it is for */
        VEC(struct suppression_frame) frames;
        uint64_t n_blocks, n_bytes; /* what it has suppressed, for whoever adds it up */
};

struct suppressions {
        VEC(struct suppression) list;
        unsigned n_odd_names; /* linker names with wildcards that cannot be held against a trace */
};

/* A frame of a call path, innermost first, as the trace has it. "" where it is unknown. */
struct suppression_place {
        const char *function, *object, *source;
        uint32_t line;
};

int suppressions_read(struct suppressions *s, const char *path, struct err *reterr);
/* The same from text; path is for messages. */
int suppressions_parse(struct suppressions *s, const char *text, size_t n_bytes, const char *path,
                       struct err *reterr);
void suppressions_done(struct suppressions *s);

/* The first that fits; NULL: none. */
struct suppression *suppressions_find(struct suppressions *s, enum leak_class class,
                                      const struct suppression_place *places, size_t n);

bool suppression_matches_text(
        const char *pattern,
        const char *text); /* * and ? stand for anything and for one character */
