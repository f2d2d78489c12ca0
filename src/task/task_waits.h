/* SPDX-License-Identifier: MIT */
/* What tasks wait for, by whose memory would wake them. Inside task/ only. */
#pragma once

#include <stdint.h>

enum task_wait {
        TASK_WAIT_ACCEPTED, /* sockets that were accepted */
        TASK_WAIT_OPENED,   /* sockets that the program connected */
        TASK_WAIT_SOCKET,   /* sockets, and other files: how they came to be is unknown */
        TASK_WAIT_TIMER,
        TASK_WAIT_ROOM,    /* in a channel with a bound */
        TASK_WAIT_MESSAGE, /* of a channel */
        TASK_WAIT_ANSWER,  /* of a oneshot channel */
        TASK_WAIT_NOTHING, /* nothing leads to them but the list of all tasks: nobody can wake them */
        N_TASK_WAITS,
};
const char *task_wait_name(enum task_wait w); /* "timers" */

/* Of a group: those that wait, by what they wait for. One that waits for several counts with each; for what silt cannot tell, with none. */
struct task_waits {
        uint64_t n_for[N_TASK_WAITS];
        uint64_t n_only[N_TASK_WAITS]; /* that wait for nothing else that silt knows */
        uint64_t n_lost,
                lost_bytes;  /* of those that wait and that nothing in the program leads to */
        uint32_t room_block; /* the first channel in which they want room; REACH_NONE: none */
        uint32_t n_room_channels;
};
