/* SPDX-License-Identifier: MIT */
#include "serve/exchange.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/json.h"
#include "base/macros.h"
#include "base/system_clock.h"
#include "serve/server_state.h"

/* ---- replies ----------------------------------------------------------------------------------- */

static const char *const headers[][2] = {
        {"Content-Security-Policy",
         "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"},
        {"X-Content-Type-Options", "nosniff"},
        {"X-Frame-Options", "DENY"},
        {"Referrer-Policy", "no-referrer"},
        {"Cache-Control", "no-store"},
        {"Cross-Origin-Resource-Policy", "same-origin"},
        {"Cross-Origin-Opener-Policy", "same-origin"},
};

static const char json_type[] = "application/json; charset=utf-8";
static const char text_type[] = "text/plain; charset=utf-8";

/* Of a header of this reply alone; name NULL: none. */
struct extra {
        const char *name, *value;
};

/* Takes bytes where they are to be freed. */
static enum MHD_Result reply(struct exchange *x, unsigned status, const char *type, char *bytes,
                             size_t n, enum MHD_ResponseMemoryMode mode, struct extra extra,
                             struct extra extra2) {
        struct MHD_Response *r = mhd.create_response_from_buffer(n, bytes, mode);
        enum MHD_Result result;

        if (!r) {
                if (mode == MHD_RESPMEM_MUST_FREE)
                        free(bytes);
                return MHD_NO;
        }
        for (size_t i = 0; i < ARRAY_SIZE(headers); i++)
                mhd.add_response_header(r, headers[i][0], headers[i][1]);
        mhd.add_response_header(r, "Content-Type", type);
        if (extra.name)
                mhd.add_response_header(r, extra.name, extra.value);
        if (extra2.name)
                mhd.add_response_header(r, extra2.name, extra2.value);
        x->state = EXCHANGE_ANSWERED;
        result = mhd.queue_response(x->connection, status, r);
        mhd.destroy_response(r);
        return result;
}

static void write_error(FILE *out, const char *text, const char *key, const char *fix) {
        struct json j;

        json_init(&j, out);
        json_object(&j);
        json_put_string(&j, "schema", "silt.error/1");
        json_put_string(&j, "error", text);
        json_key(&j, "key");
        if (key)
                json_string(&j, key);
        else
                json_null(&j);
        json_key(&j, "fix");
        if (fix)
                json_string(&j, fix);
        else
                json_null(&j);
        json_end(&j);
}

/* Errors of questions are JSON, others a line for people. Who gets one of these has no business here, or made a mistake: the
 * connection ends with those that may have more behind them that was not read. */
static enum MHD_Result reply_error(struct exchange *x, unsigned status, const char *text,
                                   const char *key, const char *fix) {
        bool is_json = x->admitted.is_question, closes = status == 405 || status == 413;
        struct extra allow = {status == 405 ? "Allow" : NULL, "GET, HEAD"};
        struct extra close = {closes ? "Connection" : NULL, "close"};
        char *bytes = NULL;
        size_t n = 0;
        FILE *out = open_memstream(&bytes, &n);

        if (!out)
                abort();
        if (is_json)
                write_error(out, text, key, fix);
        else if (fix)
                fprintf(out, "%s: %s\n", text, fix);
        else
                fprintf(out, "%s\n", text);
        fclose(out);
        return reply(x, status, is_json ? json_type : text_type, bytes, n, MHD_RESPMEM_MUST_FREE,
                     allow, close);
}

static enum MHD_Result reply_welcome(struct exchange *x) {
        const struct gate *g = &x->server->gate;
        struct str cookie = {0}, folder = {0};
        enum MHD_Result result;

        gate_add_cookie(g, &cookie);
        gate_add_folder(g, &folder);
        result = reply(x, 303, text_type, (char *)"", 0, MHD_RESPMEM_PERSISTENT,
                       (struct extra){"Set-Cookie", str_text(&cookie)},
                       (struct extra){"Location", str_text(&folder)});
        str_done(&cookie);
        str_done(&folder);
        return result;
}

static enum MHD_Result reply_asset(struct exchange *x) {
        const struct server_options *o = &x->server->options;

        for (size_t i = 0; i < o->n_assets; i++) {
                const struct asset *a = &o->assets[i];

                if (strlen(a->path) == x->admitted.n_path &&
                    memcmp(a->path, x->admitted.path, x->admitted.n_path) == 0)
                        return reply(x, 200, a->type, (char *)a->bytes, a->n,
                                     MHD_RESPMEM_PERSISTENT, (struct extra){0}, (struct extra){0});
        }
        return reply_error(x, 404, "no such page", NULL, "use the address that silt printed");
}

