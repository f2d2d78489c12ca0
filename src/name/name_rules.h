/* SPDX-License-Identifier: MIT */
/* The rules about names as data, read from lines of text: docs/names.md has the grammar. Inside
 * name/ only. */
#pragma once

#include "base/arena.h"
#include "base/err.h"
#include "name/name.h"
#include "name/path_pattern.h"
#include "name/rule_line.h"

enum { RULES_MAX = 65536 };

struct rule {
        uint32_t next;      /* an older rule of the same pattern; 0: none */
        const char *module; /* kinds: glob of the module's file name; NULL: any */
        const char *file;   /* kinds: glob of the source file's path; NULL: any */
        const char
                *args; /* folds: "" whatever there is, and it stays; "*" any; else exactly these */
        const char *text; /* folds: what is written instead */
        enum name_kind kind;
        bool is_rust; /* kinds: of Rust functions only */
        bool is_inline;
};

struct rules {
        struct arena *arena;    /* the texts */
        VEC(struct rule) items; /* the first stands for none */
        /* values of nodes: the newest rule of the pattern */
        struct patterns kinds, drivers;
        struct patterns shapes; /* folds and inline namespaces */
};

void rules_init(struct rules *r);
void rules_done(struct rules *r);

/* One after the other, later rules win. -EINVAL and one sentence about the line that is no rule. */
int rules_add_builtin(struct rules *r, struct err *reterr);
int rules_add_file(struct rules *r, const char *path, struct err *reterr);
int rules_add_text(struct rules *r, const char *where, const char *text, size_t n,
                   struct err *reterr);

/* What rules go by. */
struct rules_subject {
        const char *plain; /* path */
        const char *trait; /* `<B>::f` where it is one of a trait's, else "" */
        const char *module, *file;
        bool is_rust; /* which may depend on the file */
};

/* *ret_by_place: whether the kind may be another in another module or file. */
enum name_kind rules_kind(struct rules *r, const struct rules_subject *s, bool *ret_by_place);
bool rules_knows(struct rules *r, const struct rules_subject *s); /* some rule decides */
bool rules_is_driver(struct rules *r, const char *plain);

/* The fold of the path that ends at node of shapes and has these arguments (with their brackets;
 * "" none); NULL: there is none. */
const struct rule *rules_fold(const struct rules *r, uint32_t node, const char *args);
bool rules_is_inline(const struct rules *r, uint32_t node);
