/* SPDX-License-Identifier: MIT */
/* What silt and a runtime that it has brought into a running process say to each other: the argument of the runtime's
 * silt_attached, in memory of the process. docs/attaching.md has the steps. */
#pragma once

#include <stdint.h>

#define WIRE_ATTACH_MAGIC 0x314843415454534cull /* "LSTTACH1" */
#define WIRE_ATTACH_FUNCTION "silt_attached"

enum { WIRE_ATTACH_UNDONE = 1 };

struct wire_attach {
        uint64_t magic;
        uint32_t version; /* WIRE_VERSION */

        /* set by the runtime. WIRE_ATTACH_UNDONE before; 0: it records, and waits for its entries to be written. -errno: it does
         * not, and will not. EALREADY: it was preloaded. EBUSY: it records for somebody. EAGAIN: a thread is inside it. */
        int32_t result;
        uint64_t writes,
                n_writes; /* address of a table of wire_plan_write, and its length: those with n_bytes 0 are free */

        /* set by silt: memory that this call runs on, in which this struct is. The runtime gives the one before it back, if silt has
         * seen that its thread had left it. */
        uint64_t room, room_bytes;
        uint32_t is_room_left;

        /* set by silt: the system call that the thread waits in, which is made again when this call has returned, unless a signal has come
         * whose handler ends it. By any handler, or only by one without SA_RESTART; behind the call, 0: it waits in none; where its frame has
         * the program counter and the call's result; signals that it does not take then. */
        uint32_t ends_by_handler;
        uint64_t failed_pc, frame_pc, frame_result, mask;

        uint64_t guard; /* set by the runtime: address of its wire_guard */
        uint32_t
                is_again; /* set by silt: it records already; objects were opened since they were looked at */
        uint32_t
                is_ended_by_all; /* set by the runtime: no handler of the program lets that system call go on */
        uint32_t
                is_list_changed; /* set by the runtime: objects came or went while it was planned */
        uint32_t reserved;

        char rendezvous[320]; /* as WIRE_ENV has it */
};

_Static_assert(sizeof(struct wire_attach) == 432, "both sides must agree on the layout");

/* Between the runtime, which writes entries into objects that the loader has just opened, and silt, which writes all others from
 * outside with all threads stopped. */
struct wire_guard {
        uint32_t
                is_writing; /* set by the runtime: it changes code or the table. What silt has read is not to be used */
        uint32_t
                is_closed; /* set by silt: the runtime writes no more. The next attach opens it again */
        uint32_t
                is_list_seen; /* set by silt, when it has hooked the loader's function: the list was still as list_hash says */
        uint32_t
                keeps_rooms; /* set by silt: code may lead into the room of an object that is gone, or a thread may be there. None is unmapped */
        uint64_t r_debug;    /* address of the loader's r_debug */
        uint64_t
                list_hash; /* of the objects in its list when they were last looked at: wire_guard_hash of each */
};

#define WIRE_NAME_HASH UINT64_C(14695981039346656037) /* of no name at all */

static inline uint64_t wire_hash(uint64_t hash, uint64_t with) {
        return (hash ^ with) * UINT64_C(1099511628211);
}

static inline uint64_t wire_guard_hash(uint64_t hash, uint64_t link_map, uint64_t base,
                                       uint64_t name_hash) {
        return wire_hash(wire_hash(wire_hash(hash, link_map), base), name_hash);
}

/* In `entry` of a wire_plan_write in the runtime's table: the object that is written to. Where another lies there now, nothing is. */
static inline uint32_t wire_owner(uint64_t base, uint64_t name_hash) {
        uint64_t hash = wire_hash(name_hash, base);

        return (uint32_t)(hash ^ hash >> 32);
}

_Static_assert(sizeof(struct wire_guard) == 32, "both sides must agree on the layout");
