/* SPDX-License-Identifier: MIT */
/* What a block is, told by a table of functions that one of its first words points to: the class of a C++ object, by its RTTI; the type
 * behind a Rust `dyn`; any other such table, by a function in it. Inside reach/ only. */
#pragma once

#include "reach/memory_scan.h"

enum {
        VTABLE_LOOK_WORDS = 6, /* of a block: a task's table comes behind its state and its links */
        VTABLE_CXX_WORDS = 4,  /* a class's before it */
        VTABLE_MAX_NAME = 512,
        VTABLE_MAX_FUNCTIONS = 8,
};

enum vtable_kind {
        VTABLE_CXX,   /* `name` is the class, mangled, as RTTI has it: "N3app7SessionE" */
        VTABLE_RUST,  /* `function` drops one, or does something with it */
        VTABLE_OTHER, /* three functions or more; `function` is the first */
};

struct vtable {
        enum vtable_kind kind;
        uint64_t function; /* an address in code; 0: none is known */
        char name[VTABLE_MAX_NAME];
};

/* Whether a table is there. Memory is hostile: nothing in it is believed that was not looked at. */
bool vtable_read(const struct reach_memory *m, uint64_t address, struct vtable *ret);

/* How many words from there on are functions, and which. */
unsigned vtable_functions(const struct reach_memory *m, uint64_t address,
                          uint64_t ret[VTABLE_MAX_FUNCTIONS]);
