/* SPDX-License-Identifier: MIT */
/* Connections that are open. Strangers, who have not sent the token, are bounded in number and time: where one more comes the
 * oldest of them goes, so that a crowd of them never keeps a client out. Inside serve/ only. */
#pragma once

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
        GUESTS_MAX_STRANGERS = 64,
        GUESTS_MAX_KNOWN = 64,
        GUESTS_MAX = GUESTS_MAX_STRANGERS + GUESTS_MAX_KNOWN,
        GUESTS_HEAD_S = 10,  /* for the head of a request, and for the first request at all */
        GUESTS_IDLE_S = 120, /* of clients that are known, between two requests */
};

struct guest {
        struct guest *next, *prev;
        int fd;
        bool is_known;
        bool is_let_go; /* its connection was ended, and will be closed */
        enum {
                GUEST_IDLE,
                GUEST_TELLS,       /* the address is there, the head is not */
                GUEST_IS_ANSWERED, /* the library bounds how long it may not read on */
        } state;
        uint64_t since_ns; /* of the state */
};

struct guests {
        pthread_mutex_t lock;
        struct guest *first, *last; /* the oldest first */
        size_t n_strangers, n_known;
};

void guests_init(struct guests *gs);
void guests_done(struct guests *gs);
struct guest *guests_enter(struct guests *gs, int fd, uint64_t now_ns);
void guests_leave(struct guests *gs, struct guest *g); /* before fd is closed; frees it */
/* False: too many are known. */
bool guests_know(struct guests *gs, struct guest *g);
void guests_set_state(struct guests *gs, struct guest *g, int state, uint64_t now_ns);
/* Lets those go whose time is over. */
void guests_look(struct guests *gs, uint64_t now_ns);
size_t guests_n(struct guests *gs);
