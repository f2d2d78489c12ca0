/* SPDX-License-Identifier: MIT */
/* Reads one demangled name and writes it shorter. Inside name/ only. */
#pragma once

#include "base/str.h"
#include "name/name_rules.h"

enum {
        SHAPE_MAX_ARGS_CELLS = 24, /* longer lists of arguments are <…> */
        SHAPE_MAX_SELF_CELLS = 32, /* of A in <A as B>: longer ones lose their namespaces */
        SHAPE_MAX_READS = 3,
        SHAPE_MAX_DEPTH = 32, /* of brackets read into; deeper ones are <…> */
};

struct shape {
        struct str text;  /* the short form */
        struct str plain; /* the plain path */
        struct str trait; /* `<B>::f` of Rust's `<A as B>::f`; empty: it is none */
        bool has_outer;   /* the plain path begins with a crate, namespace or class */
};

/* The name's length without Rust's hash. */
size_t shape_full_length(const char *name);

/* Fills *ret, which is cleared before. A name that is no C, C++ or Rust name stays as it is. */
void shape_read(const struct rules *rules, const char *name, size_t n, struct shape *ret);
void shape_done(struct shape *s);
