/* SPDX-License-Identifier: MIT */
#include "live/background_request.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/system_clock.h"
#include "live/background.h"
#include "record/snapshot_client.h"

struct background_request {
        struct background thread;
        enum background_kind kind;
        char *who;
        uint64_t begin_ms;
        int result;
        struct snapshot_answer answer;
        struct err err;
};

static void end(void *request) {
        struct background_request *b = request;

        free(b->who);
        free(b);
}

static void work(void *request) {
        struct background_request *b = request;

        b->result = snapshot_client_take(b->who, NULL, b->kind == BACKGROUND_GRAPH, &b->answer,
                                         &b->err);
}

struct background_request *background_request_start(enum background_kind kind, const char *path,
                                                    uint32_t pid) {
        struct background_request *b = calloc(1, sizeof(*b));
        char number[16];

        if (!b)
                abort();
        snprintf(number, sizeof(number), "%u", pid);
        b->thread = (struct background){.work = work, .end = end};
        b->kind = kind;
        b->who = strdup(pid ? number : path);
        if (!b->who)
                abort();
        b->begin_ms = clock_now_ms();
        if (!background_start(&b->thread))
                b->result = err_set(&b->err, -EAGAIN, "there is no thread to ask the recorder");
        return b;
}

int background_request_take(struct background_request *b, struct background_answer *ret,
                            struct err *reterr) {
        int r;

        if (!background_is_ready(&b->thread))
                return 0;
        r = b->result;
        if (r < 0)
                err_set(reterr, r, "%s", b->err.text);
        snprintf(ret->name, sizeof(ret->name), "%s", b->answer.name);
        ret->pause_ns = b->answer.pause_ns;
        end(b);
        return r < 0 ? r : 1;
}

struct background_request *background_request_drop(struct background_request *b) {
        background_drop(b ? &b->thread : NULL);
        return NULL;
}

uint64_t background_request_begin_ms(const struct background_request *b) {
        return b->begin_ms;
}
