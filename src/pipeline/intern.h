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
#include "pipeline/paths.h"
#include "pipeline/pipeline.h"

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
        struct map kernel_locations;      /* addresses of the kernel, which use all bits */
        VEC(struct trace_module) modules; /* as defined in the trace; owns its paths */
        uint32_t n_locations;
        struct path_key key;
};

void intern_init(struct intern *in, struct trace_writer *w, const struct pipeline_calls *calls);
void intern_done(struct intern *in);
size_t intern_size_bytes(const struct intern *in);

struct intern_mapping {
        uint64_t begin, end, bias; /* return addresses in (begin, end] */
        uint64_t name_hash;
        uint32_t module; /* of the trace, or hidden */
};

struct intern_pc {
        uint64_t pc; /* 0: this place is free */
        uint32_t location;
};

struct intern_space {
        struct paths paths; /* whole stacks */
        uint32_t n_refs;
        uint32_t n_unknown;                 /* cached program counters in no module */
        VEC(struct intern_mapping) modules; /* by address */
        struct intern_pc *pcs;              /* open addressing; cap a power of two */
        size_t n_pcs, pcs_cap;
};

struct intern_space *intern_space_new(void);
struct intern_space *intern_space_ref(struct intern_space *s);
struct intern_space *intern_space_unref(struct intern_space *s); /* NULL ok; returns NULL */
size_t intern_space_size_bytes(const struct intern_space *s);

/* A MODULE record of a process in *space, which may become another one. */
void intern_add_module(struct intern *in, struct intern_space **space,
                       const struct pipeline_module *m);

static inline uint64_t intern_hash(uint64_t x) {
        x *= 0x9e3779b97f4a7c15ull;
        return x ^ x >> 32;
}

/* The stack `parent` called pc from: another stack, or `parent` itself when the frame is silt's own. */
uint32_t intern_push(struct intern *in, struct intern_space *s, uint32_t parent, uint64_t pc);

/* A file that was found otherwise than by a MODULE record: the module that has its path and build-id, or a new one. */
uint32_t intern_add_file(struct intern *in, const struct trace_module *m);
/* As intern_push, of a place in such a module; UINT32_MAX: in none, offset is the address. */
uint32_t intern_push_at(struct intern *in, uint32_t parent, uint32_t module, uint64_t offset);

/* The location of an address in a module, one behind what is meant; PIPELINE_NO_LOCATION: it is in none, or in silt's own. */
uint32_t intern_locate(struct intern *in, const struct intern_space *s, uint64_t address);
/* The same of an address in a file that intern_add_file knows. */
uint32_t intern_locate_at(struct intern *in, uint32_t module, uint64_t address);
