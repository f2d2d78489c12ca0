/* SPDX-License-Identifier: MIT */
#include "serve/trace_responder.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/macros.h"
#include "base/system_clock.h"
#include "serve/answer_stream.h"
#include "trace/being_written.h"

enum {
        FIRST_NAMES_NS =
                2000000000, /* of a trace that grows: names are looked up again after so long, … */
        NAMES_SHARE = 20,   /* … after twenty times what that took, … */
        AGE_SHARE =
                2, /* … and after half the time it has been watched: new code comes ever more seldom */
};

/* The traces as they were at some moment, with the names that could be found then. */
struct opening {
        struct answerer *answerer; /* NULL: there is none */
        struct stat st;            /* of the file then */
};

struct trace_responder {
        struct answerer_options options;
        struct answerer *answerer;
        struct opening next;                   /* to be used from the next refresh on */
        struct asker *askers[RESPONDER_SEATS]; /* NULL: not needed so far; each its seat's */
        struct stat known;                     /* of the file when it was last read */
        uint64_t began_ns, opened_ns,
                opening_ns; /* when it was opened first and last, and how long that took */
        /* Written by the thread that refreshes, read by all: relaxed, each is about nothing but itself. */
        _Atomic uint64_t version;
        atomic_bool is_growing;
};

static int open_next(struct trace_responder *d, struct err *reterr) {
        struct opening o = {0};
        uint64_t begin = clock_now_ns();
        int r;

        /* First: what comes after is news. One that is not there is refused below, in better words. */
        if (stat(d->options.path, &o.st) < 0)
                o.st = (struct stat){0};
        d->options.version = d->version + 1;
        r = answerer_new(&d->options, &o.answerer, reterr);
        d->opened_ns = clock_now_ns();
        d->opening_ns = d->opened_ns - begin;
        if (r >= 0)
                d->next = o;
        return r;
}

static void leave(struct trace_responder *d) {
        for (size_t i = 0; i < RESPONDER_SEATS; i++)
                d->askers[i] = asker_free(d->askers[i]);
        d->answerer = answerer_free(d->answerer);
}

static void use_next(struct trace_responder *d) {
        leave(d);
        d->answerer = TAKE_PTR(d->next.answerer);
        d->known = d->next.st;
        d->is_growing = answerer_is_growing(d->answerer);
        d->version = answerer_version(d->answerer);
}

int trace_responder_new(const struct answerer_options *o, struct trace_responder **ret,
                        struct err *reterr) {
        struct trace_responder *d = calloc(1, sizeof(*d));
        int r;

        if (!d)
                abort();
        d->options = *o;
        d->began_ns = clock_now_ns();
        r = open_next(d, reterr);
        if (r < 0) {
                trace_responder_free(d);
                return r;
        }
        use_next(d);
        *ret = d;
        return 0;
}

struct trace_responder *trace_responder_free(struct trace_responder *d) {
        if (!d)
                return NULL;
        leave(d);
        answerer_free(d->next.answerer);
        free(d);
        return NULL;
}

static int responder_answer(void *ctx, size_t seat, const struct responder_question *q,
                            struct str *to, struct err *reterr) {
        struct trace_responder *d = ctx;
        struct asker *k = d->askers[seat];
        struct answer_stream stream;
        FILE *out;
        int r;

        if (!k)
                k = d->askers[seat] = asker_new(d->answerer);
        out = answer_stream_open(&stream, q, reterr);
        if (!out)
                return -ENOMEM;
        asker_set_progress(k, answer_stream_progress, &stream);
        asker_set_part(k, q->part, q->ctx);
        asker_set_deadline(k, q->deadline_ns);
        r = answer(k, q->name, q->keys, strlen(q->keys), out, reterr);
        asker_set_progress(k, NULL, NULL);
        asker_set_part(k, NULL, NULL);
        return answer_stream_close(&stream, out, r, to, reterr);
}

/* What the trace is, and what is coarse, comes from indexes. */
static bool responder_is_quick(void *ctx, const char *name, const char *keys) {
        (void)ctx;
        for (const char *at = keys; *at; at += strcspn(at, "&"), at += *at == '&')
                if (strcspn(at, "=&") == strlen("coarse") && strncmp(at, "coarse", 6) == 0)
                        return true;
        return strcmp(name, "trace") == 0 || strcmp(name, "sql-schema") == 0;
}

static bool has_changed(const struct stat *x, const struct stat *y) {
        return x->st_ino != y->st_ino || x->st_dev != y->st_dev || x->st_size != y->st_size ||
               x->st_mtim.tv_sec != y->st_mtim.tv_sec || x->st_mtim.tv_nsec != y->st_mtim.tv_nsec;
}

static bool responder_has_news(void *ctx) {
        struct trace_responder *d = ctx;
        struct stat now;

        if (stat(d->options.path, &now) < 0) /* gone: what was read stays */
                return false;
        return has_changed(&now, &d->known) ||
               (d->is_growing && !trace_is_being_written(d->options.path));
}

/* Code that is new has no names, and one that is finished has those that its recorder found. */
static bool wants_names(const struct trace_responder *d) {
        uint64_t now = clock_now_ns(), passed = now - d->opened_ns;

        return !trace_is_being_written(d->options.path) ||
               (passed > FIRST_NAMES_NS && passed > NAMES_SHARE * d->opening_ns &&
                passed > (now - d->began_ns) / AGE_SHARE);
}

static void responder_prepare(void *ctx) {
        struct trace_responder *d = ctx;
        struct err err = {0};

        if (!d->next.answerer && wants_names(d))
                open_next(d, &err); /* what fails is tried again, and what there is stays */
}

static int responder_refresh(void *ctx, struct err *reterr) {
        struct trace_responder *d = ctx;
        struct stat now;
        int r;

        if (d->next.answerer) {
                use_next(d);
                return 1;
        }
        if (stat(d->options.path, &now) < 0)
                return 0;
        r = answerer_refresh(d->answerer, reterr);
        if (r >= 0)
                d->known = now; /* what came after the look is news again */
        d->version = answerer_version(d->answerer);
        d->is_growing = answerer_is_growing(d->answerer);
        return r;
}

static uint64_t responder_version(void *ctx) {
        return ((struct trace_responder *)ctx)->version;
}

static bool responder_is_growing(void *ctx) {
        return ((struct trace_responder *)ctx)->is_growing;
}

struct answerer *trace_responder_answerer(struct trace_responder *d) {
        return d->answerer;
}

struct responder trace_responder_table(struct trace_responder *d) {
        return (struct responder){.ctx = d,
                                  .answer = responder_answer,
                                  .is_quick = responder_is_quick,
                                  .prepare = responder_prepare,
                                  .refresh = responder_refresh,
                                  .version = responder_version,
                                  .has_news = responder_has_news,
                                  .is_growing = responder_is_growing};
}
