/* SPDX-License-Identifier: MIT */
/* Who may ask what: looks at the head of a request, which may hold anything, and says what becomes of it. No HTTP library, no
 * trace: it is tested and fuzzed alone. docs/http-api.md, "How it is protected". */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "serve/token.h"

enum {
        GATE_MAX_URL_BYTES = 65536,
        GATE_MAX_ID = 64,     /* letters and digits of a question's id */
        GATE_MAX_WAIT_S = 30, /* of trace?wait= */
        GATE_MAX_ANSWER = 32, /* letters of an answer's name */
};

/* As the client sent it; NULL: not sent. */
struct http_head {
        const char *method, *url; /* with its query, as written */
        const char *host, *origin, *fetch_site, *cookie, *authorization;
        unsigned n_hosts, n_authorizations, n_cookies; /* how often these were sent */
        bool has_body;
};

/* Where the server listens. */
struct gate {
        struct token token;
        struct token
                key; /* for the browser that silt opens: others may see its command line, so it works once */
        struct token
                folder; /* of the page, "/s/FOLDER/": its cookie is sent there alone, and nobody else on this host knows where that is */
        uint16_t port;
        const char *address;   /* as given, without brackets: "127.0.0.1", "::1", "0.0.0.0" */
        const char *host_name; /* of this machine, also allowed then; NULL: loopback only */
        bool is_any;           /* all addresses: hosts that are numbers are allowed too */
};

enum gate_verdict {
        GATE_REFUSED,  /* status and text say why */
        GATE_WELCOME,  /* the token was in the address: into a cookie, and go to the folder */
        GATE_ASSET,    /* path */
        GATE_QUESTION, /* answer and query */
};

struct admitted {
        enum gate_verdict verdict;
        unsigned status;
        const char *text, *fix; /* GATE_REFUSED; constants */
        bool is_known;          /* sent the token */
        bool is_by_key;   /* welcome by the key: the caller knows whether it was used before */
        bool is_question; /* refusals are JSON then too */
        const char *path; /* of an asset: in the head's url, n_path bytes; without the folder */
        size_t n_path;
        char answer[GATE_MAX_ANSWER + 1];
        const char *query; /* in the head's url, behind '?'; "" none */
        /* keys that are the server's own: gate_add_keys leaves them out */
        char id[GATE_MAX_ID + 1]; /* "" none */
        bool has_since;
        uint64_t since;
        uint64_t wait_s;
};

struct admitted gate_admit(const struct gate *g, const struct http_head *head);

/* The query without the server's own keys. */
struct str;
void gate_add_keys(const char *query, struct str *to);

/* Of the cookie that is set: a host's ports share its cookies, but for their paths. */
void gate_add_folder(const struct gate *g, struct str *to); /* "/s/…/" */
void gate_add_cookie(const struct gate *g, struct str *to); /* "silt=…; Path=/s/…/" and so on */
