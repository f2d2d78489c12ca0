/* SPDX-License-Identifier: MIT */
#include "fleet/fleet_responder.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/system_clock.h"
#include "fleet/fleet_question.h"
#include "fleet/server_link.h"

struct fleet_responder {
        struct server_link *links[RESPONDER_SEATS]; /* one a seat: each is one thread's at a time */
};

int fleet_responder_new(const char *url, const char *ca_file, struct fleet_responder **ret,
                        struct err *reterr) {
        struct fleet_responder *d = calloc(1, sizeof(*d));
        int r = 0;

        if (!d)
                abort();
        for (size_t i = 0; i < RESPONDER_SEATS && r >= 0; i++)
                r = server_link_new(url, ca_file, &d->links[i], reterr);
        if (r < 0) {
                fleet_responder_free(d);
                return r;
        }
        *ret = d;
        return 0;
}

struct fleet_responder *fleet_responder_free(struct fleet_responder *d) {
        if (!d)
                return NULL;
        for (size_t i = 0; i < RESPONDER_SEATS; i++)
                server_link_free(d->links[i]);
        free(d);
        return NULL;
}

/* ---- the answer ------------------------------------------------------------------------------------- */

static bool go_on(void *ctx) {
        const struct responder_question *q = ctx;

        return !q->progress || q->progress(q->ctx, 0, 0);
}

static uint64_t seconds_until(uint64_t deadline_ns) {
        uint64_t now = clock_now_ns();

        return deadline_ns > now ? (deadline_ns - now) / 1000000000 + 1 : 1;
}

static int write_answer(const struct fleet_answer *a, struct str *to, struct err *reterr) {
        char *bytes = NULL;
        size_t n = 0;
        FILE *out = open_memstream(&bytes, &n);

        if (!out)
                return err_set(reterr, -ENOMEM, "no memory for the answer");
        fleet_print_json(out, a);
        if (fclose(out) != 0) {
                free(bytes);
                return err_set(reterr, -ENOMEM, "no memory for the answer");
        }
        str_addn(to, bytes, n);
        free(bytes);
        return 0;
}

static int responder_answer(void *ctx, size_t seat, const struct responder_question *q,
                            struct str *to, struct err *reterr) {
        struct fleet_responder *d = ctx;
        struct fleet_question question = FLEET_QUESTION_DEFAULT;
        struct fleet_answer a;
        struct str texts = {0};
        int r;

        if (strcmp(q->name, "fleet") != 0)
                return err_set(reterr, -ENOENT,
                               "'%.40s' is not an answer about many machines: ask for fleet",
                               q->name);
        r = fleet_question_parse(&question, q->keys, &texts, reterr);
        if (r >= 0) {
                server_link_limit(d->links[seat], seconds_until(q->deadline_ns), go_on, (void *)q);
                r = fleet_ask(d->links[seat], &question, &a, reterr);
                if (r >= 0)
                        r = write_answer(&a, to, reterr);
                fleet_answer_done(&a);
        }
        str_done(&texts);
        return r;
}

static bool responder_is_quick(void *ctx, const char *name, const char *keys) {
        return false;
}

static int responder_refresh(void *ctx, struct err *reterr) {
        return 0;
}

static uint64_t responder_version(void *ctx) {
        return 1;
}

/* The server has news all the time, and nobody waits for them. */
static bool responder_has_none(void *ctx) {
        return false;
}

struct responder fleet_responder_table(struct fleet_responder *d) {
        return (struct responder){.ctx = d,
                                  .answer = responder_answer,
                                  .is_quick = responder_is_quick,
                                  .refresh = responder_refresh,
                                  .version = responder_version,
                                  .has_news = responder_has_none,
                                  .is_growing = responder_has_none};
}
