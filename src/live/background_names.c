/* SPDX-License-Identifier: MIT */
#include "live/background_names.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "base/system_clock.h"
#include "live/background.h"

struct background_names {
        struct background thread;
        char *path;
        struct name_sources rules; /* its files are the caller's options, which stay */
        int result;
        uint64_t took_ns;
        struct opened trace;
        struct err err;
};

/* Looking names up keeps some things by process. */
static pthread_mutex_t at_work = PTHREAD_MUTEX_INITIALIZER;

static void end(void *names) {
        struct background_names *b = names;

        opened_done(&b->trace);
        free(b->path);
        free(b);
}

static void work(void *names) {
        struct background_names *b = names;
        uint64_t begin;

        pthread_mutex_lock(&at_work);
        begin = clock_now_ns();
        b->result = opened_init(&b->trace, b->path, &b->rules, &b->err);
        opened_end_progress(&b->trace);
        b->took_ns = clock_now_ns() - begin;
        pthread_mutex_unlock(&at_work);
}

struct background_names *background_names_start(const char *path,
                                                const struct name_sources *rules) {
        struct background_names *b = calloc(1, sizeof(*b));

        if (!b)
                abort();
        (void)str_width(
                "\u00e9"); /* the locale behind it is made here, not in a worker: its lock may be held while one is forked */
        b->thread = (struct background){.work = work, .end = end};
        b->path = strdup(path);
        if (!b->path)
                abort();
        b->rules = *rules;
        if (!background_start(&b->thread))
                b->result = -EAGAIN;
        return b;
}

int background_names_take(struct background_names *b, struct opened *ret, uint64_t *ret_took_ns,
                          struct err *reterr) {
        int r;

        if (!background_is_ready(&b->thread))
                return 0;
        r = b->result;
        *ret_took_ns = b->took_ns;
        if (r < 0) {
                err_set(reterr, r, "%s", b->err.text);
        } else {
                *ret = b->trace; /* no bar points to it any more */
                b->trace = (struct opened){0};
        }
        end(b);
        return r < 0 ? r : 1;
}

struct background_names *background_names_drop(struct background_names *b) {
        background_drop(b ? &b->thread : NULL);
        return NULL;
}
