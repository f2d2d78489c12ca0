/* SPDX-License-Identifier: MIT */
#include "record/recorder_bill.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/macros.h"
#include "base/system_clock.h"
#include "patch/known_files.h"
#include "pipeline/pipeline.h"
#include "pipeline/pipeline_process.h"
#include "record/bill_turn.h"
#include "record/proc.h"
#include "record/shm.h"
#include "resident/page_walk.h"
#include "resident/resident_bytes.h"
#include "resident/resident_take.h"
#include "trace/writer.h"
#include "wire/record.h"

#define MS 1000000ull

enum {
        BILL_COST_SHARE = 100, /* of the recorder's time, at most */
        BILL_FIRST_SHARE = 20, /* in the first second */
        BILL_ADVANCE_NS =
                20 * MS, /* looks at memory that has grown may be ahead of their share by that */
        BILL_MANY = 200, /* then they are rarer */
        BILL_MANY_SHARE = 16,
        BILL_MAX_BLOCKS = 1 << 24, /* of one process: else 512 MiB of the recorder's */
        BILL_MAX_POINTS = 1024,
        BILL_MAX_HEAP = 16384, /* stretches of it that are remembered */
};

struct recorder_bill {
        uint32_t process_idx, trace_process;
        bool is_own_cut, is_for_snapshot, is_looking, is_cut, is_reading;
        /* for the look */
        pid_t pid;
        int pagemap_fd;
        VEC(struct smaps_range) runtime, mapped;
        struct err look_err;
        int look_result;
        /* What looks may take is told in this time: on a busy machine a look lasts long, and takes no more. */
        uint64_t look_cpu_ns;
        struct resident resident;
        struct page_set pages;
        enum size_model model;
        VEC(struct walk_block) blocks;
        VEC(struct smaps_range) released; /* since the look began */
        VEC(struct smaps_range) heap;     /* as the last bill saw it; then as this one does */
        bool has_too_many;
        uint64_t sampled_blocks, sampled_bytes, max_seq;
        const struct bill_times *times;
        pthread_t reader;
        atomic_bool is_done;
        bytes_buf bytes;
        uint64_t cpu_ns; /* of the thread */
};

/* ---- when --------------------------------------------------------------------------------------- */

static bool can_look(const struct recorder *r, const struct image *one) {
        return !one->is_over && !one->is_ending && !one->is_foreign && !one->gone_ns && one->pid &&
               !r->config->options->launcher;
}

static uint64_t share_at(uint64_t now_ns) {
        return now_ns < 1000 * MS ? BILL_FIRST_SHARE : BILL_COST_SHARE;
}

/* What looks took has to be earned before the next one begins. Debts add up: what is ahead of its share is never more than the advance and one look. */
static void pay(struct recorder *r, uint64_t cpu_ns, uint64_t share) {
        struct bill_schedule *s = &r->bill_schedule;

        s->not_before_ns = MAX(s->not_before_ns, recorder_now_ns(r)) + cpu_ns * share;
}

/* is_growth: a program that ends soon after it grew would leave no look at most of its memory. */
static uint64_t not_before(const struct recorder *r, bool is_growth, uint64_t now_ns) {
        const struct bill_schedule *s = &r->bill_schedule;
        uint64_t advance_ns = is_growth ? BILL_ADVANCE_NS * share_at(now_ns) : 0;

        return MAX(s->not_before_ns - MIN(s->not_before_ns, advance_ns),
                   s->n_bills > BILL_MANY ? s->last_ns + s->last_ns / BILL_MANY_SHARE : 0);
}

static struct bill_turn turn_of(const struct image *one) {
        return (struct bill_turn){.began_ns = one->began_ns,
                                  .last_ns = one->bill.last_ns,
                                  .n_bills = one->bill.n_bills,
                                  .anon_bytes = one->anon_bytes,
                                  .high_bytes = one->bill.high_bytes};
}

/* Of those that are due the one whose memory looks know least of; NULL: none is, and *ret_due_ns is when one will be. */
static struct image *next_image(const struct recorder *r, uint64_t now_ns, uint64_t *ret_due_ns) {
        struct bill_share share = {not_before(r, false, now_ns), not_before(r, true, now_ns), 0};
        uint64_t most = 0;
        struct image *best = NULL;

