/* SPDX-License-Identifier: MIT */
/* Answers, by name: `echo` the keys, as text; `slow` after as many milliseconds as the keys are (ms=N), asking all the while whether
 * to go on, and telling so many parts of its answer first (parts=N); `big` N MiB; `wrong`, `gone`, `broken` errors; `trace` the version. */
#include "serve/testing/slow_responder.h"

#include <errno.h>
#include <poll.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/system_clock.h"

struct slow_responder {
        _Atomic uint64_t version, known_version;
        atomic_bool is_growing;
};

struct slow_responder *slow_responder_new(void) {
        struct slow_responder *d = calloc(1, sizeof(*d));

        if (!d)
                abort();
        d->version = d->known_version = 1;
        d->is_growing = true;
        return d;
}

struct slow_responder *slow_responder_free(struct slow_responder *d) {
        free(d);
        return NULL;
}

static uint64_t number(const struct responder_question *q, const char *key) {
        const char *at = strstr(q->keys, key);

        return at ? strtoull(at + strlen(key), NULL, 10) : 0;
}

static void tell_part(const struct responder_question *q, uint64_t i) {
        struct str part = {0};

        str_addf(&part, "{\"part\": %llu}", (unsigned long long)i);
        q->part(q->ctx, str_text(&part));
        str_done(&part);
}

static int be_slow(const struct responder_question *q, struct str *to, struct err *reterr) {
        uint64_t begin = clock_now_ns(), ms = number(q, "ms="), passed;

        for (uint64_t i = 0; i < number(q, "parts="); i++)
                tell_part(q, i);
        while ((passed = (clock_now_ns() - begin) / 1000000) < ms) {
                poll(NULL, 0, 1);
                if (!q->progress(q->ctx, passed, ms))
                        return err_set(reterr, -ECANCELED, "told to stop");
                if (clock_now_ns() > q->deadline_ns)
                        return err_set(reterr, -ETIME, "too late");
        }
        str_addf(to, "{\"slept_ms\": %llu}\n", (unsigned long long)ms);
        return 0;
}

static int answer(void *ctx, size_t seat, const struct responder_question *q, struct str *to,
                  struct err *reterr) {
        struct slow_responder *d = ctx;

        (void)seat;
        if (strcmp(q->name, "slow") == 0)
                return be_slow(q, to, reterr);
        if (strcmp(q->name, "wrong") == 0)
                return err_about(reterr, "from",
                                 err_set(reterr, -EINVAL, "'5x' is not a time: write 5s"));
        if (strcmp(q->name, "gone") == 0)
                return err_set(reterr, -ENOENT, "no function has the name \"x\"");
        if (strcmp(q->name, "broken") == 0)
                return err_set(reterr, -EBADMSG, "cannot read it");
        if (strcmp(q->name, "big") == 0) {
                str_pad(to, 'x', (size_t)number(q, "mib=") << 20);
                return 0;
        }
        if (strcmp(q->name, "trace") == 0) {
                str_addf(to, "{\"version\": %llu}\n", (unsigned long long)d->version);
                return 0;
        }
        if (strcmp(q->name, "echo") != 0)
                return err_set(reterr, -ENOENT, "no such answer: '%s'", q->name);
        str_addf(to, "%s\n", q->keys);
        return 0;
}

static bool is_quick(void *ctx, const char *name, const char *keys) {
        (void)ctx, (void)keys;
        return strcmp(name, "trace") == 0;
}

static int refresh(void *ctx, struct err *reterr) {
        struct slow_responder *d = ctx;

        (void)reterr;
        d->known_version = (uint64_t)d->version;
        return 1;
}

static uint64_t version(void *ctx) {
        return ((struct slow_responder *)ctx)->known_version;
}

static bool has_news(void *ctx) {
        struct slow_responder *d = ctx;

        return d->known_version != d->version;
}

static bool is_growing(void *ctx) {
        return ((struct slow_responder *)ctx)->is_growing;
}

struct responder slow_responder_table(struct slow_responder *d) {
        return (struct responder){.ctx = d,
                                  .answer = answer,
                                  .is_quick = is_quick,
                                  .refresh = refresh,
                                  .version = version,
                                  .has_news = has_news,
                                  .is_growing = is_growing};
}

void slow_responder_grow(struct slow_responder *d) {
        d->version++;
}

void slow_responder_end(struct slow_responder *d) {
        d->is_growing = false;
}
