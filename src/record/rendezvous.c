/* SPDX-License-Identifier: MIT */
#include "record/rendezvous.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
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
#include "base/system_clock.h"
#include "record/snapshot_protocol.h"

enum { RENDEZVOUS_BACKLOG = 512 };

/* A guest says hello right after connecting; one that does not is not kept longer than this. */
#define RENDEZVOUS_PATIENCE_NS 2000000000ull

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

/* To the user of the process, when we are another. */
static void rendezvous_give(const char *dir, const char *path, pid_t pid) {
        char process[32];
        struct stat st;

        snprintf(process, sizeof(process), "/proc/%d", (int)pid);
        if (stat(process, &st) == 0 && st.st_uid != geteuid()) {
                (void)!lchown(path, st.st_uid, st.st_gid);
                (void)!lchown(dir, st.st_uid, st.st_gid);
        }
}

/* A folder nobody else can write to, so that no planted link is followed. */
static int rendezvous_listen_path(struct rendezvous *r, pid_t pid) {
        struct sockaddr_un addr = {.sun_family = AF_UNIX};
        const char *base = getenv("XDG_RUNTIME_DIR");
        _cleanup_close_ int base_fd = -1;
        char dir[80];
        int fd;

        if (pid || !base || base[0] != '/' || strlen(base) > 48 || access(base, W_OK) < 0)
                base = "/tmp";
        if (pid)
                r->root_len = (size_t)snprintf(dir, sizeof(dir), "/proc/%d/root", (int)pid);
        snprintf(dir + r->root_len, sizeof(dir) - r->root_len, "%s", base);
        base_fd = open(dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
        if (base_fd < 0)
                return -errno;
        snprintf(dir + r->root_len, sizeof(dir) - r->root_len, "%s/silt-XXXXXX", base);
        if (!mkdtemp(dir))
                return -errno;
        snprintf(addr.sun_path, sizeof(addr.sun_path), "%s/r", dir);
        fd = rendezvous_listen(&addr, sizeof(addr));
        if (fd < 0) {
                rmdir(dir);
                return fd;
        }
        memcpy(r->path, addr.sun_path, sizeof(r->path));
        r->base_fd = TAKE_FD(base_fd);
        if (pid)
                rendezvous_give(dir, addr.sun_path, pid);
        return fd;
}

static void rendezvous_write_env(struct rendezvous *r, const char *abstract_name) {
        char hex[2 * sizeof(r->token) + 1];

        for (size_t i = 0; i < sizeof(r->token); i++)
                snprintf(hex + 2 * i, 3, "%02x", r->token[i]);
        snprintf(r->env, sizeof(r->env), "%s%s%s:%s", r->abstract_fd >= 0 ? abstract_name : "",
                 r->abstract_fd >= 0 && r->path_fd >= 0 ? ";" : "",
                 r->path_fd >= 0 ? r->path + r->root_len : "", hex);
}

int rendezvous_open(struct rendezvous *r, struct err *reterr) {
        return rendezvous_open_for(r, 0, reterr);
}

int rendezvous_open_for(struct rendezvous *r, pid_t pid, struct err *reterr) {
        uint64_t id;
        char name[48];

        memset(r, 0, sizeof(*r));
        r->abstract_fd = r->path_fd = -1;
        if (getrandom(r->token, sizeof(r->token), 0) != sizeof(r->token) ||
            getrandom(&id, sizeof(id), 0) != sizeof(id))
                return err_set_errno(reterr, -errno, "cannot get random numbers");
        snprintf(name, sizeof(name), "silt-%d-%016llx", (int)getpid(), (unsigned long long)id);
        r->abstract_fd = rendezvous_listen_abstract(name);
        r->path_fd = rendezvous_listen_path(r, pid);
        if (r->abstract_fd < 0 && r->path_fd < 0)
                return err_set_errno(reterr, r->abstract_fd,
                                     "cannot listen on the rendezvous socket");
        rendezvous_write_env(r, name);
        return 0;
}

static void rendezvous_drop_caller(struct rendezvous *r, unsigned idx, bool close_it) {
        if (close_it)
                close(r->callers[idx].fd);
        r->n_callers--;
        memmove(&r->callers[idx], &r->callers[idx + 1],
                (r->n_callers - idx) * sizeof(r->callers[0]));
}

static void rendezvous_silence_path(const struct rendezvous *r, char *ret_path, size_t cap) {
        int folder_len = (int)(strrchr(r->path, '/') + 1 - r->path);

        snprintf(ret_path, cap, "%.*s" WIRE_SILENCE_NAME, folder_len, r->path);
}

bool rendezvous_end_silence(const struct rendezvous *r, uint64_t *ret_n_unheard) {
        char path[sizeof(r->path) + sizeof(WIRE_SILENCE_NAME)];
        struct stat st;

        if (!r->path[0])
                return false;
        rendezvous_silence_path(r, path, sizeof(path));
        if (lstat(path, &st) < 0 || unlink(path) < 0)
                return false;
        *ret_n_unheard = S_ISREG(st.st_mode) && (size_t)st.st_size > sizeof(uint64_t)
                                 ? (uint64_t)st.st_size - sizeof(uint64_t)
                                 : 0;
        return true;
}

/* The socket for snapshots too, which a recorder that was killed has left. */
static void rendezvous_remove(struct rendezvous *r) {
        char *slash = strrchr(r->path, '/'), *name;
        _cleanup_close_ int folder = -1;

        *slash = 0;
        name = strrchr(r->path, '/') + 1;
        folder = openat(r->base_fd, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        if (folder < 0)
                return; /* somebody else has removed it */
        (void)!unlinkat(folder, slash + 1, 0);
        (void)!unlinkat(folder, SNAPSHOT_SOCKET_NAME, 0);
        (void)!unlinkat(folder, WIRE_SILENCE_NAME, 0);
        (void)!unlinkat(r->base_fd, name, AT_REMOVEDIR);
}

void rendezvous_close(struct rendezvous *r) {
        uint64_t n_unheard;

        while (r->n_callers)
                rendezvous_drop_caller(r, 0, true);
        if (r->abstract_fd >= 0)
                close(r->abstract_fd);
        if (r->path_fd >= 0)
                close(r->path_fd);
        r->abstract_fd = r->path_fd = -1;
        if (r->path[0]) {
                rendezvous_end_silence(r, &n_unheard);
                rendezvous_remove(r);
                close(TAKE_FD(r->base_fd));
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

/* Anybody on the machine can connect to an abstract address. */
static bool rendezvous_may_call(int fd) {
        struct ucred peer;
        socklen_t len = sizeof(peer);

        return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &len) == 0 &&
               (geteuid() == 0 || peer.uid == geteuid());
}

/* As many as there is room for; the others wait at the socket until these were heard. */
static void rendezvous_take_callers(struct rendezvous *r) {
        int fd;

        while (r->n_callers < RENDEZVOUS_N_CALLERS &&
               ((fd = rendezvous_accept_one(r->abstract_fd)) >= 0 ||
                (fd = rendezvous_accept_one(r->path_fd)) >= 0)) {
                if (rendezvous_may_call(fd))
                        r->callers[r->n_callers++] = (struct rendezvous_caller){fd, clock_now_ns()};
                else
                        close(fd);
        }
}

/* 1: a guest, 0: not yet, else it is to be turned away. */
static int rendezvous_hear(const struct rendezvous *r, const struct rendezvous_caller *c,
                           struct rendezvous_guest *ret) {
        struct rendezvous_guest guest = {.fd = c->fd};
        ssize_t n = recv(c->fd, &guest.hello, sizeof(guest.hello), MSG_DONTWAIT);
        struct ucred peer;
        socklen_t len = sizeof(peer);

        if (n < 0 && (errno == EAGAIN || errno == EINTR))
                return clock_now_ns() - c->since_ns < RENDEZVOUS_PATIENCE_NS ? 0 : -ETIMEDOUT;
        if (n != (ssize_t)sizeof(guest.hello) || guest.hello.magic != WIRE_MAGIC ||
            guest.hello.version != WIRE_VERSION ||
            memcmp(guest.hello.token, r->token, sizeof(r->token)) != 0 ||
            getsockopt(c->fd, SOL_SOCKET, SO_PEERCRED, &peer, &len) < 0)
                return -EPROTO;
        guest.pid = peer.pid;
        *ret = guest;
        return 1;
}

static int rendezvous_hear_all(struct rendezvous *r, struct rendezvous_guest *ret_guest) {
        for (unsigned i = 0; i < r->n_callers;) {
                int heard = rendezvous_hear(r, &r->callers[i], ret_guest);

                if (heard == 0) {
                        i++;
                        continue;
                }
                rendezvous_drop_caller(r, i, heard < 0);
                if (heard > 0)
                        return 1;
        }
        return 0;
}

/* Callers that say nothing do not keep others out: the one that was silent for the longest makes room. */
int rendezvous_accept(struct rendezvous *r, struct rendezvous_guest *ret_guest) {
        for (unsigned i = 0; i < RENDEZVOUS_N_CALLERS; i++) {
                rendezvous_take_callers(r);
                if (rendezvous_hear_all(r, ret_guest))
                        return 1;
                if (r->n_callers < RENDEZVOUS_N_CALLERS)
                        return 0;
                rendezvous_drop_caller(r, 0, true);
        }
        return 0;
}

/* A message with up to two descriptors. Closes guest->fd. */
static int rendezvous_answer(struct rendezvous_guest *guest, struct wire_welcome *welcome,
                             const int *fds, size_t n_fds) {
        union {
                char bytes[CMSG_SPACE(2 * sizeof(int))];
                struct cmsghdr align;
        } control = {0};
        struct iovec iov = {welcome, sizeof(*welcome)};
        struct msghdr msg = {.msg_iov = &iov, .msg_iovlen = 1};
        struct cmsghdr *c;
        int r;

        if (n_fds) {
                msg.msg_control = control.bytes;
                msg.msg_controllen = CMSG_SPACE(n_fds * sizeof(int));
                c = CMSG_FIRSTHDR(&msg);
                c->cmsg_level = SOL_SOCKET;
                c->cmsg_type = SCM_RIGHTS;
                c->cmsg_len = CMSG_LEN(n_fds * sizeof(int));
                memcpy(CMSG_DATA(c), fds, n_fds * sizeof(int));
        }
        r = sendmsg(guest->fd, &msg, MSG_NOSIGNAL | MSG_DONTWAIT) < 0 ? -errno : 0;
        close(TAKE_FD(guest->fd));
        return r;
}

int rendezvous_welcome(struct rendezvous_guest *guest, const struct shm *shm, uint32_t accepted,
                       uint32_t process_idx, int plan_fd, uint64_t plan_bytes) {
        const int fds[] = {shm->fd, plan_fd};
        struct wire_welcome welcome = {
                .magic = WIRE_MAGIC,
                .accepted = accepted,
                .process_idx = process_idx,
                .size_bytes = shm->size_bytes,
                .plan_bytes = plan_fd >= 0 ? plan_bytes : 0,
        };

        return rendezvous_answer(guest, &welcome, fds, !accepted ? 0 : plan_fd >= 0 ? 2 : 1);
}

int rendezvous_send_plan(struct rendezvous_guest *guest, int plan_fd, uint64_t plan_bytes) {
        struct wire_welcome welcome = {
                .magic = WIRE_MAGIC,
                .accepted = 1,
                .plan_bytes = plan_fd >= 0 ? plan_bytes : 0,
        };

        return rendezvous_answer(guest, &welcome, &plan_fd, plan_fd >= 0 ? 1 : 0);
}
