/* SPDX-License-Identifier: MIT */
/* What `silt snapshot` and a recorder say to each other (docs/snapshots.md): one SEQPACKET connection, one request, one answer.
 *
 * The socket is called SNAPSHOT_SOCKET_NAME and lies in the folder of the rendezvous, which only its user can enter. The recorder keeps
 * that folder open, so /proc/PID/fd of a process called SNAPSHOT_RECORDER_NAME leads to it, for whoever may look there. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

#define SNAPSHOT_SOCKET_NAME "c"
#define SNAPSHOT_RECORDER_NAME "silt-recorder"
#define SNAPSHOT_FOLDER_PREFIX "silt-"

enum {
        SNAPSHOT_MAGIC = 0x4b534153, /* "SASK" */
        SNAPSHOT_VERSION = 2,        /* of all layouts here */
        SNAPSHOT_NAME_BYTES = 100,   /* of a snapshot's name at most */
        SNAPSHOT_MAX = 10000,
};

enum snapshot_kind {
        SNAPSHOT_TAKE = 1,       /* marks this moment; answered when it is in the file */
        SNAPSHOT_TAKE_GRAPH = 2, /* and what points to what then, in one process */
};

struct snapshot_request {
        uint32_t magic, version, kind;
        uint32_t name_bytes; /* 0: the recorder chooses */
        uint32_t
                pid; /* SNAPSHOT_TAKE_GRAPH: of which process; 0: of the program that was started */
        char name[SNAPSHOT_NAME_BYTES + 4];
};

enum snapshot_result {
        SNAPSHOT_DONE = 1,
        SNAPSHOT_REFUSED = 2, /* text says why */
};

enum snapshot_flags { SNAPSHOT_ESTIMATE = 1 }; /* what is live is told by samples */

struct snapshot_answer {
        uint32_t magic, version, result, flags;
        uint64_t time_ns; /* of the snapshot, since the start of the recording */
        uint64_t live_bytes,
                live_blocks; /* then, in all processes together; SNAPSHOT_TAKE_GRAPH: in that one */
        uint64_t pause_ns;   /* SNAPSHOT_TAKE_GRAPH: so long did it stand still */
        char name[SNAPSHOT_NAME_BYTES + 4]; /* it got */
        char text[256];
        char path[4096]; /* of the trace */
};

/* What a snapshot may be called, so that it is one word after '@' wherever times are given. n_bytes without a NUL. 0 or
 * -EINVAL. */
int snapshot_check_name(const char *name, size_t n_bytes, struct err *reterr);
