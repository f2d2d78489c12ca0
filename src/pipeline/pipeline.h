/* SPDX-License-Identifier: MIT */
/* From rings to trace: lends memory to the slots of the arena, drains them, puts their records in order,
 * pairs releases with allocations, interns stacks, keeps the figures of every site, writes the trace.
 *
 *   slots ─ lender, drain ─▶ words ─ order ─▶ records in time order ─ intern ─▶ events
 *         ─ pair, live ─▶ blocks ─ sites ─▶ trace_put_*, rows at the end of each slice
 *
 * One thread. The arena is hostile: whatever stands in it, no call crashes, loops without bound or keeps
 * more memory than the caps below. A ring that breaks the rules is broken: the rest of it is counted as lost.
 *
 * Call order: new → add_image (by hello) / pump / end_process / end_slice … → finish → free.
 * "Time" without a unit is in counter ticks since the arena's clock_base; _ns since the recording's start. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/macros.h"
#include "pipeline/tally.h"
#include "trace/model.h"

struct trace_writer;
struct pipeline;

/* A module as its MODULE record names it. */
struct pipeline_module {
        uint32_t process_idx, pid;
        const char *name; /* "" for the executable */
        uint64_t bias, begin, end;
};

struct process_share;

/* Everything about one process since its start. */
struct pipeline_totals {
        struct trace_counts counts; /* n_frees without implicit ones; peak since the start */
        uint64_t blocked_ns;        /* its threads waited for room */
        uint64_t runtime_bytes;     /* as its process entry says */
        uint64_t n_early_events;
        bool ends_in_exec;  /* the last that a thread of it said is that it execs */
        uint32_t n_threads; /* that recorded something */
        uint32_t
                n_threads_started; /* as its process entry says, the first included; never less than n_threads */
        /* WIRE_N_ALLOCATORS of them, by number, until the process is over; NULL: only the loader's allocator was called */
        const struct process_share *shares;
        uint32_t loader_number;       /* of that one */
        struct tally tally;           /* sampled: until the process is over */
        uint64_t sample_ns, count_ns; /* what taking samples and counting took of its time */
};

/* Called back from pump, end_process and finish. All are optional. */
struct pipeline_calls {
        void *ctx;

        /* A forked process; returns its trace process id (trace_add_process). Without it the pipeline
         * calls trace_add_process itself, with pid, parent and start alone. parent: TRACE_NO_PROCESS unknown. */
        uint32_t (*on_process)(void *ctx, uint32_t process_idx, uint32_t pid, uint32_t parent,
                               uint64_t start_ns);

        /* All events of a process that end_process was called for are through; its entry is free again
         * when this returns. The place for trace_end_process. */
        void (*on_process_end)(void *ctx, uint32_t process_idx, uint32_t process, uint64_t end_ns,
                               const struct pipeline_totals *totals);

        /* A module not seen before at this place: fill path, build-id and size (strings valid until the next
         * call). False: its frames are silt's own and never appear in a stack. */
        bool (*on_module)(void *ctx, const struct pipeline_module *m, struct trace_module *fill);

        /* Whether the task still exists. Asked, seldom, for threads that said they end or write nothing. */
        bool (*is_thread_alive)(void *ctx, uint32_t pid, uint32_t tid);

        /* The name of a thread first seen, "" unknown; valid until the next call. */
        const char *(*thread_name)(void *ctx, uint32_t pid, uint32_t tid);

        /* The process, or a child of it (pid, as they count), runs a program that the runtime cannot enter. why: enum wire_unseen;
         * path: its end when it is long, "" unknown; nothing that does not fit on a line, and no quotes. */
        void (*on_unseen)(void *ctx, uint32_t process_idx, uint32_t pid, unsigned why,
                          const char *path);

        /* A ring broke the rules. */
        void (*on_broken)(void *ctx, uint32_t process_idx, uint32_t tid, const char *what);

        /* Gives memory to chunks [0, n_chunks); 0 or -errno. Without it all chunks are taken to have memory. */
        int (*back_chunks)(void *ctx, uint32_t n_chunks);

