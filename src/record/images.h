/* SPDX-License-Identifier: MIT */
/* The processes of a recording while they live: which pid, which image of it, what its memory was, how it ended.
 * One `struct image` for each; the trace's process records are written here. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/map.h"
#include "base/vec.h"
#include "record/oom.h"
#include "record/own_pages.h"
#include "record/ranges.h"
#include "resident/resident_smaps.h"
#include "trace/model.h"

struct known_files;
struct trace_writer;
struct pipeline_totals;

/* What it took of processors, and silt in it, by the last look (record/own_cost.c). */
struct image_cost {
        uint64_t before_cpu_ns; /* not counted */
        uint64_t cpu_ns, sample_ns, count_ns, n_samples;
        bool is_seen;
};

/* Bills of it: when the last was, and how large it had been by then. */
struct image_bill {
        uint64_t last_ns, high_bytes;
        uint32_t n_bills;
        VEC(struct smaps_range) heap; /* where the last one saw an allocator's pages */
};

struct image {
        uint32_t process_idx; /* of the arena */
        uint32_t trace_process;
        pid_t pid;
        pid_t said_pid; /* as the process itself says: another number in a pid namespace of its own */
        uint32_t image_number; /* 1, 2, … of its pid */
        const char *exe;       /* "" unknown */
        uint32_t program;      /* its number in modules; 0 unknown */
        const char *const *args;
        uint32_t n_args;
        void *command; /* the memory of both; owned */
        uint64_t title_hash,
                next_title_ns; /* of what it last wrote over them, 0: nothing; when to look again */
        int pidfd;             /* -1: none; owned */
        double started_s;      /* since boot; -1 unknown */
        bool is_foreign; /* its pid names an older process here: it is in another pid namespace */
        bool is_unwatched; /* no pidfd to be had, for want of descriptors or on an old kernel: /proc is asked instead */
        bool is_inside;   /* in a pid namespace of its own */
        bool is_guest;    /* it said hello; a forked process has the arena already */
        uint64_t gone_ns; /* seen to be gone, and how it ended is still to be told; 0: not */
        bool is_ending;   /* end_process was called; waiting for its last events */
        bool is_over;
        bool runs_unseen; /* it said what it is about to become, which is not seen */
        uint64_t rss_bytes, peak_rss_bytes, runtime_bytes; /* by the last sample; the highest */
        uint64_t n_faults; /* by the last sample: new pages come by faults */
        /* looks at its pages: the next one, and what had happened by the last */
        uint64_t next_sample_ns; /* while it is young: besides those that all have together */
        uint64_t began_ns, next_look_ns, n_faults_looked, n_records_looked;
        /* memory of its own, by the last sample, the first and the highest; first: only where what was there before does not
         * count, because it was forked or attached to */
        uint64_t anon_bytes, first_anon_bytes, peak_anon_bytes;
        bool is_older; /* it has memory from before */
        bool has_sample;
        bool is_nameless, has_exported; /* its program: see patch/plan.h */
        struct ranges mapped;           /* by itself */
        struct own_pages own_pages;     /* the look that found most; see limits_look */
        uint64_t looked_rest_bytes, next_own_pages_ns;
        uint64_t looked_ns;         /* the last look, if nobody has judged it; 0: somebody has */
        uint64_t unseen_told_bytes; /* 0: none */
        uint32_t n_own_pages_looks, n_unpatched_told;
        struct image_cost cost;
        struct image_bill bill;
        bool wants_look;              /* another one would tell more though nothing happens */
        struct trace_process_end end; /* ended, status and peak as far as known when it ended */
};

/* What is left of those that are over, in sums. */
struct images_past {
        uint64_t n_lost, blocked_ns;
        struct image_cost cost;
};

enum { IMAGES_N_RECENT = 512 };

struct images {
        VEC(struct image *) list; /* that are not over */
        size_t n_added;           /* since the start */
        size_t n_grown_up;        /* of list, from the first on: none of them is young */
        /* The latest that are over: a child that was forked before has their command, and may be seen only now. */
        struct image *recent[IMAGES_N_RECENT];
        size_t n_recent;        /* since the start */
        struct map last_by_pid; /* pid → number of its images << 32 | process of the last */
        struct map inside;      /* processes that had a pid namespace of their own */
        struct images_past past;
        pid_t first_pid; /* of the first of all; 0: there was none yet */
        uint64_t first_began_ns;
        uint32_t main_process; /* the last image of that pid */
        uint64_t n_main_lost;  /* of past.n_lost: its */
        bool has_children;     /* another pid was seen */
        struct trace_writer *writer;
        const struct known_files *names; /* of allocators; NULL: none */
        size_t n_alive;
        size_t n_vanished; /* gone, and reaped, before they could be watched; images_next_vanished finds them */
        double began_s; /* when the recording began, since boot; images_began_s() */
};

enum { IMAGES_TICK_S = 1 }; /* the kernel tells starts in ticks: less apart is the same time */

/* Seconds since boot. The target is there before its recorder, much earlier on a busy machine or if it is attached to: nothing of the
 * recording is older than it. target_started_s below 0: unknown. */
double images_began_s(double now_s, double target_started_s);
/* Whoever was there before the recording, and has a number that one of its processes says. */
bool images_is_stranger(const struct images *l, double started_s);

void images_init(struct images *l, struct trace_writer *w, const struct known_files *names,
                 pid_t target);

/* Our number of a process that was forked and calls itself said_pid; 0: not to be found. */
pid_t images_find_number(const struct images *l, pid_t said_pid, uint32_t parent);

bool images_thread_is_alive(const struct images *l, pid_t said_pid, pid_t tid);

/* Adds an image with its command and program as /proc has them. parent: trace process, TRACE_NO_PROCESS unknown.
 * pid 0: not known, it is followed by its events alone. */
struct image *images_add(struct images *l, uint32_t process_idx, pid_t pid, pid_t said_pid,
                         uint32_t parent, uint64_t start_ns);

/* The living image of a pid / of an arena entry; NULL when there is none. */
struct image *images_find_pid(const struct images *l, pid_t pid);
struct image *images_find_idx(const struct images *l, uint32_t process_idx);

/* Asks the kernel. False for one in another pid namespace, which cannot be asked about. */
bool image_is_alive(const struct image *one);

/* How it ended, as wait would tell its parent. False when the kernel does not say: before 6.15 that is known only until
 * the parent asks. */
bool image_end_status(const struct image *one, int *ret_wait_status);

/* One that is gone and not yet ending; NULL when there is none. */
struct image *images_next_vanished(struct images *l);

/* The trace process a newcomer descends from: the nearest recorded ancestor. */
uint32_t images_parent_of(const struct images *l, pid_t pid);

/* Writes the end record: everything of the image is in the trace. It leaves the list, and is valid until others end. */
void images_end(struct images *l, struct image *one, uint64_t end_ns,
                const struct pipeline_totals *totals);

/* Looks whether it calls itself otherwise by now, ever more rarely; a title that is new goes into the trace. */
void images_read_title(struct images *l, struct image *one, uint64_t now_ns);

/* Reads its memory now and puts a sample into the trace. arena_bytes: shared memory that may be silt's own. */
void images_sample(struct images *l, struct image *one, uint64_t now_ns, uint64_t runtime_bytes,
                   uint64_t arena_bytes);
