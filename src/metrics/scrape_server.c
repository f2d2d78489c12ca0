/* SPDX-License-Identifier: MIT */
#include "metrics/scrape_server.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <libdeflate.h>

#include "base/macros.h"
#include "base/system_clock.h"
#include "metrics/scrape_gate.h"
#include "serve/listener.h"
#include "serve/mhd.h"
#include "serve/peers.h"

enum {
        MEMORY_BYTES = 16 << 10, /* of one connection: its head, and what is being sent */
        SILENT_S = 10,
        /* What was collected is given to all who ask within that time, or ten times what collecting took */
        FRESH_MS = 1000,
        FRESH_SHARE = 10,
        MAX_FRESH_MS = 15000,
        LOOK_MS = 1000,
        LAST_MS = 2000, /* for those who still read when it is over */
        GZIP_LEVEL = 1, /* names of series again and again: more work makes it hardly smaller */
};

/* A request that has been read, and maybe waits. */
struct scrape {
        struct scrape *next;
        struct MHD_Connection *connection;
        struct peer *peer;
        char path[16];
        enum { SCRAPE_NEW, SCRAPE_READ, SCRAPE_WAITS, SCRAPE_IS_SERVED } state;
};

struct scrape_server {
        struct scrape_server_options o;
        struct listener listener;
        struct MHD_Daemon *daemon;
        struct peers peers;
        char address[128];
        int wake_fd; /* for the thread that runs it: somebody came, or waits */
        struct metric_set set;

        pthread_mutex_t lock; /* of the rest */
        bool is_stopping;
        struct scrape *waiting;
        /* As it is, and packed; shared by all that read it. NULL: none yet, or nobody ever took that form packed */
        struct MHD_Response *made[EXPOSITION_N][2];
        bool wants_packed[EXPOSITION_N]; /* somebody did */
        unsigned status;
        uint64_t made_ns, fresh_ns;
};

static void wake(struct scrape_server *s) {
        uint64_t one = 1;

        (void)!write(s->wake_fd, &one, sizeof(one));
}

/* ---- answers ------------------------------------------------------------------------------------ */

/* bytes: which the response frees. */
static struct MHD_Response *make_response_of(void *bytes, size_t n, const char *type) {
        struct MHD_Response *r;

        if (!bytes)
                abort();
        r = mhd.create_response_from_buffer(n, bytes, MHD_RESPMEM_MUST_FREE);
        if (!r)
                abort();
        mhd.add_response_header(r, "Content-Type", type);
        mhd.add_response_header(r, "X-Content-Type-Options", "nosniff");
        mhd.add_response_header(r, "Cache-Control", "no-store");
        return r;
}

static struct MHD_Response *make_response(struct str *text, const char *type) {
        return make_response_of(strdup(str_text(text)), text->n, type);
}

static struct MHD_Response *make_packed_response(const struct str *text, const char *type) {
        struct libdeflate_compressor *c = libdeflate_alloc_compressor(GZIP_LEVEL);
        size_t cap = c ? libdeflate_gzip_compress_bound(c, text->n) : 0;
        void *bytes = cap ? malloc(cap) : NULL;
        struct MHD_Response *r;

        if (!bytes)
                abort();
        r = make_response_of(bytes, libdeflate_gzip_compress(c, text->bytes, text->n, bytes, cap),
                             type);
        mhd.add_response_header(r, "Content-Encoding", "gzip");
        libdeflate_free_compressor(c);
        return r;
}

static enum MHD_Result say(struct MHD_Connection *c, unsigned status, const char *line) {
        struct str text = {0};
        struct MHD_Response *r;
        enum MHD_Result queued;

        str_addf(&text, "%s\n", line);
        r = make_response(&text, "text/plain; charset=utf-8");
        str_done(&text);
        if (status == 405)
                mhd.add_response_header(r, "Allow", "GET, HEAD");
        queued = mhd.queue_response(c, status, r);
        mhd.destroy_response(r);
        return queued;
}

struct asked {
        struct scrape_head head;
        const char *accept, *accept_encoding;
};

