/* SPDX-License-Identifier: MIT */
#include "ledger/site_moves.h"

#include <stdlib.h>

void moves_done(struct moves *m) {
        vec_free(&m->rows);
        vec_free(&m->owners);
        vec_free(&m->place);
}

void moves_clear(struct moves *m) {
        vec_clear(&m->rows);
        vec_clear(&m->owners);
}

size_t moves_size_bytes(const struct moves *m) {
        return m->rows.cap * sizeof(m->rows.items[0]) + m->owners.cap * sizeof(m->owners.items[0]) +
               m->place.cap * sizeof(m->place.items[0]);
}

struct trace_move *moves_add(struct moves *m, uint32_t site, uint32_t process, uint32_t stack) {
        while (m->place.n <= site)
                vec_push(&m->place, 0);
        m->place.items[site] = (uint32_t)m->rows.n;
        vec_push(&m->owners, site);
        vec_push(&m->rows, (struct trace_move){.process = process, .stack = stack});
        return &m->rows.items[m->rows.n - 1];
}