        *ret_due_ns = OBSERVER_NEVER;
        for (size_t i = 0; i < r->images.list.n; i++)
                if (can_look(r, r->images.list.items[i]))
                        share.all_bytes += r->images.list.items[i]->anon_bytes;
        for (size_t i = 0; i < r->images.list.n; i++) {
                struct image *one = r->images.list.items[i];
                struct bill_turn turn = turn_of(one);
                uint64_t due_ns, weight;

                if (!can_look(r, one))
                        continue;
                due_ns = bill_turn_due(&turn, &share, now_ns);
                *ret_due_ns = MIN(*ret_due_ns, due_ns);
                weight = bill_turn_weight(&turn, now_ns);
                if (due_ns > now_ns || (best && weight <= most))
                        continue;
                most = weight;
                best = one;
        }
        return best;
}

/* Something else is being looked at or cut. */
static bool is_barred(const struct recorder *r) {
        return r->bill || r->graph || r->graph_wishes.n || r->snapshots.next.n ||
               r->snapshots.current.n || pipeline_is_cutting(r->pipeline);
}

/* One that is due and barred wakes nobody: the recorder would not sleep until it may. */
uint64_t recorder_bills_due(const void *ctx) {
        const struct recorder *r = ctx;
        uint64_t due_ns;

        if (is_barred(r))
                return OBSERVER_NEXT_ROUND;
        if (r->is_stopped || r->config->options->launcher)
                return OBSERVER_NEVER;
        next_image(r, recorder_now_ns(r), &due_ns);
        return due_ns;
}

/* ---- the moment --------------------------------------------------------------------------------- */

/* The runtime's own memory, as the process itself says. */
static void read_runtime(const struct recorder *r, const struct image *one,
                         struct recorder_bill *b) {
        static struct wire_range rows[WIRE_N_RANGES];
        uint64_t at = shm_process(r->config->shm, one->process_idx)->own_addr;
        char path[64];
        _cleanup_close_ int fd = -1;
        ssize_t n;

        snprintf(path, sizeof(path), "/proc/%d/mem", (int)one->pid);
        fd = at ? fs_open(path, O_RDONLY, 0) : -1;
        n = fd < 0 ? 0
                   : pread(fd, rows, sizeof(rows), (off_t)(at + offsetof(struct wire_own, ranges)));
        for (size_t i = 0; i < (size_t)MAX(n, (ssize_t)0) / sizeof(rows[0]); i++)
                if (rows[i].begin && rows[i].size_bytes < UINT64_MAX - rows[i].begin)
                        vec_push(&b->runtime,
                                 (struct smaps_range){rows[i].begin,
                                                      rows[i].begin + rows[i].size_bytes});
}

/* What most of it was asked from. */
static enum size_model main_model(const struct recorder *r, const struct image *one) {
        struct pipeline_totals t = {0};
        uint64_t rest, most;
        uint32_t number;
        const struct known_allocator *a;

        if (!pipeline_get_totals(r->pipeline, one->trace_process, &t))
                return SIZE_UNKNOWN;
        rest = most = t.counts.alloc_bytes;
        number = t.loader_number;
        for (uint32_t i = 1; t.shares && i < WIRE_N_ALLOCATORS; i++)
                rest -= MIN(rest, t.shares[i].alloc_bytes);
        most = rest;
        for (uint32_t i = 1; t.shares && i < WIRE_N_ALLOCATORS; i++)
                if (t.shares[i].alloc_bytes > most) {
                        most = t.shares[i].alloc_bytes;
                        number = i;
                }
        a = known_allocator(&r->patches, number);
        return a ? size_model_of(a->name) : SIZE_UNKNOWN;
}

static void bill_free(struct recorder *r) {
        struct recorder_bill *b = r->bill;

        pipeline_take_released(r->pipeline, b->process_idx, NULL, NULL);
        resident_done(&b->resident);
        page_set_done(&b->pages);
        vec_free(&b->blocks);
        vec_free(&b->heap);
        vec_free(&b->runtime);
        vec_free(&b->mapped);
        vec_free(&b->released);
        vec_free(&b->bytes);
        free(b);
        r->bill = NULL;
}

static bool is_gone(pid_t pid) {
        char path[64], text[64];

        snprintf(path, sizeof(path), "/proc/%d/statm", (int)pid);
        return fs_read_text(path, text, sizeof(text)) <= 0 || strncmp(text, "0 ", 2) == 0;
}

