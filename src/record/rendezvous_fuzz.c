/* SPDX-License-Identifier: MIT */
/* Strangers at the rendezvous: each message of the input comes from a connection of its own. Only one with the right
 * magic, version and token is let in; it gets one answer, with the arena's descriptor if it is accepted.
 * The input: u8 choice, u8 length, bytes, and so on. Bit 0 makes magic and version right, bit 1 the token, bit 2 accepts,
 * bit 3 hangs up before the answer, bit 4 connects by the abstract name.
 *
 * covers: src/record/rendezvous.c */
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "record/rendezvous.h"
#include "wire/layout.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { RIGHT_MAGIC = 1, RIGHT_TOKEN = 2, ACCEPT = 4, HANG_UP = 8, ABSTRACT = 16 };

static void expect(bool is_so) {
        if (!is_so)
                abort();
}

static int connect_to(const struct rendezvous *r, uint8_t choice) {
        struct sockaddr_un addr = {.sun_family = AF_UNIX};
        socklen_t len = sizeof(addr);
        int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);

        if (choice & ABSTRACT) {
                size_t n = strcspn(r->env, ";:");

                memcpy(addr.sun_path + 1, r->env, n);
                len = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + n);
        } else {
                memcpy(addr.sun_path, r->path, sizeof(addr.sun_path));
        }
        expect(fd >= 0 && connect(fd, (const struct sockaddr *)&addr, len) == 0);
        return fd;
}

static void hear_answer(int fd, const struct shm *shm, bool accepted) {
        union {
                char bytes[CMSG_SPACE(sizeof(int))];
                struct cmsghdr align;
        } control;
        struct wire_welcome welcome;
        struct iovec iov = {&welcome, sizeof(welcome)};
        struct msghdr msg = {.msg_iov = &iov,
                             .msg_iovlen = 1,
                             .msg_control = control.bytes,
                             .msg_controllen = sizeof(control.bytes)};
        struct cmsghdr *c;
        int arena_fd;

        expect(recvmsg(fd, &msg, MSG_CMSG_CLOEXEC) == (ssize_t)sizeof(welcome));
        expect(welcome.magic == WIRE_MAGIC && welcome.accepted == accepted &&
               welcome.size_bytes == shm->size_bytes);
        c = CMSG_FIRSTHDR(&msg);
        expect((c != NULL) == accepted);
        if (c) {
                memcpy(&arena_fd, CMSG_DATA(c), sizeof(arena_fd));
                close(arena_fd);
        }
}

/* One stranger, or friend. */
static void visit(struct rendezvous *r, const struct shm *shm, uint8_t choice, const uint8_t *bytes,
                  size_t n) {
        union {
                struct wire_hello hello;
                uint8_t bytes[256];
        } m = {0};
        struct rendezvous_guest guest;
        int fd = connect_to(r, choice);
        bool is_friend;

        memcpy(m.bytes, bytes, n);
        if (choice & RIGHT_MAGIC) {
                m.hello.magic = WIRE_MAGIC;
                m.hello.version = WIRE_VERSION;
        }
        if (choice & RIGHT_TOKEN) {
                memcpy(m.hello.token, r->token, sizeof(r->token));
                n = n < sizeof(m.hello) ? sizeof(m.hello) : n;
        }
        is_friend = n >= sizeof(m.hello) && m.hello.magic == WIRE_MAGIC &&
                    m.hello.version == WIRE_VERSION &&
                    memcmp(m.hello.token, r->token, sizeof(r->token)) == 0;
        expect(send(fd, m.bytes, n, MSG_NOSIGNAL) == (ssize_t)n);
        if (choice & HANG_UP) {
                close(fd);
                fd = -1;
        }
        expect(rendezvous_accept(r, &guest) == (is_friend ? 1 : 0));
        if (is_friend) {
                expect(guest.pid == getpid());
                rendezvous_welcome(&guest, shm, (choice & ACCEPT) != 0, 3, -1, 0);
                if (fd >= 0)
                        hear_answer(fd, shm, choice & ACCEPT);
        }
        if (fd >= 0)
                close(fd);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
        static struct shm shm = {.fd = -1, .size_bytes = 4096};
        struct rendezvous r;

        if (shm.fd < 0)
                shm.fd = memfd_create("arena", MFD_CLOEXEC);
        expect(rendezvous_open(&r, NULL) == 0);
        for (size_t at = 0; at + 2 <= size;) {
                size_t n = data[at + 1] < size - at - 2 ? data[at + 1] : size - at - 2;

                visit(&r, &shm, data[at], data + at + 2, n);
                at += 2 + n;
        }
        rendezvous_close(&r);
        return 0;
}
