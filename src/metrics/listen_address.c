/* SPDX-License-Identifier: MIT */
#include "metrics/listen_address.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

static bool take_port(const char *text, uint16_t *ret) {
        char *end;
        unsigned long port = strtoul(text, &end, 10);

        if (text[0] < '0' || text[0] > '9' || *end || port > UINT16_MAX)
                return false;
        *ret = (uint16_t)port;
        return true;
}

int listen_address_parse(const char *text, struct listen_address *ret, struct err *reterr) {
        const char *colon = strrchr(text, ':'), *host = text;
        struct listen_address a = {.host = "127.0.0.1"};
        size_t n = colon ? (size_t)(colon - text) : 0;

        if (n >= 2 && host[0] == '[' && host[n - 1] == ']')
                host++, n -= 2;
        else if (memchr(host, ':', n))
                n = sizeof(a.host); /* two colons: not clear where the port begins */
        if (n >= sizeof(a.host) || !take_port(colon ? colon + 1 : text, &a.port))
                return err_set(
                        reterr, -EINVAL,
                        "'%s' is not an address and a port: write for example 127.0.0.1:9464",
                        text);
        if (n) {
                memcpy(a.host, host, n);
                a.host[n] = '\0';
        }
        *ret = a;
        return 0;
}