/* Mappings and pages, now. Of a process with thousands of threads that takes longer than events may wait: it is done beside the recorder, which
 * goes on meanwhile. */
static void *bill_look(void *arg) {
        struct recorder_bill *b = arg;
        struct smaps_context c = {.pagemap_fd = -1,
                                  .runtime = b->runtime.items,
                                  .n_runtime = b->runtime.n};
        uint64_t begin_ns = clock_thread_cpu_ns();

        b->look_result = resident_look(&b->resident, &c, b->pid, &b->look_err);
        if (b->look_result == 0)
                page_set_read(&b->pages, &b->resident, b->pagemap_fd, b->mapped.items, b->mapped.n);
        if (b->look_result == 0 && is_gone(b->pid)) /* its pages went while they were read */
                b->look_result = err_set(&b->look_err, -ESRCH, "it ended meanwhile");
        smaps_context_done(&c);
        close(b->pagemap_fd);
        b->look_cpu_ns = clock_thread_cpu_ns() - begin_ns;
        b->resident.cost_ns = b->look_cpu_ns;
        atomic_store(&b->is_done, true);
        return NULL;
}

/* False: the process is gone, or may not be looked at. */
static bool bill_begin(struct recorder *r, struct image *one, bool is_for_snapshot) {
        struct recorder_bill *b = calloc(1, sizeof(*b));

        one->bill.last_ns = recorder_now_ns(r);
        one->bill.n_bills++;
        one->bill.high_bytes = MAX(one->bill.high_bytes, one->anon_bytes);
        r->bill_schedule.last_ns = one->bill.last_ns;
        if (b)
                b->pagemap_fd = proc_open_pagemap(one->pid, one->exe); /* of no other program */
        if (!b || b->pagemap_fd < 0) {
                free(b);
                return false;
        }
        b->process_idx = one->process_idx;
        b->trace_process = one->trace_process;
        b->pid = one->pid;
        b->is_for_snapshot = is_for_snapshot;
        b->times = &r->bill_schedule.times;
        b->model = main_model(r, one);
        for (size_t i = 0; i < one->bill.heap.n; i++)
                vec_push(&b->heap, one->bill.heap.items[i]);
        for (size_t i = 0; i < one->mapped.list.n; i++)
                vec_push(&b->mapped, (struct smaps_range){one->mapped.list.items[i].begin,
                                                          one->mapped.list.items[i].end});
        read_runtime(r, one, b);
        pipeline_begin_released(r->pipeline, b->process_idx);
        r->bill = b;
        return true;
}

/* The look is over. False: there is nothing to be told. */
static bool bill_take_look(struct recorder *r) {
        struct recorder_bill *b = r->bill;

        b->is_looking = false;
        atomic_store(&b->is_done, false);
        pay(r, b->look_cpu_ns, share_at(r->bill_schedule.last_ns));
        if (b->look_result == 0)
                return true;
        recorder_log(r, "pid %d: no bill: %s", (int)b->pid, b->look_err.text);
        bill_free(r);
        return false;
}

/* When block number seq was allocated: between two cuts as if numbers came evenly. 0 unknown. */
static uint64_t time_of(const struct bill_times *t, uint64_t seq) {
        size_t low = 0, high = t->list.n;
        const struct bill_time *a, *b;

        while (low < high) {
                size_t mid = (low + high) / 2;

                if (t->list.items[mid].seq < seq)
                        low = mid + 1;
                else
                        high = mid;
        }
        if (low >= t->list.n)
                return t->list.n ? t->list.items[t->list.n - 1].time_ns : 0;
        b = &t->list.items[low];
        if (low == 0)
                return b->seq ? MAX(b->time_ns / b->seq * seq, (uint64_t)1) : b->time_ns;
        a = b - 1;
        return a->time_ns + (uint64_t)((double)(b->time_ns - a->time_ns) * (double)(seq - a->seq) /
                                       (double)MAX(b->seq - a->seq, (uint64_t)1));
}

static void note_time(struct bill_times *t, uint64_t seq, uint64_t time_ns) {
        if (t->list.n && t->list.items[t->list.n - 1].seq >= seq)
                return;
        if (t->list.n == BILL_MAX_POINTS) { /* every other one */
                for (size_t i = 0; i < BILL_MAX_POINTS / 2; i++)
                        t->list.items[i] = t->list.items[2 * i + 1];
                t->list.n = BILL_MAX_POINTS / 2;
        }
        vec_push(&t->list, (struct bill_time){seq, time_ns});
}