static unsigned status_of(int error) {
        switch (error) {
        case -EINVAL:
        case -EACCES:
        case -ERANGE:
        case -E2BIG: return 400;
        case -ENOENT:
        case -ENODATA:
        case -ESRCH: return 404;
        case -ETIME: return 504;
        case -EBUSY:
        case -ESHUTDOWN:
        case -ECANCELED: return 503;
        }
        return 500;
}

/* Where the remedy of "what: why: what to do" begins: after the last colon outside quotes. What the system says of an error is
 * none, and begins with a capital; after a mere subject ("'x': no such function") comes what is wrong. NULL: there is none. */
static char *find_fix(char *text) {
        bool is_quoted = false, has_verb = false;
        char *fix = NULL;

        for (char *c = text; *c; c++) {
                if (*c == '\'' || *c == '"')
                        is_quoted = !is_quoted;
                if (!is_quoted && has_verb && c[0] == ':' && c[1] == ' ' && c[2])
                        fix = c + 2;
                has_verb |= !is_quoted && c[0] == ' ';
        }
        return fix && fix[0] >= 'a' && fix[0] <= 'z' ? fix : NULL;
}

static enum MHD_Result reply_failure(struct exchange *x, unsigned status, struct err *err) {
        char *fix = find_fix(err->text);

        if (fix)
                fix[-2] = '\0';
        return reply_error(x, status, err->text, err->key, fix);
}

static enum MHD_Result reply_answer(struct exchange *x) {
        struct question *q = &x->question;
        char version[24];
        char *bytes;
        size_t n = q->text.n;

        if (q->result == -ETIME)
                return reply_error(x, 504, "the answer took longer than 60 s", NULL,
                                   "ask about a shorter window");
        if (q->result < 0)
                return reply_failure(x, status_of(q->result), &q->err);
        if (!server_hold_answer(x->server, x, n))
                return reply_error(x, 503, "answers that nobody reads take 512 MiB", NULL,
                                   "read them, or close their connections");
        snprintf(version, sizeof(version), "%llu", (unsigned long long)q->version);
        bytes = TAKE_PTR(q->text.bytes);
        q->text = (struct str){0};
        return reply(x, 200, json_type, bytes, n, MHD_RESPMEM_MUST_FREE,
                     (struct extra){"Silt-Version", version}, (struct extra){0});
}

static enum MHD_Result reply_progress(struct exchange *x) {
        static const char *const states[] = {"unknown", "waiting", "answering"};
        struct questions_progress p = questions_progress(x->server->questions, x->admitted.id);
        char *bytes = NULL;
        size_t n = 0;
        FILE *out = open_memstream(&bytes, &n);
        struct json j;

        if (!out)
                abort();
        json_init(&j, out);
        json_object(&j);
        json_put_string(&j, "schema", "silt.progress/1");
        json_put_string(&j, "id", x->admitted.id);
        json_put_string(&j, "state", states[p.state]);
        json_put_uint(&j, "done", p.done);
        json_put_uint(&j, "total", p.total);
        json_key(&j, "parts");
        json_array(&j);
        json_values(&j, str_text(&p.parts));
        json_end(&j);
        str_done(&p.parts);
        json_put_uint(&j, "questions_waiting", p.n_waiting);
        json_put_uint(&j, "questions_answering", p.n_answering);
        json_put_uint(&j, "answered", p.n_answered);
        json_put_uint(&j, "cancelled", p.n_cancelled);
        json_put_uint(&j, "late", p.n_late);
        json_end(&j);
        fclose(out);
        return reply(x, 200, json_type, bytes, n, MHD_RESPMEM_MUST_FREE, (struct extra){0},
                     (struct extra){0});
}

/* ---- questions --------------------------------------------------------------------------------- */

static void answer_is_ready(struct question *q) {
        struct exchange *x = q->owner;

        mhd.resume_connection(x->connection);
}

static enum MHD_Result put_question(struct exchange *x) {
        struct question *q = &x->question;
        struct str keys = {0};

