/* SPDX-License-Identifier: MIT */
/* Which part of a program a function belongs to, by rules: docs/components.md has the grammar. Inside name/ only. */
#pragma once

#include "name/name_rules.h"

enum {
        COMPONENTS_MAX = 65536,
        COMPONENT_MAX_NAME_BYTES = 64,
};

struct component_rule {
        const char *name;
        const char *module, *file; /* globs; NULL: any */
        uint32_t next;             /* a later rule of the same pattern; 0: none */
        uint32_t last;             /* of a pattern's first rule: its last */
        bool is_rust;              /* of Rust functions only */
        bool passes_on;
};

struct components {
        struct arena *arena;              /* the texts */
        uint32_t max;                     /* of rules */
        VEC(struct component_rule) items; /* the first stands for none */
        struct patterns patterns;         /* values of nodes: the first rule of the pattern */
};

void components_init(struct components *c);
void components_done(struct components *c);

/* One after the other, earlier rules win. -EINVAL and one sentence about the line that is no rule. */
int components_add_builtin(struct components *c, struct err *reterr);
int components_add_file(struct components *c, const char *path, struct err *reterr);

/* The first rule that fits; 0: none does. */
uint32_t components_find(struct components *c, const struct rules_subject *s);
struct name_component components_at(const struct components *c, uint32_t rule);
