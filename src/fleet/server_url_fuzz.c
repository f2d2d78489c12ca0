/* SPDX-License-Identifier: MIT */
/* Any text as the address of a server: refused in one line, or understood, and what is shown of it has no password.
 *
 * covers: src/fleet/server_url.c */
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "fleet/server_url.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static void expect(bool is_so) {
        if (!is_so)
                abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
        char text[4096];
        struct server_url url;
        struct err err = {0};

        if (n >= sizeof(text))
                return 0;
        memcpy(text, data, n);
        text[n] = '\0';
        setenv("SILT_FLEET_PASSWORD", n % 2 ? "" : "secret", 1);
        if (server_url_parse(text, &url, &err) < 0) {
                expect(err.text[0] && !strchr(err.text, '\n'));
                return 0;
        }
        expect(strncmp(url.address, "http", 4) == 0 && !strpbrk(url.address, "?#@ "));
        expect(strcmp(url.shown, url.address) == 0);
        expect(memchr(url.database, 0, sizeof(url.database)) && url.database[0]);
        expect(memchr(url.settings, 0, sizeof(url.settings)) != NULL);
        expect(memchr(url.user, 0, sizeof(url.user)) &&
               memchr(url.password, 0, sizeof(url.password)));
        return 0;
}
