/* SPDX-License-Identifier: MIT */
#include "serve/peers.h"

#include <stdlib.h>
#include <sys/socket.h>

#define SECOND_NS 1000000000ull

void peers_init(struct peers *gs) {
        *gs = (struct peers){0};
        pthread_mutex_init(&gs->lock, NULL);
}

void peers_done(struct peers *gs) {
        while (gs->first)
                peers_leave(gs, gs->first);
        pthread_mutex_destroy(&gs->lock);
}

/* The library sees the end of the connection and closes it. With the lock held. */
static void let_go(struct peer *g) {
        if (!g->is_let_go)
                shutdown(g->fd, SHUT_RDWR);
        g->is_let_go = true;
}

static void let_oldest_stranger_go(struct peers *gs) {
        for (struct peer *g = gs->first; g; g = g->next)
                if (!g->is_known && !g->is_let_go) {
                        let_go(g);
                        gs->n_strangers--;
                        return;
                }
}

struct peer *peers_enter(struct peers *gs, int fd, uint64_t now_ns) {
        struct peer *g = calloc(1, sizeof(*g));

        if (!g)
                abort();
        g->fd = fd;
        g->since_ns = now_ns;
        pthread_mutex_lock(&gs->lock);
        g->prev = gs->last;
        *(gs->last ? &gs->last->next : &gs->first) = g;
        gs->last = g;
        if (++gs->n_strangers > PEERS_MAX_STRANGERS)
                let_oldest_stranger_go(gs);
        pthread_mutex_unlock(&gs->lock);
        return g;
}

void peers_leave(struct peers *gs, struct peer *g) {
        pthread_mutex_lock(&gs->lock);
        *(g->prev ? &g->prev->next : &gs->first) = g->next;
        *(g->next ? &g->next->prev : &gs->last) = g->prev;
        if (g->is_known)
                gs->n_known--;
        else if (!g->is_let_go) /* else it is not counted any more */
                gs->n_strangers--;
        pthread_mutex_unlock(&gs->lock);
        free(g);
}

bool peers_know(struct peers *gs, struct peer *g) {
        bool has_room;

        pthread_mutex_lock(&gs->lock);
        has_room = g->is_known || (gs->n_known < PEERS_MAX_KNOWN && !g->is_let_go);
        if (has_room && !g->is_known) {
                g->is_known = true;
                gs->n_known++;
                gs->n_strangers--;
        }
        pthread_mutex_unlock(&gs->lock);
        return has_room;
}

void peers_set_state(struct peers *gs, struct peer *g, int state, uint64_t now_ns) {
        pthread_mutex_lock(&gs->lock);
        g->state = state;
        g->since_ns = now_ns;
        pthread_mutex_unlock(&gs->lock);
}

static bool is_late(const struct peer *g, uint64_t now_ns) {
        uint64_t age_ns = now_ns > g->since_ns ? now_ns - g->since_ns : 0;

        switch (g->state) {
        case PEER_IDLE: return age_ns > (g->is_known ? PEERS_IDLE_S : PEERS_HEAD_S) * SECOND_NS;
        case PEER_TELLS: return age_ns > PEERS_HEAD_S * SECOND_NS;
        case PEER_IS_ANSWERED: break;
        }
        return false;
}

void peers_look(struct peers *gs, uint64_t now_ns) {
        pthread_mutex_lock(&gs->lock);
        for (struct peer *g = gs->first; g; g = g->next)
                if (!g->is_let_go && is_late(g, now_ns)) {
                        let_go(g);
                        gs->n_strangers -= !g->is_known;
                }
        pthread_mutex_unlock(&gs->lock);
}

size_t peers_n(struct peers *gs) {
        size_t n = 0;

        pthread_mutex_lock(&gs->lock);
        for (struct peer *g = gs->first; g; g = g->next)
                n++;
        pthread_mutex_unlock(&gs->lock);
        return n;
}
