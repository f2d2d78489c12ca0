/* SPDX-License-Identifier: MIT */
#include "record/snapshot_client.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/macros.h"
#include "record/proc.h"
#include "record/recorder_search.h"

/* A recorder that is behind answers late, and a graph of much memory takes long; one that is stopped answers never. */
enum { ASKER_PATIENCE_S = 20, GRAPH_PATIENCE_S = 600 };

static int connect_to(const char *path) {
        struct sockaddr_un addr = {.sun_family = AF_UNIX};
        struct timeval patience = {.tv_sec = ASKER_PATIENCE_S};
        _cleanup_close_ int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);

        if (fd < 0)
                return -errno;
        setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));
        setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
        snprintf(addr.sun_path, sizeof(addr.sun_path), "%s", path);
        if (connect(fd, (struct sockaddr *)&addr, sizeof(addr)) < 0)
                return -errno;
        return TAKE_FD(fd);
}

static int refuse_silence(const struct recorder_found *f, const char *who, int why,
                          struct err *reterr) {
        if (why == -EAGAIN)
                return err_set(reterr, -ETIMEDOUT, "'%s': its recorder (pid %d) does not answer%s",
                               who, (int)f->recorder,
                               proc_is_stopped(f->recorder)
                                       ? ": it is stopped: continue it with kill -CONT"
                                       : ": try again");
        return err_set(reterr, -ESRCH,
                       "'%s': the recording has just ended: use times, such as --at 90s", who);
}

static int ask(const struct recorder_found *f, const char *who, const struct snapshot_request *q,
               struct snapshot_answer *ret, struct err *reterr) {
        unsigned n_waits = q->kind == SNAPSHOT_TAKE_GRAPH ? GRAPH_PATIENCE_S / ASKER_PATIENCE_S : 1;
        _cleanup_close_ int fd = connect_to(f->socket);
        ssize_t n;

        if (fd < 0)
                return refuse_silence(f, who, fd, reterr);
        do
                n = send(fd, q, sizeof(*q), MSG_NOSIGNAL);
        while (n < 0 && errno == EINTR);
        if (n < 0)
                return refuse_silence(f, who, -errno, reterr);
        do
                n = recv(fd, ret, sizeof(*ret), 0);
        while (n < 0 &&
               (errno == EINTR || (errno == EAGAIN && !proc_is_stopped(f->recorder) && --n_waits)));
        if (n <= 0)
                return refuse_silence(f, who, n < 0 ? -errno : -EPIPE, reterr);
        if (n != (ssize_t)sizeof(*ret) || ret->magic != SNAPSHOT_MAGIC ||
            ret->version != SNAPSHOT_VERSION)
                return err_set(reterr, -EPROTO,
                               "'%s': its recorder is a different build of silt: use that build",
                               who);
        ret->name[sizeof(ret->name) - 1] = ret->text[sizeof(ret->text) - 1] =
                ret->path[sizeof(ret->path) - 1] = 0;
        return ret->result == SNAPSHOT_DONE ? 0 : err_set(reterr, -EINVAL, "%s", ret->text);
}

int snapshot_client_take(const char *who, const char *name, bool graph, struct snapshot_answer *ret,
                         struct err *reterr) {
        struct snapshot_request q = {.magic = SNAPSHOT_MAGIC,
                                     .version = SNAPSHOT_VERSION,
                                     .kind = graph ? SNAPSHOT_TAKE_GRAPH : SNAPSHOT_TAKE};
        struct recorder_found f;
        int r;

        q.pid = (uint32_t)recorder_search_pid(who);
        q.name_bytes = name ? (uint32_t)MIN(strlen(name), (size_t)SNAPSHOT_NAME_BYTES) : 0;
        memcpy(q.name, name ? name : "", q.name_bytes);
        r = recorder_search(who, &f, reterr);
        if (r < 0)
                return r;
        if (!f.socket[0])
                return refuse_silence(&f, who, -EPIPE, reterr);
        return ask(&f, who, &q, ret, reterr);
}