        /* The cut that was asked for: all events before time_ns are in, none behind it. True: somebody will ask for this
         * moment; its slice ends here, what is put into the trace now is written with it, and a checkpoint follows unless
         * the last is near. */
        bool (*on_cut)(void *ctx, uint64_t time_ns);

        /* The program maps [begin, end) itself, or moves its break there. */
        void (*on_mapping)(void *ctx, uint32_t process_idx, uint64_t begin, uint64_t end);

        /* The counter, before clock_base is taken off; without it the arena's own clock is read. */
        uint64_t (*counter_now)(void *ctx);
};

struct pipeline_config {
        void *arena; /* mapped, its header filled; borrowed, as is the writer */
        size_t arena_bytes;
        struct trace_writer *writer;
        uint64_t counter_hz;
        uint64_t start_time; /* counter - clock_base at 0 ns of the recording */
        bool addresses;      /* addresses go into the trace */
        bool prior;          /* attached: releases of unknown blocks are prior_frees */

        /* 0 takes the default */
        uint64_t max_lent_bytes; /* of all rings together; 32 MiB */
        uint64_t margin_ns;      /* a store is visible to the recorder within this; 100,000 */
        uint64_t skew_ns; /* two events of one address may be this much out of order; 50,000 */
        uint64_t
                max_stall_ns; /* a thread that stops while it writes holds the others up for this long; 1 s */
        size_t max_pending_bytes; /* drained but not yet in order; then order is given up for room; 64 MiB */
        uint32_t max_slice_events; /* then a slice ends; TRACE_MAX_SLICE_EVENTS */
        struct pipeline_calls calls;
};

int pipeline_new(const struct pipeline_config *config, struct pipeline **ret, struct err *reterr);
struct pipeline *pipeline_free(struct pipeline *p); /* NULL ok */
DEFINE_CLEANUP(struct pipeline, pipeline_free)

/* An image that came by hello: its entry of the arena is filled, its trace process added. pid: as the
 * recorder sees it. Before the welcome is sent. */
void pipeline_add_image(struct pipeline *p, uint32_t process_idx, uint32_t pid,
                        uint32_t trace_process);

/* The number (patch/known_files.h) of the allocator that the loader gives the process, and its children. */
void pipeline_set_loader_allocator(struct pipeline *p, uint32_t process_idx, uint32_t number);

/* Lends, drains, orders, pairs and writes, up to a bounded amount of work; returns the records handled.
 * 0 with has_pending: call again within a millisecond or so. */
size_t pipeline_pump(struct pipeline *p);

/* True when records are drained but not yet final, or a thread waits for room. */
bool pipeline_has_pending(const struct pipeline *p);

/* True while a forked process has its entry but is not in the trace yet: its parent's events come first. */
bool pipeline_has_newcomers(const struct pipeline *p);

/* True when a ring holds records not drained, or a thread waits: for the last look before sleeping. */
bool pipeline_has_work(const struct pipeline *p);

/* The process is gone (or has become another image): its rings are read to their end, its slots and entry
 * freed by later pumps, once everything is in order. */
void pipeline_end_process(struct pipeline *p, uint32_t process_idx, uint64_t end_ns);

/* The process is gone, and pipeline_end_process follows when it is known how: who is seen to go later does not end before it. */
void pipeline_see_gone(struct pipeline *p, uint32_t process_idx);

/* Ends the slice: rows, a checkpoint when it is time. Nothing to do when nothing happened (unless force:
 * samples wait in the writer). Full slices end by themselves. */
void pipeline_end_slice(struct pipeline *p, uint64_t now_ns, bool force);

/* Asks for a cut at this moment: events up to now and those behind it are kept apart, whatever their threads are at. A
 * later pump, or finish, comes to it, and calls on_cut. One at a time: false while another is under way. */
bool pipeline_begin_cut(struct pipeline *p);
bool pipeline_is_cutting(const struct pipeline *p);
/* It stands still at the cut that was just begun: its end comes behind the cut, though it may have begun to exit before. */
void pipeline_keep_until_cut(struct pipeline *p, uint32_t process_idx);

