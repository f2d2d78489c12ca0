/* SPDX-License-Identifier: MIT */
/* Writes the entries that the runtime has prepared, and takes them back, while no thread runs. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "attach/target.h"
#include "base/err.h"

struct entries {
        uint64_t addr, n_entries; /* where the runtime keeps them: wire/attach_message.h */
        uint64_t guard;           /* its wire_guard */
        uint64_t room, room_bytes,
                left_addr; /* of a call that came back by itself: where to say that its thread has left; 0: none */
        uint64_t pause_ns;    /* how long threads stood still for the last call */
        uint32_t n_written;   /* by the last call */
        uint32_t n_strange;   /* whose bytes are neither what was nor what was written */
        bool is_list_changed; /* when they were put in, objects were open that the runtime had not looked at, or were being opened */
};

/* The runtime writes none of its own from now on, until the next attach. */
bool entries_close(const struct entries *e, const struct target *t);

int entries_put(struct entries *e, const struct target *t, struct err *reterr);
/* leave (NULL: nothing) is called when the threads stand still, before the first entry goes. */
int entries_take_back(struct entries *e, const struct target *t, void (*leave)(void *ctx),
                      void *ctx, struct err *reterr);
