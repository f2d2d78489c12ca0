/* SPDX-License-Identifier: MIT */
#include "serve/server.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/macros.h"
#include "base/system_clock.h"
#include "serve/server_state.h"

enum {
        MEMORY_BYTES = 128 << 10, /* of one connection: address, headers, and what is being sent */
        UNREAD_BYTES = 512 << 20, /* of all answers that were made and not taken */
        SILENT_S = 60,            /* a client that reads nothing for so long */
        LOOK_GROWING_MS = 250,    /* between two looks at a trace that grows */
        LOOK_MS = 1000,
        ONCE_NS = 1000000000, /* times 15 */
        ONCE_S = 15,
        REFRESH_PATIENCE_NS =
                500000000, /* for answers that are being made; then it is tried later */
};

static void server_wake(struct server *s) {
        uint64_t one = 1;

        (void)!write(s->wake_fd, &one, sizeof(one));
}

/* ---- what the library calls -------------------------------------------------------------------- */

static struct peer *peer_of(struct MHD_Connection *c) {
        const union MHD_ConnectionInfo *i =
                mhd.get_connection_info(c, MHD_CONNECTION_INFO_SOCKET_CONTEXT);

        return i ? i->socket_context : NULL;
}

static void connection_changed(void *ctx, struct MHD_Connection *c, void **socket_context,
                               enum MHD_ConnectionNotificationCode code) {
        const union MHD_ConnectionInfo *fd;
        struct server *s = ctx;

        if (code == MHD_CONNECTION_NOTIFY_STARTED) {
                fd = mhd.get_connection_info(c, MHD_CONNECTION_INFO_CONNECTION_FD);
                *socket_context = peers_enter(&s->peers, fd ? fd->connect_fd : -1, clock_now_ns());
                server_wake(s);
        } else if (*socket_context) {
                peers_leave(&s->peers, *socket_context);
                *socket_context = NULL;
        }
}

/* The address as it was written; what this returns becomes the request's context. */
static void *request_begins(void *ctx, const char *url, struct MHD_Connection *c) {
        struct exchange *x = calloc(1, sizeof(*x));
        struct server *s = ctx;

        if (!x)
                abort();
        x->server = s;
        x->connection = c;
        x->peer = peer_of(c);
        x->url = strdup(url ? url : "");
        if (!x->url)
                abort();
        if (x->peer)
                peers_set_state(&s->peers, x->peer, PEER_TELLS, clock_now_ns());
        return x;
}

static enum MHD_Result request_goes_on(void *ctx, struct MHD_Connection *c, const char *url,
                                       const char *method, const char *version, const char *upload,
                                       size_t *n_upload, void **request) {
        struct exchange *x = *request;

        (void)ctx;
        (void)c;
        (void)url;
        (void)version;
        (void)upload;
        *n_upload = 0;
        return x && x->peer ? exchange_go_on(x, method) : MHD_NO;
}

static void request_ended(void *ctx, struct MHD_Connection *c, void **request,
                          enum MHD_RequestTerminationCode why) {
        struct exchange *x = *request;
        struct server *s = ctx;

        (void)c;
        (void)why;
        if (!x)
                return;
        *request = NULL;
        if (x->peer)
                peers_set_state(&s->peers, x->peer, PEER_IDLE, clock_now_ns());
        if (x->is_counted) {
                pthread_mutex_lock(&s->lock);
                s->n_open--;
                s->n_unread_bytes -= x->n_held_bytes;
                s->last_ns = clock_now_ns();
                pthread_mutex_unlock(&s->lock);
        }
        exchange_free(x);
}

bool server_hold_answer(struct server *s, struct exchange *x, size_t n_bytes) {
        bool has_room;

        pthread_mutex_lock(&s->lock);
        has_room = s->n_unread_bytes + n_bytes <= UNREAD_BYTES;
        if (has_room) {
                x->n_held_bytes = n_bytes;
                s->n_unread_bytes += n_bytes;
        }
        pthread_mutex_unlock(&s->lock);
        return has_room;
}

bool server_use_key(struct server *s) {
        bool is_fresh;

        pthread_mutex_lock(&s->lock);
        is_fresh = !s->is_key_used;
        s->is_key_used = true;
        pthread_mutex_unlock(&s->lock);
        return is_fresh;
}

/* ---- waiting for news -------------------------------------------------------------------------- */

static bool has_news(struct server *s, const struct exchange *x) {
        const struct responder *a = &s->options.responder;

        return a->version(a->ctx) > x->admitted.since || (x->was_growing && !a->is_growing(a->ctx));
}

bool server_wait_for_news(struct server *s, struct exchange *x) {
        const struct responder *a = &s->options.responder;
        bool waits;

        x->was_growing = a->is_growing(a->ctx);
        x->until_ns = clock_now_ns() + x->admitted.wait_s * 1000000000;
        pthread_mutex_lock(&s->lock);
        waits = !s->is_stopping && !has_news(s, x);
        if (waits) {
                x->state = EXCHANGE_WAITS;
                x->next_waiting = s->waiting;
                s->waiting = x;
                mhd.suspend_connection(x->connection);
        }
        pthread_mutex_unlock(&s->lock);
        if (waits)
                server_wake(s);
        return waits;
}

/* Lets those go on that need not wait any more. */
static void look_at_waiting(struct server *s, uint64_t now_ns) {
        pthread_mutex_lock(&s->lock);
        for (struct exchange **at = &s->waiting, *x; (x = *at);) {
                if (!s->is_stopping && now_ns < x->until_ns && !has_news(s, x) &&
                    !questions_is_gone(x->peer->fd)) {
                        at = &x->next_waiting;
                        continue;
                }
                *at = x->next_waiting;
                x->state = EXCHANGE_WAITED;
                mhd.resume_connection(x->connection); /* it may be gone behind this */
        }
        pthread_mutex_unlock(&s->lock);
}

