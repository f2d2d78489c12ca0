/* SPDX-License-Identifier: MIT */
/* Program counters become locations, chains of them become stacks of the trace.
 *
 * An address space (intern_space) knows which module lies where; it is shared by forked processes until
 * one of them maps something else at a place the others know. Locations and stacks are the same for all. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/map.h"
#include "base/vec.h"
#include "record/pipeline.h"

struct trace_writer;

struct intern_node {
        uint32_t parent, location;
};

struct intern {
        struct trace_writer *writer;
        const struct pipeline_calls *calls;
        VEC(struct intern_node) nodes; /* by stack; [0] is the empty one */
        uint32_t *index; /* open addressing over stacks, 0: free; cap a power of two */
        size_t index_cap;
        struct map locations;             /* module << 48 | offset → location */
        struct map raw_locations;         /* addresses in no module */
        VEC(struct trace_module) modules; /* as defined in the trace; owns its paths */
        uint32_t n_locations;
};

void intern_init(struct intern *in, struct trace_writer *w, const struct pipeline_calls *calls);
void intern_done(struct intern *in);
size_t intern_size_bytes(const struct intern *in);

struct intern_space; /* counted */

struct intern_space *intern_space_new(void);
struct intern_space *intern_space_ref(struct intern_space *s);
struct intern_space *intern_space_unref(struct intern_space *s); /* NULL ok; returns NULL */
size_t intern_space_size_bytes(const struct intern_space *s);

/* A MODULE record of a process in *space, which may become another one. */
void intern_add_module(struct intern *in, struct intern_space **space,
                       const struct pipeline_module *m);

/* The stack `parent` called pc from: another stack, or `parent` itself when the frame is silt's own. */
uint32_t intern_push(struct intern *in, struct intern_space *space, uint32_t parent, uint64_t pc);
