/* SPDX-License-Identifier: MIT */
/* The socket the server listens on. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

struct listener {
        int fd;
        uint16_t port;
        bool is_loopback, is_any, is_v6;
        char address[64];   /* as a number, without brackets */
        char host_name[80]; /* of this machine, where others may come; else "" */
};

int listener_open(struct listener *l, const char *address, uint16_t port, struct err *reterr);
