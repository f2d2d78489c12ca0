/* SPDX-License-Identifier: MIT */
/* Who answers a question of the API. The server knows nothing of traces; tests give it a responder of their own. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/str.h"

enum {
        RESPONDER_SEATS = 5
}; /* questions that are answered at once; the last is for quick ones alone */

struct responder_question {
        const char *name; /* "timeline" */
        const char *keys; /* "from=5s&size=1K..1M", percent-encoded; from anybody */
        uint64_t deadline_ns;
        /* Called now and then while it is answered; false: stop, -ECANCELED. */
        bool (*progress)(void *ctx, uint64_t done, uint64_t total);
        /* What of the answer is known before all of it is: a JSON value. */
        void (*part)(void *ctx, const char *json);
        void *ctx; /* of both */
};

struct responder {
        void *ctx;
        /* Writes one JSON document to *to. -EINVAL: the keys are wrong; -ENOENT: no such answer, or nothing of that name; -ETIME,
         * -ECANCELED; with a sentence in reterr. Each seat is used by one thread at a time. */
        int (*answer)(void *ctx, size_t seat, const struct responder_question *q, struct str *to,
                      struct err *reterr);
        /* Whether it is answered at once, from what is at hand: such a question never waits for those that read long. Any thread. */
        bool (*is_quick)(void *ctx, const char *name, const char *keys);
        /* Before a refresh, while seats may be in use: what takes long. NULL: nothing. */
        void (*prepare)(void *ctx);
        /* Takes in what was written since: 1 there is more, 0 nothing new, or -errno. No seat is in use. */
        int (*refresh)(void *ctx, struct err *reterr);
        uint64_t (*version)(
                void *ctx); /* rises with each refresh that brought something; any thread */
        bool (*has_news)(void *ctx);   /* whether a refresh would bring something: cheap */
        bool (*is_growing)(void *ctx); /* somebody still writes it; any thread */
};
