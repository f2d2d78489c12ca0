/* SPDX-License-Identifier: MIT */
#include "record/snapshots.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/macros.h"

void snapshots_init(struct snapshots *m, uint64_t every_ns, double growth_pct) {
        *m = (struct snapshots){.every_ns = every_ns,
                                .next_ns = every_ns,
                                .growth_pct = growth_pct};
}

void snapshots_done(struct snapshots *m) {
        for (size_t i = 0; i < m->names.n; i++)
                free(m->names.items[i]);
        vec_free(&m->names);
        vec_free(&m->next);
        vec_free(&m->current);
}

static bool snapshots_has(const struct snapshots *m, const char *name) {
        for (size_t i = 0; i < m->names.n; i++)
                if (strcmp(m->names.items[i], name) == 0)
                        return true;
        return false;
}

static void snapshots_add(struct snapshots *m, const char *name, int caller) {
        char *copy = strdup(name);

        if (!copy)
                abort();
        vec_push(&m->names, copy);
        vec_push(&m->next, (struct snapshot_wish){copy, caller});
}

/* The next number that nobody took as a name. */
static void snapshots_number(const struct snapshots *m, const char *prefix, uint32_t *n, char *ret,
                             size_t cap) {
        do
                snprintf(ret, cap, "%s%u", prefix, ++*n);
        while (snapshots_has(m, ret));
}

int snapshots_wish(struct snapshots *m, const char *name, size_t name_bytes, int caller,
                   struct err *reterr) {
        char text[SNAPSHOT_NAME_BYTES + 1] = {0};
        int r = name_bytes ? snapshot_check_name(name, name_bytes, reterr) : 0;

        if (r < 0)
                return r;
        if (m->names.n >= SNAPSHOT_MAX)
                return err_set(
                        reterr, -ENOSPC,
                        "the recording already has %d snapshots, the maximum: start a new recording",
                        SNAPSHOT_MAX);
        if (name_bytes)
                memcpy(text, name, name_bytes);
        else
                snapshots_number(m, "", &m->n_numbers, text, sizeof(text));
        if (snapshots_has(m, text))
                return err_set(
                        reterr, -EEXIST,
                        "'%s': the recording already has a snapshot with this name: choose another",
                        text);
        snapshots_add(m, text, caller);
        return 0;
}

static bool snapshots_is_time(struct snapshots *m, uint64_t now_ns) {
        if (!m->every_ns || now_ns < m->next_ns)
                return false;
        if (++m->n_every % SNAPSHOTS_STRETCH_AFTER == 0)
                m->every_ns *= 2;
        /* those that were missed, because the machine slept, are not made up for */
        m->next_ns = MAX(m->next_ns + m->every_ns, now_ns + m->every_ns / 2);
        return true;
}

static bool snapshots_is_grown(struct snapshots *m, uint64_t now_ns, uint64_t live_bytes) {
        double from = (double)MAX(m->grown_bytes, (uint64_t)SNAPSHOTS_GROWTH_FLOOR);

        if (m->growth_pct <= 0 || now_ns - m->growth_ns < SNAPSHOTS_GROWTH_MIN_NS ||
            (double)live_bytes < from * (1 + m->growth_pct / 100))
                return false;
        m->grown_bytes = live_bytes;
        m->growth_ns = now_ns;
        return true;
}

bool snapshots_keep_time(struct snapshots *m, uint64_t now_ns, uint64_t live_bytes,
                         bool *ret_is_last) {
        char name[32];
        bool is_time = snapshots_is_time(m, now_ns), is_grown = false;

        *ret_is_last = false;
        if (m->next.n + m->current.n ==
            0) /* else it grew since a snapshot that is about to be made */
                is_grown = snapshots_is_grown(m, now_ns, live_bytes);
        if ((!is_time && !is_grown) || m->n_auto >= SNAPSHOTS_MAX_AUTO ||
            m->names.n >= SNAPSHOT_MAX)
                return false;
        snapshots_number(m, "auto-", &m->n_auto, name, sizeof(name));
        snapshots_add(m, name, -1);
        *ret_is_last = m->n_auto >= SNAPSHOTS_MAX_AUTO || m->names.n >= SNAPSHOT_MAX;
        return true;
}

uint64_t snapshots_due_ns(const struct snapshots *m) {
        return m->every_ns && m->n_auto < SNAPSHOTS_MAX_AUTO ? m->next_ns : UINT64_MAX;
}

void snapshots_begin(struct snapshots *m) {
        vec_clear(&m->current);
        for (size_t i = 0; i < m->next.n; i++)
                vec_push(&m->current, m->next.items[i]);
        vec_clear(&m->next);
}

void snapshots_end(struct snapshots *m, uint64_t time_ns, uint64_t live_bytes) {
        vec_clear(&m->current);
        m->grown_bytes = live_bytes;
        m->growth_ns = time_ns;
}
