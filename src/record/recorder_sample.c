/* SPDX-License-Identifier: MIT */
#include "record/recorder_sample.h"

#include "base/macros.h"
#include "pipeline/pipeline.h"
#include "record/recorder_observers.h"
#include "record/recorder_snapshots.h"
#include "record/shm.h"

#define MS 1000000ull

enum {
        SAMPLE_MIN_NS =
                5 * MS, /* a short program has a curve too: samples start dense and thin out */
        SAMPLE_MAX_NS = 100 * MS,
        YOUNG_SAMPLE_MIN_NS =
                2 * MS, /* a process may end before its first sample is due: one at this age, */
        YOUNG_NS = SAMPLE_MAX_NS,   /* at twice that, and so on up to here */
        IDLE_SAMPLE_NS = 1000 * MS, /* when nothing happens */
};

static void recorder_follow_group(struct recorder *r, const struct image *one) {
        const struct memory_roots *roots = memory_roots();
        const char *counter =
                one->is_foreign ? NULL
                                : oom_watch_follow(&r->oom, one->pid, roots->proc, roots->cgroup);

        if (!counter)
                return;
        rooms_follow(r, one->pid);
        recorder_log(r, "pid %d: out-of-memory kills are counted in %s", (int)one->pid, counter);
}

static void recorder_sample_one(struct recorder *r, struct image *one, uint64_t now_ns,
                                const struct pipeline_stats *stats) {
        const struct wire_process *p = shm_process(r->config->shm, one->process_idx);

        /* relaxed: a figure of its own */
        images_sample(&r->images, one, now_ns,
                      atomic_load_explicit(&p->runtime_bytes, memory_order_relaxed),
                      stats->backed_bytes);
        images_read_title(&r->images, one, now_ns);
        limits_look(r, one, now_ns);
}

/* Or has just been noticed, by a recorder that slept. */
static bool recorder_is_young(const struct image *one, uint64_t now_ns) {
        return !one->is_over && !one->is_ending &&
               (now_ns < one->began_ns + YOUNG_NS || one->next_sample_ns == 0);
}

uint64_t recorder_young_due(const void *ctx) {
        const struct recorder *r = ctx;

        return r->images.n_added > r->n_images_seen ? OBSERVER_NEXT_ROUND : r->next_young_ns;
}

uint64_t recorder_sample_young(void *ctx, uint64_t now_ns) {
        struct recorder *r = ctx;
        struct pipeline_stats stats;

        pipeline_get_stats(r->pipeline, &stats);
        r->next_young_ns = UINT64_MAX;
        r->n_images_seen = r->images.n_added;
        for (size_t i = r->images.n_grown_up; i < r->images.list.n; i++) {
                struct image *one = r->images.list.items[i];

                if (!recorder_is_young(one, now_ns)) {
                        r->images.n_grown_up += i == r->images.n_grown_up;
                        continue;
                }
                if (now_ns >= one->next_sample_ns) {
                        recorder_sample_one(r, one, now_ns, &stats);
                        one->next_sample_ns = now_ns + MAX(now_ns - MIN(one->began_ns, now_ns),
                                                           YOUNG_SAMPLE_MIN_NS);
                }
                r->next_young_ns = MIN(r->next_young_ns, one->next_sample_ns);
        }
        return OBSERVER_NEVER;
}

uint64_t recorder_sample(void *ctx, uint64_t now_ns) {
        struct recorder *r = ctx;
        struct pipeline_stats stats;
        uint64_t interval_ns, next_ns;
        bool is_idle;

        pipeline_get_stats(r->pipeline, &stats);
        for (size_t i = 0; i < r->images.list.n; i++) {
                struct image *one = r->images.list.items[i];

                if (one->is_over || one->is_ending)
                        continue;
                if (one->is_unwatched && !image_is_alive(one))
                        recorder_see_gone(r, one);
                recorder_follow_group(r, one);
                recorder_sample_one(r, one, now_ns, &stats);
        }
        is_idle = !rooms_sample(r, now_ns) && stats.n_records == r->n_records_at_sample &&
                  now_ns > IDLE_SAMPLE_NS;
        r->n_records_at_sample = stats.n_records;
        recorder_see_memory(r, now_ns);
        interval_ns =
                is_idle ? IDLE_SAMPLE_NS : MAX(SAMPLE_MIN_NS, MIN(now_ns / 20, SAMPLE_MAX_NS));
        next_ns = now_ns + interval_ns * (1 + r->images.n_alive / 32);
        if (now_ns < r->next_look_ns)
                return MIN(next_ns, MAX(r->look_again_ns, r->next_look_ns));
        observers_wake(&r->observers, OBSERVER_LOOK, OBSERVER_NEXT_ROUND);
        return next_ns;
}

/* Those that were gone before a word of the supervisor came, however the kernel orders the two. */
void recorder_end_gone(struct recorder *r) {
        for (size_t i = 0; i < r->images.list.n; i++) {
                struct image *one = r->images.list.items[i];

                if (!one->is_ending && !one->is_foreign && one->pid != r->config->target &&
                    !image_is_alive(one))
                        recorder_see_gone(r, one);
        }
}

/* Processes that still run. Those that ended while nobody looked are ended here. */
size_t recorder_count_living(struct recorder *r) {
        size_t n = 0;

        for (size_t i = 0; i < r->images.list.n; i++) {
                struct image *one = r->images.list.items[i];

                if (one->is_ending)
                        continue;
                if (!image_is_alive(one))
                        recorder_see_gone(r, one);
                else
                        n++;
        }
        return n;
}
