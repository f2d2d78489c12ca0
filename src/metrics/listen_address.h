/* SPDX-License-Identifier: MIT */
/* Where to listen, as users write it. */
#pragma once

#include <stdint.h>

#include "base/err.h"

struct listen_address {
        char host[64];
        uint16_t port;
};

/* "127.0.0.1:9464", "[::1]:9464", ":9464" and "9464" (of loopback); port 0: any that is free. */
int listen_address_parse(const char *text, struct listen_address *ret, struct err *reterr);