static void take_block(void *ctx, const struct pipeline_block *p) {
        struct recorder_bill *b = ctx;

        b->max_seq = MAX(b->max_seq, p->seq);
        if (b->blocks.n >= BILL_MAX_BLOCKS) {
                b->has_too_many = true;
                return;
        }
        vec_push(&b->blocks, (struct walk_block){p->address, p->size_bytes, p->seq, p->stack});
}

static void take_released(void *ctx, uint64_t begin, uint64_t end) {
        struct recorder_bill *b = ctx;

        vec_push(&b->released, (struct smaps_range){begin, end});
}

bool recorder_bill_on_cut(struct recorder *r, uint64_t time_ns) {
        struct recorder_bill *b = r->bill;
        struct pipeline_totals t = {0};
        struct pipeline_stats stats;
        const struct image *one = b ? images_find_idx(&r->images, b->process_idx) : NULL;
        uint64_t begin_ns = recorder_now_ns(r), cpu_begin_ns = clock_thread_cpu_ns();

        if (!b || b->is_cut || b->is_looking)
                return false;
        b->is_cut = true;
        pipeline_take_released(r->pipeline, b->process_idx, take_released, b);
        b->resident.time_ns = time_ns;
        b->resident.process = b->trace_process;
        /* what is known of its blocks is of another moment; or nobody saw those from before it was attached to */
        if (!one || one->trace_process != b->trace_process || one->is_over ||
            r->config->options->attached) {
                b->has_too_many = true;
                return b->is_own_cut;
        }
        if (r->config->options->sample_bytes) {
                pipeline_get_totals(r->pipeline, b->trace_process, &t);
                b->resident.is_sampled = true;
                b->sampled_blocks = t.counts.live_blocks;
                b->sampled_bytes = t.counts.live_bytes;
                return b->is_own_cut;
        }
        pipeline_get_stats(r->pipeline, &stats);
        vec_reserve(&b->blocks, MIN(stats.n_live_blocks, (uint64_t)BILL_MAX_BLOCKS));
        pipeline_walk_live(r->pipeline, b->process_idx, take_block, b);
        note_time(&r->bill_schedule.times, b->max_seq, time_ns);
        b->resident.cost_ns += recorder_now_ns(r) - begin_ns;
        pay(r, clock_thread_cpu_ns() - cpu_begin_ns, BILL_COST_SHARE); /* events wait for it */
        return b->is_own_cut;
}

/* ---- the thread that reads ---------------------------------------------------------------------- */

static void note_heap(struct recorder_bill *b) {
        vec_clear(&b->heap);
        for (size_t i = 0; i < b->resident.areas.n; i++) {
                const struct resident_area *a = &b->resident.areas.items[i];

                if (a->heap_rss_bytes && b->heap.n < BILL_MAX_HEAP)
                        vec_push(&b->heap,
                                 (struct smaps_range){a->begin, a->begin + a->size_bytes});
        }
}

/* Not with low priority: on a busy machine the recording's end would wait for it. Its time counts in the share instead. */
static void *bill_read(void *arg) {
        struct recorder_bill *b = arg;
        struct resident *r = &b->resident;
        uint64_t begin_ns = clock_thread_cpu_ns();

        r->has_blocks = !b->has_too_many;
        r->has_asked = r->has_blocks;
        if (r->is_sampled)
                page_walk_estimate(r, &b->pages, b->sampled_blocks, b->sampled_bytes);
        else
                page_walk(r, &(struct page_walk){&b->pages, b->model, b->blocks.items,
                                                 b->has_too_many ? 0 : b->blocks.n, b->heap.items,
                                                 b->heap.n, b->released.items, b->released.n});
        if (b->model != SIZE_UNKNOWN) /* the one with most of it: its books are not read */
                vec_push(&r->allocators,
                         (struct resident_allocator){
                                 .name = resident_add_name(r, size_model_name(b->model))});
        note_heap(b);
        resident_cap_areas(r);
        resident_encode(r, &b->bytes);
        b->cpu_ns = clock_thread_cpu_ns() - begin_ns;
        atomic_store(&b->is_done, true);
        return NULL;
}

