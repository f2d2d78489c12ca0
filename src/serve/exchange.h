/* SPDX-License-Identifier: MIT */
/* One request and its answer, as the library's thread sees it. Inside serve/ only. */
#pragma once

#include "serve/mhd.h"
#include "serve/peers.h"
#include "serve/question_queue.h"
#include "serve/server.h"

struct server;

struct exchange {
        struct server *server;
        struct MHD_Connection *connection;
        struct peer *peer;
        char *url; /* as written, with its query */
        struct admitted admitted;
        bool is_counted; /* in the server's n_open */
        enum {
                EXCHANGE_NEW,
                EXCHANGE_ADMITTED, /* or refused, but not told so yet */
                EXCHANGE_WAITS,    /* for news of the trace; in the server's list */
                EXCHANGE_WAITED,   /* over: now the question is put */
                EXCHANGE_ASKED,    /* a seat has the question */
                EXCHANGE_ANSWERED,
        } state;
        struct question question;
        size_t n_held_bytes; /* of the answer, in the server's n_unread_bytes */
        int refused;         /* by questions_ask: -EBUSY, -ESHUTDOWN */

        /* EXCHANGE_WAITS */
        struct exchange *next_waiting;
        uint64_t until_ns;
        bool was_growing;
};

/* What the library's answer callback does with it: MHD_YES, or MHD_NO to close the connection. */
enum MHD_Result exchange_go_on(struct exchange *x, const char *method);
struct exchange *exchange_free(struct exchange *x);