        gate_add_keys(x->admitted.query, &keys);
        str_text(&keys);
        *q = (struct question){.keys = keys.bytes ? keys.bytes : strdup(""),
                               .fd = x->peer->fd,
                               .ready = answer_is_ready,
                               .owner = x};
        memcpy(q->name, x->admitted.answer, sizeof(q->name));
        memcpy(q->id, x->admitted.id, sizeof(q->id));
        x->state = EXCHANGE_ASKED;
        mhd.suspend_connection(x->connection); /* before a seat can resume it */
        x->refused = questions_ask(x->server->questions, q);
        if (x->refused < 0)
                mhd.resume_connection(x->connection);
        return MHD_YES;
}

static enum MHD_Result begin_question(struct exchange *x) {
        if (strcmp(x->admitted.answer, "progress") == 0)
                return reply_progress(x);
        if (x->admitted.has_since && x->admitted.wait_s > 0 &&
            strcmp(x->admitted.answer, "trace") == 0 && server_wait_for_news(x->server, x))
                return MHD_YES;
        return put_question(x);
}

/* ---- a request --------------------------------------------------------------------------------- */

static enum MHD_Result take_header(void *ctx, enum MHD_ValueKind kind, const char *key,
                                   const char *value) {
        struct http_head *h = ctx;

        if (strcasecmp(key, "Host") == 0) {
                h->host = value;
                h->n_hosts++;
        } else if (strcasecmp(key, "Origin") == 0) {
                h->origin = value ? value : "";
        } else if (strcasecmp(key, "Sec-Fetch-Site") == 0) {
                h->fetch_site = value ? value : "";
        } else if (strcasecmp(key, "Cookie") == 0) {
                h->cookie = value;
                h->n_cookies++;
        } else if (strcasecmp(key, "Authorization") == 0) {
                h->authorization = value;
                h->n_authorizations++;
        } else if (strcasecmp(key, "Transfer-Encoding") == 0) {
                h->has_body = true;
        } else if (strcasecmp(key, "Content-Length") == 0) {
                h->has_body |= !value || strcmp(value, "0") != 0;
        }
        return MHD_YES;
}

static enum MHD_Result refuse(struct exchange *x) {
        return reply_error(x, x->admitted.status, x->admitted.text, NULL, x->admitted.fix);
}

static enum MHD_Result begin(struct exchange *x, const char *method) {
        struct http_head head = {.method = method, .url = x->url};
        struct server *s = x->server;

        mhd.get_connection_values(x->connection, MHD_HEADER_KIND, take_header, &head);
        x->admitted = gate_admit(&s->gate, &head);
        peers_set_state(&s->peers, x->peer, PEER_IS_ANSWERED, clock_now_ns());
        x->state = EXCHANGE_ADMITTED;
        /* What is refused for its body is refused before that is read; the library closes connections that are answered so early. */
        return x->admitted.status == 413 || x->admitted.status == 405 ? refuse(x) : MHD_YES;
}

static enum MHD_Result take(struct exchange *x) {
        struct server *s = x->server;

        if (x->admitted.is_by_key && !server_use_key(s)) {
                x->admitted.is_known = false;
                return reply_error(x, 401, "this address was used before", NULL,
                                   "use the address that silt printed");
        }
        if (x->admitted.is_known) {
                pthread_mutex_lock(&s->lock);
                s->n_open += !x->is_counted;
                s->has_served = x->is_counted = true;
                pthread_mutex_unlock(&s->lock);
                if (!peers_know(&s->peers, x->peer))
                        return reply_error(x, 503, "64 connections are open", NULL,
                                           "close other pages");
        }
        switch (x->admitted.verdict) {
        case GATE_WELCOME: return reply_welcome(x);
        case GATE_ASSET: return reply_asset(x);
        case GATE_QUESTION: return begin_question(x);
        case GATE_REFUSED: break;
        }
        return refuse(x);
}

enum MHD_Result exchange_go_on(struct exchange *x, const char *method) {
        switch (x->state) {
        case EXCHANGE_NEW: return begin(x, method);
        case EXCHANGE_ADMITTED: return take(x);
        case EXCHANGE_WAITED: return put_question(x);
        case EXCHANGE_ASKED:
                if (x->refused == -EBUSY)
                        return reply_error(x, 503, "16 questions wait", NULL, "ask again later");
                if (x->refused < 0)
                        return reply_error(x, 503, "the server is ending", NULL, NULL);
                return reply_answer(x);
        case EXCHANGE_WAITS: /* not while it is suspended */
        case EXCHANGE_ANSWERED: break;
        }
        return MHD_NO;
}

struct exchange *exchange_free(struct exchange *x) {
        free(x->question.keys);
        str_done(&x->question.text);
        free(x->url);
        free(x);
        return NULL;
}
