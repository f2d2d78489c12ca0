/* SPDX-License-Identifier: MIT */
/* How a new image finds the recorder: it connects (AF_UNIX, SOCK_SEQPACKET) to the first socket of
 * SILT_RENDEZVOUS that answers, sends a hello, and gets one reply that carries the arena's descriptor
 * (SCM_RIGHTS). Nothing stays open. */
#pragma once

#include <stdint.h>

#include "wire/patch_plan.h"

/* "<name>[;<name>]:<32 hex digits of token>"; a name beginning with '/' is a path, else abstract. No comma: emulators split
 * the variables they hand on at commas. */
#define WIRE_ENV "SILT_RENDEZVOUS"

/* Beside the socket that is a path, while images wait for an answer: since when (u64, monotonic ns), then one byte for each
 * image that could not even say hello. Made by images, removed by the recorder. */
#define WIRE_SILENCE_NAME "silence"

enum { WIRE_MAX_NEWS = 16 };

enum wire_hello_flags {
        /* The runtime was brought into a running process: nothing stands before the C library's functions, so they are to be
         * patched too. */
        WIRE_HELLO_ATTACHED = 1u << 0,
        /* Some object of the image opens others, which may find the C library's functions past the hooks that were preloaded
         * (RTLD_DEEPBIND, dlsym of a handle): its entries are to be patched too. */
        WIRE_HELLO_OPENS = 1u << 1,
};

struct wire_hello {
        uint64_t magic; /* WIRE_MAGIC */
        uint32_t version;
        uint32_t
                pid; /* as the target sees it; the recorder takes the socket's word for the real one */
        uint32_t parent_pid;
        uint32_t machine; /* ELF e_machine of the runtime */
        uint8_t token[16];
        uint64_t now; /* the target's counter, to notice a clock that does not agree */

        /* For entry patches (wire/patch_plan.h): where the runtime's hooks are, and the table of its entries; those that are free begin
         * at first_free, and are n_free. */
        uint64_t hooks[WIRE_N_CALLS];
        uint64_t entries;
        uint32_t first_free;
        /* Not a new image: objects were opened, with these load biases, and may want patches. */
        uint32_t is_again;
        uint32_t n_news; /* more than WIRE_MAX_NEWS: all of them are to be looked at */
        uint32_t n_free;
        uint32_t flags; /* enum wire_hello_flags */
        uint32_t reserved;
        uint64_t
                malloc; /* the function that malloc's hook calls, by which the recorder names the allocator */
        uint64_t news[WIRE_MAX_NEWS];
};

struct wire_welcome {
        uint64_t magic;
        uint32_t accepted; /* 0: record nothing (recording is over) */
        uint32_t process_idx;
        uint64_t size_bytes; /* to map */
        uint64_t plan_bytes; /* of a second descriptor, with entry patches; 0: there is none */
};

_Static_assert(sizeof(struct wire_hello) == 88 + 8 * (WIRE_N_CALLS + WIRE_MAX_NEWS),
               "both sides must agree on the layout");
_Static_assert(sizeof(struct wire_welcome) == 32, "both sides must agree on the layout");
