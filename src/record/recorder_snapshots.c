/* SPDX-License-Identifier: MIT */
#include "record/recorder_snapshots.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "pipeline/pipeline.h"
#include "record/recorder_bill.h"
#include "record/recorder_graph.h"
#include "record/watcher.h"
#include "trace/writer.h"

/* ---- the server -------------------------------------------------------------------------------- */

/* While all places are taken nobody is let in, and the recorder must not be woken for those who wait outside. */
static void recorder_watch_snapshot_server(struct recorder *r) {
        bool has_room = r->snapshot_server.n_callers < SNAPSHOT_SERVER_N_CALLERS;

        if (r->snapshot_server.listen_fd < 0 || has_room == r->snapshot_server_is_watched)
                return;
        if (has_room)
                watcher_add(r->watcher, r->snapshot_server.listen_fd, TAG_SNAPSHOT_SERVER);
        else
                watcher_remove(r->watcher, r->snapshot_server.listen_fd);
        r->snapshot_server_is_watched = has_room;
}

void recorder_open_snapshot_server(struct recorder *r) {
        const struct rendezvous *v = r->config->rendezvous;
        const char *slash = strrchr(v->path, '/');
        char folder[sizeof(v->path)] = "";
        int x = -ENOENT;

        r->snapshot_server.listen_fd = -1;
        if (slash) {
                memcpy(folder, v->path, (size_t)(slash - v->path));
                x = snapshot_server_open(&r->snapshot_server, folder);
        }
        if (x < 0)
                recorder_log(r,
                             "snapshots on demand are not available: cannot create the socket: %s",
                             strerror(-x));
        recorder_watch_snapshot_server(r);
}

static void recorder_refuse(struct recorder *r, int caller, const char *why) {
        struct snapshot_answer a = {.magic = SNAPSHOT_MAGIC,
                                    .version = SNAPSHOT_VERSION,
                                    .result = SNAPSHOT_REFUSED};

        memcpy(a.text, why, MIN(strlen(why), sizeof(a.text) - 1));
        snapshot_server_answer(&r->snapshot_server, caller, &a);
}

void recorder_hear_snapshot_server(struct recorder *r) {
        struct snapshot_request q;
        struct err e = {0};
        int caller;

        while ((caller = snapshot_server_hear(&r->snapshot_server, &q)) >= 0) {
                if (q.kind == SNAPSHOT_TAKE_GRAPH)
                        recorder_want_graph(r, &q, caller);
                else if (q.kind != SNAPSHOT_TAKE)
                        recorder_refuse(
                                r, caller,
                                "the recorder is a different build of silt and does not know this request");
                else if (snapshots_wish(&r->snapshots, q.name, q.name_bytes, caller, &e) < 0)
                        recorder_refuse(r, caller, e.text);
                else
                        r->bill_schedule.wished_pid = (pid_t)q.pid;
        }
        recorder_watch_snapshot_server(r);
}

/* ---- what memory does ---------------------------------------------------------------------------- */

static bool recorder_is_pressed(struct recorder *r) {
        const struct rooms_one *one = rooms_tightest(&r->rooms);

        if (!one)
                one = &r->rooms.machine;
        return one->group.version == 1 ? pressure_came_near(&r->pressure, one)
                                       : pressure_rose(&r->pressure, one);
}

void recorder_see_memory(struct recorder *r, uint64_t now_ns) {
        const struct run_options *o = r->config->options;
        const struct rooms_one *room = rooms_tightest(&r->rooms);
        struct snapshot_sight s = {.now_ns = now_ns};
        uint64_t live_blocks;
        char name[32];

        if (!o->snapshot_levels.n && !o->snapshot_peaks && !o->snapshot_pressure)
                return;
        for (size_t i = 0; i < r->images.list.n; i++)
                if (!r->images.list.items[i]->is_ending && !r->images.list.items[i]->is_over)
                        s.rss_bytes += r->images.list.items[i]->rss_bytes;
        if (!s.rss_bytes)
                return; /* nobody has come yet */
        if (!room)
                room = &r->rooms.machine;
        s.limit_bytes = room->now.of[ROOM_LIMIT] == ROOM_UNKNOWN ? 0 : room->now.of[ROOM_LIMIT];
        s.is_pressed = o->snapshot_pressure && recorder_is_pressed(r);
        pipeline_get_live(r->pipeline, &s.live_bytes, &live_blocks);
        /* a name that somebody took already is not given again */
        while (snapshot_causes_next(&r->snapshot_causes, &s, name))
                snapshots_wish(&r->snapshots, name, strlen(name), -1, NULL);
}

