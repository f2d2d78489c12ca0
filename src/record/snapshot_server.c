/* SPDX-License-Identifier: MIT */
#include "record/snapshot_server.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/macros.h"
#include "base/system_clock.h"

enum { SNAPSHOT_SERVER_BACKLOG = 128 };

/* A caller asks right after connecting. */
#define SNAPSHOT_SERVER_PATIENCE_NS 2000000000ull

int snapshot_server_open(struct snapshot_server *d, const char *folder) {
        struct sockaddr_un addr = {.sun_family = AF_UNIX};
        _cleanup_close_ int folder_fd = -1, fd = -1;
        int n = snprintf(addr.sun_path, sizeof(addr.sun_path), "%s/" SNAPSHOT_SOCKET_NAME, folder);

        *d = (struct snapshot_server){.listen_fd = -1, .folder_fd = -1};
        for (size_t i = 0; i < SNAPSHOT_SERVER_N_CALLERS; i++)
                d->callers[i].fd = -1;
        if (n < 0 || (size_t)n >= sizeof(addr.sun_path))
                return -ENAMETOOLONG;
        folder_fd = fs_open(folder, O_PATH | O_DIRECTORY | O_CLOEXEC, 0);
        fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
        if (folder_fd < 0 || fd < 0 || bind(fd, (struct sockaddr *)&addr, sizeof(addr)) < 0 ||
            listen(fd, SNAPSHOT_SERVER_BACKLOG) < 0)
                return -errno;
        memcpy(d->path, addr.sun_path, sizeof(addr.sun_path));
        d->folder_fd = TAKE_FD(folder_fd);
        d->listen_fd = TAKE_FD(fd);
        return 0;
}

static void snapshot_server_drop(struct snapshot_server *d, struct snapshot_server_caller *c) {
        close(c->fd);
        d->n_callers--;
        d->n_silent -= !c->has_asked;
        *c = (struct snapshot_server_caller){.fd = -1};
}

void snapshot_server_close(struct snapshot_server *d) {
        if (d->listen_fd < 0)
                return;
        unlink(d->path);
        close(TAKE_FD(d->listen_fd));
        close(TAKE_FD(d->folder_fd));
        for (size_t i = 0; i < SNAPSHOT_SERVER_N_CALLERS; i++)
                if (d->callers[i].fd >= 0)
                        snapshot_server_drop(d, &d->callers[i]);
}

/* The folder keeps other users out; the kernel says once more who it is. Root sees all anyway. */
static bool snapshot_server_may_ask(int fd) {
        struct ucred peer;
        socklen_t len = sizeof(peer);

        return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &len) == 0 &&
               (peer.uid == 0 || peer.uid == geteuid());
}

/* As many as there is room for: the others wait at the socket. */
static void snapshot_server_take_callers(struct snapshot_server *d) {
        for (size_t i = 0;
             i < SNAPSHOT_SERVER_N_CALLERS && d->n_callers < SNAPSHOT_SERVER_N_CALLERS; i++) {
                int fd;

                if (d->callers[i].fd >= 0)
                        continue;
                fd = accept4(d->listen_fd, NULL, NULL, SOCK_CLOEXEC);
                if (fd < 0)
                        return;
                if (!snapshot_server_may_ask(fd)) {
                        close(fd);
                        continue;
                }
                d->callers[i] =
                        (struct snapshot_server_caller){.fd = fd, .since_ns = clock_now_ns()};
                d->n_callers++;
                d->n_silent++;
        }
}

/* 1: a request, 0: not yet, else the caller is to go. */
static int snapshot_server_hear_one(const struct snapshot_server_caller *c,
                                    struct snapshot_request *ret) {
        struct snapshot_request q;
        ssize_t n = recv(c->fd, &q, sizeof(q), MSG_DONTWAIT | MSG_TRUNC);

        if (n < 0 && (errno == EAGAIN || errno == EINTR))
                return clock_now_ns() - c->since_ns < SNAPSHOT_SERVER_PATIENCE_NS ? 0 : -ETIMEDOUT;
        if (n != (ssize_t)sizeof(q) || q.magic != SNAPSHOT_MAGIC || q.version != SNAPSHOT_VERSION ||
            q.name_bytes > SNAPSHOT_NAME_BYTES)
                return -EPROTO;
        *ret = q;
        return 1;
}

int snapshot_server_hear(struct snapshot_server *d, struct snapshot_request *ret) {
        if (d->listen_fd < 0)
                return -1;
        snapshot_server_take_callers(d);
        for (int i = 0; i < SNAPSHOT_SERVER_N_CALLERS && d->n_silent; i++) {
                struct snapshot_server_caller *c = &d->callers[i];
                int heard = c->fd >= 0 && !c->has_asked ? snapshot_server_hear_one(c, ret) : 0;

                if (heard < 0)
                        snapshot_server_drop(d, c);
                if (heard <= 0)
                        continue;
                c->has_asked = true;
                d->n_silent--;
                return i;
        }
        return -1;
}

void snapshot_server_answer(struct snapshot_server *d, int caller,
                            const struct snapshot_answer *answer) {
        struct snapshot_server_caller *c = &d->callers[caller];

        if (c->fd < 0)
                return;
        (void)!send(c->fd, answer, sizeof(*answer), MSG_NOSIGNAL | MSG_DONTWAIT);
        snapshot_server_drop(d, c);
}