static enum MHD_Result take_header(void *ctx, enum MHD_ValueKind kind, const char *key,
                                   const char *value) {
        struct asked *a = ctx;

        (void)kind;
        if (strcasecmp(key, "Host") == 0)
                a->head.host = value;
        else if (strcasecmp(key, "Accept") == 0)
                a->accept = value;
        else if (strcasecmp(key, "Accept-Encoding") == 0)
                a->accept_encoding = value;
        else if (strcasecmp(key, "Transfer-Encoding") == 0)
                a->head.has_body = true;
        else if (strcasecmp(key, "Content-Length") == 0)
                a->head.has_body |= !value || strcmp(value, "0") != 0;
        return MHD_YES;
}

static enum MHD_Result send_metrics(struct scrape_server *s, struct scrape *x,
                                    const struct asked *a) {
        enum exposition e = exposition_of_accept(a->accept);
        struct MHD_Response *made;
        enum MHD_Result queued;

        pthread_mutex_lock(&s->lock);
        x->state = SCRAPE_IS_SERVED;
        made = s->made[e][1] && exposition_may_be_gzip(a->accept_encoding) ? s->made[e][1]
                                                                           : s->made[e][0];
        queued = made ? mhd.queue_response(x->connection, s->status, made) : MHD_NO;
        pthread_mutex_unlock(&s->lock);
        return queued;
}

static bool wait_for_metrics(struct scrape_server *s, struct scrape *x, const struct asked *a) {
        bool waits;

        pthread_mutex_lock(&s->lock);
        if (exposition_may_be_gzip(a->accept_encoding))
                s->wants_packed[exposition_of_accept(a->accept)] = true;
        waits = !s->is_stopping && (!s->made[0][0] || clock_now_ns() - s->made_ns > s->fresh_ns);
        if (waits) {
                x->state = SCRAPE_WAITS;
                x->next = s->waiting;
                s->waiting = x;
                mhd.suspend_connection(x->connection);
        }
        pthread_mutex_unlock(&s->lock);
        if (waits)
                wake(s);
        return waits;
}

/* ---- what the library calls -------------------------------------------------------------------- */

static void connection_changed(void *ctx, struct MHD_Connection *c, void **socket_context,
                               enum MHD_ConnectionNotificationCode code) {
        const union MHD_ConnectionInfo *fd;
        struct scrape_server *s = ctx;

        if (code == MHD_CONNECTION_NOTIFY_STARTED) {
                fd = mhd.get_connection_info(c, MHD_CONNECTION_INFO_CONNECTION_FD);
                *socket_context = peers_enter(&s->peers, fd ? fd->connect_fd : -1, clock_now_ns());
                wake(s);
        } else if (*socket_context) {
                peers_leave(&s->peers, *socket_context);
                *socket_context = NULL;
        }
}

