/* SPDX-License-Identifier: MIT */
/* Connections that are open. Strangers, who have not sent the token, are bounded in number and time: where one more comes the
 * oldest of them goes, so that a crowd of them never keeps a client out. */
#pragma once

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
        PEERS_MAX_STRANGERS = 64,
        PEERS_MAX_KNOWN = 64,
        PEERS_MAX = PEERS_MAX_STRANGERS + PEERS_MAX_KNOWN,
        PEERS_HEAD_S = 10,  /* for the head of a request, and for the first request at all */
        PEERS_IDLE_S = 120, /* of clients that are known, between two requests */
};

struct peer {
        struct peer *next, *prev;
        int fd;
        bool is_known;
        bool is_let_go; /* its connection was ended, and will be closed */
        enum {
                PEER_IDLE,
                PEER_TELLS,       /* the address is there, the head is not */
                PEER_IS_ANSWERED, /* the library bounds how long it may not read on */
        } state;
        uint64_t since_ns; /* of the state */
};

struct peers {
        pthread_mutex_t lock;
        struct peer *first, *last; /* the oldest first */
        size_t n_strangers, n_known;
};

void peers_init(struct peers *gs);
void peers_done(struct peers *gs);
struct peer *peers_enter(struct peers *gs, int fd, uint64_t now_ns);
void peers_leave(struct peers *gs, struct peer *g); /* before fd is closed; frees it */
/* False: too many are known. */
bool peers_know(struct peers *gs, struct peer *g);
void peers_set_state(struct peers *gs, struct peer *g, int state, uint64_t now_ns);
/* Lets those go whose time is over. */
void peers_look(struct peers *gs, uint64_t now_ns);
size_t peers_n(struct peers *gs);
