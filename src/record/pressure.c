/* SPDX-License-Identifier: MIT */
#include "record/pressure.h"

#include "record/rooms.h"

enum {
        PRESSED_PART = 10, /* of the time that somebody waited for memory */
        NEAR_PCT = 95,     /* of the limit, and it is far again below: */
        FAR_PCT = 85,
};

static uint64_t known(uint64_t figure) {
        return figure == ROOM_UNKNOWN ? 0 : figure;
}

bool pressure_rose(struct pressure *p, const struct rooms_one *one) {
        uint64_t n_hits = known(one->now.of[ROOM_N_MAX]) + known(one->now.of[ROOM_N_HIGH]);
        uint64_t waited_us = known(one->now.of[ROOM_SOME_US]);
        uint64_t passed_ns = one->last_read_ns - p->read_ns;
        bool is_first = !p->read_ns, has_risen;

        if (one->last_read_ns == p->read_ns)
                return false;
        has_risen = n_hits > p->n_hits ||
                    (waited_us > p->waited_us &&
                     (waited_us - p->waited_us) * 1000 > passed_ns / PRESSED_PART);
        p->n_hits = n_hits;
        p->waited_us = waited_us;
        p->read_ns = one->last_read_ns;
        return has_risen && !is_first;
}

bool pressure_came_near(struct pressure *p, const struct rooms_one *one) {
        uint64_t limit = one->now.of[ROOM_LIMIT];
        uint64_t held = known(one->now.of[ROOM_ANON]) + known(one->now.of[ROOM_SHMEM]) +
                        known(one->now.of[ROOM_KERNEL]);
        bool was_near = p->is_near;

        if (limit == ROOM_UNKNOWN || !limit)
                return false;
        p->is_near = held / limit || held * 100 / limit >= (was_near ? FAR_PCT : NEAR_PCT);
        return p->is_near && !was_near;
}
