/* SPDX-License-Identifier: MIT */
/* Serves the page until a signal ends it: says where it is, and opens a browser where there is one. */
#pragma once

#include "base/err.h"
#include "serve/server.h"

struct page_serving {
        const char *command;  /* "view": how messages begin */
        const char *what;     /* what whoever has the address can read */
        const char *fragment; /* of the address, with its '#'; "" none */
        const char *kind;     /* of the page: "fleet"; NULL: that of a trace */
        bool no_browser;
        struct server_options server; /* assets are filled in */
};

/* Whether there is a page to serve; before anything that takes long. */
int page_serving_check(const struct page_serving *s, struct err *reterr);
int page_serve(struct page_serving *s, struct err *reterr);
