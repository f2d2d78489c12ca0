/* SPDX-License-Identifier: MIT */
#include "record/scan_progress.h"

#include <errno.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "base/macros.h"
#include "base/units.h"

enum { FIRST_ROUNDS = 10, ROUND_NS = 100 * 1000 * 1000 };

/* True: it is over, before the round is. */
static bool wait_round(struct scan_progress *p) {
        struct timespec until;

        clock_gettime(CLOCK_REALTIME, &until);
        until.tv_nsec += ROUND_NS;
        until.tv_sec += until.tv_nsec / 1000000000;
        until.tv_nsec %= 1000000000;
        while (!p->is_over)
                if (pthread_cond_timedwait(&p->end, &p->lock, &until) == ETIMEDOUT)
                        return false;
        return true;
}

static void *draw(void *arg) {
        struct scan_progress *p = arg;
        bool is_drawn = false;

        pthread_mutex_lock(&p->lock);
        for (unsigned i = 0; !wait_round(p); i++) {
                uint64_t done = atomic_load(&p->done_bytes), all = atomic_load(&p->all_bytes);
                struct unit_text a, b;

                if (i < FIRST_ROUNDS || !all)
                        continue;
                fprintf(stderr, "\rsilt: reading memory: %s of %s \033[K",
                        unit_bytes(&a, MIN(done, all)), unit_bytes(&b, all));
                is_drawn = true;
        }
        pthread_mutex_unlock(&p->lock);
        if (is_drawn)
                fprintf(stderr, "\r\033[K");
        return NULL;
}

void scan_progress_begin(struct scan_progress *p) {
        *p = (struct scan_progress){0};
        pthread_mutex_init(&p->lock, NULL);
        pthread_cond_init(&p->end, NULL);
        p->is_drawing = isatty(STDERR_FILENO) && pthread_create(&p->drawer, NULL, draw, p) == 0;
}

void scan_progress_end(struct scan_progress *p) {
        pthread_mutex_lock(&p->lock);
        p->is_over = true;
        pthread_cond_signal(&p->end);
        pthread_mutex_unlock(&p->lock);
        if (p->is_drawing)
                pthread_join(p->drawer, NULL);
        pthread_cond_destroy(&p->end);
        pthread_mutex_destroy(&p->lock);
}