/* The time of a request begins with its first line, and ends with the last byte of its answer. */
static void *request_begins(void *ctx, const char *url, struct MHD_Connection *c) {
        const union MHD_ConnectionInfo *i =
                mhd.get_connection_info(c, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
        struct scrape *x = calloc(1, sizeof(*x));
        struct scrape_server *s = ctx;

        if (!x)
                abort();
        x->connection = c;
        x->peer = i ? i->socket_context : NULL;
        snprintf(x->path, sizeof(x->path), "%.*s", (int)strcspn(url, "?"), url);
        if (x->peer)
                peers_set_state(&s->peers, x->peer, PEER_TELLS, clock_now_ns());
        return x;
}

static enum MHD_Result answer(struct scrape_server *s, struct scrape *x, const char *method) {
        struct asked a = {.head = {.method = method, .path = x->path}};
        struct scrape_admitted admitted;

        mhd.get_connection_values(x->connection, MHD_HEADER_KIND, take_header, &a);
        if (x->state == SCRAPE_WAITS)
                return send_metrics(s, x, &a);
        if (x->state == SCRAPE_NEW) {
                /* What is refused for its body is refused before that is read; else all of the request is read first. */
                if (scrape_is_refused_early(&a.head, &admitted))
                        return say(x->connection, admitted.status, admitted.text);
                x->state = SCRAPE_READ;
                return MHD_YES;
        }
        admitted = scrape_admit(&a.head, s->listener.is_loopback);
        if (admitted.verdict != SCRAPE_METRICS)
                return say(x->connection, admitted.status, admitted.text);
        return wait_for_metrics(s, x, &a) ? MHD_YES : send_metrics(s, x, &a);
}

static enum MHD_Result request_goes_on(void *ctx, struct MHD_Connection *c, const char *url,
                                       const char *method, const char *version, const char *upload,
                                       size_t *n_upload, void **request) {
        struct scrape *x = *request;

        (void)c;
        (void)url;
        (void)version;
        (void)upload;
        *n_upload = 0;
        return x && x->peer ? answer(ctx, x, method) : MHD_NO;
}

static void request_ended(void *ctx, struct MHD_Connection *c, void **request,
                          enum MHD_RequestTerminationCode why) {
        struct scrape *x = *request;
        struct scrape_server *s = ctx;

        (void)c;
        (void)why;
        if (!x)
                return;
        *request = NULL;
        if (x->peer)
                peers_set_state(&s->peers, x->peer, PEER_IDLE, clock_now_ns());
        free(x);
}

/* ---- running ----------------------------------------------------------------------------------- */

static void destroy_made(struct MHD_Response *made[EXPOSITION_N][2]) {
        for (int e = 0; e < EXPOSITION_N; e++)
                for (int i = 0; i < 2; i++)
                        if (made[e][i])
                                mhd.destroy_response(made[e][i]);
}

/* Takes the place of what was made before, which lives on while somebody reads it. */
static void publish(struct scrape_server *s, int r, const struct err *err, uint64_t fresh_ns) {
        struct MHD_Response *made[EXPOSITION_N][2] = {0}, *old[EXPOSITION_N][2];
        bool wants_packed[EXPOSITION_N];

        pthread_mutex_lock(&s->lock);
        memcpy(wants_packed, s->wants_packed, sizeof(wants_packed));
        pthread_mutex_unlock(&s->lock);
        for (int e = 0; e < EXPOSITION_N; e++) {
                struct str text = {0};

                if (r >= 0)
                        exposition_write(&s->set, (enum exposition)e, &text);
                else
                        str_addf(&text, "silt: %s\n", err->text);
                made[e][0] = make_response(&text, r >= 0 ? exposition_type((enum exposition)e)
                                                         : "text/plain; charset=utf-8");
                if (r >= 0 && wants_packed[e] && text.n)
                        made[e][1] =
                                make_packed_response(&text, exposition_type((enum exposition)e));
                str_done(&text);
        }
        pthread_mutex_lock(&s->lock);
        memcpy(old, s->made, sizeof(old));
        memcpy(s->made, made, sizeof(made));
        s->status = r >= 0 ? 200 : 500;
        s->made_ns = clock_now_ns();
        s->fresh_ns = fresh_ns;
        pthread_mutex_unlock(&s->lock);
        destroy_made(old);
}

static void resume_all(struct scrape_server *s) {
        pthread_mutex_lock(&s->lock);
        for (struct scrape *x = s->waiting, *next; x; x = next) {
                next = x->next;
                mhd.resume_connection(x->connection); /* it may be gone behind this */
        }
        s->waiting = NULL;
        pthread_mutex_unlock(&s->lock);
}

static bool somebody_waits(struct scrape_server *s) {
        bool waits;

        pthread_mutex_lock(&s->lock);
        waits = s->waiting != NULL;
        pthread_mutex_unlock(&s->lock);
        return waits;
}

static void serve_waiting(struct scrape_server *s) {
        uint64_t began_ns = clock_now_ns(), took_ns;
        struct err err = {0};
        int r;

        if (!somebody_waits(s))
                return;
        metric_set_clear(&s->set);
        r = s->o.collect(s->o.ctx, &s->set, &err);
        took_ns = clock_now_ns() - began_ns;
        publish(s, r, &err,
                MIN(MAX(FRESH_MS * 1000000ull, took_ns * FRESH_SHARE), MAX_FRESH_MS * 1000000ull));
        resume_all(s);
}

int scrape_server_run(struct scrape_server *s, int stop_fd, struct err *reterr) {
        struct pollfd fds[] = {{.fd = stop_fd, .events = POLLIN},
                               {.fd = s->wake_fd, .events = POLLIN}};
        uint64_t n, over_ns = 0;

        for (;;) {
                if (poll(fds, ARRAY_SIZE(fds), LOOK_MS) < 0 && errno != EINTR)
                        return err_set_errno(reterr, -errno, "poll");
                if (fds[0].revents)
                        return 0;
                if (fds[1].revents)
                        (void)!read(s->wake_fd, &n, sizeof(n));
                serve_waiting(s);
                peers_look(&s->peers, clock_now_ns());
                if (!over_ns && s->o.is_over && s->o.is_over(s->o.ctx))
                        over_ns = clock_now_ns();
                /* what is being sent is sent to its end */
                if (over_ns &&
                    (peers_n(&s->peers) == 0 || clock_now_ns() - over_ns > LAST_MS * 1000000ull))
                        return 0;
        }
}

/* ---- beginning and end ------------------------------------------------------------------------- */

static int start_daemon(struct scrape_server *s, struct err *reterr) {
        s->daemon = mhd.start_daemon(MHD_USE_EPOLL_INTERNAL_THREAD | MHD_ALLOW_SUSPEND_RESUME |
                                             MHD_USE_ITC | (s->listener.is_v6 ? MHD_USE_IPv6 : 0),
                                     s->listener.port, NULL, NULL, request_goes_on, s,
                                     MHD_OPTION_LISTEN_SOCKET, s->listener.fd,
                                     MHD_OPTION_CONNECTION_LIMIT, (unsigned)PEERS_MAX,
                                     MHD_OPTION_CONNECTION_TIMEOUT, (unsigned)SILENT_S,
                                     MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)MEMORY_BYTES,
                                     MHD_OPTION_URI_LOG_CALLBACK, request_begins, s,
                                     MHD_OPTION_NOTIFY_COMPLETED, request_ended, s,
                                     MHD_OPTION_NOTIFY_CONNECTION, connection_changed, s,
                                     MHD_OPTION_END);
        return s->daemon ? 0 : err_set(reterr, -EIO, "cannot start the server (see ulimit -n -u)");
}

