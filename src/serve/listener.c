/* SPDX-License-Identifier: MIT */
#include "serve/listener.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { BACKLOG = 511 };

union address {
        struct sockaddr any;
        struct sockaddr_in v4;
        struct sockaddr_in6 v6;
};

static bool parse(const char *text, uint16_t port, union address *ret) {
        *ret = (union address){.v4 = {.sin_family = AF_INET, .sin_port = htons(port)}};
        if (inet_pton(AF_INET, text, &ret->v4.sin_addr) == 1)
                return true;
        *ret = (union address){.v6 = {.sin6_family = AF_INET6, .sin6_port = htons(port)}};
        return inet_pton(AF_INET6, text, &ret->v6.sin6_addr) == 1;
}

static void describe(struct listener *l, const union address *a) {
        if (a->any.sa_family == AF_INET) {
                uint32_t number = ntohl(a->v4.sin_addr.s_addr);

                l->is_loopback = number >> 24 == 127;
                l->is_any = number == INADDR_ANY;
        } else {
                l->is_v6 = true;
                l->is_loopback = IN6_IS_ADDR_LOOPBACK(&a->v6.sin6_addr);
                l->is_any = IN6_IS_ADDR_UNSPECIFIED(&a->v6.sin6_addr);
        }
        if (!l->is_loopback && gethostname(l->host_name, sizeof(l->host_name) - 1) < 0)
                l->host_name[0] = '\0';
}

static int refuse(const struct listener *l, uint16_t port, int r, struct err *reterr) {
        if (r == -EADDRINUSE)
                return err_set(
                        reterr, r,
                        "cannot listen on port %u: another program does: choose another port",
                        port);
        if (r == -EACCES)
                return err_set(reterr, r,
                               "cannot listen on port %u: not permitted: choose a port above 1023",
                               port);
        if (r == -EADDRNOTAVAIL)
                return err_set(
                        reterr, r,
                        "cannot listen on '%s': this machine does not have the address: see 'ip address'",
                        l->address);
        return err_set_errno(reterr, r, "cannot listen on '%s'", l->address);
}

int listener_open(struct listener *l, const char *address, uint16_t port, struct err *reterr) {
        union address a;
        socklen_t n = sizeof(a);
        int yes = 1, r = 0;

        *l = (struct listener){.fd = -1};
        if (strcmp(address, "localhost") == 0)
                address = "127.0.0.1";
        if (!parse(address, port, &a))
                return err_set(reterr, -EINVAL,
                               "'%s' is not an address: write a number such as 127.0.0.1 or ::1",
                               address);
        snprintf(l->address, sizeof(l->address), "%s", address);
        describe(l, &a);
        l->fd = socket(a.any.sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
        if (l->fd < 0)
                return refuse(l, port, -errno, reterr);
        setsockopt(l->fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes));
        if (bind(l->fd, &a.any, a.any.sa_family == AF_INET ? sizeof(a.v4) : sizeof(a.v6)) < 0 ||
            listen(l->fd, BACKLOG) < 0 || getsockname(l->fd, &a.any, &n) < 0)
                r = -errno;
        if (r < 0) {
                close(l->fd);
                l->fd = -1;
                return refuse(l, port, r, reterr);
        }
        l->port = ntohs(a.any.sa_family == AF_INET ? a.v4.sin_port : a.v6.sin6_port);
        return 0;
}
