/* SPDX-License-Identifier: MIT */
/* A server with answers made up by slow_responder.c, for tests/cases/serve.py: prints its address, and does what the letters on standard
 * input say, until they end: g the trace grows, e its writer ends. Arguments: --once, or an address to listen on. */
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/macros.h"
#include "serve/server.h"
#include "serve/testing/slow_responder.h"

static struct slow_responder *responder;
static int stop_fd;

static void *take_orders(void *ctx) {
        uint64_t one = 1;
        char order;

        (void)ctx;
        while (read(STDIN_FILENO, &order, 1) == 1)
                if (order == 'g')
                        slow_responder_grow(responder);
                else if (order == 'e')
                        slow_responder_end(responder);
        (void)!write(stop_fd, &one, sizeof(one));
        return NULL;
}

int main(int argc, char **argv) {
        static const char page[] = "<!doctype html><title>page</title>";
        static const struct asset assets[] = {
                {"/", "text/html; charset=utf-8", page, sizeof(page) - 1},
                {"/page.js", "text/javascript; charset=utf-8", "1", 1},
        };
        struct server_options o = {.assets = assets, .n_assets = ARRAY_SIZE(assets)};
        struct server *server = NULL;
        struct err err = {0};
        pthread_t orders;
        int r;

        for (int i = 1; i < argc; i++)
                if (strcmp(argv[i], "--once") == 0)
                        o.once = true;
                else
                        o.listen = argv[i];
        responder = slow_responder_new();
        o.responder = slow_responder_table(responder);
        stop_fd = eventfd(0, EFD_CLOEXEC);
        r = server_start(&o, &server, &err);
        if (r == 0) {
                puts(server_address(server));
                fflush(stdout);
                if (pthread_create(&orders, NULL, take_orders, NULL) != 0)
                        return 1;
                pthread_detach(orders);
                r = server_run(server, stop_fd, &err);
        }
        if (r < 0)
                fprintf(stderr, "%s\n", err.text);
        server_free(server);
        slow_responder_free(responder);
        return r < 0;
}