/* ---- running ----------------------------------------------------------------------------------- */

static void refresh(struct server *s) {
        const struct responder *a = &s->options.responder;
        struct err err = {0};

        if (!a->has_news(a->ctx))
                return;
        if (a->prepare)
                a->prepare(a->ctx);
        if (!questions_pause(s->questions, REFRESH_PATIENCE_NS))
                return;
        a->refresh(a->ctx, &err); /* what failed is tried again; answers are of what was read */
        questions_resume(s->questions);
}

/* No page has been open for a while, and one was. */
static bool is_over(struct server *s, uint64_t now_ns) {
        bool over;

        pthread_mutex_lock(&s->lock);
        over = s->options.once && s->has_served && s->n_open == 0 &&
               now_ns - s->last_ns > ONCE_S * (uint64_t)ONCE_NS;
        pthread_mutex_unlock(&s->lock);
        return over;
}

/* Nobody is there, nothing is to be done. */
static bool is_idle(struct server *s) {
        bool has_served;

        pthread_mutex_lock(&s->lock);
        has_served = s->has_served;
        pthread_mutex_unlock(&s->lock);
        return peers_n(&s->peers) == 0 && !(s->options.once && has_served);
}

int server_run(struct server *s, int stop_fd, struct err *reterr) {
        const struct responder *a = &s->options.responder;
        struct pollfd fds[] = {{.fd = stop_fd, .events = POLLIN},
                               {.fd = s->wake_fd, .events = POLLIN}};
        uint64_t n, now;

        for (;;) {
                int timeout_ms = is_idle(s)              ? -1
                                 : a->is_growing(a->ctx) ? LOOK_GROWING_MS
                                                         : LOOK_MS;

                if (poll(fds, ARRAY_SIZE(fds), timeout_ms) < 0 && errno != EINTR)
                        return err_set_errno(reterr, -errno, "poll");
                if (fds[0].revents)
                        return 0;
                if (fds[1].revents)
                        (void)!read(s->wake_fd, &n, sizeof(n));
                now = clock_now_ns();
                refresh(s);
                peers_look(&s->peers, now);
                look_at_waiting(s, now);
                if (is_over(s, now))
                        return 0;
        }
}

/* ---- beginning and end ------------------------------------------------------------------------- */

static int start_daemon(struct server *s, struct err *reterr) {
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

static void write_address(const struct server *s, const char *name, const struct token *t,
                          struct str *to) {
        const struct listener *l = &s->listener;
        const char *host = l->is_any && l->host_name[0] ? l->host_name : l->address;
        bool is_v6 = l->is_v6 && host == l->address;

        str_addf(to, "http://%s%s%s:%u/?%s=%s", is_v6 ? "[" : "", host, is_v6 ? "]" : "", l->port,
                 name, t->text);
}

int server_start(const struct server_options *o, struct server **ret, struct err *reterr) {
        struct server *s = calloc(1, sizeof(*s));
        int r = mhd_load(reterr);

        if (!s)
                abort();
        s->options = *o;
        s->listener.fd = s->wake_fd = -1;
        pthread_mutex_init(&s->lock, NULL);
        peers_init(&s->peers);
        if (r == 0)
                r = token_make(&s->gate.token, reterr);
        if (r == 0)
                r = token_make(&s->gate.key, reterr);
        if (r == 0)
                r = token_make(&s->gate.folder, reterr);
        if (r == 0)
                r = listener_open(&s->listener, o->listen ? o->listen : "127.0.0.1", o->port,
                                  reterr);
        if (r == 0) {
                s->gate.port = s->listener.port;
                s->gate.address = s->listener.address;
                s->gate.host_name = s->listener.host_name[0] ? s->listener.host_name : NULL;
                s->gate.is_any = s->listener.is_any;
                s->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
                if (s->wake_fd < 0)
                        r = err_set_errno(reterr, -errno,
                                          "cannot make a descriptor (see ulimit -n)");
        }
        if (r == 0) {
                s->questions = questions_new(&s->options.responder, reterr);
                r = s->questions ? start_daemon(s, reterr) : -EAGAIN;
        }
        if (r < 0) {
                server_free(s);
                return r;
        }
        write_address(s, "token", &s->gate.token, &s->address);
        write_address(s, "key", &s->gate.key, &s->key_address);
        *ret = s;
        return 0;
}

const char *server_address(const struct server *s) {
        return s->address.bytes;
}

const char *server_key_address(const struct server *s) {
        return s->key_address.bytes;
}

uint16_t server_port(const struct server *s) {
        return s->listener.port;
}

bool server_is_loopback(const struct server *s) {
        return s->listener.is_loopback;
}

struct server *server_free(struct server *s) {
        if (!s)
                return NULL;
        pthread_mutex_lock(&s->lock);
        s->is_stopping = true;
        pthread_mutex_unlock(&s->lock);
        /* Whoever is suspended goes on, and is told; then the library may end. */
        if (s->questions)
                questions_stop(s->questions);
        look_at_waiting(s, clock_now_ns());
        if (s->daemon)
                mhd.stop_daemon(s->daemon); /* closes the socket it listened on */
        else if (s->listener.fd >= 0)
                close(s->listener.fd);
        questions_free(s->questions);
        peers_done(&s->peers);
        if (s->wake_fd >= 0)
                close(s->wake_fd);
        str_done(&s->address);
        str_done(&s->key_address);
        pthread_mutex_destroy(&s->lock);
        free(s);
        return NULL;
}
