/* SPDX-License-Identifier: MIT */
#include "record/recorder_state.h"

#include <stdarg.h>

#include "pipeline/pipeline.h"
#include "record/counter.h"
#include "record/watcher.h"
#include "trace/writer.h"

uint64_t recorder_now_ns(const struct recorder *r) {
        uint64_t ticks = counter_now(r->clock) - r->start_counter;

        return (uint64_t)((unsigned __int128)ticks * 1000000000u / r->clock_hz);
}

void recorder_log(const struct recorder *r, const char *fmt, ...) {
        va_list args;

        if (!r->log)
                return;
        fprintf(r->log, "silt: %8.3f s: ", (double)recorder_now_ns(r) / 1e9);
        va_start(args, fmt);
        vfprintf(r->log, fmt, args);
        va_end(args);
        fputc('\n', r->log);
        fflush(r->log);
}

void recorder_note(struct recorder *r, const char *fmt, ...) {
        char text[400];
        va_list args;

        va_start(args, fmt);
        vsnprintf(text, sizeof(text), fmt, args);
        va_end(args);
        trace_put_note(r->writer, recorder_now_ns(r), text);
        limits_hear(&r->limits, text);
        recorder_log(r, "%s", text);
}

void recorder_watch_image(struct recorder *r, struct image *one) {
        if (one->pidfd >= 0)
                watcher_add(r->watcher, one->pidfd, TAG_PIDFD + one->trace_process);
}

void recorder_end_image(struct recorder *r, struct image *one, enum trace_ended ended, int status) {
        if (one->is_ending)
                return;
        one->is_ending = true;
        r->has_ended_one = true;
        one->end.ended = ended;
        one->end.status = status;
        if (one->pidfd >= 0)
                watcher_remove(r->watcher, one->pidfd);
        pipeline_end_process(r->pipeline, one->process_idx,
                             one->gone_ns ? one->gone_ns : recorder_now_ns(r));
}

bool recorder_is_awaited(const struct recorder *r) {
        const struct shm *shm = r->config->shm;
        uint32_t n = atomic_load_explicit(&shm_header(shm)->n_slots_used, memory_order_acquire);

        for (uint32_t i = 0; i < MIN(n, (uint32_t)WIRE_N_SLOTS); i++) {
                const struct wire_slot *slot = shm_slot(shm, i);

                if (atomic_load_explicit(&slot->waiting, memory_order_relaxed) ||
                    atomic_load_explicit(&slot->busy, memory_order_relaxed))
                        return true;
        }
        return false;
}

void recorder_trace_path(const struct recorder *r, char *ret, size_t cap) {
        char link[64];
        ssize_t n;

        snprintf(link, sizeof(link), "/proc/self/fd/%d", r->trace_fd);
        n = readlink(link, ret, cap - 1);
        ret[MAX(n, (ssize_t)0)] = '\0';
}
