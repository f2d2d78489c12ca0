/* SPDX-License-Identifier: MIT */
/* Somebody who calls at a recording's socket: `caller NAME TOKEN HOW`, NAME as in SILT_RENDEZVOUS without its token.
 *   hello    says hello with that token; prints `refused`, or `accepted` when a descriptor came back
 *   silent   connects 400 times, says nothing, and stays for 3 s
 *   noise    sends 400 packets of other bytes */
#define _GNU_SOURCE
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include "wire/hello.h"
#include "wire/layout.h"

static int call(const char *name) {
        struct sockaddr_un addr = {.sun_family = AF_UNIX};
        size_t off = name[0] == '/' ? 0 : 1, len = strlen(name);
        struct timeval patience = {.tv_sec = 4};
        int fd = socket(AF_UNIX, SOCK_SEQPACKET, 0);

        memcpy(addr.sun_path + off, name, len);
        setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
        setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));
        if (connect(fd, (struct sockaddr *)&addr,
                    (socklen_t)(offsetof(struct sockaddr_un, sun_path) + len + 1)) != 0) {
                close(fd);
                return -1;
        }
        return fd;
}

static int say_hello(const char *name, const char *token) {
        struct wire_hello hello = {.magic = WIRE_MAGIC,
                                   .version = WIRE_VERSION,
                                   .pid = (uint32_t)getpid()};
        char answer[64], control[64];
        struct iovec iov = {answer, sizeof(answer)};
        struct msghdr msg = {.msg_iov = &iov,
                             .msg_iovlen = 1,
                             .msg_control = control,
                             .msg_controllen = sizeof(control)};
        int fd = call(name);

        for (int i = 0; i < 16; i++)
                sscanf(token + 2 * i, "%2hhx", &hello.token[i]);
        if (fd < 0 || send(fd, &hello, sizeof(hello), MSG_NOSIGNAL) != sizeof(hello))
                return puts("refused"), 0;
        return puts(recvmsg(fd, &msg, 0) > 0 && msg.msg_controllen ? "accepted" : "refused"), 0;
}

int main(int argc, char **argv) {
        char noise[200];

        if (argc != 4)
                return 99;
        if (strcmp(argv[3], "hello") == 0)
                return say_hello(argv[1], argv[2]);
        memset(noise, 0x5a, sizeof(noise));
        for (int i = 0; i < 400; i++) {
                int fd = call(argv[1]);

                if (fd >= 0 && strcmp(argv[3], "noise") == 0) {
                        send(fd, noise, (size_t)(1 + i % 200), MSG_NOSIGNAL);
                        close(fd);
                }
        }
        if (strcmp(argv[3], "silent") == 0)
                sleep(3);
        puts("done");
        return 0;
}
