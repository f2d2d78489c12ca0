/* SPDX-License-Identifier: MIT */
/* Texts, functions, frames and call paths of a thread of a Firefox profile. Inside export/ only.
 *
 *   firefox_tables_use(t, stack);            // of every call path there is; 0 is that of a tick without one
 *   firefox_tables_make(t);
 *   firefox_tables_stack(t, stack);          // its number from now on
 *   firefox_tables_leaf(t, stack, category); // of the same in that category
 *   firefox_tables_put(t, j);                // their keys of the thread, and the texts asked for until then */
#pragma once

#include "base/json.h"
#include "export/export_job.h"
#include "export/frame_table.h"
#include "export/text_table.h"

/* What a sample was at; the profile lists them. */
enum firefox_category {
        FIREFOX_OTHER,
        FIREFOX_USER,
        FIREFOX_KERNEL,
        FIREFOX_BLOCKED,
        FIREFOX_READY,
        FIREFOX_N_CATEGORIES
};

struct firefox_func {
        uint32_t name, file; /* texts */
        uint32_t resource;   /* index + 1; 0: none */
        uint32_t next;       /* of the same hash: index + 1 */
};

struct firefox_tables {
        const struct export_job *job;
        struct text_table *libs; /* paths of modules of the whole profile, from 1 on */
        struct frame_table frames;
        struct text_table texts;
        bool *is_used;      /* by stack: it, or a call path through it */
        int64_t *stack_ids; /* by stack: of its innermost frame */
        VEC(struct firefox_stack {
                int64_t prefix;
                uint32_t frame;
                uint32_t category;
        })
        stacks;
        VEC(struct firefox_func) funcs;
        struct map func_ids;
        VEC(uint32_t) func_of;   /* by frame */
        struct map leaves;       /* stack and category → number */
        VEC(uint32_t) resources; /* texts: paths of modules; each is a library, too */
        struct map resource_ids; /* by text: index */
};

void firefox_tables_init(struct firefox_tables *t, const struct export_job *job,
                         struct text_table *libs);
void firefox_tables_done(struct firefox_tables *t);
void firefox_tables_use(struct firefox_tables *t, uint32_t stack);
uint32_t firefox_tables_text(struct firefox_tables *t, const char *text);
int64_t firefox_tables_stack(const struct firefox_tables *t, uint32_t stack); /* -1: none */
int64_t firefox_tables_leaf(struct firefox_tables *t, uint32_t stack, enum firefox_category c);
void firefox_tables_make(struct firefox_tables *t);
void firefox_tables_put(struct firefox_tables *t, struct json *j);
