/* SPDX-License-Identifier: MIT */
/* The socket at which new images of a recording report (wire/hello.h). Two addresses lead to it: an
 * abstract one, which survives chroot and a change of user, and a path, which survives another network
 * namespace. A 128-bit token, known only through the environment, keeps strangers out; other users are turned away
 * before they are heard, unless the recorder is root's, whose programs may change user. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include "record/shm.h"
#include "wire/hello.h"

enum { RENDEZVOUS_N_CALLERS = 256 };

/* Connected, and has not said hello yet. */
struct rendezvous_caller {
        int fd;
        uint64_t since_ns;
};

struct rendezvous {
        int abstract_fd, path_fd; /* listening, non-blocking; -1: not available */
        char path[108];           /* "" when there is none */
        size_t root_len;          /* of what is before the path as images know it */
        int base_fd; /* where its folder is, while there is a path: that of a process goes with the process */
        uint8_t token[16];
        char env[320];                                          /* value of SILT_RENDEZVOUS */
        struct rendezvous_caller callers[RENDEZVOUS_N_CALLERS]; /* oldest first */
        unsigned n_callers;
};

struct rendezvous_guest {
        int fd;    /* owned by the caller: answer with rendezvous_welcome, then it is closed */
        pid_t pid; /* as the kernel says, in the recorder's namespace */
        struct wire_hello hello;
};

int rendezvous_open(struct rendezvous *r, struct err *reterr);

/* The same, the path being one of a process that may have another root: it calls it `path` behind /proc/PID/root. */
int rendezvous_open_for(struct rendezvous *r, pid_t pid, struct err *reterr);
void rendezvous_close(struct rendezvous *r); /* removes the path */

/* One waiting guest with the right token: 1, or 0 when there is none now. Others are turned away silently. Never
 * blocks: while n_callers is not 0, ask again soon. */
int rendezvous_accept(struct rendezvous *r, struct rendezvous_guest *ret_guest);

/* accepted 0: the guest runs without recording. plan_fd: entry patches for it, -1 none. Closes guest->fd. 0, or -errno when the guest waits no longer. */
int rendezvous_welcome(struct rendezvous_guest *guest, const struct shm *shm, uint32_t accepted,
                       uint32_t process_idx, int plan_fd, uint64_t plan_bytes);

/* The answer to a guest that is recorded already and has opened objects. Closes guest->fd. */
int rendezvous_send_plan(struct rendezvous_guest *guest, int plan_fd, uint64_t plan_bytes);

/* The recorder is here: images that waited for it in vain need not be an example to others. True when there were any;
 * *ret_n_unheard of them could not even say hello. */
bool rendezvous_end_silence(const struct rendezvous *r, uint64_t *ret_n_unheard);
