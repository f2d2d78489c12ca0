/* SPDX-License-Identifier: MIT */
#include "watch/roster.h"

#include <stdlib.h>

#define S 1000000000ull
#define RETRY_MIN_NS (5 * S)
#define RETRY_MAX_NS (600 * S)
#define SHORT_NS                                                                                   \
        (60 *                                                                                      \
         S) /* a recording that ended earlier, while the process goes on, will maybe do so again */
#define TAKEN_NS (5 * S) /* until it is looked at again whether somebody records it */

void roster_init(struct roster *r, const struct roster_calls *calls, uint32_t max_processes) {
        *r = (struct roster){.calls = calls, .max_processes = max_processes};
}

void roster_done(struct roster *r) {
        vec_free(&r->list);
        vec_free(&r->next);
}

static bool is_ours(const struct roster_one *one) {
        return one->state == ROSTER_STARTING || one->state == ROSTER_RECORDED;
}

/* ---- a look --------------------------------------------------------------------------------------- */

static bool has_room(const struct roster *r) {
        return r->n_starting < ROSTER_N_STARTING &&
               r->n_starting + r->n_recorded < r->max_processes;
}

/* Whether it is asked again what it is. A young one is just becoming what it will be; one that waits for room is not asked until there is
 * some. */
static bool is_its_turn(const struct roster *r, const struct roster_one *one, uint64_t now_ns) {
        if (is_ours(one))
                return false; /* its end is told by who records it */
        if (now_ns < one->seen_ns + ROSTER_N_TURNS * S ||
            (one->state != ROSTER_OTHER && now_ns >= one->not_before_ns && has_room(r)))
                return true;
        return (uint64_t)one->pid % ROSTER_N_TURNS == r->n_looks % ROSTER_N_TURNS;
}

/* False: it is gone. */
static bool roster_identify(struct roster *r, struct roster_one *one, uint64_t now_ns) {
        uint64_t began;

        if (!r->calls->identify(r->calls->ctx, one->pid, &began))
                return false;
        if (began != one->began)
                *one = (struct roster_one){.pid = one->pid, .began = began, .seen_ns = now_ns};
        return true;
}

static void roster_judge(struct roster *r, struct roster_one *one, uint64_t now_ns) {
        const struct roster_calls *c = r->calls;

        if (!c->is_wanted(c->ctx, one->pid)) {
                one->state = ROSTER_OTHER;
                return;
        }
        if (one->state == ROSTER_OTHER) {
                one->state = ROSTER_DUE;
                one->not_before_ns = one->seen_ns + ROSTER_MIN_AGE_NS;
        }
        if (now_ns < one->not_before_ns || !has_room(r))
                return;
        if (c->is_taken(c->ctx, one->pid)) {
                one->state = ROSTER_TAKEN;
                one->not_before_ns = now_ns + TAKEN_NS;
        } else {
                one->state = ROSTER_DUE;
        }
}

static void roster_start(struct roster *r, struct roster_one *one) {
        if (!has_room(r) || !r->calls->start(r->calls->ctx, one))
                return;
        one->state = ROSTER_STARTING;
        r->n_starting++;
}

static void roster_count(struct roster *r, const struct roster_one *one) {
        r->n_due += one->state == ROSTER_DUE;
        r->n_taken += one->state == ROSTER_TAKEN;
        r->n_refused += one->state == ROSTER_DUE && one->n_refused;
}

void roster_look(struct roster *r, uint64_t now_ns, const pid_t *pids, size_t n_pids) {
        __typeof__(r->list) before;
        size_t at = 0;

        r->n_looks++;
        r->n_due = r->n_taken = r->n_refused = 0;
        vec_clear(&r->next);
        for (size_t i = 0; i < n_pids; i++) {
                struct roster_one one = {.pid = pids[i], .seen_ns = now_ns};

                /* of those that are gone, only who records them may still have something to say */
                for (; at < r->list.n && r->list.items[at].pid < pids[i]; at++)
                        if (is_ours(&r->list.items[at]))
                                vec_push(&r->next, r->list.items[at]);
                if (at < r->list.n && r->list.items[at].pid == pids[i])
                        one = r->list.items[at++];
                if (is_its_turn(r, &one, now_ns)) {
                        if (!roster_identify(r, &one, now_ns))
                                continue;
                        roster_judge(r, &one, now_ns);
                        if (one.state == ROSTER_DUE && now_ns >= one.not_before_ns)
                                roster_start(r, &one);
                }
                roster_count(r, &one);
                vec_push(&r->next, one);
        }
        for (; at < r->list.n; at++)
                if (is_ours(&r->list.items[at]))
                        vec_push(&r->next, r->list.items[at]);
        before = r->list;
        r->list = r->next;
        r->next = before;
}

/* ---- what became of them ---------------------------------------------------------------------------- */

static struct roster_one *roster_find(struct roster *r, pid_t pid) {
        size_t begin = 0, end = r->list.n;

        while (begin < end) {
                size_t middle = begin + (end - begin) / 2;

                if (r->list.items[middle].pid == pid)
                        return &r->list.items[middle];
                if (r->list.items[middle].pid < pid)
                        begin = middle + 1;
                else
                        end = middle;
        }
        return NULL;
}

void roster_began(struct roster *r, pid_t pid, uint64_t now_ns) {
        struct roster_one *one = roster_find(r, pid);

        if (!one || one->state != ROSTER_STARTING)
                return;
        one->state = ROSTER_RECORDED;
        one->n_refused = 0;
        one->began_ns = now_ns;
        r->n_starting--;
        r->n_recorded++;
        r->n_ever_recorded++;
}

void roster_ended(struct roster *r, pid_t pid, enum roster_end how, uint64_t now_ns) {
        struct roster_one *one = roster_find(r, pid);
        uint32_t n_before;

        if (!one || !is_ours(one))
                return;
        if (one->state == ROSTER_STARTING)
                r->n_starting--;
        else
                r->n_recorded--;
        if (how == ROSTER_REFUSED) {
                n_before = one->n_refused++;
                r->n_ever_refused++;
        } else {
                if (now_ns - one->began_ns > SHORT_NS)
                        one->n_short = 0;
                n_before = one->n_short++;
        }
        one->state = ROSTER_DUE; /* if it is still there, and still what is wanted */
        one->not_before_ns = now_ns + MIN(RETRY_MIN_NS << MIN(n_before, 10u), RETRY_MAX_NS);
}
