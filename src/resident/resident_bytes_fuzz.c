/* SPDX-License-Identifier: MIT */
/* Any bytes as a bill of a trace: refused in one line, or a bill whose numbers all exist and whose parts add up. Written again and read again it is the same.
 *
 * seeds: src/resident/resident_bytes_seeds
 * covers: src/resident/resident_bytes.c src/resident/resident.c */
#include <stdlib.h>
#include <string.h>

#include "resident/resident_bytes.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static void expect(bool is_so) {
        if (!is_so)
                abort();
}

static uint64_t area_sum(const struct resident *r) {
        uint64_t rss = 0;

        for (size_t i = 0; i < r->areas.n; i++)
                rss += r->areas.items[i].rss_bytes;
        return rss;
}

static void check(struct resident *r) {
        for (size_t i = 0; i < r->areas.n; i++)
                expect(resident_name(r, r->areas.items[i].name) != NULL);
        for (size_t i = 0; i < r->allocators.n; i++)
                expect(r->allocators.items[i].first_free + r->allocators.items[i].n_frees <=
                       r->frees.n);
        expect(area_sum(r) == r->rss_bytes);
        expect(resident_add_name(r, "a name") < r->names.n);
        /* as if there were more of them than are kept */
        for (size_t i = r->areas.n; i && i < RESIDENT_MAX_AREAS + 8; i++) {
                struct resident_area a = r->areas.items[0];

                a.rss_bytes = a.heap_rss_bytes = 0;
                vec_push(&r->areas, a);
        }
        resident_cap_areas(r);
        expect(r->areas.n <= RESIDENT_MAX_AREAS && area_sum(r) == r->rss_bytes);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
        bytes_buf once = {0}, twice = {0};
        struct resident r, again;
        struct err e = {0};

        if (resident_decode(&r, data, n, &e) < 0) {
                expect(e.text[0] && !strchr(e.text, '\n'));
                return 0;
        }
        resident_encode(&r, &once);
        expect(resident_decode(&again, once.items, once.n, &e) == 0);
        resident_encode(&again, &twice);
        expect(once.n == twice.n && memcmp(once.items, twice.items, once.n) == 0);
        check(&again);
        resident_done(&r);
        resident_done(&again);
        vec_free(&once);
        vec_free(&twice);
        return 0;
}
