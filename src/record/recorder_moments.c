/* SPDX-License-Identifier: MIT */
#include "record/recorder_moments.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "pipeline/pipeline.h"
#include "record/watcher.h"
#include "trace/writer.h"

/* ---- the desk ---------------------------------------------------------------------------------- */

/* While all places are taken nobody is let in, and the recorder must not be woken for those who wait outside. */
static void recorder_watch_desk(struct recorder *r) {
        bool has_room = r->desk.n_callers < DESK_N_CALLERS;

        if (r->desk.listen_fd < 0 || has_room == r->desk_is_watched)
                return;
        if (has_room)
                watcher_add(r->watcher, r->desk.listen_fd, TAG_DESK);
        else
                watcher_remove(r->watcher, r->desk.listen_fd);
        r->desk_is_watched = has_room;
}

void recorder_open_desk(struct recorder *r) {
        const struct rendezvous *v = r->config->rendezvous;
        const char *slash = strrchr(v->path, '/');
        char folder[sizeof(v->path)] = "";
        int x = -ENOENT;

        r->desk.listen_fd = -1;
        if (slash) {
                memcpy(folder, v->path, (size_t)(slash - v->path));
                x = desk_open(&r->desk, folder);
        }
        if (x < 0)
                recorder_log(r,
                             "snapshots on demand are not available: cannot create the socket: %s",
                             strerror(-x));
        recorder_watch_desk(r);
}

static void recorder_refuse(struct recorder *r, int caller, const char *why) {
        struct ask_answer a = {.magic = ASK_MAGIC, .version = ASK_VERSION, .result = ASK_REFUSED};

        memcpy(a.text, why, MIN(strlen(why), sizeof(a.text) - 1));
        desk_answer(&r->desk, caller, &a);
}

void recorder_hear_desk(struct recorder *r) {
        struct ask_request q;
        struct err e = {0};
        int caller;

        while ((caller = desk_hear(&r->desk, &q)) >= 0) {
                if (q.kind != ASK_SNAPSHOT)
                        recorder_refuse(
                                r, caller,
                                "the recorder is a different build of silt and does not know this request");
                else if (moments_wish(&r->moments, q.name, q.name_bytes, caller, &e) < 0)
                        recorder_refuse(r, caller, e.text);
        }
        recorder_watch_desk(r);
}

/* ---- the moment -------------------------------------------------------------------------------- */

void recorder_on_cut(void *ctx, uint64_t time_ns) {
        struct recorder *r = ctx;
        char text[ASK_NAME_BYTES + 32];

        for (size_t i = 0; i < r->moments.current.n; i++) {
                snprintf(text, sizeof(text), "snapshot: %s", r->moments.current.items[i].name);
                trace_put_note(r->writer, time_ns, text);
                recorder_log(r, "%s", text);
        }
        trace_keep_moment(r->writer, time_ns);
        r->cut_ns = time_ns;
        pipeline_get_live(r->pipeline, &r->cut_live_bytes, &r->cut_live_blocks);
}

/* The cut is made, and in the file unless that cannot be written. */
static void recorder_answer_all(struct recorder *r) {
        struct ask_answer a = {.magic = ASK_MAGIC,
                               .version = ASK_VERSION,
                               .result = ASK_DONE,
                               .flags = r->config->options->sample_bytes ? ASK_ESTIMATE : 0,
                               .time_ns = r->cut_ns,
                               .live_bytes = r->cut_live_bytes,
                               .live_blocks = r->cut_live_blocks};
        char link[64];

        snprintf(link, sizeof(link), "/proc/self/fd/%d", r->trace_fd);
        if (readlink(link, a.path, sizeof(a.path) - 1) < 0)
                a.path[0] = 0;
        if (trace_writer_is_behind(r->writer))
                snprintf(
                        a.text, sizeof(a.text),
                        "it is not in the trace yet: the trace cannot be written: free some disk space");
        for (size_t i = 0; i < r->moments.current.n; i++) {
                const struct moment_wish *w = &r->moments.current.items[i];

                if (w->caller < 0)
                        continue;
                snprintf(a.name, sizeof(a.name), "%s", w->name);
                desk_answer(&r->desk, w->caller, &a);
        }
        moments_end(&r->moments, r->cut_ns, r->cut_live_bytes);
        recorder_watch_desk(r);
}

bool recorder_awaits_moment(const struct recorder *r) {
        return r->moments.next.n || r->moments.current.n || r->desk.n_silent;
}

void recorder_keep_moments(struct recorder *r, uint64_t now_ns) {
        uint64_t live_bytes, live_blocks;
        bool is_last;

        if (r->desk.n_silent)
                recorder_hear_desk(r);
        if (r->moments.current.n && !pipeline_is_cutting(r->pipeline))
                recorder_answer_all(r);
        pipeline_get_live(r->pipeline, &live_bytes, &live_blocks);
        if (moments_keep_time(&r->moments, now_ns, live_bytes, &is_last) && is_last)
                recorder_note(r, "no more automatic snapshots: %u were taken, the maximum",
                              r->moments.n_auto);
        if (r->moments.next.n && pipeline_begin_cut(r->pipeline))
                moments_begin(&r->moments);
}

void recorder_close_desk(struct recorder *r) {
        if (r->moments.current.n && !pipeline_is_cutting(r->pipeline))
                recorder_answer_all(r);
        if (r->desk.listen_fd >= 0 && r->desk_is_watched)
                watcher_remove(r->watcher, r->desk.listen_fd);
        desk_close(&r->desk);
}