static void bill_start_reading(struct recorder *r) {
        struct recorder_bill *b = r->bill;

        b->is_reading = true;
        for (size_t i = 0; i < b->blocks.n; i++)
                b->blocks.items[i].time_ns = time_of(b->times, b->blocks.items[i].time_ns);
        if (pthread_create(&b->reader, NULL, bill_read, b) == 0)
                return;
        bill_read(b);
        b->reader = pthread_self();
}

static void bill_end(struct recorder *r) {
        struct recorder_bill *b = r->bill;
        struct image *one = images_find_idx(&r->images, b->process_idx);

        if (!pthread_equal(b->reader, pthread_self()))
                pthread_join(b->reader, NULL);
        if (one && one->trace_process == b->trace_process && !one->is_over && !b->has_too_many) {
                vec_clear(&one->bill.heap);
                for (size_t i = 0; i < b->heap.n; i++)
                        vec_push(&one->bill.heap, b->heap.items[i]);
        }
        pay(r, b->cpu_ns, share_at(b->resident.time_ns));
        recorder_log(r, "bill: %zu blocks, %.1f ms to look, %.1f ms to add up", b->blocks.n,
                     (double)b->resident.cost_ns / 1e6, (double)b->cpu_ns / 1e6);
        if (trace_put_bill(r->writer,
                           &(struct trace_bill){.process = b->trace_process,
                                                .time_ns = b->resident.time_ns,
                                                .rss_bytes = b->resident.rss_bytes,
                                                .n_bytes = b->bytes.n},
                           b->bytes.items))
                r->bill_schedule.n_bills++;
        else
                recorder_log(r, "no bill: the trace has no room for %zu bytes", b->bytes.n);
        bill_free(r);
}

/* The blocks of now. */
static void bill_cut(struct recorder *r) {
        pthread_join(r->bill->reader, NULL);
        if (!bill_take_look(r))
                return;
        /* a graph or a snapshot that was asked for meanwhile needs the next cut for itself */
        r->bill->is_own_cut = !r->graph && !r->graph_wishes.n && !r->snapshots.current.n &&
                              pipeline_begin_cut(r->pipeline);
        if (!r->bill->is_own_cut)
                bill_free(r);
}

uint64_t recorder_keep_bills(void *ctx, uint64_t now_ns) {
        struct recorder *r = ctx;
        struct recorder_bill *b = r->bill;
        struct image *one;
        uint64_t due_ns;

        if (b && b->is_looking && atomic_load(&b->is_done))
                bill_cut(r);
        else if (b && b->is_cut && !b->is_reading && !pipeline_is_cutting(r->pipeline))
                bill_start_reading(r);
        else if (b && b->is_reading && atomic_load(&b->is_done))
                bill_end(r);
        if (r->is_stopped || is_barred(r))
                return OBSERVER_NEVER;
        one = next_image(r, now_ns, &due_ns);
        if (!one || !bill_begin(r, one, false))
                return OBSERVER_NEVER;
        r->bill->is_looking = pthread_create(&r->bill->reader, NULL, bill_look, r->bill) == 0;
        if (!r->bill->is_looking) {
                close(r->bill->pagemap_fd);
                bill_free(r);
        }
        return OBSERVER_NEVER;
}

void recorder_bill_at_snapshot(struct recorder *r, pid_t pid) {
        struct image *one = pid ? images_find_pid(&r->images, pid) : NULL;

        if (!one) /* the program that was started, unless it is gone */
                one = r->images.list.n ? r->images.list.items[0] : NULL;
        if (!one || r->bill || !can_look(r, one) || !bill_begin(r, one, true))
                return;
        bill_look(r->bill); /* before its cut, so at once */
        bill_take_look(r);
}

bool recorder_bill_delays_answer(const struct recorder *r) {
        return r->bill && r->bill->is_for_snapshot;
}

void recorder_finish_bills(struct recorder *r) {
        struct recorder_bill *b = r->bill;

        if (b && b->is_looking)
                pthread_join(b->reader, NULL);
        if (b && b->is_cut && !b->is_reading)
                bill_start_reading(r);
        if (b && b->is_reading)
                bill_end(r);
        else if (b)
                bill_free(r);
        vec_free(&r->bill_schedule.times.list);
}