/* Every block that is live in the process now (in on_cut: at the cut), in no order. */
struct pipeline_block {
        uint64_t address, size_bytes, seq;
        uint32_t stack;
};
void pipeline_walk_live(const struct pipeline *p, uint32_t process_idx,
                        void (*fn)(void *ctx, const struct pipeline_block *b), void *ctx);

/* From now on what the process gives back is kept in mind: large blocks, and mappings of the program's own. Taken once, which ends
 * it; nothing where it was not begun. fn NULL: it is forgotten. */
void pipeline_begin_released(struct pipeline *p, uint32_t process_idx);
void pipeline_take_released(struct pipeline *p, uint32_t process_idx,
                            void (*fn)(void *ctx, uint64_t begin, uint64_t end), void *ctx);

/* Which module lies where in the process, as it is now: it may end before addresses are asked about. NULL: there is no such process. */
struct intern_space;
struct intern_space *pipeline_ref_space(const struct pipeline *p, uint32_t process_idx);
void pipeline_unref_space(struct intern_space *s); /* NULL ok */

/* The trace's location of an address there, of code or of a variable; PIPELINE_NO_LOCATION: it is in no module. */
#define PIPELINE_NO_LOCATION UINT32_MAX
uint32_t pipeline_locate(struct pipeline *p, const struct intern_space *s, uint64_t address);
/* The same of an address in a file that pipeline_add_file knows. */
uint32_t pipeline_locate_at(struct pipeline *p, uint32_t module, uint64_t address);

/* Call paths that no event has: a module by its path and build-id, and a stack with one more frame, at an offset of that module
 * (UINT32_MAX: in none, offset is the address). The same as events have, where they meet. */
uint32_t pipeline_add_file(struct pipeline *p, const struct trace_module *m);
uint32_t pipeline_push(struct pipeline *p, uint32_t parent, uint32_t module, uint64_t offset);
/* The trace's thread of a process that is there, whether it allocated anything or not; TRACE_NO_THREAD: the process is not. */
uint32_t pipeline_get_thread(struct pipeline *p, uint32_t process_idx, uint32_t tid,
                             uint64_t time_ns);

/* Live in all processes together, now. */
void pipeline_get_live(const struct pipeline *p, uint64_t *ret_bytes, uint64_t *ret_blocks);

/* Sampled: the sums of all processes go into the trace, now and then; when one ends, its last ones do. */
void pipeline_put_tallies(struct pipeline *p);

/* The process that answers, when all is finished, for events that were lost for want of a slot: its figures stay. To begin
 * with the trace's first. */
void pipeline_set_main(struct pipeline *p, uint32_t trace_process);

/* Everything drained now is final; ends the last slice, with a checkpoint. Living processes keep their figures. */
void pipeline_finish(struct pipeline *p, uint64_t end_ns);

/* False: there is no such process. */
bool pipeline_get_totals(const struct pipeline *p, uint32_t trace_process,
                         struct pipeline_totals *ret);

/* Pages of large blocks (block_residency.h). Whether there is something to look at, and the look before can be settled;
 * has_changed: events or page faults since then. */
struct residency_budget;
bool pipeline_wants_look(const struct pipeline *p, uint32_t process_idx, bool has_changed);
/* pagemap_fd: of that process, open. Only when it is wanted. True: another look would tell more though nothing happens. */
bool pipeline_look(struct pipeline *p, uint32_t process_idx, int pagemap_fd, uint64_t now_ns,
                   struct residency_budget *budget);

struct pipeline_stats {
        uint64_t n_records, n_sites, n_stacks, n_locations, n_live_blocks;
        uint64_t n_inversions, n_forced; /* records that went ahead of a stalled thread's mark */
        uint64_t n_broken_slots,
                n_unslotted; /* events without a slot: lost, and not yet counted as the main process's */
        uint64_t lent_bytes, backed_bytes;
        uint64_t live_table_bytes, site_bytes, intern_bytes,
                queue_bytes; /* the recorder's own memory */
};
void pipeline_get_stats(const struct pipeline *p, struct pipeline_stats *ret);

/* The latest time up to which the trace is complete. */
uint64_t pipeline_final_ns(const struct pipeline *p);
