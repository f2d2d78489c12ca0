/* SPDX-License-Identifier: MIT */
#include "metrics/counter_keeper.h"

#include "base/macros.h"

void counter_keeper_done(struct counter_keeper *k) {
        map_done(&k->now);
        map_done(&k->before);
}

void counter_keeper_begin(struct counter_keeper *k) {
        struct map old;

        if (k->now.n < COUNTER_KEEPER_MAX)
                return;
        old = k->before;
        k->before = k->now;
        k->now = old;
        map_clear(&k->now);
}

/* The place of a value; what the map before has of it is taken along. */
static uint64_t *place_of(struct counter_keeper *k, uint64_t key) {
        uint64_t old = 0;
        bool is_new;

        map_get(&k->before, key, &old);
        return map_put(&k->now, key, old, &is_new);
}

uint64_t counter_keeper_count(struct counter_keeper *k, uint64_t series, uint64_t source,
                              uint64_t raw) {
        uint64_t *highest = place_of(k, map_hash(series ^ map_hash(source + 1)));
        uint64_t more = raw > *highest ? raw - *highest : 0, *told;

        *highest = MAX(*highest, raw);
        told = place_of(k, series); /* places move: only now */
        *told += more;
        return *told;
}
