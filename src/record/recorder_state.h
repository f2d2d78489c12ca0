/* SPDX-License-Identifier: MIT */
/* What the recorder knows, shared by the files that make it up: recorder.c (the loop), admission.c (who comes in).
 * Owner: the recorder's main thread. */
#pragma once

#include <elf.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "base/vec.h"
#include "patch/known_files.h"
#include "record/budget.h"
#include "record/control.h"
#include "record/high_mark.h"
#include "record/images.h"
#include "record/limit_notes.h"
#include "record/modules.h"
#include "record/observer.h"
#include "record/pressure.h"
#include "record/prior_message.h"
#include "record/recorder.h"
#include "record/rendezvous.h"
#include "record/rooms.h"
#include "record/snapshot_causes.h"
#include "record/snapshot_server.h"
#include "record/snapshots.h"
#include "record/unseen_programs.h"
#include "record/worker_rule.h"

#if defined(__aarch64__)
enum { MACHINE_OWN = EM_AARCH64 };
#else
enum { MACHINE_OWN = EM_X86_64 };
#endif

struct pipeline;
struct watcher;

enum recorder_tag {
        TAG_ABSTRACT = 1,
        TAG_PATH,
        TAG_CONTROL,
        TAG_SNAPSHOT_SERVER,
        TAG_TICKS,
        TAG_PIDFD = 16
};

struct recorder_guest {
        struct rendezvous_guest guest;
        uint64_t arrived_ns;
};

/* A descendant that has not reported, since it was first seen after the target's end. */
struct recorder_unreported {
        pid_t pid;
        uint64_t since_ns, cpu_ns;
        uint64_t
                able_since_ns; /* when it was last seen to stand in line for a processor, or since_ns */
        uint32_t n_looks;
        bool is_noted; /* given up */
};

/* Somebody wants to know what points to what. */
struct graph_wish {
        int caller; /* of the snapshot server; -1: nobody waits */
        pid_t pid;  /* 0: the program that was started */
        char name[SNAPSHOT_NAME_BYTES + 4];
};

/* When the next one comes by itself. */
struct graph_schedule {
        uint64_t last_ns, next_look_ns;
        uint64_t spare_bytes; /* at the last look: left beside a copy */
        uint64_t looked_ns;
        struct pressure pressure; /* of the tightest group */
        uint64_t lacked_bytes,
                had_bytes; /* a copy could have needed, and there were, when one did not fit; 0: it never was so */
        uint32_t n_graphs, n_stretched, n_signals;
        bool was_scarce, was_pressed;
        struct high_mark high;
};

struct recorder_graph;
struct recorder_bill;
struct recorder_ticks;

/* By which number of a block the recording was how old. */
struct bill_time {
        uint64_t seq, time_ns;
};
struct bill_times {
        VEC(struct bill_time) list; /* rising */
};

/* When the next bill may come. */
struct bill_schedule {
        uint64_t last_ns, not_before_ns;
        uint32_t n_bills;
        pid_t wished_pid; /* by who asked for a snapshot last; 0: nobody */
        struct bill_times times;
};

/* What recorder_worker.c saw last. */
struct worker_judgement {
        uint64_t since_ns;
        uint64_t slept_ns; /* since then */
        uint64_t cpu_ns;   /* of the recorder, then */
        uint64_t idle_ns;  /* of all cores, then */
        bool has_idle;
        struct worker_rule rule;
};

struct recorder {
        const struct recorder_config *config;
        struct trace_writer *writer;
        int trace_fd; /* the writer's: of the file that has the trace's name, also after it was made smaller */
        struct pipeline *pipeline;
        struct watcher *watcher;
        struct images images;
        struct priors priors; /* of the target, which is not there yet */
        struct modules modules;
        struct known_files patches; /* what is known of files and processes */
        struct oom_watch oom;
        bool target_was_oom_killed;
        char ended_program[64]; /* that the target had become by exec when a signal ended it; "" */
        struct rooms rooms;
        struct worker_judgement worker;
        FILE *log; /* NULL: none */
        VEC(struct recorder_guest)
        guests; /* waiting for an older image of their pid to be settled */
        VEC(struct recorder_unreported) unreported;
        uint64_t n_in_vain,
                n_unheard;         /* programs that nobody answered in time, or did not even hear */
        uint64_t unclear_since_ns; /* some process might be one of them; 0: none */

        struct snapshot_server snapshot_server;
        bool snapshot_server_is_watched;
        struct snapshots snapshots;
        struct snapshot_causes snapshot_causes;
        struct pressure pressure;                         /* for them */
        uint64_t cut_ns, cut_live_bytes, cut_live_blocks; /* of the latest snapshot */
        struct recorder_graph *graph;                     /* under way; NULL: none */
        VEC(struct graph_wish) graph_wishes;
        struct graph_schedule graph_schedule;
        struct recorder_bill *bill; /* under way; NULL: none */
        struct bill_schedule bill_schedule;
        struct recorder_ticks *ticks; /* CPU samples; NULL: none are taken */

        uint32_t clock;
        uint64_t clock_hz, start_counter;
        uint64_t end_ns; /* of the recording; 0 while it goes on */
        struct observers observers;
        uint64_t next_cost_ns;
        uint64_t next_young_ns; /* a young process is to be sampled; UINT64_MAX: none */
        size_t n_images_seen;
        struct budget budget;
        uint32_t unfollowed;       /* that was noted: enum wire_unfollowed */
        uint64_t term_deadline_ns; /* 0: nobody asked it to end */
        uint64_t n_records_at_sample;
        uint64_t next_look_ns, n_looks;
        uint64_t look_again_ns; /* though nothing happens; UINT64_MAX: no need */
        uint64_t target_max_rss_bytes;
        int target_wait_status;
        bool has_ended_one;     /* since the last look at the rings */
        bool target_has_ended;  /* the supervisor said so, or it is gone */
        bool target_is_written; /* the supervisor was told */
        bool supervisor_is_gone, is_stopped;
        uint64_t
                leave_until_ns; /* the hooks are out: the end comes when nobody is inside, at the latest then; 0: not yet */
        bool is_due; /* the supervisor was told that the time is over */
        struct limits limits;
        VEC(char *) told_exes;
        char name[17];
        char trouble[240];
        struct unseen unseen;
};

uint64_t recorder_now_ns(const struct recorder *r);

void recorder_trace_path(const struct recorder *r, char *ret, size_t cap); /* "" unknown */

/* --log and --verbose; nothing without them. */
void recorder_log(const struct recorder *r, const char *fmt, ...)
        __attribute__((format(printf, 2, 3)));

/* A sentence for the report's readers, kept in the trace. */
void recorder_note(struct recorder *r, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

void recorder_watch_image(struct recorder *r, struct image *one);

/* The image is over; its last events are still on their way through the pipeline. */
void recorder_end_image(struct recorder *r, struct image *one, enum trace_ended ended, int status);

/* Threads that were inside the runtime when its hooks were taken out have something to write. */
bool recorder_is_awaited(const struct recorder *r);

/* Whatever the recorder still learns is of its end. */
void recorder_stop(struct recorder *r);

/* Says to the supervisor how far it is. */
void recorder_tell(struct recorder *r, enum control_kind kind);
