/* SPDX-License-Identifier: MIT */
#include "record/scan_progress.h"

#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "base/macros.h"
#include "base/units.h"

enum { FIRST_NAPS = 10, NAP_NS = 100 * 1000 * 1000 };

static void *draw(void *arg) {
        struct scan_progress *p = arg;
        bool is_drawn = false;

        for (unsigned i = 0; !atomic_load(&p->is_over); i++) {
                uint64_t done = atomic_load(&p->done_bytes), all = atomic_load(&p->all_bytes);
                struct unit_text a, b;

                nanosleep(&(struct timespec){.tv_nsec = NAP_NS}, NULL);
                if (i < FIRST_NAPS || !all)
                        continue;
                fprintf(stderr, "\rsilt: reading memory: %s of %s \033[K",
                        unit_bytes(&a, MIN(done, all)), unit_bytes(&b, all));
                is_drawn = true;
        }
        if (is_drawn)
                fprintf(stderr, "\r\033[K");
        return NULL;
}

void scan_progress_begin(struct scan_progress *p) {
        *p = (struct scan_progress){0};
        p->is_drawing = isatty(STDERR_FILENO) && pthread_create(&p->drawer, NULL, draw, p) == 0;
}

void scan_progress_end(struct scan_progress *p) {
        atomic_store(&p->is_over, true);
        if (p->is_drawing)
                pthread_join(p->drawer, NULL);
}