/* ---- the cut ----------------------------------------------------------------------------------- */

bool recorder_on_cut(void *ctx, uint64_t time_ns) {
        struct recorder *r = ctx;
        char text[SNAPSHOT_NAME_BYTES + 32];

        if (recorder_bill_on_cut(r, time_ns))
                return false; /* a bill has its figures itself */
        for (size_t i = 0; i < r->snapshots.current.n; i++) {
                snprintf(text, sizeof(text), "snapshot: %s", r->snapshots.current.items[i].name);
                trace_put_note(r->writer, time_ns, text);
                recorder_log(r, "%s", text);
        }
        trace_keep_moment(r->writer, time_ns);
        recorder_graph_on_cut(r, time_ns);
        r->cut_ns = time_ns;
        pipeline_get_live(r->pipeline, &r->cut_live_bytes, &r->cut_live_blocks);
        return true;
}

/* The cut is made, and in the file unless that cannot be written. */
static void recorder_answer_all(struct recorder *r) {
        struct snapshot_answer a = {.magic = SNAPSHOT_MAGIC,
                                    .version = SNAPSHOT_VERSION,
                                    .result = SNAPSHOT_DONE,
                                    .flags = r->config->options->sample_bytes ? SNAPSHOT_ESTIMATE
                                                                              : 0,
                                    .time_ns = r->cut_ns,
                                    .live_bytes = r->cut_live_bytes,
                                    .live_blocks = r->cut_live_blocks};

        recorder_trace_path(r, a.path, sizeof(a.path));
        if (trace_writer_is_behind(r->writer))
                snprintf(
                        a.text, sizeof(a.text),
                        "it is not in the trace yet: the trace cannot be written: free some disk space");
        for (size_t i = 0; i < r->snapshots.current.n; i++) {
                const struct snapshot_wish *w = &r->snapshots.current.items[i];

                if (w->caller < 0)
                        continue;
                snprintf(a.name, sizeof(a.name), "%s", w->name);
                snapshot_server_answer(&r->snapshot_server, w->caller, &a);
        }
        snapshots_end(&r->snapshots, r->cut_ns, r->cut_live_bytes);
        recorder_watch_snapshot_server(r);
}

bool recorder_awaits_snapshot(const struct recorder *r) {
        return r->snapshots.next.n || r->snapshots.current.n || r->snapshot_server.n_silent ||
               r->graph || r->graph_wishes.n || r->bill;
}

/* Growth comes with events, not by the clock. */
uint64_t recorder_snapshots_due(const void *ctx) {
        const struct recorder *r = ctx;

        return recorder_awaits_snapshot(r) || r->snapshots.growth_pct > 0
                       ? OBSERVER_NEXT_ROUND
                       : snapshots_due_ns(&r->snapshots);
}

uint64_t recorder_keep_snapshots(void *ctx, uint64_t now_ns) {
        struct recorder *r = ctx;
        uint64_t live_bytes, live_blocks;
        bool is_last;

        if (r->snapshot_server.n_silent)
                recorder_hear_snapshot_server(r);
        if (r->snapshots.current.n && !pipeline_is_cutting(r->pipeline) &&
            !recorder_bill_delays_answer(r))
                recorder_answer_all(r);
        pipeline_get_live(r->pipeline, &live_bytes, &live_blocks);
        if (snapshots_keep_time(&r->snapshots, now_ns, live_bytes, &is_last) && is_last)
                recorder_note(r, "no more automatic snapshots: %u were taken, the maximum",
                              r->snapshots.n_auto);
        /* a bill that is being read is of another moment: the snapshot's own comes after it, some milliseconds later */
        if (r->snapshots.next.n && !r->bill && pipeline_begin_cut(r->pipeline)) {
                snapshots_begin(&r->snapshots);
                recorder_bill_at_snapshot(r, r->bill_schedule.wished_pid);
                r->bill_schedule.wished_pid = 0;
        }
        return OBSERVER_NEVER;
}

void recorder_close_snapshot_server(struct recorder *r) {
        if (r->snapshots.current.n && !pipeline_is_cutting(r->pipeline))
                recorder_answer_all(r);
        if (r->snapshot_server.listen_fd >= 0 && r->snapshot_server_is_watched)
                watcher_remove(r->watcher, r->snapshot_server.listen_fd);
        snapshot_server_close(&r->snapshot_server);
}
