/* SPDX-License-Identifier: MIT */
#include "fleet/profile_client.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

const struct profile_value profile_values[PROFILE_N_VALUES] = {
        {"alloc_objects", "count"},
        {"alloc_space", "bytes"},
        {"inuse_objects", "count"},
        {"inuse_space", "bytes"},
};

static int64_t below(uint64_t v) {
        return (int64_t)MIN(v, (uint64_t)INT64_MAX);
}

void profile_site_values(const struct fleet_site *s, int64_t ret[PROFILE_N_VALUES]) {
        ret[0] = below(s->n_allocs);
        ret[1] = below(s->alloc_bytes);
        ret[2] = MAX(s->live_blocks, (int64_t)0);
        ret[3] = MAX(s->live_bytes, (int64_t)0);
}

int profile_client_new(const struct server_url *url, const struct http_client_options *o,
                       struct profile_client **ret, struct err *reterr) {
        struct profile_client *c = calloc(1, sizeof(*c));
        struct http_client_options with = *o;
        int r;

        if (!c)
                abort();
        c->url = *url;
        if (url->user[0]) {
                with.user = c->url.user;
                with.password = c->url.password;
        }
        r = http_client_new(&with, &c->http, reterr);
        if (r < 0) {
                free(c);
                return r;
        }
        *ret = c;
        return 0;
}

void profile_client_free(void *client) {
        struct profile_client *c = client;

        http_client_free(c->http);
        free(c);
}

/* Too many, too late, or not now: it may be taken another time. */
static bool is_for_later(int status) {
        return status >= 500 || status == 408 || status == 429 || status == 401 || status == 403 ||
               status == 404;
}

int profile_client_post(struct profile_client *c, const char *parameters,
                        const struct http_request *q, struct str *answer, struct err *reterr) {
        struct http_request with = *q;
        struct str url = {0};
        int status;

        str_add(&url, c->url.address);
        if (parameters[0] || c->url.settings[0])
                str_addf(&url, "?%s%s%s", parameters,
                         parameters[0] && c->url.settings[0] ? "&" : "", c->url.settings);
        with.url = str_text(&url);
        with.shown = c->url.shown;
        status = http_client_post(c->http, &with, answer, reterr);
        str_done(&url);
        if (status < 0)
                return status;
        if (status >= 200 && status < 300) {
                /* neither has anything like it for an answer */
                if (str_text(answer)[strspn(str_text(answer), " \t\r\n")] == '<')
                        return err_set(reterr, -EIO,
                                       "%s answers with a page: it does not take profiles",
                                       c->url.shown);
                return 0;
        }
        if (status >= 300 && status < 400)
                return err_set(reterr, -EIO, "%s sends on to another address (%d): give that one",
                               c->url.shown, status);
        if (status == 401 || status == 403)
                return err_set(reterr, -EACCES, "%s does not accept the user or password (%d)",
                               c->url.shown, status);
        return err_set(reterr, is_for_later(status) ? -EIO : -EBADMSG, "%s answers %d: %.*s",
                       c->url.shown, status,
                       (int)MIN(strcspn(str_text(answer), "\r\n"), (size_t)160), str_text(answer));
}