int scrape_server_start(const struct scrape_server_options *o, struct scrape_server **ret,
                        struct err *reterr) {
        struct scrape_server *s = calloc(1, sizeof(*s));
        int r = mhd_load(reterr);

        if (!s)
                abort();
        s->o = *o;
        s->listener.fd = s->wake_fd = -1;
        pthread_mutex_init(&s->lock, NULL);
        peers_init(&s->peers);
        if (r == 0)
                r = listener_open(&s->listener, o->address, o->port, reterr);
        if (r == 0) {
                s->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
                if (s->wake_fd < 0)
                        r = err_set_errno(reterr, -errno,
                                          "cannot make a descriptor (see ulimit -n)");
        }
        if (r == 0)
                r = start_daemon(s, reterr);
        if (r < 0) {
                scrape_server_free(s);
                return r;
        }
        snprintf(s->address, sizeof(s->address), "http://%s%s%s:%u/metrics",
                 s->listener.is_v6 ? "[" : "", s->listener.address, s->listener.is_v6 ? "]" : "",
                 s->listener.port);
        *ret = s;
        return 0;
}

const char *scrape_server_address(const struct scrape_server *s) {
        return s->address;
}

bool scrape_server_is_loopback(const struct scrape_server *s) {
        return s->listener.is_loopback;
}

struct scrape_server *scrape_server_free(struct scrape_server *s) {
        if (!s)
                return NULL;
        pthread_mutex_lock(&s->lock);
        s->is_stopping = true;
        pthread_mutex_unlock(&s->lock);
        resume_all(s);
        if (s->daemon)
                mhd.stop_daemon(s->daemon); /* closes the socket it listened on */
        else if (s->listener.fd >= 0)
                close(s->listener.fd);
        destroy_made(s->made);
        peers_done(&s->peers);
        if (s->wake_fd >= 0)
                close(s->wake_fd);
        metric_set_done(&s->set);
        pthread_mutex_destroy(&s->lock);
        free(s);
        return NULL;
}
