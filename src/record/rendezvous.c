/* SPDX-License-Identifier: MIT */
#include "record/rendezvous.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/macros.h"

enum { RENDEZVOUS_BACKLOG = 512 };

/* SEQPACKET: a hello arrives whole or not at all. */
static int rendezvous_listen(const struct sockaddr_un *addr, socklen_t len) {
        _cleanup_close_ int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

        if (fd < 0)
                return -errno;
        if (bind(fd, (const struct sockaddr *)addr, len) < 0 || listen(fd, RENDEZVOUS_BACKLOG) < 0)
                return -errno;
        return TAKE_FD(fd);
}

static int rendezvous_listen_abstract(const char *name) {
        struct sockaddr_un addr = {.sun_family = AF_UNIX};
        size_t n = strlen(name);

        memcpy(addr.sun_path + 1, name, n);
        return rendezvous_listen(&addr,
                                 (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + n));
}

/* A folder nobody else can write to, so that no planted link is followed. */
static int rendezvous_listen_path(struct rendezvous *r) {
        struct sockaddr_un addr = {.sun_family = AF_UNIX};
        const char *base = getenv("XDG_RUNTIME_DIR");
        char dir[80];
        int fd;

        if (!base || base[0] != '/' || strlen(base) > 48 || access(base, W_OK) < 0)
                base = "/tmp";
        snprintf(dir, sizeof(dir), "%s/silt-XXXXXX", base);
        if (!mkdtemp(dir))
                return -errno;
        snprintf(addr.sun_path, sizeof(addr.sun_path), "%s/r", dir);
        fd = rendezvous_listen(&addr, sizeof(addr));
        if (fd < 0) {
                rmdir(dir);
                return fd;
        }
        memcpy(r->path, addr.sun_path, sizeof(r->path));
        return fd;
}

static void rendezvous_write_env(struct rendezvous *r, const char *abstract_name) {
        char hex[2 * sizeof(r->token) + 1];

        for (size_t i = 0; i < sizeof(r->token); i++)
                snprintf(hex + 2 * i, 3, "%02x", r->token[i]);
        snprintf(r->env, sizeof(r->env), "%s%s%s:%s", r->abstract_fd >= 0 ? abstract_name : "",
                 r->abstract_fd >= 0 && r->path_fd >= 0 ? ";" : "", r->path_fd >= 0 ? r->path : "",
                 hex);
}

int rendezvous_open(struct rendezvous *r, struct err *reterr) {
        uint64_t id;
        char name[48];

        memset(r, 0, sizeof(*r));
        r->abstract_fd = r->path_fd = -1;
        if (getrandom(r->token, sizeof(r->token), 0) != sizeof(r->token) ||
            getrandom(&id, sizeof(id), 0) != sizeof(id))
                return err_set_errno(reterr, -errno, "random numbers: none to be had");
        snprintf(name, sizeof(name), "silt-%d-%016llx", (int)getpid(), (unsigned long long)id);
        r->abstract_fd = rendezvous_listen_abstract(name);
        r->path_fd = rendezvous_listen_path(r);
        if (r->abstract_fd < 0 && r->path_fd < 0)
                return err_set_errno(reterr, r->abstract_fd, "rendezvous socket: cannot listen");
        rendezvous_write_env(r, name);
        return 0;
}

void rendezvous_close(struct rendezvous *r) {
        if (r->abstract_fd >= 0)
                close(r->abstract_fd);
        if (r->path_fd >= 0)
                close(r->path_fd);
        r->abstract_fd = r->path_fd = -1;
        if (r->path[0]) {
                char *slash = strrchr(r->path, '/');

                unlink(r->path);
                *slash = 0;
                rmdir(r->path);
                r->path[0] = 0;
        }
}

static int rendezvous_accept_one(int listen_fd) {
        int fd;

        if (listen_fd < 0)
                return -EAGAIN;
        fd = accept4(listen_fd, NULL, NULL, SOCK_CLOEXEC);
        return fd < 0 ? -errno : fd;
}

/* A guest sends its hello right after connecting; one that does not is not waited for longer than this. */
static int rendezvous_read_hello(int fd, struct wire_hello *ret) {
        struct timeval patience = {.tv_usec = 200000};

        setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
        if (recv(fd, ret, sizeof(*ret), 0) != (ssize_t)sizeof(*ret))
                return -EPROTO;
        return ret->magic == WIRE_MAGIC && ret->version == WIRE_VERSION ? 0 : -EPROTO;
}

int rendezvous_accept(struct rendezvous *r, struct rendezvous_guest *ret_guest) {
        for (;;) {
                _cleanup_close_ int fd = rendezvous_accept_one(r->abstract_fd);
                struct rendezvous_guest guest;
                struct ucred peer;
                socklen_t len = sizeof(peer);

                if (fd < 0)
                        fd = rendezvous_accept_one(r->path_fd);
                if (fd < 0)
                        return 0;
                if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &len) < 0 ||
                    rendezvous_read_hello(fd, &guest.hello) < 0 ||
                    memcmp(guest.hello.token, r->token, sizeof(r->token)) != 0)
                        continue;
                guest.pid = peer.pid;
                guest.fd = TAKE_FD(fd);
                *ret_guest = guest;
                return 1;
        }
}

void rendezvous_welcome(struct rendezvous_guest *guest, const struct shm *shm, uint32_t accepted,
                        uint32_t process_idx) {
        struct wire_welcome welcome = {
                .magic = WIRE_MAGIC,
                .accepted = accepted,
                .process_idx = process_idx,
                .size_bytes = shm->size_bytes,
        };
        union {
                char bytes[CMSG_SPACE(sizeof(int))];
                struct cmsghdr align;
        } control = {0};
        struct iovec iov = {&welcome, sizeof(welcome)};
        struct msghdr msg = {.msg_iov = &iov, .msg_iovlen = 1};
        struct cmsghdr *c;

        if (accepted) {
                msg.msg_control = control.bytes;
                msg.msg_controllen = sizeof(control.bytes);
                c = CMSG_FIRSTHDR(&msg);
                c->cmsg_level = SOL_SOCKET;
                c->cmsg_type = SCM_RIGHTS;
                c->cmsg_len = CMSG_LEN(sizeof(int));
                memcpy(CMSG_DATA(c), &shm->fd, sizeof(int));
        }
        /* A guest that went away meanwhile needs no answer. */
        (void)!sendmsg(guest->fd, &msg, MSG_NOSIGNAL | MSG_DONTWAIT);
        close(TAKE_FD(guest->fd));
}
